//! Waits in words: H8–H13, E18–E22, E63, E65, E66.

use super::{HintSource, T0, stated};
use crate::hint::from_body;
use crate::time::{DAY, HOUR, Millis};

#[test]
fn sentences_that_state_a_wait() {
    let rows = [
        ("E18, H8", "Please retry in 54.472178091s", Some(54_472)),
        ("FC-075", "Please retry in 26.66s.", Some(26_660)),
        ("H8", "PLEASE RETRY IN 5 s", Some(5_000)),
        ("H8: 24 h", "Please retry in 172800s", Some(DAY)),
        ("H8, OpenAI", "Rate limit reached. Please try again in 6m0s.", Some(360_000)),
        ("H8, OpenAI", "Please try again in 1.498s. Visit", Some(1_498)),
        ("E19, H10", "resets after 1h2m3s", Some(3_723_000)),
        ("E66 by decision 4", "resets after 1h 5m", Some(3_900_000)),
        ("H10", "Your quota will reset after 45s.", Some(45_000)),
        ("H10", "reset in 2h", Some(7_200_000)),
        ("H10: any part", "resets in 3m", Some(180_000)),
        ("H10: as far as it goes", "resets in 5m 30 requests", Some(300_000)),
        ("E20, H9", "try again at 2026-01-15 12:10:00", Some(600_000)),
        ("H9: T", "Try again at 2026-01-15T12:10:00.", Some(600_000)),
        ("H9: zone", "wait until 2026-01-15T14:10:00+02:00", Some(600_000)),
        ("H9: zone", "reset at 2026-01-15 20:10:00 +0800 CST", Some(600_000)),
        ("H9: UTC", "resets at 2026-01-15 12:10 UTC", Some(600_000)),
        ("H9: fraction", "available at 2026-01-15T12:10:00.250Z", Some(600_250)),
        ("H9", "Retry after 2026-01-15T12:10:00Z", Some(600_000)),
        ("H9: colon", "Resets at: 2026-01-15T12:10:00Z", Some(600_000)),
        ("H9: 30 d", "resets at 2026-12-24 12:00:00", Some(30 * DAY)),
        ("H9: past", "resets at 2026-01-14 12:00:00", None),
        ("H9: no such day", "resets at 2026-02-30 12:00:00", None),
        ("H9: no time", "resets at 2026-01-16", None),
        ("E21, H11", "Monthly limit reached. Resets in 13 days", Some(13 * DAY)),
        ("E22, H11", "Your quota will reset in 3 days.", Some(3 * DAY)),
        ("H11", "resets in 1 day", Some(DAY)),
        ("H11", "resets in 5 hours", Some(5 * HOUR)),
        ("decision 4", "Resets in 2 days 4 hours", Some(2 * DAY + 4 * HOUR)),
        ("H11: 30 d", "resets in 400 days", Some(30 * DAY)),
        ("H11: unknown unit", "resets in 2 weeks", None),
        ("H11: unknown unit", "resets in 1 month", None),
        ("E65, H12", "The quota will reset at 01-20 12:00:00 UTC", Some(5 * DAY)),
        ("H12: no seconds", "resets at 01-15 12:10", Some(600_000)),
        ("E63, H13", "Please retry after 20s", Some(20_000)),
        ("H13", "retry after 20 seconds", Some(20_000)),
        ("H13: 24 h", "retry after 90000s", Some(DAY)),
        ("any blanks", "Resets \n\t in  20 s", Some(20_000)),
        ("no unit", "Retry after 20", None),
        ("no phrase", "it takes 20s", None),
        ("inside a word", "presets in 20s", None),
        ("inside a word", "resets inn 20s", None),
        ("zero", "resets in 0s", None),
        ("zero, then a wait", "resets in 0s or resets in 9s", Some(9_000)),
        ("negative", "retry after -5s", None),
        ("floor of 1 s", "Please retry in 20ms", Some(1_000)),
        ("overflow", "resets in 99999999999999999999999999999999999999999 days", Some(30 * DAY)),
    ];
    for (row, text, want) in rows {
        stands_anywhere(row, text, want);
    }
}

/// As it is, in a page, and in JSON with its escapes.
fn stands_anywhere(row: &str, text: &str, want: Option<Millis>) {
    let want = want.map(|wait_ms| (wait_ms, HintSource::Body));
    let places = [
        text.to_owned(),
        format!("<html><body>é\u{fffd}<p>{text}</p></body></html>"),
        format!(r#"{{"error":{{"message":"Limit.\n{text}\n"}}}}"#),
        format!(r#"{{"error":"{{\"message\":\"Limit.\\n{text}\"}}"}}"#),
        // As Go escapes a tag.
        format!(r#"{{"error":{{"message":"\u003cb\u003e{text}\u003c/b\u003e"}}}}"#),
    ];
    for body in places {
        assert_eq!(stated(&body), want, "{row}: {body}");
    }
}

#[test]
fn the_rows_are_read_in_the_order_of_the_table() {
    let rows = [
        ("H8 before H9", "try again at 2026-01-15 12:10:00 or retry in 5s", 5_000),
        ("H9 before H10", "resets in 5s, that is: resets at 2026-01-15 12:10:00", 600_000),
        ("H10 before H12", "resets at 01-20 12:00:00, that is: resets in 5s", 5_000),
        ("H12 before H13", "retry after 5s; resets at 01-15 12:10:00", 600_000),
        ("a past date is skipped", "resets at 2026-01-15 11:00:00; retry after 5s", 5_000),
    ];
    for (row, text, want) in rows {
        assert_eq!(stated(text), Some((want, HintSource::Body)), "{row}");
    }
}

#[test]
fn h12_is_the_next_occurrence() {
    let rows = [
        // 2026-12-31T23:00:00Z
        (1_798_758_000_000, "reset at 01-01 01:00:00", Some(2 * HOUR)),
        (1_798_758_000_000, "reset at 12-31 23:30", Some(HOUR / 2)),
        (T0, "reset at 01-15 11:59:54", Some(30 * DAY)),
        // Decision 3 forgives 5 s; the minute that was named is not over.
        (T0, "reset at 01-15 11:59:56", Some(1_000)),
        (T0 + 59_000, "reset at 01-15 12:00", Some(1_000)),
        (T0, "reset at 02-29 12:00:00", None),
        (T0, "reset at 13-01 12:00:00", None),
        (Millis::MAX, "reset at 01-15 12:00:00", None),
    ];
    for (now, text, want) in rows {
        assert_eq!(from_body(text, now).map(|hint| hint.wait_ms), want, "{text}");
    }
}

#[test]
fn near_misses_fill_a_body_without_a_wait() {
    let near =
        ["resets in ", "retry after 0s ", "try again at 2026-", "resets at 99-99 99:99 ", "\\", " \u{a0}9."];
    for part in near {
        let body = part.repeat(65_536 / part.len());
        assert_eq!(from_body(&body, T0), None, "{part}");
        assert_eq!(stated(&(body + " resets in 7s")), Some((7_000, HintSource::Body)), "{part}");
    }
}
