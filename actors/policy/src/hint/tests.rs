//! What a provider wrote and what we wait, as literal rows, by where it stood.

mod bodies;
mod buckets;
mod dates;
mod headers;
mod resets;
mod texts;

use super::{Hint, HintSource, find, from_body, from_headers};
use crate::time::Millis;

/// 2026-01-15T12:00:00Z
const T0: Millis = 1_768_478_400_000;

type Headers<'a> = &'a [(&'a str, &'a str)];
type Stated = Option<(Millis, HintSource)>;

fn of<'a>(headers: Headers<'a>) -> impl Fn(&str) -> Option<&'a [u8]> {
    |name| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_bytes())
}

fn wait_at(now: Millis, status: u16, headers: Headers<'_>) -> Option<Millis> {
    let hint = from_headers(of(headers), status, now)?;
    assert_eq!(hint.source, HintSource::Header);
    Some(hint.wait_ms)
}

fn wait(headers: Headers<'_>) -> Option<Millis> {
    wait_at(T0, 429, headers)
}

/// What a body states, as (wait, source).
fn stated(body: &str) -> Stated {
    from_body(body, T0).map(|hint| (hint.wait_ms, hint.source))
}

#[test]
fn the_first_source_that_yields_a_wait_wins() {
    // Core 3.3; E13 is row 4. FC-021: a header wins over the body.
    let info = r#"{"error":{"details":[{"@type":"x/google.rpc.RetryInfo","retryDelay":"12s"}],"message":"Please retry in 7s"}}"#;
    let zero = r#"{"error":{"details":[{"@type":"x/google.rpc.RetryInfo","retryDelay":"0s"}],"message":"Please retry in 7s"}}"#;
    let past = "Thu, 15 Jan 2026 11:59:00 GMT";
    let rows: [(Headers<'_>, &str, Stated); 7] = [
        (&[("retry-after", "45")], info, Some((45_000, HintSource::Header))),
        (&[("retry-after", "5")], info, Some((5_000, HintSource::Header))),
        (&[("x-ratelimit-reset", "1768478490")], info, Some((90_000, HintSource::Header))),
        (&[("retry-after", "0")], info, Some((12_000, HintSource::GoogleRpcRetryInfo))),
        (&[("retry-after", past)], info, Some((12_000, HintSource::GoogleRpcRetryInfo))),
        (&[("retry-after", "-1")], zero, Some((7_000, HintSource::Body))),
        (&[], "<html>Too many requests</html>", None),
    ];
    for (headers, body, want) in rows {
        let found = find(of(headers), body, 429, T0).map(|hint| (hint.wait_ms, hint.source));
        assert_eq!(found, want, "{headers:?} {body}");
    }
}

#[test]
fn a_typed_wait_is_authoritative_and_words_are_not() {
    // Core 5.3.2.
    let is = [HintSource::Header, HintSource::GoogleRpcRetryInfo, HintSource::Body]
        .map(HintSource::is_authoritative);
    assert_eq!(is, [true, true, false]);
    assert_eq!(Hint::new(0, HintSource::Body).wait_ms, 1_000);
}
