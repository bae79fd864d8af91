use super::{HOLD_BYTES, MAX_REOPENS, Recovery, Step, Stop};
use crate::time::Millis;
use crate::verdict::{End, Transport};

const RESET: Stop = Stop::Broke(End::Transport(Transport::Reset));

fn on() -> Recovery {
    Recovery::new(true)
}

/// A stream that holds one chunk since `now`.
fn held(now: Millis) -> Recovery {
    let mut recovery = on();
    assert_eq!(recovery.chunk(10, now), Step::Hold);
    recovery
}

/// The next stream comes, brings one chunk and stops.
fn again(recovery: &mut Recovery, stop: Stop) -> Step {
    recovery.reopened();
    assert_eq!(recovery.deadline(), None, "an empty hold");
    assert_eq!(recovery.chunk(10, 1_000), Step::Hold);
    recovery.stopped(stop, 1_001)
}

#[test]
fn row_e104_a_reset_in_the_hold_opens_the_request_again() {
    let mut recovery = held(0);
    assert_eq!(recovery.stopped(RESET, 500), Step::Reopen);
    assert_eq!(recovery.deadline(), None, "nothing goes out by itself meanwhile");
    assert_eq!(recovery.tick(10_000), Step::Hold);
    recovery.reopened();
    assert_eq!(recovery.chunk(10, 20_000), Step::Hold);
    assert_eq!(recovery.deadline(), Some(20_750));
    assert_eq!(recovery.chunk(10, 20_750), Step::Release);
    recovery.marked();
    assert_eq!(recovery.stopped(Stop::Over, 30_000), Step::Finish);
    assert_eq!(recovery.stopped(Stop::Over, 30_000), Step::Drop, "finalised once");
    assert_eq!(recovery.reopens(), 1);
}

#[test]
fn row_e105_the_hold_ends_750_ms_after_its_first_chunk() {
    let mut recovery = held(0);
    assert_eq!(recovery.chunk(10, 749), Step::Hold);
    assert_eq!(recovery.deadline(), Some(750), "later chunks do not move it");
    let mut by_timer = recovery.clone();
    assert_eq!(recovery.chunk(10, 750), Step::Release);
    assert_eq!(by_timer.tick(749), Step::Hold);
    assert_eq!(by_timer.tick(750), Step::Release, "flow 6.5.20");
    assert_eq!(by_timer.deadline(), None);
    assert_eq!(by_timer.chunk(10, 751), Step::Release);
}

#[test]
fn row_e106_65536_bytes_are_not_held() {
    assert_eq!(on().chunk(HOLD_BYTES, 0), Step::Release);
    let mut recovery = on();
    assert_eq!(recovery.chunk(HOLD_BYTES - 1, 0), Step::Hold);
    assert_eq!(recovery.chunk(1, 1), Step::Release);
}

#[test]
fn row_e107_after_four_more_tries_the_last_one_is_told_as_cut() {
    let mut recovery = held(0);
    assert_eq!(recovery.stopped(Stop::Over, 1), Step::Reopen);
    for n in 2..=MAX_REOPENS {
        assert_eq!(again(&mut recovery, Stop::Over), Step::Reopen, "{n}");
    }
    assert_eq!(recovery.reopens(), 4);
    assert_eq!(again(&mut recovery, Stop::Over), Step::Fail, "decision 20");
    assert_eq!(recovery.chunk(10, 2_000), Step::Drop);
}

#[test]
fn row_e108_a_short_answer_with_its_marker_is_complete() {
    for stop in [Stop::Over, RESET, Stop::TooSlow] {
        let mut recovery = held(0);
        recovery.marked();
        assert_eq!(recovery.stopped(stop, 100), Step::Finish, "{stop:?}");
    }
    let mut recovery = held(0);
    recovery.marked();
    assert_eq!(recovery.chunk(10, 100), Step::Release, "nothing is left to wait for");
}

#[test]
fn row_e109_a_stream_that_cannot_be_opened_again_is_told_as_cut() {
    let mut recovery = held(0);
    assert_eq!(recovery.stopped(RESET, 1), Step::Reopen);
    let mut dead = recovery.clone();
    assert_eq!(recovery.refused(), Step::Fail, "decision 20");
    assert_eq!(recovery.refused(), Step::Drop);
    assert_eq!(dead.stopped(RESET, 2), Step::Fail, "a dial that fails is no stream");
}

