//! The headers in which a provider states its limit of requests (flow 4.5, core 3.3.3). They are
//! read on every answer, so one without them costs a few look-ups and nothing else.

use crate::hint;
use crate::time::Millis;

/// What one answer says about limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateHeaders {
    /// Requests per window.
    pub limit: Option<u64>,
    /// Of them, left.
    pub remaining: Option<u64>,
    /// Until the window begins anew, ms.
    pub reset_ms: Option<Millis>,
    /// The provider says that the limit is near.
    pub over_limit: bool,
    /// It was a 429: whatever the headers say, they taught us too little.
    pub status_429: bool,
}

/// The three names of one dialect: limit, remaining, reset.
type Names = [&'static str; 3];

const USUAL: Names =
    ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"];
const ANTHROPIC: Names = [
    "anthropic-ratelimit-requests-limit",
    "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-requests-reset",
];
const OVER_LIMIT: &str = "x-ratelimit-over-limit";

impl RateHeaders {
    /// Every header that is read here, `retry-after` and `date` apart.
    pub const NAMES: [&str; 7] =
        [USUAL[0], USUAL[1], USUAL[2], ANTHROPIC[0], ANTHROPIC[1], ANTHROPIC[2], OVER_LIMIT];

    /// Reads them; `find` takes a lower-case name. `None`: nothing that a limiter minds. The
    /// provider's id says which dialect is likely, not which one is believed.
    pub fn read<'a>(
        provider: &str,
        find: impl Fn(&str) -> Option<&'a [u8]>,
        status: u16,
        now: Millis,
    ) -> Option<Self> {
        if status == 429 {
            return Some(Self { status_429: true, ..Self::default() });
        }
        let over_limit =
            find(OVER_LIMIT).is_some_and(|value| value.trim_ascii().eq_ignore_ascii_case(b"yes"));
        let dialects = match provider {
            "claude" | "anthropic" => [ANTHROPIC, USUAL],
            _ => [USUAL, ANTHROPIC],
        };
        let count = |name: &str| find(name).and_then(hint::whole);
        let stated = dialects.into_iter().find_map(|[limit, remaining, reset]| {
            let limit = count(limit).filter(|limit| *limit > 0)?;
            let reset_ms = hint::reset_in(&find, reset, now);
            Some(Self { limit: Some(limit), remaining: count(remaining), reset_ms, ..Self::default() })
        });
        match stated {
            Some(stated) => Some(Self { over_limit, ..stated }),
            None => over_limit.then(|| Self { over_limit, ..Self::default() }),
        }
    }
}
