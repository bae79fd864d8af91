use super::{Mark, RetryCooldown, RetryEntry, WindowGate, WindowSettings};
use crate::breaker::BreakerState;
use crate::change::{Exclusion, Refusal};
use crate::hint::Hint;
use crate::ids::Class;
use crate::time::{DAY, MINUTE, Millis};
use crate::verdict::{Case, End, Signal, Transport, judge};

const T0: Millis = 1_768_478_400_000;
const CLOSED: BreakerState = BreakerState::Closed;

fn gate(class: Class) -> WindowGate {
    WindowGate::new(WindowSettings { enabled: true, ..WindowSettings::for_class(class) })
}

fn entry() -> RetryEntry {
    RetryEntry::new(RetryCooldown { enabled: true, ..RetryCooldown::default() })
}

fn fail(gate: &mut WindowGate, times: u32, now: Millis) {
    for _ in 0..times {
        gate.record(Mark::Failure, CLOSED, now);
    }
}

fn until(gate: &WindowGate, now: Millis) -> Option<Millis> {
    gate.view().refusal(now).and_then(|refusal| refusal.retry_at)
}

// === the provider's entry ===

#[test]
fn row_c1() {
    let mut gate = gate(Class::Apikey);
    for n in 0..14 {
        fail(&mut gate, 1, T0 - 20 * MINUTE + n * MINUTE);
    }
    assert_eq!((gate.failures(T0), until(&gate, T0)), (14, None));
}

#[test]
fn row_c2() {
    let mut gate = gate(Class::Apikey);
    fail(&mut gate, 14, T0 - 20 * MINUTE);
    assert_eq!(gate.record(Mark::Failure, CLOSED, T0), Some("provider-cooldown"));
    let cooling = Refusal { why: Exclusion::ProviderCooldown, retry_at: Some(T0 + 600_000) };
    assert_eq!(gate.view().refusal(T0 + 599_999), Some(cooling));
    assert_eq!(gate.view().refusal(T0 + 600_000), None);
}

#[test]
fn row_c3() {
    let mut gate = gate(Class::Oauth);
    fail(&mut gate, 9, T0 - 899_000);
    fail(&mut gate, 1, T0);
    assert_eq!(until(&gate, T0), Some(T0 + 300_000));
}

#[test]
fn row_c4() {
    let mut gate = gate(Class::Oauth);
    fail(&mut gate, 9, T0 - 900_001);
    fail(&mut gate, 1, T0);
    assert_eq!((gate.failures(T0), until(&gate, T0)), (1, None));
}

/// Core 2.4: inside means later than now − window, so the edge is outside.
#[test]
fn a_failure_at_the_edge_of_the_window_is_outside() {
    let mut gate = gate(Class::Oauth);
    fail(&mut gate, 9, T0 - 900_000);
    fail(&mut gate, 1, T0);
    assert_eq!(gate.failures(T0), 1);
    fail(&mut gate, 1, T0 + 899_999);
    assert_eq!(gate.failures(T0 + 899_999), 2);
}

#[test]
fn row_c5() {
    let mut gate = gate(Class::Apikey);
    fail(&mut gate, 14, T0);
    gate.record(Mark::Success, CLOSED, T0);
    fail(&mut gate, 1, T0);
    assert_eq!((gate.failures(T0), until(&gate, T0)), (1, None));
}

#[test]
fn row_c7() {
    for class in [Class::Oauth, Class::Apikey, Class::Local] {
        let mut gate = WindowGate::new(WindowSettings::for_class(class));
        let mut entry = RetryEntry::new(RetryCooldown::default());
        for n in 0..100 {
            assert_eq!(gate.record(Mark::Failure, CLOSED, T0 + n), None);
            assert_eq!(entry.record(Mark::Failure, CLOSED, T0 + n), None);
            assert!(!gate.minds(Mark::Failure) && until(&gate, T0 + n).is_none());
            assert_eq!(entry.view().refusal(T0 + n), None);
        }
    }
}

