//! The rows of core 3.9.7, FC-038 and FC-122, with their numbers.

use super::answer::{Meaning, Reply, meaning};
use super::{Need, Timetable, TokenBreaker, TokenBreakerSettings};
use crate::dice::Scripted;
use crate::time::{HOUR, MINUTE, Millis, SECOND};

const T0: Millis = 1_800_000_000_000;

fn fresh(lives_ms: Millis) -> Timetable {
    let mut table = Timetable::default();
    table.received(Some(lives_ms), T0);
    table
}

/// Fails at `now` with dice that add no jitter.
fn fail(table: &mut Timetable, now: Millis) {
    table.failed(None, &mut Scripted::new(&[0.5]), now);
}

#[test]
fn a_token_is_renewed_a_tenth_of_its_life_before_its_end_and_never_more_than_five_minutes() {
    for (lives, renews) in
        [(HOUR, 55 * MINUTE), (20 * MINUTE, 18 * MINUTE), (10 * HOUR, 9 * HOUR + 55 * MINUTE)]
    {
        let table = fresh(lives);
        assert_eq!(table.need(T0 + renews - 1), Need::Nothing, "{lives}");
        assert_eq!(table.need(T0 + renews), Need::Early, "{lives}");
        assert_eq!(table.need(T0 + lives - 1), Need::Early, "{lives}");
        assert_eq!(table.need(T0 + lives), Need::Now, "{lives}");
        assert_eq!((table.quiet_until(T0), table.next_at()), (T0 + renews, Some(T0 + renews)), "{lives}");
        assert!(table.is_good(T0 + lives - 1) && !table.is_good(T0 + lives), "{lives}");
    }
}

#[test]
fn a_configured_token_is_renewed_five_minutes_before_its_end() {
    let table = Timetable::configured(Some(T0));
    assert_eq!(table.need(T0 - 5 * MINUTE - 1), Need::Nothing);
    assert_eq!(table.need(T0 - 5 * MINUTE), Need::Early);
    assert_eq!(table.need(T0), Need::Now);
}

#[test]
fn a_token_of_unknown_age_waits_for_a_401() {
    let mut table = Timetable::configured(None);
    assert_eq!((table.need(u64::MAX), table.quiet_until(T0)), (Need::Nothing, Millis::MAX));
    table.refused();
    assert_eq!((table.need(T0), table.quiet_until(T0)), (Need::Now, T0));
    assert!(table.is_good(T0), "one 401 proves nothing yet");
}

#[test]
fn fc_122_age_counts_from_receipt_whatever_the_server_thinks_the_time_is() {
    // Seven hours off: nothing but our own clock goes in.
    for off in [0, 7 * HOUR] {
        let mut table = Timetable::default();
        table.received(Some(HOUR), T0 + off);
        assert_eq!(table.expires_at, Some(T0 + off + HOUR));
    }
}

#[test]
fn fc_122_a_fresh_token_that_looks_expired_is_renewed_at_most_once_a_minute() {
    for lives in [0, 1, 30 * SECOND] {
        let table = fresh(lives);
        assert_eq!(table.need(T0 + MINUTE - 1), Need::Nothing, "{lives}");
        assert!(table.is_good(T0 + MINUTE - 1), "{lives}: it is used meanwhile");
        assert_eq!(table.quiet_until(T0), T0 + MINUTE, "{lives}");
        assert_eq!(table.need(T0 + MINUTE), Need::Now, "{lives}");
    }
    let mut table = fresh(0);
    table.refused();
    assert_eq!(table.need(T0), Need::Now, "unless a 401 asks for it");
}

#[test]
fn fc_121_a_clock_that_was_set_back_lengthens_no_token() {
    let table = fresh(HOUR).restored(T0 - 7 * HOUR);
    assert_eq!(table.expires_at, Some(T0 - 6 * HOUR));
    assert_eq!(fresh(HOUR).restored(T0 + MINUTE), fresh(HOUR));
}

#[test]
fn core_3_9_7_failures_delay_the_next_early_refresh_up_to_four_hours() {
    let mut table = fresh(100 * HOUR);
    let mut now = T0 + 50 * HOUR;
    for (streak, minutes) in [(1, 5), (2, 10), (3, 20), (4, 40), (5, 80), (6, 160), (7, 240), (8, 240)] {
        fail(&mut table, now);
        assert_eq!((table.failures, table.early_from), (streak, now + minutes * MINUTE));
        now += minutes * MINUTE;
    }
    table.failures = u32::MAX;
    fail(&mut table, now);
    assert_eq!(table.early_from, now + 240 * MINUTE, "and no number overflows");
}

