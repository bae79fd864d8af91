//! `[[keys]]`: every key has a secret of its own and scopes that exist.

use policy::ids::ConnectionId;

use super::{Context, key_rules};
use crate::settings::Secret;
use crate::settings::bodies::write;
use crate::settings::entities::{Key, KeySecret, Scope, Source};
use crate::settings::finding::{Place, quoted};
use crate::settings::sheet::Sheet;
use crate::settings::stored_key::ONLY_STORED;
use crate::settings::value::Value;

const NAME: &str = "keys[].name";
const KEY: &str = "keys[].key";
const SCOPES: &str = "keys[].scopes";
const ALLOWED: &str = "keys[].allowed_connections";
const PREFERRED: &str = "keys[].preferred_connections";

/// Reads every key.
pub(super) fn read(context: &mut Context<'_>) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for sheet in context.root.list("keys[]") {
        let below = (sheet.place == Place::Stored).then_some(Source::File);
        let read = key(context, sheet, &keys);
        keys.extend(read.map(|read| Key { replaces: below, ..read }));
    }
    for sheet in context.root.list(ONLY_STORED) {
        let read = key(context, sheet, &keys);
        keys.extend(read);
    }
    keys
}

/// Only looks for what is wrong.
pub(super) fn check(context: &mut Context<'_>, sheet: &Sheet) {
    key(context, sheet, &[]);
}

fn key(context: &mut Context<'_>, sheet: &Sheet, others: &[Key]) -> Option<Key> {
    let (secret, scopes) = (secret(context, sheet), scopes(sheet));
    let allowed_connections = connections(context, sheet, ALLOWED);
    if scopes.contains(&Scope::Lease) && allowed_connections.is_empty() {
        let problem = "must name connections: `lease:exclusive` leases one of them";
        context.refuse(sheet, ALLOWED, problem, "the ids of connections");
    }
    let preferred_connections = preferred(context, sheet, &allowed_connections);
    let rules = key_rules::read(context, sheet);
    let name = sheet.text(NAME)?;
    let stored = sheet.place == Place::Stored;
    let key = match secret {
        Some(secret) => KeySecret::Plain(secret),
        None if stored => KeySecret::Lost,
        None => return None,
    };
    check_unique(context, sheet, &name, &key, others);
    Some(Key {
        name,
        key,
        scopes,
        allowed_connections,
        preferred_connections,
        quota_only: sheet.flag("keys[].quota_only"),
        rules,
        given: write(sheet, "keys[]"),
        source: if stored { Source::Stored } else { Source::File },
        replaces: None,
    })
}

fn check_unique(context: &mut Context<'_>, sheet: &Sheet, name: &str, secret: &KeySecret, keys: &[Key]) {
    if keys.iter().any(|other| other.name == name) {
        let problem = format!("`{name}` is another key's name already");
        context.refuse(sheet, NAME, &problem, "a name of its own");
    }
    if let Some(other) = keys.iter().find(|other| *secret != KeySecret::Lost && other.key == *secret) {
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

fn scopes(sheet: &Sheet) -> Vec<Scope> {
    let mut scopes = Vec::new();
    for text in sheet.texts(SCOPES) {
        match text.as_str() {
            "inference" => scopes.push(Scope::Inference),
            "manage" => scopes.push(Scope::Manage),
            // The table knows no other.
            _ => scopes.push(Scope::Lease),
        }
    }
    scopes
}

fn connections(context: &mut Context<'_>, sheet: &Sheet, key: &str) -> Vec<ConnectionId> {
    let ids = sheet.texts(key);
    // What is stored was right when it came in; an account that has gone is one that is never used.
    let checks = sheet.place != Place::Stored && context.checks_references();
    for id in ids.iter().filter(|_| checks) {
        if !context.known.connections.contains_key(id) {
            let accepted = context.known.connection_list(None);
            let problem = format!("names the connection {}, which does not exist", quoted(id));
            context.refuse(sheet, key, &problem, &accepted);
        }
    }
    ids.into_iter().map(ConnectionId::from).collect()
}

/// A part of those that it may use.
fn preferred(context: &mut Context<'_>, sheet: &Sheet, allowed: &[ConnectionId]) -> Vec<ConnectionId> {
    let ids = connections(context, sheet, PREFERRED);
    for id in ids.iter().filter(|id| !allowed.is_empty() && !allowed.contains(id)) {
        let problem = format!("names the connection {}, which it may not use", quoted(id.as_str()));
        context.refuse(sheet, PREFERRED, &problem, "connections of allowed_connections");
    }
    ids
}
