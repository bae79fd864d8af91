//! What the text rules of the verdict ask: the countdown of rules 3.5.2, and the reset that a
//! text states (core D13), neither of them clamped.

use super::T0;
use crate::hint::{countdown, reset_of};
use crate::time::{DAY, HOUR, MINUTE, Millis, SECOND};

#[test]
fn rules_3_5_2_a_countdown_is_a_whole_number_of_a_named_unit() {
    let rows = [
        ("Monthly usage limit reached. Resets in 13 days.", Some(1_123_200_000)),
        ("resets in 1 day", Some(DAY)),
        ("RESET IN 5 HOURS", Some(5 * HOUR)),
        ("reset in 2 minutes", Some(2 * MINUTE)),
        ("resets in 30 seconds", Some(30 * SECOND)),
        ("resets in 40 days", Some(40 * DAY)),
        ("resets in 2 days 3 hours", Some(2 * DAY + 3 * HOUR)),
        ("resets in 0 days", None),
        ("resets in 13", None),
        ("resets in 13 weeks", None),
        ("resets in 13 months", None),
        ("resets in 5h", None),
        ("resets in 1.5 days", None),
        ("resets in -1 days", None),
        ("resets after 13 days", None),
        ("resets soon", None),
        ("", None),
    ];
    for (text, want) in rows {
        assert_eq!(countdown(text), want, "{text}");
    }
}

#[test]
fn core_d13_the_reset_that_a_text_states() {
    let rows: [(&str, &str, Option<Millis>); 13] = [
        ("E24", "Weekly usage limit hit", None),
        (
            "E25",
            "[1310][Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-01-21 12:00:00]",
            Some(518_400_000),
        ),
        ("beyond 30 d", "Your limit will reset at 2026-02-24 12:00:00", Some(40 * DAY)),
        ("beyond 30 d", "resets in 40 days", Some(40 * DAY)),
        ("H9", "weekly limit, try again at 2026-01-16T12:00:00Z", Some(DAY)),
        ("H10", "weekly limit, resets after 1h2m3s", Some(3_723_000)),
        ("H12", "reset at 01-20 12:00:00 UTC", Some(5 * DAY)),
        ("pacing is no reset", "Weekly usage limit hit. Please retry in 5s", None),
        ("pacing is no reset", "Weekly usage limit hit. Retry after 5s", None),
        ("FC-075: under 1 ms", "resets in 0.0001ms", Some(1)),
        ("decision 3", "resets at 2026-01-15T12:00:00.200Z", Some(1_000)),
        ("decision 3", "resets at 01-15 12:00:00", Some(1_000)),
        ("past", "Your limit will reset at 2026-01-14 12:00:00", None),
    ];
    for (row, text, want) in rows {
        assert_eq!(reset_of(text, T0), want, "{row}: {text}");
    }
}
