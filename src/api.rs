//! Every address of switchtower in one table: what it is registered by, what `Allow` says, and what
//! `GET /api/openapi.json` is made of. A route that is not in the table cannot be registered, and
//! `tests/openapi.rs` asks each one that is.

mod clients;
mod document;
mod management;
mod shapes;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use document::{KnownCode, document};

/// One method of one address.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// In lower case, as OpenAPI writes it.
    pub method: &'static str,
    /// With `{name}` for what varies.
    pub path: &'static str,
    /// One line of meaning.
    pub says: &'static str,
    /// Parameters of the query: name, type, meaning.
    pub query: &'static [(&'static str, &'static str, &'static str)],
    /// The body's schema, and whether it must be there.
    pub body: Option<(&'static str, bool)>,
    /// The good answer: status, and its schema or media type; empty: no body.
    pub good: (u16, &'static str),
    /// Statuses of refusals.
    pub errors: &'static [u16],
    /// What it leaves in the audit.
    pub audit: Audit,
}

/// What an operation leaves in the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audit {
    /// Nothing: it only looks, or is of clients.
    Nothing,
    /// A row when it was done, under this word: `NOUN.VERB`.
    Row(&'static str),
    /// Nothing although it may look like a change; why.
    Untold(&'static str),
}

const fn operation(
    (method, path): (&'static str, &'static str),
    says: &'static str,
    good: (u16, &'static str),
) -> Operation {
    Operation { method, path, says, query: &[], body: None, good, errors: &[], audit: Audit::Nothing }
}

impl Operation {
    const fn query(mut self, query: &'static [(&'static str, &'static str, &'static str)]) -> Self {
        self.query = query;
        self
    }

    const fn body(mut self, schema: &'static str) -> Self {
        self.body = Some((schema, true));
        self
    }

    const fn maybe(mut self, schema: &'static str) -> Self {
        self.body = Some((schema, false));
        self
    }

    const fn errors(mut self, errors: &'static [u16]) -> Self {
        self.errors = errors;
        self
    }

    const fn does(mut self, action: &'static str) -> Self {
        self.audit = Audit::Row(action);
        self
    }

    const fn untold(mut self, reason: &'static str) -> Self {
        self.audit = Audit::Untold(reason);
        self
    }

    /// Whether it is on the client's side, and served below `/api` as well.
    pub fn is_of_clients(&self) -> bool {
        self.path.starts_with("/v1/")
    }
}

/// All of them, in the order of the document.
pub fn operations() -> impl Iterator<Item = &'static Operation> {
    clients::ROWS.iter().chain(management::ROWS).chain(management::ENTITIES)
}

/// The methods of a path as it is registered, as `Allow` names them; `None`: it is not in the table.
pub fn methods(registered: &str) -> Option<&'static str> {
    static METHODS: LazyLock<HashMap<&str, String>> = LazyLock::new(|| {
        let mut methods: HashMap<&str, String> = HashMap::new();
        for operation in operations() {
            let all = methods.entry(operation.path).or_default();
            if !all.is_empty() {
                all.push_str(", ");
            }
            all.push_str(&operation.method.to_uppercase());
        }
        methods
    });
    METHODS.get(template(registered).as_str()).map(String::as_str)
}

/// The methods of a path as it is registered that leave a row in the audit, and what it calls them.
pub fn actions(registered: &str) -> Vec<(&'static str, &'static str)> {
    let path = template(registered);
    let rows = operations().filter(|operation| operation.path == path);
    rows.filter_map(|operation| match operation.audit {
        Audit::Row(action) => Some((operation.method, action)),
        Audit::Nothing | Audit::Untold(_) => None,
    })
    .collect()
}

/// A registered path as the table has it: without patterns, and without the other prefix of clients.
fn template(registered: &str) -> String {
    let path = registered.strip_prefix("/api").filter(|rest| rest.starts_with("/v1/")).unwrap_or(registered);
    path.replace(":.+}", "}")
}

#[cfg(test)]
mod tests;
