//! `[[keys]]`: every key has a secret of its own and scopes that exist.

use policy::ids::ConnectionId;

use super::Context;
use crate::settings::Secret;
use crate::settings::entities::{Key, Scope};
use crate::settings::finding::quoted;
use crate::settings::sheet::Sheet;
use crate::settings::value::Value;

const NAME: &str = "keys[].name";
const KEY: &str = "keys[].key";
const SCOPES: &str = "keys[].scopes";
const ALLOWED: &str = "keys[].allowed_connections";

/// Reads every key.
pub(super) fn read(context: &mut Context<'_>) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for sheet in context.root.list("keys[]") {
        let (secret, scopes) = (secret(context, sheet), scopes(context, sheet));
        let allowed_connections = allowed_connections(context, sheet);
        let (Some(name), Some(secret)) = (sheet.text(NAME), secret) else {
            continue;
        };
        check_unique(context, sheet, &name, &secret, &keys);
        let quota_only = sheet.flag("keys[].quota_only");
        keys.push(Key { name, key: secret, scopes, allowed_connections, quota_only });
    }
    keys
}

fn check_unique(context: &mut Context<'_>, sheet: &Sheet, name: &str, secret: &Secret, keys: &[Key]) {
    if keys.iter().any(|other| other.name == name) {
        let problem = format!("`{name}` is another key's name already");
        context.refuse(sheet, NAME, &problem, "a name of its own");
    }
    if let Some(other) = keys.iter().find(|other| other.key == *secret) {
        let problem = format!("is the same secret as the key `{}`", other.name);
        context.refuse(sheet, KEY, &problem, "a secret of its own");
    }
}

fn secret(context: &mut Context<'_>, sheet: &Sheet) -> Option<Secret> {
    let Some(Value::Secret(reference)) = sheet.value(KEY) else {
        return None;
    };
    match reference.resolve(context.env, context.folder) {
        Ok(secret) => Some(secret),
        Err(missing) => {
            context.refuse(sheet, KEY, &missing.to_string(), "a secret that is not empty");
            None
        }
    }
}

fn scopes(context: &mut Context<'_>, sheet: &Sheet) -> Vec<Scope> {
    let mut scopes = Vec::new();
    for text in sheet.texts(SCOPES) {
        match text.as_str() {
            "inference" => scopes.push(Scope::Inference),
            "manage" => scopes.push(Scope::Manage),
            other => {
                let problem = format!("`{other}` is not built yet");
                context.refuse(sheet, SCOPES, &problem, "inference, manage");
            }
        }
    }
    scopes
}

fn allowed_connections(context: &mut Context<'_>, sheet: &Sheet) -> Vec<ConnectionId> {
    let ids = sheet.texts(ALLOWED);
    for id in &ids {
        if context.checks_references() && !context.known.connections.contains_key(id) {
            let accepted = context.known.connection_list(None);
            let problem = format!("names the connection {}, which does not exist", quoted(id));
            context.refuse(sheet, ALLOWED, &problem, &accepted);
        }
    }
    ids.into_iter().map(ConnectionId::from).collect()
}
