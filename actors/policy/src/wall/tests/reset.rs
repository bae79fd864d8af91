//! Rules 9.6: the reset of the session limit.

use super::super::{Memo, Outcome, Round, Status, claimed, read_status};
use super::T0;
use crate::time::{DAY, MINUTE, Millis};

/// T0 plus so many days, as JSON has it: T0 is 2027-01-15T08:00:00Z.
fn day(days: u64) -> String {
    format!("2027-01-{:02}T08:00:00Z", 15 + days)
}

fn claim(result: &str, next: Option<String>) -> Round {
    claimed(200, serde_json::json!({ "result": result, "next_available_at": next }).to_string().as_bytes())
}

fn status(eligible: bool, arm: &str, available: bool, next: Option<String>) -> Status {
    let block = serde_json::json!({
        "eligible": eligible, "arm": arm, "available": available, "next_available_at": next,
    });
    read_status(serde_json::json!({ "juniper_tide": block }).to_string().as_bytes())
}

fn round(status: Status) -> Round {
    match status {
        Status::Offered => panic!("it offers one"),
        Status::NotOffered(next) => Round::NotOffered(next),
        Status::Unusable => Round::NoStatus,
    }
}

#[test]
fn r1_to_r3_a_grant_is_recent_for_a_minute_and_remembered() {
    let mut memo = Memo::default();
    assert_eq!(memo.known(T0), None);
    assert_eq!(status(true, "reset", true, None), Status::Offered);
    let outcome = memo.record(claim("reset", Some(day(7))), T0);
    assert_eq!((outcome, outcome.retries()), (Outcome::Reset, true));
    assert_eq!(memo.not_before(), Some(T0 + 7 * DAY));
    assert_eq!(memo.known(T0 + 59_000), Some(Outcome::RecentReset), "R2");
    assert!(Outcome::RecentReset.retries() && !Outcome::MemoSkip.retries());
    assert_eq!(memo.known(T0 + 60_000), Some(Outcome::MemoSkip), "R3");
    assert_eq!(memo.known(T0 + 7 * DAY), None);
}

#[test]
fn r4_to_r11_what_a_round_leaves() {
    let rows: Vec<(&str, Round, Outcome, bool, Millis)> = vec![
        ("R4", claim("already_used", None), Outcome::AlreadyUsed, false, 7 * DAY),
        ("R5", Round::NoStatus, Outcome::NoStatus, false, 15 * MINUTE),
        ("R6", round(status(true, "control", true, Some(day(2)))), Outcome::NotOffered, false, 2 * DAY),
        ("R7", round(status(true, "reset", false, None)), Outcome::NotOffered, false, 7 * DAY),
        ("not eligible", round(status(false, "reset", true, None)), Outcome::NotOffered, false, 7 * DAY),
        ("R8", claimed(403, b""), Outcome::AuthError, false, 15 * MINUTE),
        ("401", claimed(401, b""), Outcome::AuthError, false, 15 * MINUTE),
        ("429", claimed(429, b""), Outcome::RateLimited, false, 15 * MINUTE),
        ("500", claimed(500, b""), Outcome::Error, false, 15 * MINUTE),
        ("transport", Round::Failed(None), Outcome::Error, false, 15 * MINUTE),
        ("R9", claim("reset", Some("2020-01-01T00:00:00Z".into())), Outcome::Reset, true, 7 * DAY),
        ("R11", claim("not_limited", None), Outcome::NotLimited, true, 7 * DAY),
        ("no organisation", Round::NoOrganization, Outcome::NoOrganization, false, 15 * MINUTE),
        ("cooldown", claim("cooldown", Some(day(1))), Outcome::Cooldown, false, DAY),
        ("ineligible", claim("ineligible", None), Outcome::Ineligible, false, 15 * MINUTE),
        ("unavailable", claim("unavailable", Some(day(3))), Outcome::Unavailable, false, 3 * DAY),
        ("a new word", claim("perhaps", None), Outcome::Unknown, false, 15 * MINUTE),
        ("no JSON", claimed(200, b"<html>"), Outcome::Unknown, false, 15 * MINUTE),
    ];
    for (name, round, outcome, retries, memo_ms) in rows {
        let mut memo = Memo::default();
        assert_eq!(memo.record(round, T0), outcome, "{name}");
        assert_eq!(outcome.retries(), retries, "{name}");
        assert_eq!(memo.not_before(), Some(T0 + memo_ms), "{name}");
        let known = if retries { Outcome::RecentReset } else { Outcome::MemoSkip };
        assert_eq!(memo.known(T0 + 1), Some(known), "{name}");
    }
}

#[test]
fn a_cooldown_may_name_its_own_end() {
    let body = format!(r#"{{"result":"cooldown","cooldown_until":"{}"}}"#, day(1));
    let mut memo = Memo::default();
    memo.record(claimed(200, body.as_bytes()), T0);
    assert_eq!(memo.not_before(), Some(T0 + DAY));
}

#[test]
fn a_status_without_its_block_is_unusable() {
    for body in ["", "[]", "{}", r#"{"juniper_tide":{}}"#, r#"{"juniper_tide":{"eligible":"yes"}}"#] {
        assert_eq!(read_status(body.as_bytes()), Status::Unusable, "{body}");
    }
}
