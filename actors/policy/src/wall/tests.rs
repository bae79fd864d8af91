//! The worked examples of rules 9.5 and 9.6, under their names.

mod lane;
mod reset;

use super::Signs;
use crate::time::Millis;

/// A moment long after the epoch.
const T0: Millis = 1_800_000_000_000;

/// Signs from headers without their common beginning.
fn signs(headers: &[(&str, &str)]) -> Signs {
    Signs::read(|name| {
        let name = name.strip_prefix("anthropic-ratelimit-unified-")?;
        headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_bytes())
    })
}

/// Epoch seconds as a header has them.
fn at(ms: Millis) -> String {
    (ms / 1_000).to_string()
}