/// Core 2.3: the built-in profiles.
#[test]
fn every_class_has_its_profile() {
    for (class, failures, cooling) in
        [(Class::Oauth, 10, 300_000), (Class::Apikey, 15, 600_000), (Class::Local, 2, 60_000)]
    {
        let mut gate = gate(class);
        fail(&mut gate, failures - 1, T0);
        assert_eq!(until(&gate, T0), None, "{class:?}");
        fail(&mut gate, 1, T0);
        assert_eq!(until(&gate, T0), Some(T0 + cooling), "{class:?}");
    }
}

/// Core 2.4: while the count stays at the threshold each failure moves the end.
#[test]
fn a_failure_above_the_threshold_stamps_the_end_again() {
    let mut gate = gate(Class::Local);
    fail(&mut gate, 2, T0);
    fail(&mut gate, 1, T0 + 30_000);
    assert_eq!(until(&gate, T0 + 30_000), Some(T0 + 90_000));
    // The window holds only this one: the end stays.
    fail(&mut gate, 1, T0 + 400_000);
    assert_eq!((gate.failures(T0 + 400_000), gate.view().until), (1, Some(T0 + 90_000)));
}

/// Core 2.7.
#[test]
fn a_success_while_the_breaker_is_open_clears_nothing() {
    let (mut gate, mut entry) = (gate(Class::Local), entry());
    fail(&mut gate, 2, T0);
    entry.record(Mark::Failure, CLOSED, T0);
    assert_eq!(gate.record(Mark::Success, BreakerState::Open, T0), None);
    assert_eq!(entry.record(Mark::Success, BreakerState::Open, T0), None);
    assert!(gate.view().refusal(T0).is_some() && entry.view().refusal(T0).is_some());
    for state in [BreakerState::Degraded, BreakerState::HalfOpen, CLOSED] {
        let (mut gate, mut entry) = (gate.clone(), entry);
        assert_eq!(gate.record(Mark::Success, state, T0), Some("provider-cooldown-ended"));
        assert_eq!(entry.record(Mark::Success, state, T0), Some("provider-cooldown-ended"));
        assert!(gate.view().refusal(T0).is_none() && entry.view().refusal(T0).is_none());
        assert!(!gate.minds(Mark::Success), "nothing is left to clear");
    }
}

#[test]
fn switching_it_off_forgets_and_new_numbers_do_not() {
    let on = WindowSettings { enabled: true, ..WindowSettings::for_class(Class::Local) };
    let mut gate = WindowGate::new(on);
    fail(&mut gate, 2, T0);
    gate.configure(WindowSettings { cooling_ms: 1, ..on });
    assert_eq!(until(&gate, T0), Some(T0 + 60_000));
    fail(&mut gate, 1, T0);
    assert_eq!(until(&gate, T0), Some(T0 + 60_000), "no failure ends a cooldown sooner");
    gate.configure(WindowSettings { enabled: false, ..on });
    assert_eq!((gate.view().until, gate.failures(T0)), (None, 0));
}

#[test]
fn odd_thresholds_are_brought_into_bounds() {
    let zero = WindowSettings { enabled: true, failures: 0, ..WindowSettings::for_class(Class::Apikey) };
    let mut gate = WindowGate::new(zero);
    fail(&mut gate, 1, T0);
    assert_eq!(until(&gate, T0), Some(T0 + 600_000));
    let endless = WindowSettings { failures: u32::MAX, window_ms: DAY, ..zero };
    let mut gate = WindowGate::new(endless);
    fail(&mut gate, 999, T0);
    assert_eq!(until(&gate, T0), None);
    fail(&mut gate, 501, T0);
    assert_eq!((gate.failures(T0), until(&gate, T0)), (1_000, Some(T0 + 600_000)));
}

// === the connection's entry ===

