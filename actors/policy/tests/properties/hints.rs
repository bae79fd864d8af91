//! Properties of hints: whatever an upstream sends, nothing panics and a wait is inside
//! [1 s, 30 days]; what is well written is read to the millisecond. The inputs are random bytes
//! and, because those seldom get past the first look, nearly right values.

use super::{T0, config};
use policy::hint::{HEADERS, Hint, HintSource, find, from_body, from_headers};
use policy::time::{DAY, Millis, SECOND};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;

fn now() -> impl Strategy<Value = Millis> {
    prop_oneof![4 => Just(T0), 1 => any::<u64>()]
}

/// A number, span or date, right or nearly so.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9.]{0,25}",
        "-?[0-9]{1,12}(\\.[0-9]{0,12})?(e[0-9])?",
        "([0-9]{1,9}(\\.[0-9]{1,12})?(ms|s|m|h|d| days| hours| minute|x)? ?){0,4}",
        "[A-Z][a-z]{2}, [0-9]{2} (Jan|Feb|[A-Z][a-z]{2}) 20[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} (GMT|\\+0200)",
        "(20[0-9]{2}|[0-9]{4})-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\\.[0-9]{0,10})?)?( ?[+-][0-9]{2}:?[0-9]{2}|Z)?",
        "[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-6][0-9](:[0-6][0-9])?( UTC)?",
        Just("0".into()),
        Just("rejected".into()),
    ]
}

fn header() -> impl Strategy<Value = Option<Vec<u8>>> {
    option::of(prop_oneof![
        1 => vec(any::<u8>(), 0..40),
        5 => value().prop_map(String::into_bytes),
    ])
}

/// A sentence that states a wait, or nearly.
fn sentence() -> impl Strategy<Value = String> {
    let phrases = [
        "Please retry in",
        "try again in",
        "Try again at",
        "wait until",
        "reset at",
        "resets AT",
        "available at",
        "retry after",
        "reset after",
        "resets in",
        "\\nresets  in",
        "presets in",
        "resets",
    ];
    (select(phrases.to_vec()), "[ :\\t]{0,3}", value(), ".{0,8}")
        .prop_map(|(phrase, blank, value, end)| format!("{phrase}{blank}{value}{end}"))
}

/// An object that states a wait, or nearly.
fn object() -> impl Strategy<Value = String> {
    let names = ["retryAfter", "retry_after_ms", "retryAfterMs", "resets_in_seconds", "resets_at", "message"];
    let field = (select(names.to_vec()), value(), any::<bool>()).prop_map(|(name, value, quoted)| {
        let quote = if quoted { "\"" } else { "" };
        format!("\"{name}\":{quote}{value}{quote}")
    });
    let detail = (select(&["RetryInfo", "ErrorInfo", "Help"][..]), value()).prop_map(|(kind, value)| {
        format!(
            "\"details\":[{{\"@type\":\"type.googleapis.com/google.rpc.{kind}\",\"retryDelay\":\"{value}\",\
             \"metadata\":{{\"quotaResetDelay\":\"{value}\"}}}}]"
        )
    });
    let wraps = [("{", "}"), ("{\"error\":{", "}}"), ("[{\"error\":{", "}}]"), ("[", "]"), ("{", "")];
    (select(wraps.to_vec()), prop_oneof![field, detail])
        .prop_map(|((open, close), inside)| format!("{open}{inside}{close}"))
}

fn body() -> impl Strategy<Value = String> {
    let binary = vec(any::<u8>(), 0..300).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    prop_oneof![1 => binary, 4 => sentence(), 4 => object(), 2 => (sentence(), object()).prop_map(|(a, b)| a + &b)]
}

fn is_bounded(hint: Option<Hint>) -> bool {
    hint.is_none_or(|hint| (Hint::MIN_MS..=Hint::MAX_MS).contains(&hint.wait_ms))
}

/// An instant as a date of this century, counted day by day: another way than the one under test.
fn written(at: Millis) -> String {
    let (mut day, ms) = (at / DAY, at % DAY);
    let (mut year, mut month) = (1970, 0);
    let leap = |year: u64| year.is_multiple_of(4);
    let length = |year: u64, month: usize| match month {
        1 => 28 + u64::from(leap(year)),
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    };
    while day >= length(year, month) {
        day -= length(year, month);
        month = (month + 1) % 12;
        year += u64::from(month == 0);
    }
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / SECOND % 60);
    format!("{year}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}.{:03}", month + 1, day + 1, ms % SECOND)
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn any_answer_states_nothing_or_a_bounded_wait(
        values in vec(header(), HEADERS.len()),
        body in body(),
        status in prop_oneof![Just(429), any::<u16>()],
        now in now(),
    ) {
        let get = |name: &str| {
            let index = HEADERS.iter().position(|known| *known == name).expect("a listed header");
            values[index].as_deref()
        };
        let (header, found) = (from_headers(get, status, now), find(get, &body, status, now));
        prop_assert!(is_bounded(header) && is_bounded(found));
        prop_assert!(header.is_none_or(|hint| hint.source == HintSource::Header));
        prop_assert!(header.is_none() || found == header, "a header is read first");
    }

    #[test]
    fn any_body_states_nothing_or_a_bounded_wait(body in body(), now in now()) {
        let hint = from_body(&body, now);
        prop_assert!(is_bounded(hint));
        prop_assert!(hint.is_none_or(|hint| hint.source != HintSource::Header));
    }

    #[test]
    fn a_span_is_read_as_written(parts in vec((0_u64..1_000, select(&[("h", 3_600_000), ("m", 60_000), ("s", SECOND)][..])), 1..5), blank in " ?") {
        let written: Vec<String> = parts.iter().map(|(count, (unit, _))| format!("{count}{unit}")).collect();
        let sum: Millis = parts.iter().map(|(count, (_, ms))| count * ms).sum();
        let want = (sum > 0).then(|| sum.clamp(Hint::MIN_MS, Hint::MAX_MS));
        let body = format!("Your quota resets in {}.", written.join(&blank));
        prop_assert_eq!(from_body(&body, T0).map(|hint| hint.wait_ms), want, "{}", body);
    }

    #[test]
    fn a_date_is_read_as_written(wait in SECOND..30 * DAY, offset in -14_i8..=14) {
        let local = (T0 + wait).checked_add_signed(i64::from(offset) * 3_600_000).expect("this century");
        let text = format!("{}{}{:02}:00", written(local), if offset < 0 { '-' } else { '+' }, offset.unsigned_abs());
        let want = Some(wait);
        let get = |name: &str| (name == "retry-after").then_some(text.as_bytes());
        prop_assert_eq!(from_headers(get, 503, T0).map(|hint| hint.wait_ms), want, "{}", text);
        let body = format!("try again at {text}.");
        prop_assert_eq!(from_body(&body, T0).map(|hint| hint.wait_ms), want, "{}", text);
    }
}
