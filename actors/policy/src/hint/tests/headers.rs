//! H1–H4, decision 32, and the field cases of `Retry-After`, as literal rows: what a provider
//! wrote, what we wait.

use super::{T0, wait};
use crate::hint::{HEADERS, Hint, HintSource, from_headers, is_read};
use crate::time::{DAY, Millis};

#[test]
fn forms_of_retry_after() {
    let rows: [(&str, &str, Option<Millis>); 33] = [
        ("H1", "45", Some(45_000)),
        ("H1", " 45\t", Some(45_000)),
        ("H2", "Thu, 15 Jan 2026 12:02:00 GMT", Some(120_000)),
        ("H2 past", "Thu, 15 Jan 2026 11:59:00 GMT", None),
        ("decision 3: skew", "Thu, 15 Jan 2026 11:59:55 GMT", Some(1_000)),
        ("decision 3: skew", "Thu, 15 Jan 2026 11:59:54 GMT", None),
        ("decision 3: now", "Thu, 15 Jan 2026 12:00:00 GMT", Some(1_000)),
        ("before 1970", "Thu, 15 Jan 1950 12:00:00 GMT", None),
        ("H3", "30s", Some(30_000)),
        ("H3", "5m", Some(300_000)),
        ("H3", "2h", Some(7_200_000)),
        ("decision 4", "1h5m", Some(3_900_000)),
        ("decision 4", "1h 5m", Some(3_900_000)),
        ("FC-070: floor of 1 s", "0.5", Some(1_000)),
        ("FC-070", "1.0", Some(1_000)),
        ("FC-070", "2.5", Some(2_500)),
        ("FC-071: 15 s hence", "1768478415", Some(15_000)),
        ("FC-071: in ms", "1768478460000", Some(60_000)),
        ("FC-072: not discarded", "135734", Some(135_734_000)),
        ("FC-072: clamped", "999999999", Some(30 * DAY)),
        ("decision 3", "99999999999999999999", Some(30 * DAY)),
        ("zero", "0", None),
        ("negative", "-5", None),
        ("exponent", "1e5", None),
        ("infinite", "inf", None),
        ("not a number", "NaN", None),
        ("two points", "1.2.3", None),
        ("a sign inside", "1.+5", None),
        ("garbage past the 9th decimal", "1.123456789x", None),
        ("in words", "2 minutes", Some(120_000)),
        ("units without numbers", "hms", None),
        ("garbage", "1h5", None),
        ("empty", "", None),
    ];
    for (row, value, want) in rows {
        assert_eq!(wait(&[("retry-after", value)]), want, "{row}: {value}");
    }
}

#[test]
fn the_more_precise_header_wins() {
    type Row<'a> = (&'a [(&'a str, &'a str)], Option<Millis>);
    let rows: [Row<'_>; 9] = [
        (&[("retry-after-ms", "1500")], Some(1_500)),
        (&[("retry-after", "2"), ("retry-after-ms", "1500")], Some(1_500)),
        (&[("x-ms-retry-after-ms", "2500.4"), ("retry-after", "9")], Some(2_500)),
        (&[("retry-after-ms", "0"), ("x-ms-retry-after-ms", "-1"), ("retry-after", "9")], Some(9_000)),
        (&[("retry-after-ms", "20")], Some(1_000)),
        // E9, E10.
        (&[("x-ratelimit-reset", "1768478490")], Some(90_000)),
        (&[("x-ratelimit-reset", "1768478700000")], Some(300_000)),
        (&[("x-ratelimit-reset", "60")], None),
        // E64 by decision 4: a Retry-After of the past is skipped.
        (
            &[("retry-after", "Thu, 15 Jan 2026 11:59:00 GMT"), ("x-ratelimit-reset", "1768478490")],
            Some(90_000),
        ),
    ];
    for (headers, want) in rows {
        assert_eq!(wait(headers), want, "{headers:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_skipped() {
    let get = |name: &str| match name {
        "retry-after-ms" => Some(&b"\xff15"[..]),
        "retry-after" => Some("１２".as_bytes()),
        "x-ratelimit-reset" => Some(&b"1768478490"[..]),
        _ => None,
    };
    let want = Hint { wait_ms: 90_000, source: HintSource::Header };
    assert_eq!(from_headers(get, 429, T0), Some(want));
}

#[test]
fn the_list_names_what_is_read_and_nothing_else() {
    let asked = std::cell::RefCell::new(Vec::new());
    let get = |name: &str| {
        asked.borrow_mut().push(name.to_owned());
        match name {
            "retry-after" | "x-ratelimit-reset" => None,
            "anthropic-ratelimit-unified-status" => Some(&b"rejected"[..]),
            _ => Some(&b"0"[..]),
        }
    };
    assert_eq!(from_headers(get, 429, T0), None);
    let mut asked = asked.into_inner();
    asked.sort();
    asked.dedup();
    let mut listed = HEADERS.to_vec();
    listed.sort_unstable();
    assert_eq!(asked, listed);
    assert!(is_read("Retry-After") && is_read("DATE"), "names are case-insensitive");
    assert!(!is_read("set-cookie") && !is_read("retry-after-"));
}