#[test]
fn core_3_9_7_a_failed_early_refresh_leaves_the_token_in_use_until_its_end() {
    let mut table = fresh(HOUR);
    let failed_at = T0 + 57 * MINUTE;
    fail(&mut table, failed_at);
    assert_eq!(table.need(failed_at), Need::Nothing);
    assert!(table.is_good(failed_at));
    assert_eq!((table.quiet_until(failed_at), table.next_at()), (T0 + HOUR, Some(T0 + HOUR)));
    assert_eq!(table.need(T0 + HOUR - 1), Need::Nothing);
    assert_eq!(table.need(T0 + HOUR), Need::Now, "past its end the long schedule is over");
}

#[test]
fn core_3_9_7_a_sweep_keeps_to_the_long_schedule_also_past_the_end() {
    let mut table = Timetable::configured(Some(T0));
    assert!(table.sweep_due(false, T0));
    fail(&mut table, T0);
    assert_eq!(table.need(T0 + MINUTE), Need::Now, "on use it is not waited for");
    assert_eq!(
        (table.sweep_due(false, T0 + 5 * MINUTE - 1), table.sweep_due(false, T0 + 5 * MINUTE)),
        (false, true)
    );
}

#[test]
fn fc_038_a_needed_refresh_is_tried_again_after_a_short_flat_wait() {
    for (unit, wait) in [(0.0, 4_000), (0.5, 5_000), (1.0, 6_000)] {
        let mut table = Timetable::configured(Some(T0));
        for n in 0..3 {
            let now = T0 + n * MINUTE;
            table.failed(None, &mut Scripted::new(&[unit]), now);
            assert_eq!(table.need(now + wait - 1), Need::Nothing, "{unit}");
            assert_eq!(table.need(now + wait), Need::Now, "{unit}: flat, however often it failed");
        }
    }
}

#[test]
fn a_stated_wait_stretches_the_flat_one_up_to_a_minute() {
    for (stated, wait) in [(1_000, 5_000), (30_000, 30_000), (3_600_000, 60_000)] {
        let mut table = Timetable::configured(Some(T0));
        table.failed(Some(stated), &mut Scripted::new(&[0.5]), T0);
        assert_eq!((table.need(T0 + wait - 1), table.need(T0 + wait)), (Need::Nothing, Need::Now));
    }
}

#[test]
fn core_3_9_7_a_401_makes_it_urgent() {
    let mut table = fresh(HOUR);
    fail(&mut table, T0 + 55 * MINUTE);
    table.refused();
    assert_eq!(table.need(T0 + 55 * MINUTE + 4_999), Need::Nothing);
    assert_eq!(table.need(T0 + 55 * MINUTE + 5_000), Need::Now);
}

#[test]
fn core_3_9_7_a_dead_refresh_token_is_left_to_the_schedule_of_its_owner() {
    let mut table = fresh(HOUR);
    table.died();
    assert_eq!(
        (table.need(T0 + 2 * HOUR), table.next_at(), table.quiet_until(T0)),
        (Need::Nothing, None, T0)
    );
    assert_eq!((table.sweep_due(false, T0 + 2 * HOUR), table.sweep_due(true, T0)), (false, true));
    table.received(Some(HOUR), T0);
    assert_eq!(table, fresh(HOUR), "success clears it");
    table.expires_at = Some(T0);
    table.received_at = None;
    table.died();
    table.revive();
    assert_eq!(table.need(T0), Need::Now, "an operator's word");
}

#[test]
fn fc_038_a_blip_delays_the_retry_of_an_expired_connection() {
    let mut table = fresh(HOUR);
    table.died();
    fail(&mut table, T0);
    assert_eq!((table.sweep_due(true, T0 + 299_999), table.sweep_due(true, T0 + 300_000)), (false, true));
    table.revive();
    assert!(table.sweep_due(true, T0));
}

fn reply(status: u16, code: &str) -> Meaning {
    meaning(Reply { status, granted: false, codes: &[code], texts: &[] })
}

#[test]
fn fc_038_only_words_about_the_refresh_token_are_terminal() {
    let dead = [
        "invalid_grant",
        "INVALID_GRANT",
        "invalid_refresh_token",
        "refresh_token_reused",
        "token_revoked",
        "refresh_token_expired",
        "refresh_token_invalidated",
        "bad_refresh_token",
    ];
    for code in dead {
        for status in [200, 400, 401, 403] {
            assert!(matches!(reply(status, code), Meaning::Expired(_)), "{status} {code}");
        }
    }
    for code in ["invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"] {
        for status in [400, 401, 403] {
            assert_eq!(reply(status, code), Meaning::Misconfigured(code), "{status}");
        }
    }
}

