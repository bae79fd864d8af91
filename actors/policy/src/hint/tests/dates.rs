//! Dates in headers: whatever form they have, and against which clock (H2, FC-071, FC-122).

use super::{T0, of, wait, wait_at};
use crate::hint::{HintSource, find};
use crate::time::{DAY, HOUR, Millis};

#[test]
fn any_parsable_date_in_retry_after() {
    // H2.
    let rows = [
        ("Thu, 15 Jan 2026 12:02:00 GMT", Some(120_000)),
        ("Thursday, 15-Jan-26 12:02:00 GMT", Some(120_000)),
        ("Thu Jan 15 12:02:00 2026", Some(120_000)),
        ("Thu, 15 Jan 2026 14:02:00 +0200", Some(120_000)),
        ("2026-01-15T12:02:00Z", Some(120_000)),
        ("2026-01-15t12:02:00z", Some(120_000)),
        ("2026-01-15 12:02:00", Some(120_000)),
        ("2026-01-15T07:02:00.25-05:00", Some(120_250)),
        ("2026-13-15T12:02:00Z", None),
        ("2026-01-15T25:02:00Z", None),
        ("1926-01-15T12:02:00Z", None),
        ("9999-12-31T23:59:59Z", Some(30 * DAY)),
        ("10000-01-01T00:00:00Z", None),
        ("-9999-01-01T00:00:00Z", None),
    ];
    for (value, want) in rows {
        assert_eq!(wait(&[("retry-after", value)]), want, "{value}");
    }
    assert_eq!(wait(&[("x-ratelimit-reset", "2026-01-15T12:02:00Z")]), Some(120_000));
}

#[test]
fn fc_071_a_number_above_the_bound_is_an_instant() {
    let now = 1_767_225_600_000;
    let rows = [
        ("1767225660", Some(60_000)),
        ("1767225660000", Some(60_000)),
        // Decision 4 over "past: floor" of the case: the next source is read.
        ("1767225500", None),
        ("1767225596", Some(1_000)),
        ("1000000000", Some(30 * DAY)),
    ];
    for (value, want) in rows {
        assert_eq!(wait_at(now, 429, &[("retry-after", value)]), want, "{value}");
    }
    let ms = [("1767225660000", Some(60_000)), ("1000000000000", Some(30 * DAY)), ("1000000000001", None)];
    for (value, want) in ms {
        assert_eq!(wait_at(now, 429, &[("retry-after-ms", value)]), want, "{value}");
    }
}

#[test]
fn fc_122_the_answers_own_date_is_the_base_of_its_dates() {
    let ours = T0 + 7 * HOUR;
    let date = ("date", "Thu, 15 Jan 2026 12:00:00 GMT");
    let empty = ("anthropic-ratelimit-tokens-remaining", "0");
    type Row<'a> = (&'a [(&'a str, &'a str)], Option<Millis>);
    let rows: [Row<'_>; 8] = [
        (&[date, ("retry-after", "Thu, 15 Jan 2026 12:01:00 GMT")], Some(60_000)),
        (&[date, empty, ("anthropic-ratelimit-tokens-reset", "2026-01-15T12:01:00Z")], Some(60_000)),
        (&[date, ("retry-after", "45")], Some(45_000)),
        (&[("retry-after", "Thu, 15 Jan 2026 12:01:00 GMT")], None),
        (&[("date", "yesterday"), ("retry-after", "Thu, 15 Jan 2026 12:01:00 GMT")], None),
        // A number since the epoch is read against our clock.
        (&[date, ("x-ratelimit-reset", "1768478490")], None),
        (&[date, ("retry-after", "1768503660")], Some(60_000)),
        (&[date, ("retry-after-ms", "1768503660000")], Some(60_000)),
    ];
    for (headers, want) in rows {
        assert_eq!(wait_at(ours, 429, headers), want, "{headers:?}");
    }
    let bodies = [
        (r#"{"error":{"retryAfter":"2026-01-15T12:03:00Z"}}"#, 180_000),
        (r#"{"error":{"resets_at":"2026-01-15T12:03:00Z"}}"#, 180_000),
        (r#"{"error":{"resets_at":1768503660}}"#, 60_000),
        ("try again at 2026-01-15 12:03:00", 180_000),
        ("reset at 01-15 12:03:00", 180_000),
    ];
    for (body, want) in bodies {
        let found = find(of(&[date]), body, 429, ours).map(|hint| (hint.wait_ms, hint.source));
        assert_eq!(found, Some((want, HintSource::Body)), "{body}");
    }
}

#[test]
fn fc_122_a_date_within_the_forgiven_skew_is_no_other_clock() {
    let retry_after = ("retry-after", "Thu, 15 Jan 2026 12:01:00 GMT");
    for (date, want) in [
        ("Thu, 15 Jan 2026 11:59:55 GMT", 60_000),
        ("Thu, 15 Jan 2026 11:59:54 GMT", 66_000),
        ("Thu, 15 Jan 2026 12:00:05 GMT", 60_000),
        ("Thu, 15 Jan 2026 12:00:06 GMT", 54_000),
    ] {
        assert_eq!(wait(&[("date", date), retry_after]), Some(want), "{date}");
    }
}
