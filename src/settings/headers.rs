//! Extra request headers: which names and values may stand in a config.
//!
//! A header of the config must not replace what authenticates a request or what
//! frames it on the wire.

use toml::de::{DeTable, DeValue};

use super::finding::Problem;
use super::value::{Located, type_name};

/// Carry credentials: the connection's credential is the only one.
const CREDENTIALS: &[&str] =
    &["authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"];

/// Belong to one hop or to the framing of the message.
const FRAMING: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Reads a table of headers in file order; what is wrong goes to `problems`.
pub(super) fn read(table: &DeTable<'_>, problems: &mut Vec<Located>) -> Vec<(String, String)> {
    let mut found: Vec<(usize, String, String)> = Vec::new();
    for (key, value) in table {
        let name: &str = key.get_ref();
        let here = key.span().start;
        let problem = match value.get_ref() {
            _ if found.iter().any(|(_, other, _)| other.eq_ignore_ascii_case(name)) => {
                Some(Problem::new("holds a header twice", "each name once"))
            }
            DeValue::String(text) => problem_of(name, text),
            other => Some(Problem::new(format!("holds {}", type_name(other)), "texts")),
        };
        match (problem, value.get_ref()) {
            (Some(problem), _) => problems.push((here, problem)),
            (None, DeValue::String(text)) => found.push((here, name.to_owned(), text.to_string())),
            (None, _) => {}
        }
    }
    found.sort_by_key(|(place, ..)| *place);
    found.into_iter().map(|(_, name, value)| (name, value)).collect()
}

pub(super) fn problem_of(name: &str, value: &str) -> Option<Problem> {
    let lower = name.to_ascii_lowercase();
    if name.is_empty() || !name.bytes().all(is_name_byte) {
        return Some(Problem::new("holds a name that no header can have", "letters, digits and -"));
    }
    if CREDENTIALS.contains(&lower.as_str()) {
        let problem = format!("holds `{lower}`, which carries credentials");
        return Some(Problem::new(problem, "the credential as `credential` of a connection"));
    }
    if FRAMING.contains(&lower.as_str()) {
        let problem = format!("holds `{lower}`, which belongs to one hop");
        return Some(Problem::new(problem, "end-to-end headers"));
    }
    let plain = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    (!plain).then(|| {
        let problem = format!("holds a value of `{lower}` with control or non-ASCII characters");
        Problem::new(problem, "printable ASCII")
    })
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