#[test]
fn fc_038_everything_else_is_tried_again() {
    for status in [500, 502, 503, 504, 429, 408, 403, 404, 405, 400, 401, 301, 100, 0, 999] {
        assert_eq!(reply(status, ""), Meaning::Retry, "{status}");
    }
    for status in [500, 503, 429, 408, 302, 599] {
        assert_eq!(reply(status, "invalid_grant"), Meaning::Retry, "{status} knows nothing about a token");
    }
    assert_eq!(reply(200, ""), Meaning::Retry, "garbage, or a page of a portal");
    let granted = |status| meaning(Reply { status, granted: true, codes: &[], texts: &[] });
    assert_eq!((granted(200), granted(500)), (Meaning::Granted, Meaning::Retry));
}

#[test]
fn a_sentence_is_terminal_only_with_400_or_401() {
    let says =
        |status, text| meaning(Reply { status, granted: false, codes: &["server_error"], texts: &[text] });
    let text = "The Refresh Token has been revoked.";
    assert_eq!(says(400, text), Meaning::Expired("refresh token has been revoked"));
    assert!(matches!(says(401, "Token has been expired or revoked."), Meaning::Expired(_)));
    assert_eq!((says(403, text), says(500, text)), (Meaning::Retry, Meaning::Retry));
    assert_eq!(says(400, "no refresh token was sent"), Meaning::Retry);
}

const BREAKER: TokenBreakerSettings =
    TokenBreakerSettings { failure_threshold: 5, cooldown_ms: 30 * MINUTE, ..DEFAULT };
const DEFAULT: TokenBreakerSettings =
    TokenBreakerSettings { scope: super::TokenScope::Provider, failure_threshold: 1, cooldown_ms: 0 };

#[test]
fn core_6_the_breaker_opens_at_five_and_rests_half_an_hour() {
    assert_eq!(TokenBreakerSettings::default(), BREAKER);
    let mut breaker = TokenBreaker::default();
    let opened: Vec<bool> = (0..5).map(|_| breaker.failed(&"a".into(), &BREAKER, T0)).collect();
    assert_eq!(opened, [false, false, false, false, true]);
    assert_eq!(breaker.admit(&"a".into(), false, T0 + 30 * MINUTE - 1), Err(T0 + 30 * MINUTE));
    assert_eq!(breaker.admit(&"a".into(), false, T0 + 30 * MINUTE), Ok(()));
    assert!(breaker.admit(&"a".into(), false, T0 + 30 * MINUTE).is_err(), "one goes first");
    assert!(breaker.failed(&"a".into(), &BREAKER, T0 + 30 * MINUTE), "its failure opens it again");
    assert_eq!(breaker.admit(&"a".into(), false, T0 + 59 * MINUTE), Err(T0 + 60 * MINUTE));
}

#[test]
fn fc_038_an_open_breaker_spaces_what_is_needed_and_benches_nobody() {
    let mut breaker = TokenBreaker::default();
    for _ in 0..5 {
        breaker.failed(&"a".into(), &BREAKER, T0);
    }
    assert_eq!(breaker.admit(&"a".into(), true, T0 + MINUTE - 1), Err(T0 + MINUTE));
    assert_eq!(breaker.admit(&"a".into(), true, T0 + MINUTE), Ok(()));
    assert_eq!(breaker.admit(&"a".into(), true, T0 + MINUTE), Err(T0 + 2 * MINUTE));
    breaker.succeeded();
    assert_eq!(breaker.admit(&"a".into(), false, T0 + MINUTE), Ok(()));
    assert_eq!(breaker, TokenBreaker::default());
    let opened: Vec<bool> = (0..5).map(|_| breaker.failed(&"a".into(), &BREAKER, T0)).collect();
    assert_eq!(opened, [false, false, false, false, true], "a success clears the count");
}

#[test]
fn fc_038_one_account_that_cannot_be_renewed_takes_no_other_s_turn() {
    let (mut breaker, ill, well) = (TokenBreaker::default(), "ill".into(), "well".into());
    for _ in 0..5 {
        breaker.failed(&ill, &BREAKER, T0);
    }
    for minute in 1..5 {
        assert_eq!(breaker.admit(&ill, true, T0 + minute * MINUTE), Ok(()));
        breaker.failed(&ill, &BREAKER, T0 + minute * MINUTE);
    }
    assert_eq!(breaker.admit(&well, true, T0 + 4 * MINUTE), Ok(()), "its first turn");
    assert_eq!(breaker.admit(&well, true, T0 + 4 * MINUTE), Err(T0 + 5 * MINUTE), "one a minute");
}
