//! What an answer of the token endpoint means (FC-038): ordered data, no guesses.
//!
//! Only words that say "this refresh token is dead" are terminal, and only where the endpoint
//! was well enough to know. Everything that is not understood is tried again.

/// The parts of a token endpoint's answer that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// Its status.
    pub status: u16,
    /// An access token is in it.
    pub granted: bool,
    /// What stands in `error`, `error.code`, `error.type`, `code`.
    pub codes: &'a [&'a str],
    /// What stands in `error_description`, `error.message`, `message`.
    pub texts: &'a [&'a str],
}

/// What it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// New tokens.
    Granted,
    /// The refresh token is dead, by this code or text.
    Expired(&'static str),
    /// Our own settings are wrong, by this code.
    Misconfigured(&'static str),
    /// Nothing is known about the account.
    Retry,
}

/// RFC 6749 5.2, and the words that vendors use for the same.
const DEAD: [&str; 10] = [
    "invalid_grant",
    "invalid_refresh_token",
    "bad_refresh_token",
    "refresh_token_expired",
    "refresh_token_invalidated",
    "refresh_token_reused",
    "refresh_token_revoked",
    "expired_refresh_token",
    "revoked_token",
    "token_revoked",
];

/// The client is at fault, and so is every connection that uses it (RFC 6749 5.2).
const SETTINGS: [&str; 4] =
    ["invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"];

/// The same as `DEAD` where a vendor only has a sentence.
const DEAD_TEXTS: [&str; 7] = [
    "refresh token has been revoked",
    "refresh token is revoked",
    "refresh token has expired",
    "refresh token is expired",
    "refresh token was already used",
    "refresh token has already been used",
    "token has been expired or revoked",
];

/// Judges an answer. Total: whatever is not understood is tried again.
pub fn meaning(reply: Reply<'_>) -> Meaning {
    // Whoever is overloaded, broken or in the way knows nothing about a token.
    let knows = (200..500).contains(&reply.status) && !matches!(reply.status, 300..=399 | 408 | 429);
    if !knows {
        return Meaning::Retry;
    }
    if reply.granted && reply.status < 300 {
        return Meaning::Granted;
    }
    if let Some(code) = one_of(&DEAD, reply.codes) {
        return Meaning::Expired(code);
    }
    if let Some(code) = one_of(&SETTINGS, reply.codes) {
        return Meaning::Misconfigured(code);
    }
    let says = |known: &&&str| reply.texts.iter().any(|text| text.to_ascii_lowercase().contains(**known));
    match DEAD_TEXTS.iter().find(says) {
        Some(text) if matches!(reply.status, 400 | 401) => Meaning::Expired(text),
        _ => Meaning::Retry,
    }
}

fn one_of(known: &'static [&'static str], codes: &[&str]) -> Option<&'static str> {
    known.iter().find(|known| codes.iter().any(|code| code.eq_ignore_ascii_case(known))).copied()
}
