//! The three guards of a gateway that misstates its quota (README): its quota is not for good,
//! it is not the end of its credit, and its words mean this for it alone. A row of the registry
//! without a line in `GATEWAYS` fails here.

use std::collections::BTreeSet;

use super::super::restate::REGISTRY;
use crate::ids::Class;
use crate::verdict::{Case, End, Failure, Reason, Signal, TerminalRule, Verdict, judge};

/// What one gateway sends when a quota is used up.
struct Gateway {
    provider: &'static str,
    statuses: &'static [u16],
    /// As it comes on the wire.
    texts: &'static [&'static str],
}

const GATEWAYS: &[Gateway] = &[Gateway {
    provider: "agentrouter",
    statuses: &[400, 403, 429],
    texts: &[
        "用户额度不足",
        r#"{"error":{"message":"用户额度不足，请充值","type":"new_api_error"}}"#,
        r#"{"error":{"message":"\u989d\u5ea6\u4e0d\u8db3"}}"#,
    ],
}];

fn judged(provider: &str, status: u16, text: &str, class: Class) -> Failure {
    let signal = Signal { text: text.to_owned(), ..Signal::new(End::Status(status), None) };
    match judge(&signal, &Case { provider, model: Some("m"), ..Case::of(class) }) {
        Verdict::Failure(failure) => failure,
        other => panic!("{status} is {other:?}"),
    }
}

/// Every gateway, status, text and class.
fn all(check: impl Fn(&Gateway, u16, &str, &Failure)) {
    for gateway in GATEWAYS {
        for status in gateway.statuses {
            for text in gateway.texts {
                for class in [Class::Apikey, Class::Oauth] {
                    check(gateway, *status, text, &judged(gateway.provider, *status, text, class));
                }
            }
        }
    }
}

#[test]
fn every_gateway_of_the_registry_is_guarded() {
    let registered: BTreeSet<&str> = REGISTRY.iter().map(|row| row.provider).collect();
    let guarded: BTreeSet<&str> = GATEWAYS.iter().map(|gateway| gateway.provider).collect();
    assert!(registered.is_subset(&guarded), "{registered:?} but guarded are {guarded:?}");
}

#[test]
fn guard_1_its_quota_is_not_for_good() {
    all(|gateway, status, text, failure| {
        let at = format!("{} {status} {text}", gateway.provider);
        let ends = [Some(TerminalRule::Banned), Some(TerminalRule::ExpiredIfConfirmed)];
        assert!(!ends.contains(&failure.terminal), "{at}");
        assert_eq!((failure.reason, failure.status), (Reason::QuotaExhausted, 429), "{at}");
    });
}

#[test]
fn guard_2_its_quota_is_not_the_end_of_its_credit() {
    all(|gateway, status, text, failure| {
        assert_eq!(failure.terminal, None, "{} {status} {text}", gateway.provider);
    });
}

#[test]
fn guard_3_its_words_mean_this_for_it_alone() {
    all(|gateway, status, text, failure| {
        let at = format!("{} {status} {text}", gateway.provider);
        let rule = failure.rule.unwrap_or_else(|| panic!("its rule sees the full text: {at}"));
        assert!(rule.honoured, "the scope of its rule is acted on: {at}");
        let other = judged("acme", status, text, Class::Apikey);
        assert_eq!((other.rule, other.restated_from, other.status), (None, None, status), "{at}");
        assert_ne!(other.reason, Reason::QuotaExhausted, "{at}");
    });
}
