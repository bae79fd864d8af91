//! Which credential a request carries, and what may be shown of it.
//!
//! The upstream never checks a credential, it only names the connection it belongs to. What is
//! shown is the name of a demo credential (`demo-<connection>`) or a hash, never a secret: the
//! router under test may have been given a real one by mistake.

use actix_web::http::header::{AUTHORIZATION, HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

/// Where credentials are looked for, after `authorization`.
const KEY_HEADERS: [&str; 3] = ["x-api-key", "x-goog-api-key", "api-key"];
/// Headers whose values are shown as hashes only.
const SECRET_HEADERS: [&str; 6] =
    ["authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "proxy-authorization"];
const PREFIX: &str = "demo-";
const SHOWN_BYTES: usize = 8;

/// The credential the upstream would use, without `Bearer `.
pub(super) fn of(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(bearer);
    bearer.or_else(|| {
        KEY_HEADERS.iter().find_map(|name| headers.get(*name)?.to_str().ok()).filter(|key| !key.is_empty())
    })
}

/// How the answer names where it came from.
pub(super) fn name(credential: Option<&str>) -> String {
    match credential {
        None => "no credential".to_owned(),
        Some(credential) => match credential.strip_prefix(PREFIX) {
            Some(connection) => format!("connection {connection}"),
            None => format!("connection {}", fingerprint(credential.as_bytes())),
        },
    }
}

/// What the log shows of a header: the value, or the hash of a secret one.
pub(super) fn shown(name: &HeaderName, value: &[u8]) -> String {
    if !SECRET_HEADERS.contains(&name.as_str()) {
        return String::from_utf8_lossy(value).into_owned();
    }
    let bare = std::str::from_utf8(value).ok().and_then(bearer);
    fingerprint(bare.map_or(value, str::as_bytes))
}

/// The first 16 hex digits of the SHA-256.
pub(super) fn fingerprint(secret: &[u8]) -> String {
    hex(&Sha256::digest(secret)[..SHOWN_BYTES])
}

/// The whole SHA-256 in hex.
pub(super) fn body_hash(body: &[u8]) -> String {
    hex(&Sha256::digest(body))
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, credential) = value.split_once(' ')?;
    let credential = credential.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !credential.is_empty()).then_some(credential)
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};

    use super::{fingerprint, name, of, shown};

    type Pairs = &'static [(&'static str, &'static str)];

    fn headers(pairs: Pairs) -> HeaderMap {
        let pairs = pairs.iter();
        pairs.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn the_credential_is_found_wherever_clients_put_it() {
        let table: [(Pairs, Option<&str>); 8] = [
            (&[("authorization", "Bearer demo-a")], Some("demo-a")),
            (&[("authorization", "bearer  demo-a")], Some("demo-a")),
            (&[("x-api-key", "demo-b")], Some("demo-b")),
            (&[("x-goog-api-key", "demo-c")], Some("demo-c")),
            (&[("api-key", "demo-d")], Some("demo-d")),
            (&[("authorization", "Basic abc"), ("x-api-key", "demo-b")], Some("demo-b")),
            (&[("authorization", "Bearer "), ("x-api-key", "")], None),
            (&[], None),
        ];
        for (pairs, expected) in table {
            assert_eq!(of(&headers(pairs)), expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_name_never_shows_a_foreign_secret() {
        assert_eq!(name(Some("demo-demo-a-1")), "connection demo-a-1");
        assert_eq!(name(None), "no credential");
        assert!(!name(Some("sk-live")).contains("sk-live"));
    }

    #[test]
    fn secret_headers_are_shown_as_the_hash_of_the_bare_credential() {
        let authorization = HeaderName::from_static("authorization");
        assert_eq!(shown(&authorization, b"Bearer abc"), fingerprint(b"abc"));
        assert_eq!(shown(&HeaderName::from_static("x-api-key"), b"abc"), "ba7816bf8f01cfea");
        assert_eq!(shown(&HeaderName::from_static("user-agent"), b"me"), "me");
    }
}
