//! The bucket headers of OpenAI and what is compatible with it. They name no window, so the
//! fuller of the two buckets is the overall use (decision 32 reads the same resets).

use super::{AccountReading, Find, Reader, WindowReading};
use crate::hint;
use crate::time::Millis;

/// Limit, remaining and reset of each bucket.
const BUCKETS: [[&str; 3]; 2] = [
    ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
    ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
];

/// `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`.
pub struct Openai;

impl Reader for Openai {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn read(&self, find: &Find<'_>, now: Millis) -> Option<AccountReading> {
        let buckets = BUCKETS.into_iter().filter_map(|names| bucket(find, names, now));
        let overall = buckets.reduce(|one, other| if other.used > one.used { other } else { one })?;
        Some(AccountReading { overall: Some(overall), seen_at: now, ..AccountReading::default() })
    }
}

fn bucket(find: &Find<'_>, [limit, left, reset]: [&str; 3], now: Millis) -> Option<WindowReading> {
    let limit = find(limit).and_then(hint::whole).filter(|limit| *limit > 0)?;
    let left = find(left).and_then(hint::whole)?;
    let resets_at = hint::reset_in(&find, reset, now).map(|wait| now.saturating_add(wait));
    Some(WindowReading { used: 1.0 - left.min(limit) as f64 / limit as f64, resets_at })
}
