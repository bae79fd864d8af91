use super::{AccountCutoff, Check, Low, Preflight};
use crate::reading::{AccountReading, UNTIMED_MS, WindowReading};
use crate::strategy::QuotaWindow::{self, Monthly, Session, Weekly};
use crate::time::{DAY, HOUR, MINUTE, Millis};

const T0: Millis = 1_768_500_000_000;

fn reading(windows: &[(Option<QuotaWindow>, f64, Option<Millis>)]) -> AccountReading {
    let mut reading = AccountReading { seen_at: T0, ..AccountReading::default() };
    for (window, used, resets_at) in windows.iter().copied() {
        let slot = match window {
            Some(Session) => &mut reading.session,
            Some(Weekly) => &mut reading.weekly,
            Some(Monthly) => &mut reading.monthly,
            None => &mut reading.overall,
        };
        *slot = Some(WindowReading { used, resets_at });
    }
    reading
}

fn whole(used: f64) -> AccountReading {
    reading(&[(None, used, None)])
}

fn check(preflight: &Preflight, reading: &AccountReading, now: Millis) -> Check {
    preflight.check(&"p".into(), &"c".into(), Some(reading), now)
}

fn on() -> Preflight {
    Preflight { enabled: true, ..Preflight::default() }
}

fn with(account: AccountCutoff, rest: Preflight) -> Preflight {
    Preflight { accounts: [("c".into(), account)].into(), ..rest }
}

fn switched(enabled: bool) -> AccountCutoff {
    AccountCutoff { enabled: Some(enabled), ..AccountCutoff::default() }
}

fn blocked_until(check: Check) -> Option<Millis> {
    match check {
        Check::Blocked(low) => Some(low.until),
        _ => None,
    }
}

#[test]
fn rules_d9_used_up_is_left_out_until_the_reset() {
    assert_eq!(blocked_until(check(&on(), &whole(0.98), T0)), Some(T0 + 5 * MINUTE));
    let stated = reading(&[(None, 0.98, Some(T0 + HOUR))]);
    assert_eq!(blocked_until(check(&on(), &stated, T0)), Some(T0 + HOUR));
    assert_eq!(check(&on(), &stated, T0 + HOUR), Check::Proceed, "it started anew");
    assert_eq!(check(&on(), &whole(0.98), T0 + UNTIMED_MS), Check::Proceed, "nobody is left out for good");
}

#[test]
fn rules_d10_a_little_more_is_told() {
    let Check::Warn(Low { left_percent, .. }) = check(&on(), &whole(0.97), T0) else { panic!("no warning") };
    assert!((left_percent - 3.0).abs() < 1e-9);
    assert_eq!(check(&on(), &whole(0.79), T0), Check::Proceed);
}

#[test]
fn rules_d11_to_d13_who_is_looked_at() {
    let d11 = with(switched(true), Preflight::default());
    assert!(blocked_until(check(&d11, &whole(0.99), T0)).is_some() && d11.is_on());
    let d12 = Preflight::default();
    assert!(!d12.is_on() && check(&d12, &whole(0.99), T0) == Check::Proceed);
    let d13 = with(switched(false), on());
    assert_eq!(check(&d13, &whole(0.99), T0), Check::Proceed);
    let stricter = Preflight { cutoff_percent: 5.0, ..Preflight::default() };
    assert!(stricter.is_on() && blocked_until(check(&stricter, &whole(0.95), T0)).is_some());
    let by_provider = Preflight { providers: [("p".into(), vec![(Weekly, 10.0)])].into(), ..d12 };
    let weekly = reading(&[(Some(Weekly), 0.9, None)]);
    assert!(by_provider.is_on() && blocked_until(check(&by_provider, &weekly, T0)).is_some());
    let elsewhere = by_provider.check(&"q".into(), &"d".into(), Some(&weekly), T0);
    assert_eq!(elsewhere, Check::Proceed);
}

#[test]
fn rules_d14_any_window_is_enough() {
    let two = reading(&[(Some(Session), 0.5, None), (Some(Weekly), 0.99, Some(T0 + 2 * DAY))]);
    let Check::Blocked(low) = check(&on(), &two, T0) else { panic!("not left out") };
    assert_eq!((low.window, low.until), (Some(Weekly), T0 + 2 * DAY));
    let both = reading(&[(Some(Session), 1.0, Some(T0 + HOUR)), (Some(Weekly), 0.99, Some(T0 + DAY))]);
    let Check::Blocked(low) = check(&on(), &both, T0) else { panic!("not left out") };
    assert_eq!(
        (low.window, low.until),
        (Some(Session), T0 + DAY),
        "the fullest is named, the last waited for"
    );
}

#[test]
fn rules_d15_nothing_known_proceeds() {
    assert_eq!(on().check(&"p".into(), &"c".into(), None, T0), Check::Proceed);
    assert_eq!(check(&on(), &whole(f64::NAN), T0), Check::Proceed);
}

#[test]
fn rules_d16_the_accounts_own_number_wins() {
    let own = AccountCutoff { windows: vec![(Weekly, 10.0)], enabled: None };
    let d16 = with(own, Preflight { providers: [("p".into(), vec![(Weekly, 1.0)])].into(), ..on() });
    let weekly = |used| reading(&[(Some(Weekly), used, None)]);
    assert!(blocked_until(check(&d16, &weekly(0.91), T0)).is_some(), "9 <= 10");
    assert!(matches!(check(&d16, &weekly(0.89), T0), Check::Warn(_)));
}

/// Rules 8.4.4: a limit that was reached blocks whatever the windows say, while it lasts.
#[test]
fn a_limit_that_was_reached_blocks_at_once() {
    let mut limited = reading(&[(Some(Session), 0.1, None), (None, 1.0, Some(T0 + HOUR))]);
    limited.limit_reached = true;
    assert_eq!(blocked_until(check(&on(), &limited, T0)), Some(T0 + HOUR));
    assert_eq!(check(&on(), &limited, T0 + HOUR), Check::Proceed);
}
