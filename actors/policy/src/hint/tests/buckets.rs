//! Resets of rate-limit buckets, which count on a 429 without a plainer header (core 3.3.3,
//! decision 32).

use super::{T0, wait, wait_at};
use crate::time::Millis;

/// 2026-01-01T00:00:00Z, the clock of FC-071 and FC-073.
const NEW_YEAR: Millis = 1_767_225_600_000;

#[test]
fn fc_073_one_parser_for_every_form_of_a_reset() {
    let rows = [
        ("1s", Some(1_000)),
        ("6m0s", Some(360_000)),
        ("2m30.5s", Some(150_500)),
        ("500ms", Some(1_000)),
        ("59.7ms", Some(1_000)),
        ("1h30m", Some(5_400_000)),
        ("60", Some(60_000)),
        ("1767225660", Some(60_000)),
        ("1767225660000", Some(60_000)),
        ("2026-01-01T00:01:00Z", Some(60_000)),
        ("2026-01-01T02:01:00.123+02:00", Some(60_123)),
        // The case writes 00:01 in a zone two hours ahead: that was two hours ago.
        ("2026-01-01T00:01:00.123+02:00", None),
        ("Thu, 01 Jan 2026 00:01:00 GMT", Some(60_000)),
        ("0", None),
        ("-1", None),
        ("abc", None),
    ];
    let buckets = [
        ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
        ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
        ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
        ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
        ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
        ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ];
    for (remaining, reset) in buckets {
        for (value, want) in rows {
            let headers = [(remaining, "0"), (reset, value)];
            assert_eq!(wait_at(NEW_YEAR, 429, &headers), want, "{reset}: {value}");
            assert_eq!(wait_at(NEW_YEAR, 503, &headers), None, "only a 429");
            assert_eq!(wait_at(NEW_YEAR, 429, &[(remaining, "1"), (reset, value)]), None, "not empty");
            assert_eq!(wait_at(NEW_YEAR, 429, &[(reset, value)]), None, "remaining unknown");
        }
    }
}

#[test]
fn the_latest_reset_of_the_empty_buckets_counts() {
    let both = |requests, tokens| {
        wait(&[
            ("x-ratelimit-remaining-requests", requests),
            ("x-ratelimit-reset-requests", "90s"),
            ("x-ratelimit-remaining-tokens", tokens),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ])
    };
    assert_eq!(both("0", "0"), Some(360_000), "the latest");
    assert_eq!(both("0", "17"), Some(90_000), "only empty ones");
    assert_eq!(both("0.0", "0.5"), Some(90_000), "0 however written");
    assert_eq!(both("3", "17"), None);
    let anthropic = wait(&[
        ("anthropic-ratelimit-requests-remaining", "0"),
        ("anthropic-ratelimit-requests-reset", "2026-01-15T12:00:30Z"),
        ("anthropic-ratelimit-output-tokens-remaining", "0"),
        ("anthropic-ratelimit-output-tokens-reset", "2026-01-15T12:02:00Z"),
        ("anthropic-ratelimit-tokens-remaining", "900"),
        ("anthropic-ratelimit-tokens-reset", "2026-01-15T13:00:00Z"),
    ]);
    assert_eq!(anthropic, Some(120_000));
}

#[test]
fn a_rejected_unified_limit_tells_its_reset_on_a_429() {
    let unified = |status, reset| {
        [("anthropic-ratelimit-unified-status", status), ("anthropic-ratelimit-unified-reset", reset)]
    };
    assert_eq!(wait(&unified("rejected", "1768482000")), Some(3_600_000));
    assert_eq!(wait(&unified("allowed", "1768482000")), None);
    assert_eq!(wait(&unified("0", "1768482000")), None);
    assert_eq!(wait(&unified("rejected", "1768478300")), None, "past");
    assert_eq!(wait_at(T0, 529, &unified("rejected", "1768482000")), None, "only a 429");
}

#[test]
fn buckets_are_silent_beside_a_plainer_header() {
    // Core 3.3.3: present, not merely usable.
    let rows = [
        ("retry-after", "45", Some(45_000)),
        ("retry-after", "0", None),
        ("x-ratelimit-reset", "1768478490", Some(90_000)),
        ("x-ratelimit-reset", "7", None),
        ("x-unrelated", "7", Some(360_000)),
    ];
    for (name, value, want) in rows {
        let headers =
            [(name, value), ("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0s")];
        assert_eq!(wait(&headers), want, "{name}: {value}");
    }
}
