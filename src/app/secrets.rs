//! What is made at first start: the admin token, a first client key, a salt. Each is
//! shown once, on stderr and outside the log, and kept only as a hash (contract 8).

use crate::http::auth::hash;
use crate::settings::Settings;
use crate::storage::{ADMIN_TOKEN, CLIENT_KEY, Database, SALT};

/// What the process compares credentials with.
pub(super) struct Secrets {
    /// Hash of the admin token.
    pub admin: [u8; 32],
    /// Hash of the client key that was made because keys are required and none is known.
    pub client_key: Option<[u8; 32]>,
    /// Seasons fingerprints of credentials.
    pub salt: String,
}

fn random_hex() -> Result<String, String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random numbers from the system: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The stored hash under `key`; made, and the plain text shown once, if there is none.
fn kept_or_made(database: &Database, key: &str, prefix: &str, what: &str) -> Result<[u8; 32], String> {
    if let Some(stored) = database.meta_hash(key).map_err(|error| error.to_string())? {
        return Ok(stored);
    }
    let made = format!("{prefix}{}", random_hex()?);
    let hashed = hash(&made);
    database.set_meta(key, &hashed).map_err(|error| error.to_string())?;
    eprintln!("{what}, shown this once: {made}");
    Ok(hashed)
}

/// Everything that must be known before the first request.
pub(super) fn prepare(settings: &Settings, database: &Database) -> Result<Secrets, String> {
    let admin = match &settings.admin.token {
        Some(token) => hash(token.expose()),
        None => kept_or_made(database, ADMIN_TOKEN, "swt_", "admin token made (no `admin.token` is set)")?,
    };
    let needs_key = settings.server.keys_required() && settings.keys.is_empty();
    let client_key = match needs_key {
        true => {
            let what = "client key made (keys are required and none is configured)";
            Some(kept_or_made(database, CLIENT_KEY, "sk-swt-", what)?)
        }
        false => None,
    };
    let salt = match database.meta(SALT).map_err(|error| error.to_string())? {
        Some(salt) => String::from_utf8_lossy(&salt).into_owned(),
        None => {
            let salt = random_hex()?;
            database.set_meta(SALT, salt.as_bytes()).map_err(|error| error.to_string())?;
            salt
        }
    };
    Ok(Secrets { admin, client_key, salt })
}
