//! Quotas that belong to an egress address, not to an account (rules 4, decision 31a).
//!
//! A few providers count what comes from one address. When one of their connections is
//! limited, the others that were last seen at the same address rest as long. The identity of
//! an egress is the outbound proxy, else the local address; nothing is probed.

use serde::{Deserialize, Serialize};

use crate::time::{DAY, Millis};
use crate::verdict::{Failure, Reason};

/// Providers of the rule when the operator names none (rules 4.1).
pub const DEFAULT_PROVIDERS: [&str; 3] = ["opencode", "opencode-go", "opencode-cli"];
/// The variable in which an operator names others (rules 4.2).
pub const PROVIDERS_ENV: &str = "OMNIROUTE_EGRESS_IP_LOCK_PROVIDERS";
/// How long an address is remembered, ms (rules 4.6).
pub const MEMORY_MS: Millis = DAY;
/// An address that was published so lately need not be told again, ms.
const NEWS_MS: Millis = 10 * 60_000;

/// Where a connection was last seen to come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Egress {
    /// The outbound proxy, else the local address.
    pub identity: String,
    /// When, epoch ms; up to ten minutes behind for one that did not move.
    pub at: Millis,
}

impl Egress {
    /// A sighting that is worth telling: another address, or the same one after a while.
    pub fn news(before: Option<&Self>, identity: &str, now: Millis) -> Option<Self> {
        let known = |last: &Self| last.identity == identity && now.saturating_sub(last.at) < NEWS_MS;
        let idle = identity.is_empty() || before.is_some_and(known);
        (!idle).then(|| Self { identity: identity.to_owned(), at: now })
    }

    /// Whether it still says something at `now`.
    pub fn is_known(&self, now: Millis) -> bool {
        now.saturating_sub(self.at) <= MEMORY_MS
    }

    /// Whether a connection that was last seen here shares the address `identity` (rules 4.6).
    pub fn shares(&self, identity: &str, now: Millis) -> bool {
        self.is_known(now) && self.identity == identity
    }
}

/// The providers of the rule, from what stands in [`PROVIDERS_ENV`] (rules 4.2).
pub fn providers(env: Option<&str>) -> Vec<String> {
    let text = env.unwrap_or("").trim().to_lowercase();
    match text.as_str() {
        "" => DEFAULT_PROVIDERS.map(str::to_owned).to_vec(),
        "none" | "off" | "false" | "0" => Vec::new(),
        list => list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect(),
    }
}

/// Whether a failure of a connection of such a provider speaks for its address (rules 4.3).
pub fn triggers(failure: &Failure, disable_cooling: bool) -> bool {
    let limited = matches!(failure.reason, Reason::QuotaExhausted | Reason::RateLimitExceeded);
    failure.status == 429 && limited && failure.terminal.is_none() && !disable_cooling
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_PROVIDERS, Egress, providers, triggers};
    use crate::ids::Class;
    use crate::time::Millis;
    use crate::verdict::{Case, End, Failure, Reason, Signal, TerminalRule, Verdict, judge};

    const T0: Millis = 1_768_478_400_000;
    const HOUR: Millis = 3_600_000;

    fn failure(status: u16, reason: Reason) -> Failure {
        match judge(&Signal::new(End::Status(status), None), &Case::of(Class::Apikey)) {
            Verdict::Failure(failure) => Failure { reason, terminal: None, ..failure },
            other => panic!("{status} is {other:?}"),
        }
    }

    #[test]
    fn rules_4_2_the_operators_list() {
        let default = DEFAULT_PROVIDERS.as_slice();
        let rows: [(Option<&str>, &[&str]); 9] = [
            (None, default),
            (Some(""), default),
            (Some("  "), default),
            (Some("none"), &[]),
            (Some("OFF"), &[]),
            (Some("False"), &[]),
            (Some("0"), &[]),
            (Some(" Acme, ,other ,"), &["acme", "other"]),
            (Some(","), &[]),
        ];
        for (env, want) in rows {
            assert_eq!(providers(env), want, "{env:?}");
        }
    }

    #[test]
    fn rules_4_3_what_triggers_it() {
        use Reason::{ConcurrencyLimited, QuotaExhausted, RateLimitExceeded};
        let rows = [
            ("E1", failure(429, RateLimitExceeded), true),
            ("E2", failure(429, QuotaExhausted), true),
            ("busy", failure(429, ConcurrencyLimited), false),
            ("E7", failure(402, QuotaExhausted), false),
            ("E7", failure(403, QuotaExhausted), false),
            ("400", failure(400, RateLimitExceeded), false),
            ("503", failure(503, QuotaExhausted), false),
        ];
        for (row, failure, want) in rows {
            assert_eq!(triggers(&failure, false), want, "{row}");
            assert!(!triggers(&failure, true), "E5");
            let unpaid = Failure { terminal: Some(TerminalRule::CreditsExhausted), ..failure };
            assert!(!triggers(&unpaid, false), "4.10");
        }
    }

    #[test]
    fn rules_4_6_an_address_is_remembered_for_a_day() {
        let seen = |hours: Millis| Egress { identity: "ip1".into(), at: T0 - hours * HOUR };
        assert!(seen(23).shares("ip1", T0), "B");
        assert!(seen(24).shares("ip1", T0) && !seen(24).shares("ip1", T0 + 1));
        assert!(!seen(25).shares("ip1", T0), "C");
        assert!(!seen(1).shares("ip2", T0), "E9");
    }

    #[test]
    fn only_what_moves_or_was_not_told_for_long_is_news() {
        let first = Egress::news(None, "ip1", T0).expect("the first");
        assert_eq!(Egress::news(Some(&first), "ip1", T0 + 599_999), None);
        assert_eq!(Egress::news(Some(&first), "ip1", T0 + 600_000).map(|seen| seen.at), Some(T0 + 600_000));
        assert_eq!(Egress::news(Some(&first), "ip2", T0 + 1).expect("moved").identity, "ip2");
        assert_eq!(Egress::news(Some(&first), "", T0 + 9 * HOUR), None, "4.6: not an empty one");
    }
}