#[test]
fn row_e110_after_the_client_left_nothing_is_sent() {
    let mut recovery = held(0);
    assert_eq!(recovery.cancelled(), Step::Drop);
    assert_eq!(recovery.stopped(RESET, 400), Step::Drop);
    assert_eq!((recovery.reopens(), recovery.deadline()), (0, None));
    let mut leaves = held(0);
    assert_eq!(leaves.stopped(Stop::Broke(End::ClientGone), 400), Step::Drop);
    assert_eq!(leaves.stopped(RESET, 400), Step::Drop);
    // While a new stream is on its way.
    let mut reopening = held(0);
    assert_eq!(reopening.stopped(RESET, 1), Step::Reopen);
    assert_eq!(reopening.cancelled(), Step::Drop);
    reopening.reopened();
    assert_eq!(reopening.chunk(10, 2), Step::Drop);
    assert_eq!(reopening.refused(), Step::Drop);
}

#[test]
fn row_e115_what_happens_after_the_marker_is_no_error() {
    let mut recovery = held(0);
    assert_eq!(recovery.tick(750), Step::Release);
    recovery.marked();
    assert_eq!(recovery.stopped(RESET, 10_000), Step::Finish);
}

#[test]
fn row_e121_a_slow_stream_is_opened_again_before_the_client_has_a_byte_of_it() {
    // Pings only, for minutes: nothing is held yet.
    assert_eq!(on().stopped(Stop::TooSlow, 60_000), Step::Reopen);
    let mut released = held(0);
    assert_eq!(released.chunk(10, 750), Step::Release);
    assert_eq!(released.stopped(Stop::TooSlow, 60_000), Step::Fail, "no replay");
}

#[test]
fn a_failure_after_the_hold_comes_too_late_even_if_no_timer_fired() {
    assert_eq!(held(0).stopped(RESET, 749), Step::Reopen);
    assert_eq!(held(0).stopped(RESET, 750), Step::Fail);
}

#[test]
fn a_new_stream_has_its_own_marker_and_its_own_bytes() {
    let mut recovery = on();
    assert_eq!(recovery.chunk(HOLD_BYTES - 1, 0), Step::Hold);
    assert_eq!(recovery.stopped(RESET, 1), Step::Reopen);
    recovery.reopened();
    assert_eq!(recovery.chunk(HOLD_BYTES - 1, 2), Step::Hold);
    recovery.reopened();
    assert_eq!(recovery.chunk(1, 3), Step::Release, "only a dead stream's bytes are dropped");
}

#[test]
fn switched_off_nothing_is_held_and_nothing_opened_again() {
    let mut recovery = Recovery::new(false);
    assert_eq!(recovery.chunk(10, 0), Step::Release);
    assert_eq!(recovery.deadline(), None);
    let mut complete = recovery.clone();
    assert_eq!(recovery.stopped(RESET, 1), Step::Fail);
    complete.marked();
    assert_eq!(complete.stopped(Stop::Over, 1), Step::Finish);
    assert_eq!(Recovery::new(false).stopped(RESET, 0), Step::Fail);
}

#[test]
fn only_ends_of_flow_6_5_24_are_worth_another_try() {
    let broke = |transport| Stop::Broke(End::Transport(transport));
    let rows = [
        (Stop::Over, true),
        (Stop::TooSlow, true),
        (broke(Transport::Truncated), true),
        (broke(Transport::Reset), true),
        (broke(Transport::Refused), true),
        (broke(Transport::Dns), true),
        (broke(Transport::ConnectTimeout), true),
        (Stop::Broke(End::CutAfterCommit), true),
        (Stop::Broke(End::StallAfterCommit), true),
        (Stop::Broke(End::NoFirstByte), true),
        (broke(Transport::Tls), false),
        (broke(Transport::BadAnswer), false),
        (broke(Transport::ProxyUnreachable), false),
        (Stop::Broke(End::StallBeforeCommit), false),
        (Stop::Broke(End::Empty), false),
        (Stop::Broke(End::SendInterrupted), false),
        (Stop::Broke(End::Status(503)), false),
        (Stop::Broke(End::InStream(529)), false),
        (Stop::Broke(End::EarlyEof), false),
        (Stop::Broke(End::CredentialDead), false),
        (Stop::Broke(End::Local), false),
    ];
    for (stop, expected) in rows {
        assert_eq!(stop.is_retryable(), expected, "{stop:?}");
        let step = if expected { Step::Reopen } else { Step::Fail };
        assert_eq!(held(0).stopped(stop, 1), step, "{stop:?}");
    }
    assert!(!Stop::Broke(End::ClientGone).is_retryable());
}
