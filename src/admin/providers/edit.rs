//! What a body makes of the stored connections. Runs while no other change runs, on a copy:
//! what is refused here has changed nothing.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::secrets::{Change, Changes};
use super::view::auth_name;
use super::{find, proxy};
use crate::admin::entities::{Edit, Mode, merge};
use crate::admin::errors::Refusal;
use crate::settings::{
    Connection, Detail, Kept, OwnSecrets, Settings, Source, Stored, StoredConnection, check_connection,
    check_fields, fields_of, is_id,
};

/// Longest id (contract 8).
const LONGEST_ID: usize = 64;

/// A body, taken apart.
struct Parts {
    id: Option<String>,
    auth_type: Option<Value>,
    changes: Changes,
    proxy: Change,
    fields: Map<String, Value>,
    details: Vec<Detail>,
}

impl Parts {
    /// `proxy`: how it is shown so far.
    fn of(mut body: Map<String, Value>, proxy: Option<&str>) -> Self {
        let mut details = Vec::new();
        let id = match body.remove("id") {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) if is_id(&id) => Some(id),
            Some(_) => {
                details
                    .push(Detail::new("id", "is no id, accepted: 1 to 64 characters of A-Z a-z 0-9 . _ -"));
                None
            }
        };
        let auth_type = body.remove("authType").filter(|value| !value.is_null());
        let proxy = proxy::take(&mut body, proxy, &mut details);
        let changes = Changes::take(&mut body, &mut details);
        details.extend(check_fields(&body));
        Self { id, auth_type, changes, proxy, fields: body, details }
    }

    /// The class is what the provider's config says; a body can only agree.
    fn check_auth_type(&mut self, settings: &Settings, provider: &str) {
        let Some(given) = &self.auth_type else { return };
        let known = settings.providers.iter().find(|known| known.id.as_str() == provider);
        let Some(auth) = known.map(|provider| auth_name(provider.class)) else { return };
        if given.as_str() != Some(auth) {
            let message = format!("is not the `auth` of the provider, accepted: {auth}");
            self.details.push(Detail::new("authType", message));
        }
    }
}

/// Makes a connection; its id. `before`: those that the same change has made so far, which are stored
/// and not in force yet.
pub(super) fn create(
    edit: &Edit,
    stored: &mut Stored,
    body: Map<String, Value>,
    before: &BTreeSet<String>,
) -> Result<String, Refusal> {
    let loaded = edit.live.current();
    let settings = &loaded.settings;
    let mut parts = Parts::of(body, None);
    parts.fields.retain(|_, value| !value.is_null());
    let text = |field: &str| parts.fields.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (provider, name) = (text("provider"), text("name"));
    let taken =
        |id: &str| before.contains(id) || settings.connections.iter().any(|known| known.id.as_str() == id);
    let id = match parts.id.take() {
        Some(id) if taken(&id) => return Err(Refusal::Exists("connection".into(), id)),
        Some(id) => id,
        None => free_id(&provider, &name, taken)?,
    };
    parts.check_auth_type(settings, &provider);
    if !parts.fields.contains_key("priority") {
        let made = before.iter().filter_map(|id| stored.connections.get(id));
        parts.fields.insert("priority".into(), next_priority(settings, made, &provider).into());
    }
    let Parts { changes, proxy, fields, mut details, .. } = parts;
    let own = changes.apply(&Kept::Inherited).unwrap_or_default();
    if details.is_empty() {
        details = check_connection(settings, &id, &fields, &own, None);
    }
    if !details.is_empty() {
        return Err(Refusal::of(details));
    }
    let secrets = seal(edit, &id, own)?;
    let proxy = proxy::apply(proxy, Kept::Inherited, &edit.vault, &id)?;
    let connection = StoredConnection { fields, secrets, proxy, created_at: edit.now, updated_at: edit.now };
    // A flag that outlived another connection of this id says nothing about it.
    stored.protected.remove(&id);
    stored.connections.insert(id.clone(), connection);
    Ok(id)
}

