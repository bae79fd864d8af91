//! One row per status and per kind of end, written out a second time on purpose: a change of
//! the table must be meant. The texts, the worked examples and the rules have their own files.

mod decisions;
mod echo;
mod examples;
mod fields;
mod lists;
mod streams;
mod table;

use super::{
    BreakerMark, Case, CooldownRule, End, Failure, Kind, Level, Reason, Signal, TerminalRule, Then,
    Transport, Verdict, judge,
};
use crate::hint::{Hint, HintSource};
use crate::ids::Class;

use BreakerMark::{Counts, Ignored, Reachable};
use CooldownRule::{Base, Ladder, Nothing, Record, Scaled, Stall};
use Then::{Next, NextOrOnce, NextOrRetry, Stop};

const TRIP: BreakerMark = Counts(Kind::Transient);
const HOUR: CooldownRule = CooldownRule::Exact { ms: 3_600_000, level: Level::Keeps, stated: false };

fn failure(end: End) -> Failure {
    match judge(&Signal::new(end, None), &Case::of(Class::Apikey)) {
        Verdict::Failure(failure) => failure,
        other => panic!("{end:?} is {other:?}"),
    }
}

#[test]
fn statuses() {
    type Row<'a> = (&'a [u16], Reason, BreakerMark, CooldownRule, Then);
    let rows: [Row<'_>; 12] = [
        (&[408, 500, 502, 503, 504], Reason::ServerError, TRIP, Scaled, NextOrRetry),
        (&[429], Reason::RateLimitExceeded, Reachable, Scaled, NextOrRetry),
        (&[401], Reason::AuthError, Reachable, Ladder, Next),
        // E33: terminal, nothing else.
        (&[402], Reason::QuotaExhausted, Reachable, Nothing, Next),
        (&[403], Reason::AuthError, Reachable, Scaled, Next),
        (&[404, 410], Reason::NotFound, Reachable, Nothing, Next),
        (&[400, 413, 415, 422], Reason::Unknown, Reachable, Nothing, Stop),
        (&[406], Reason::ServerError, Reachable, Scaled, Next),
        (&[529], Reason::ModelCapacity, Reachable, Nothing, NextOrOnce),
        (&[432], Reason::QuotaExhausted, Reachable, HOUR, Next),
        (&[405, 407, 409, 411, 451, 499], Reason::Unknown, Reachable, Base, Next),
        (&[501, 505, 520, 524, 528, 530, 598, 599], Reason::ServerError, Reachable, Scaled, Next),
    ];
    for (statuses, reason, breaker, cooldown, then) in rows {
        for status in statuses {
            let got = failure(End::Status(*status));
            assert_eq!(
                (got.status, got.reason, got.breaker, got.cooldown, got.then),
                (*status, reason, breaker, cooldown, then)
            );
            assert_eq!(got.lock.is_some(), [404, 410, 529].contains(status), "{status}");
        }
    }
}

#[test]
fn redirects_and_oddities_stand_for_502() {
    for status in [300, 301, 302, 307, 308, 399] {
        let got = failure(End::Status(status));
        // FC-041: never followed; the address is misconfigured, the provider is not ill.
        assert_eq!(
            (got.status, got.breaker, got.cooldown, got.then),
            (502, Ignored, Record, Next),
            "{status}"
        );
    }
    for status in [0, 99, 100, 101, 199, 600, 999, u16::MAX] {
        assert_eq!(failure(End::Status(status)), failure(End::Transport(Transport::BadAnswer)), "{status}");
    }
}

#[test]
fn locks_of_404_and_529() {
    let lock = failure(End::Status(404)).lock.expect("decision 10");
    assert_eq!((lock.exact_key, lock.exact_ms, lock.keep_count), (false, None, false));
    let lock = failure(End::Status(529)).lock.expect("decision 12c");
    assert_eq!((lock.exact_key, lock.exact_ms, lock.keep_count), (true, Some(10_000), true));
    assert!(lock.authoritative);
}

#[test]
fn ends_without_a_status() {
    let network = (502, TRIP, Scaled, NextOrRetry);
    let rows = [
        (End::Transport(Transport::Refused), network),
        (End::Transport(Transport::Dns), network),
        (End::Transport(Transport::ConnectTimeout), network),
        (End::Transport(Transport::Tls), network),
        (End::Transport(Transport::Reset), network),
        (End::Transport(Transport::BadAnswer), network),
        (End::Transport(Transport::Truncated), network),
        (End::Transport(Transport::ProxyUnreachable), (502, Ignored, Scaled, Next)),
        (End::NoFirstByte, (504, TRIP, Nothing, Next)),
        (End::SendInterrupted, (502, Ignored, Nothing, Next)),
        (End::StallBeforeCommit, (504, Ignored, Stall, Next)),
        (End::Empty, (502, Ignored, Nothing, Next)),
        (End::CutAfterCommit, (502, TRIP, Scaled, Stop)),
        (End::StallAfterCommit, (504, Ignored, Stall, Stop)),
    ];
    for (end, want) in rows {
        let got = failure(end);
        assert_eq!((got.status, got.breaker, got.cooldown, got.then), want, "{end:?}");
        assert_eq!((got.reason, got.lock), (Reason::ServerError, None), "{end:?}");
    }
}

#[test]
fn fc_038_a_dead_refresh_token_ends_the_use_of_its_connection() {
    let got = failure(End::CredentialDead);
    assert_eq!((got.status, got.reason, got.terminal), (401, Reason::AuthError, Some(TerminalRule::Expired)));
    assert_eq!((got.breaker, got.cooldown, got.then), (Ignored, Nothing, Next));
}

#[test]
fn success_and_nobodys_fault() {
    let of = |end| judge(&Signal::new(end, None), &Case::of(Class::Oauth));
    assert!([200, 201, 204, 299].iter().all(|status| of(End::Status(*status)) == Verdict::Success));
    assert_eq!((of(End::ClientGone), of(End::Local)), (Verdict::Neutral, Verdict::Neutral));
}

#[test]
fn the_stated_wait_is_kept_for_every_failure() {
    let hint = Some(Hint::new(7_000, HintSource::Header));
    for end in [End::Status(400), End::Status(429), End::Status(529), End::Status(301), End::NoFirstByte] {
        let Verdict::Failure(failure) = judge(&Signal::new(end, hint), &Case::of(Class::Apikey)) else {
            panic!("{end:?} is a failure")
        };
        assert_eq!(failure.hint, hint, "{end:?}");
    }
}

#[test]
fn labels_for_metrics() {
    let label = |end| judge(&Signal::new(end, None), &Case::of(Class::Apikey)).label();
    let ends = [End::Status(200), End::ClientGone, End::Status(429), End::NoFirstByte, End::Status(404)];
    assert_eq!(ends.map(label), ["success", "neutral", "rate_limit_exceeded", "server_error", "not_found"]);
}
