//! Errors inside a stream, and streams that end before they begin (flow 6.2, 6.10; decision 12c).

use super::super::{BreakerMark, Case, CooldownRule, End, Failure, Reason, Signal, Then, Verdict, judge};
use crate::ids::Class::Apikey;

fn inside(case: &Case<'_>, status: u16, text: &str) -> Failure {
    let signal = Signal { text: text.to_owned(), ..Signal::new(End::InStream(status), None) };
    match judge(&signal, case) {
        Verdict::Failure(failure) => failure,
        other => panic!("{other:?}"),
    }
}

/// FC-001, FC-002: the error's own kind decides, as if its status had come in time.
#[test]
fn fc_001_an_error_in_a_stream_is_judged_as_its_status() {
    for (status, text, reason, then) in [
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Reason::ModelCapacity,
            Then::NextOrOnce,
        ),
        (429, r#"{"error":{"code":"insufficient_quota"}}"#, Reason::QuotaExhausted, Then::Next),
        (500, r#"{"error":{"type":"server_error"}}"#, Reason::ServerError, Then::NextOrRetry),
    ] {
        let case = Case::of(Apikey);
        let failure = inside(&case, status, text);
        let signal = Signal { text: text.to_owned(), ..Signal::new(End::Status(status), None) };
        assert_eq!(judge(&signal, &case), Verdict::Failure(failure.clone()), "{text}");
        assert_eq!((failure.status, failure.reason, failure.then), (status, reason, then), "{text}");
    }
}

/// Flow 6.10.48: a gateway misstates statuses, and this is none.
#[test]
fn no_status_is_restated_inside_a_stream() {
    let gateway = Case { provider: "agentrouter", ..Case::of(Apikey) };
    let failure = inside(&gateway, 403, "额度不足");
    assert_eq!((failure.status, failure.restated_from), (403, None));
}

/// E93, FC-028: it blames nobody, and is worth one more try where nobody else is left.
#[test]
fn e93_a_stream_that_ends_before_it_begins_is_tried_once_more() {
    let Verdict::Failure(failure) = judge(&Signal::new(End::EarlyEof, None), &Case::of(Apikey)) else {
        panic!("a failure");
    };
    assert_eq!(
        (failure.status, failure.then, failure.cooldown, failure.breaker),
        (502, Then::NextOrOnce, CooldownRule::Nothing, BreakerMark::Ignored)
    );
}