#[test]
fn row_c6() {
    let mut entry = entry();
    let mut now = T0;
    let mut waits = Vec::new();
    for _ in 0..7 {
        entry.record(Mark::Failure, CLOSED, now);
        let refusal = entry.view().refusal(now).unwrap();
        assert_eq!(refusal.why, Exclusion::ProviderCooldown);
        let end = refusal.retry_at.unwrap();
        assert!(entry.view().refusal(end - 1).is_some() && entry.view().refusal(end).is_none());
        waits.push(end - now);
        now = end;
    }
    assert_eq!(waits, [5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000]);
    entry.record(Mark::Success, CLOSED, now);
    entry.record(Mark::Failure, CLOSED, now);
    assert_eq!(entry.view().until, Some(now + 5_000), "a success starts the count anew");
}

/// Core 2.5: ten doublings at most.
#[test]
fn doublings_end_at_ten() {
    let mut entry = RetryEntry::new(RetryCooldown { enabled: true, min_ms: 1, max_ms: DAY });
    for _ in 0..40 {
        entry.record(Mark::Failure, CLOSED, T0);
    }
    assert_eq!(entry.view().until, Some(T0 + 1_024));
}

/// Core 2.8: max(30 min, the longest cooldown) after the last failure.
#[test]
fn an_entry_is_forgotten_after_half_an_hour_or_its_longest_wait() {
    let cases = [(300_000, 30 * MINUTE), (2 * 60 * MINUTE, 2 * 60 * MINUTE)];
    for (max_ms, remembered) in cases {
        let mut entry = RetryEntry::new(RetryCooldown { enabled: true, min_ms: 5_000, max_ms });
        entry.record(Mark::Failure, CLOSED, T0);
        entry.record(Mark::Failure, CLOSED, T0);
        assert_eq!(entry.failures(T0 + remembered), 2);
        assert_eq!(entry.failures(T0 + remembered + 1), 0);
        entry.record(Mark::Failure, CLOSED, T0 + remembered + 1);
        assert_eq!(entry.view().until, Some(T0 + remembered + 5_001));
    }
}

// === what counts ===

#[test]
fn what_is_the_requests_or_nobodys_fault_does_not_count() {
    let rows = [
        (End::Status(200), Mark::Success),
        (End::Status(503), Mark::Failure),
        (End::Status(429), Mark::Failure),
        (End::Status(401), Mark::Failure),
        (End::Status(403), Mark::Failure),
        (End::Transport(Transport::Refused), Mark::Failure),
        (End::NoFirstByte, Mark::Failure),
        (End::CutAfterCommit, Mark::Failure),
        (End::Status(400), Mark::Nothing),
        (End::Status(404), Mark::Nothing),
        (End::Status(529), Mark::Nothing),
        (End::Transport(Transport::ProxyUnreachable), Mark::Nothing),
        (End::SendInterrupted, Mark::Nothing),
        (End::StallAfterCommit, Mark::Nothing),
        (End::Empty, Mark::Nothing),
        (End::ClientGone, Mark::Nothing),
        (End::Local, Mark::Nothing),
    ];
    for (end, mark) in rows {
        let hint: Option<Hint> = None;
        assert_eq!(Mark::of(&judge(&Signal::new(end, hint), &Case::of(Class::Apikey))), mark, "{end:?}");
    }
}

/// What words change: a busy account is healthy (core D16), a refused request is the request's
/// own affair (core 3.8).
#[test]
fn a_busy_account_and_a_refused_request_do_not_count() {
    let of = |status, text: &str, class| {
        let signal = Signal { text: text.into(), ..Signal::new(End::Status(status), None) };
        Mark::of(&judge(&signal, &Case::of(class)))
    };
    assert_eq!(of(429, "Slow down", Class::Apikey), Mark::Failure);
    assert_eq!(of(429, "too many concurrent requests", Class::Apikey), Mark::Nothing);
    assert_eq!(of(403, "Forbidden", Class::Oauth), Mark::Failure);
    let refused = Signal { text: "Request not allowed".into(), ..Signal::new(End::Status(403), None) };
    let case = Case { model: Some("m"), ..Case::of(Class::Oauth) };
    assert_eq!(Mark::of(&judge(&refused, &case)), Mark::Nothing);
}
