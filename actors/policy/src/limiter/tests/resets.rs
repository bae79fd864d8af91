//! How the headers are read (flow 4.5, 4.16): E73, both dialects, and what is not believed.

use super::{Headers, T0, free, of};
use crate::limiter::RateHeaders;
use crate::time::Millis;

fn read(provider: &str, headers: Headers<'_>) -> Option<RateHeaders> {
    RateHeaders::read(provider, of(headers), 200, T0)
}

/// When the reservoir is refilled after an answer with nothing left and this reset, ms.
fn refilled_after(reset: Option<&str>) -> Option<Millis> {
    let counts = [("x-ratelimit-limit-requests", "60"), ("x-ratelimit-remaining-requests", "0")];
    let reset = reset.map(|reset| ("x-ratelimit-reset-requests", reset));
    let headers: Vec<_> = counts.into_iter().chain(reset).collect();
    let mut limiter = free();
    limiter.learn(&read("openai", &headers)?, T0);
    limiter.view(T0).refill_every_ms
}

#[test]
fn row_e73() {
    let rows = [
        (Some("1m30s"), 90_000),
        (Some("60"), 60_000),
        (Some("250ms"), 250),
        (Some("0"), 60_000),
        (None, 60_000),
        // Flow 4.16: the other forms, and what is none.
        (Some("1h2m3s4ms"), 3_723_004),
        (Some("1768478490"), 90_000),
        (Some("1768478490000"), 90_000),
        (Some("1700000000"), 2_592_000_000),
        (Some("2026-01-15T12:00:20Z"), 20_000),
        (Some("Thu, 15 Jan 2026 12:01:30 GMT"), 90_000),
        (Some("2026-01-15T11:00:00Z"), 60_000),
        (Some("1768474800"), 60_000),
        (Some("0s"), 60_000),
        (Some("-1"), 60_000),
        (Some("soon"), 60_000),
        (Some(""), 60_000),
        (Some("99999999999999999999999s"), 2_592_000_000),
    ];
    for (reset, want) in rows {
        assert_eq!(refilled_after(reset), Some(want), "{reset:?}");
    }
}

/// Decision 3: a reset that has just been is not a minute away.
#[test]
fn a_reset_that_is_a_little_late_is_a_second_away() {
    assert_eq!(refilled_after(Some("2026-01-15T11:59:57Z")), Some(1_000));
}

/// The table of flow 4.5; an account under any name may speak either dialect.
#[test]
fn both_dialects_are_read_whatever_the_provider_is_called() {
    let usual: Headers<'_> = &[
        ("x-ratelimit-limit-requests", " 60 "),
        ("x-ratelimit-remaining-requests", "5"),
        ("x-ratelimit-reset-requests", "20s"),
    ];
    let anthropic: Headers<'_> = &[
        ("anthropic-ratelimit-requests-limit", "60"),
        ("anthropic-ratelimit-requests-remaining", "5"),
        ("anthropic-ratelimit-requests-reset", "2026-01-15T12:00:20Z"),
    ];
    for provider in ["openai", "claude", "anthropic", "my-own"] {
        for headers in [usual, anthropic] {
            assert_eq!(read(provider, headers), Some(super::told(60, 5, 20_000)), "{provider} {headers:?}");
        }
    }
}

#[test]
fn the_dialect_of_the_provider_is_read_first() {
    let both: Headers<'_> =
        &[("x-ratelimit-limit-requests", "60"), ("anthropic-ratelimit-requests-limit", "50")];
    let limit = |provider| read(provider, both).unwrap().limit;
    assert_eq!((limit("openai"), limit("claude"), limit("anthropic")), (Some(60), Some(50), Some(50)));
}

#[test]
fn without_a_usable_limit_there_is_nothing_to_learn() {
    let rows: [Headers<'_>; 8] = [
        &[],
        &[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "20s")],
        &[("x-ratelimit-limit-requests", "0")],
        &[("x-ratelimit-limit-requests", "-1")],
        &[("x-ratelimit-limit-requests", "unlimited")],
        &[("x-ratelimit-limit-requests", "")],
        &[("x-ratelimit-over-limit", "no")],
        &[("x-ratelimit-limit-tokens", "60"), ("retry-after", "5")],
    ];
    for headers in rows {
        assert_eq!(read("openai", headers), None, "{headers:?}");
    }
    assert!(read("openai", &[("x-ratelimit-over-limit", " Yes")]).unwrap().over_limit);
    let fraction = read("openai", &[("x-ratelimit-limit-requests", "60.9")]).unwrap();
    assert_eq!((fraction.limit, fraction.remaining), (Some(60), None));
}

/// Every header that is looked for is in the list by which a caller may keep some of an answer.
#[test]
fn the_list_of_names_is_complete() {
    let asked = std::cell::RefCell::new(Vec::new());
    for limit in ["", "60"] {
        RateHeaders::read(
            "claude",
            |name| {
                asked.borrow_mut().push(name.to_owned());
                name.contains("limit-requests").then_some(limit.as_bytes())
            },
            200,
            T0,
        );
    }
    for name in asked.into_inner() {
        assert!(name == "date" || RateHeaders::NAMES.contains(&name.as_str()), "{name}");
    }
}

/// On the hot path: an answer without such headers costs three look-ups.
#[test]
fn an_answer_without_limits_costs_three_look_ups() {
    let asked = std::cell::Cell::new(0);
    let find = |_: &str| {
        asked.set(asked.get() + 1);
        None
    };
    assert_eq!(RateHeaders::read("openai", find, 200, T0), None);
    assert_eq!(asked.get(), 3);
}