/// Changes a connection; of one that is not stored yet, an override is.
pub(super) fn update(
    edit: &Edit,
    stored: &mut Stored,
    id: &str,
    body: Map<String, Value>,
    mode: Mode,
) -> Result<(), Refusal> {
    let loaded = edit.live.current();
    let settings = &loaded.settings;
    let current = find(settings, id)?;
    let existing = stored.connections.get(id).filter(|existing| existing.is_of(current.provider.as_str()));
    let mut parts = Parts::of(body, proxy::shown(existing, current).as_deref());
    if parts.id.as_deref().is_some_and(|given| given != id) {
        return Err(Refusal::invalid("id", "cannot change; delete this connection and make another one"));
    }
    parts.check_auth_type(settings, current.provider.as_str());
    let (before, proxy_before) =
        existing.map(|existing| (existing.secrets.clone(), existing.proxy.clone())).unwrap_or_default();
    let Parts { changes, proxy, fields, mut details, .. } = parts;
    let names_expiry = fields.contains_key("expiresAt");
    let mut fields = match mode {
        Mode::Replace => whole(current, fields),
        Mode::Patch => {
            let mut base = existing.map_or_else(|| fields_of(current), |existing| existing.fields.clone());
            merge(&mut base, fields);
            base
        }
    };
    if fields.get("provider").is_some_and(|given| given.as_str() != Some(current.provider.as_str())) {
        details.push(Detail::new("provider", format!("cannot change, accepted: {}", current.provider)));
    }
    let own = changes.apply(&before);
    if own.as_ref().is_some_and(|own| own.api_key.is_some()) && !names_expiry {
        // It was the tokens' that the key takes the place of.
        fields.remove("expiresAt");
    }
    let inherits = inherited(current, &before, own.as_ref());
    let given = own.clone().unwrap_or_else(|| before.own());
    if details.is_empty() {
        details = check_connection(settings, id, &fields, &given, inherits);
    }
    if !details.is_empty() {
        return Err(Refusal::of(details));
    }
    let secrets = own.map_or(Ok(before), |own| seal(edit, id, own))?;
    let proxy = proxy::apply(proxy, proxy_before, &edit.vault, id)?;
    let created_at = existing.map_or(edit.now, |existing| existing.created_at);
    let connection = StoredConnection { fields, secrets, proxy, created_at, updated_at: edit.now };
    stored.connections.insert(id.to_owned(), connection);
    Ok(())
}

fn seal(edit: &Edit, id: &str, own: OwnSecrets) -> Result<Kept<OwnSecrets>, Refusal> {
    if own.is_empty() {
        return Ok(Kept::Inherited);
    }
    let sealed = edit.vault.seal(id, &own.to_text()).map_err(|_| Refusal::NoKey)?;
    Ok(Kept::Open(own, sealed))
}

/// The connection whose secrets are kept without being looked at: those of the file, or sealed ones.
fn inherited<'a>(
    current: &'a Connection,
    before: &Kept<OwnSecrets>,
    after: Option<&OwnSecrets>,
) -> Option<&'a Connection> {
    let has_below = current.source != Source::Stored || current.replaces.is_some();
    let inherits = match (after, before) {
        (Some(own), _) => own.is_empty() && has_below,
        (None, Kept::Open(..)) => false,
        (None, Kept::Sealed(_)) => true,
        (None, Kept::Inherited) => has_below,
    };
    inherits.then_some(current)
}

/// A whole new connection: what is not given is as it would be at first, but for what tells it
/// from others.
fn whole(current: &Connection, mut fields: Map<String, Value>) -> Map<String, Value> {
    fields.retain(|_, value| !value.is_null());
    fields.entry("provider").or_insert_with(|| current.provider.as_str().into());
    fields.entry("priority").or_insert_with(|| current.priority.into());
    fields
}

/// One after the provider's last.
fn next_priority<'a>(
    settings: &Settings,
    made: impl Iterator<Item = &'a StoredConnection>,
    provider: &str,
) -> u64 {
    let of = settings.connections.iter().filter(|known| known.provider.as_str() == provider);
    let made =
        made.filter(|made| made.is_of(provider)).filter_map(|made| made.fields.get("priority")?.as_u64());
    of.map(|known| known.priority.into()).chain(made).max().unwrap_or(0) + 1
}

/// `provider-name` in the letters of an id, numbered if it is taken; random without a name.
fn free_id(provider: &str, name: &str, taken: impl Fn(&str) -> bool) -> Result<String, Refusal> {
    let slug = slug(name);
    let start = match slug.is_empty() {
        true => format!("{provider}-{}", random()?),
        false => format!("{provider}-{slug}"),
    };
    let numbered = |number: u32| {
        let tail = if number == 1 { String::new() } else { format!("-{number}") };
        let room = LONGEST_ID - tail.len();
        let head: String = start.chars().filter(char::is_ascii).take(room).collect();
        format!("{}{tail}", head.trim_end_matches('-'))
    };
    Ok((1..).map(numbered).find(|id| !taken(id)).expect("numbers do not end"))
}

/// Lower case letters and digits, everything else one `-`.
fn slug(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

fn random() -> Result<String, Refusal> {
    let mut bytes = [0_u8; 4];
    getrandom::fill(&mut bytes).map_err(|_| Refusal::Unkept)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::free_id;

    #[test]
    fn an_id_is_made_of_provider_and_name_and_never_taken() {
        let id = |name: &str, taken: &[&str]| free_id("openai", name, |id| taken.contains(&id)).unwrap();
        assert_eq!(id("Team Account #1", &[]), "openai-team-account-1");
        assert_eq!(id("main", &["openai-main", "openai-main-2"]), "openai-main-3");
        let long = id(&"x".repeat(200), &[]);
        assert_eq!(long.len(), 64);
        assert_eq!(id(&"x".repeat(200), &[&long]), format!("{}-2", &long[..62]));
        let random = id("日本", &[]);
        assert_eq!(random.len(), "openai-".len() + 8);
        assert_ne!(id("", &[]), random);
    }
}
