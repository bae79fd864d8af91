use super::{AccountReading, MOST, READERS, Readings, UNTIMED_MS, WindowReading, read};
use crate::strategy::QuotaWindow::{Monthly, Session, Weekly};
use crate::time::{HOUR, MINUTE, Millis, SECOND};

const T0: Millis = 1_768_500_000_000;

fn of(headers: &[(&str, &str)]) -> Option<AccountReading> {
    let owned: Vec<(&str, &[u8])> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    read(&move |name| owned.iter().find(|(known, _)| *known == name).map(|(_, value)| *value), T0)
}

fn window(used: f64, resets_at: Option<Millis>) -> Option<WindowReading> {
    Some(WindowReading { used, resets_at })
}

#[test]
fn unified_headers_name_windows_and_the_limit() {
    const A: &str = "anthropic-ratelimit-unified-";
    let header = |name: &str| format!("{A}{name}");
    let names = ["5h-utilization", "5h-reset", "7d-utilization", "7d-reset", "status", "reset"].map(header);
    let all = |values: [&'static str; 6]| -> Vec<(&str, &str)> {
        let stated = names.iter().map(String::as_str).zip(values);
        stated.filter(|(_, value)| !value.is_empty()).collect()
    };
    let known = AccountReading { seen_at: T0, ..AccountReading::default() };
    let rows = [
        (
            ["0.25", "1768503600", "0.5", "1768586400000", "allowed", "1768503600"],
            Some(AccountReading {
                session: window(0.25, Some(T0 + HOUR)),
                weekly: window(0.5, Some(T0 + 24 * HOUR)),
                overall: window(0.5, Some(T0 + HOUR)),
                ..known.clone()
            }),
        ),
        (
            ["", "", "", "", "rejected", "2026-01-15T19:00:00Z"],
            Some(AccountReading {
                overall: window(1.0, Some(T0 + HOUR)),
                limit_reached: true,
                ..known.clone()
            }),
        ),
        (["", "", "", "", "allowed_warning", ""], Some(known)),
        (["NaN", "1768503600", "-1", "", "", "1768503600"], None),
        (["much", "", "", "", "", ""], None),
    ];
    for (values, expected) in rows {
        assert_eq!(of(&all(values)), expected, "{values:?}");
    }
}

#[test]
fn buckets_are_an_overall_use() {
    let requests = |left, reset| {
        [("x-ratelimit-limit-requests", "100"), ("x-ratelimit-remaining-requests", left), reset]
    };
    let reset = ("x-ratelimit-reset-requests", "6m0s");
    let overall = |headers: &[(&str, &str)]| of(headers).and_then(|reading| reading.overall);
    assert_eq!(overall(&requests("40", reset)), window(0.6, Some(T0 + 6 * MINUTE)));
    let tokens = [
        ("x-ratelimit-limit-tokens", "1000"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-tokens", "59.7s"),
    ];
    let both: Vec<_> = requests("40", reset).into_iter().chain(tokens).collect();
    assert_eq!(overall(&both), window(1.0, Some(T0 + 59_700)), "the fuller bucket speaks");
    assert!(!of(&both).unwrap().limit_reached);
    assert_eq!(overall(&requests("170", reset)), window(0.0, Some(T0 + 6 * MINUTE)), "more than all");
    assert_eq!(overall(&requests("40", ("other", "1s"))), window(0.6, None));
    for nothing in [&[("x-ratelimit-limit-requests", "0"), ("x-ratelimit-remaining-requests", "0")][..], &[]]
    {
        assert_eq!(of(nothing), None);
    }
    assert_eq!(READERS.iter().map(|reader| reader.name()).collect::<Vec<_>>(), ["anthropic", "openai"]);
}

#[test]
fn a_use_ends_with_its_window() {
    let reading = AccountReading {
        session: window(0.9, Some(T0 + HOUR)),
        weekly: window(0.3, None),
        overall: window(1.0, Some(T0 + HOUR)),
        limit_reached: true,
        seen_at: T0,
        ..AccountReading::default()
    };
    let left = |now| reading.left(&[Session, Weekly], now).map(|left| (left * 10.0).round());
    assert_eq!(left(T0), Some(1.0));
    assert_eq!(reading.left(&[Weekly], T0), Some(0.7));
    assert_eq!(left(T0 + UNTIMED_MS), Some(1.0), "the session speaks alone");
    assert_eq!(left(T0 + HOUR), None, "both have started anew");
    assert_eq!(reading.left(&[Monthly], T0), None, "the overall use is not a window's");
    assert!(reading.is_limited(T0 + HOUR - 1) && !reading.is_limited(T0 + HOUR));
    let untimed = AccountReading { overall: None, ..reading };
    assert!(untimed.is_limited(T0 + UNTIMED_MS - 1) && !untimed.is_limited(T0 + UNTIMED_MS));
    let whole = AccountReading { overall: window(1.3, None), seen_at: T0, ..AccountReading::default() };
    assert_eq!(whole.left(&[Session], T0), Some(0.0), "overdrawn");
}

#[test]
fn the_book_joins_what_comes_in_order_and_is_bounded() {
    let (mut book, account) = (Readings::default(), "c0".into());
    let session =
        |used, seen_at| AccountReading { session: window(used, None), seen_at, ..AccountReading::default() };
    book.read(&account, AccountReading { weekly: window(0.2, None), ..session(0.1, T0) });
    book.read(&account, session(0.4, T0 + SECOND));
    book.read(&account, session(0.3, T0 + 1));
    let known = book.get(&account).unwrap();
    assert_eq!((known.session, known.weekly), (window(0.4, None), window(0.2, None)));
    for n in 1..=MOST as u64 {
        book.read(&format!("c{n}").as_str().into(), session(0.0, T0 + HOUR + n));
    }
    assert_eq!(book.get(&account), None, "the oldest made room");
    assert!(book.get(&"c1".into()).is_some());
    book.forget(&"c1".into());
    assert_eq!(book.get(&"c1".into()), None);
}
