//! The unified headers of Claude accounts: two windows in use, a status, the reset that ends it.

use super::{AccountReading, Find, Reader, WindowReading};
use crate::hint;
use crate::time::Millis;

const SESSION: [&str; 2] =
    ["anthropic-ratelimit-unified-5h-utilization", "anthropic-ratelimit-unified-5h-reset"];
const WEEKLY: [&str; 2] =
    ["anthropic-ratelimit-unified-7d-utilization", "anthropic-ratelimit-unified-7d-reset"];
const STATUS: &str = "anthropic-ratelimit-unified-status";
const RESET: &str = "anthropic-ratelimit-unified-reset";

/// `anthropic-ratelimit-unified-*`.
pub struct Anthropic;

impl Reader for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn read(&self, find: &Find<'_>, now: Millis) -> Option<AccountReading> {
        let (session, weekly) = (window(find, SESSION), window(find, WEEKLY));
        let status = find(STATUS).map(<[u8]>::trim_ascii);
        if session.is_none() && weekly.is_none() && status.is_none() {
            return None;
        }
        let limit_reached = status.is_some_and(|status| status.eq_ignore_ascii_case(b"rejected"));
        let fullest = [session, weekly].into_iter().flatten().map(|read| read.used).reduce(f64::max);
        let used = if limit_reached { Some(1.0) } else { fullest };
        let resets_at = find(RESET).and_then(hint::instant);
        let overall = used.map(|used| WindowReading { used, resets_at });
        Some(AccountReading { session, weekly, overall, limit_reached, seen_at: now, monthly: None })
    }
}

fn window(find: &Find<'_>, [used, reset]: [&str; 2]) -> Option<WindowReading> {
    let used: f64 = std::str::from_utf8(find(used)?).ok()?.trim().parse().ok()?;
    let resets_at = find(reset).and_then(hint::instant);
    (used.is_finite() && used >= 0.0).then_some(WindowReading { used, resets_at })
}
