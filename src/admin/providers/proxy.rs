//! The outbound proxy of a connection, in bodies and answers. It may hold a login: it is shown
//! without it and kept sealed, apart from the secrets, so that giving one of them leaves the other
//! where it is.

use serde_json::{Map, Value};

use super::secrets::{Change, hidden};
use crate::admin::errors::Refusal;
use crate::settings::{Connection, Detail, Kept, Secret, StoredConnection, read_proxy};
use crate::storage::{Vault, proxy_record};

/// Its field.
pub(super) const FIELD: &str = "proxy";

/// How the proxy that is in force is shown.
pub(super) fn shown(record: Option<&StoredConnection>, connection: &Connection) -> Option<String> {
    match record.map(|record| &record.proxy) {
        Some(Kept::Sealed(_)) => Some(hidden()),
        _ => connection.proxy.as_ref().map(ToString::to_string),
    }
}

/// Takes the proxy out of a body. What was shown comes back without its login: it stays as it is.
pub(super) fn take(body: &mut Map<String, Value>, shown: Option<&str>, details: &mut Vec<Detail>) -> Change {
    match body.remove(FIELD) {
        None => Change::Keep,
        Some(Value::Null) => Change::Clear,
        Some(Value::String(text)) if Some(text.as_str()) == shown => Change::Keep,
        Some(value) => match read_proxy(&value) {
            Ok(text) => Change::Set(text),
            Err(detail) => {
                details.push(detail);
                Change::Keep
            }
        },
    }
}

/// What is kept afterwards.
pub(super) fn apply(
    change: Change,
    before: Kept<Secret>,
    vault: &Vault,
    id: &str,
) -> Result<Kept<Secret>, Refusal> {
    match change {
        Change::Keep => Ok(before),
        Change::Clear => Ok(Kept::Inherited),
        Change::Set(text) => {
            let sealed = vault.seal(&proxy_record(id), text.expose()).map_err(|_| Refusal::NoKey)?;
            Ok(Kept::Open(text, sealed))
        }
    }
}
