use super::{MOST, Pin, PinKey, Pins, WRITTEN_EVERY_MS};
use crate::ids::ConnectionId;
use crate::time::MINUTE;

const T0: u64 = 1_768_478_400_000;
const TTL: u64 = 30 * MINUTE;

fn key(provider: &str, session: &str) -> PinKey {
    PinKey { provider: provider.into(), session: session.into() }
}

fn account(id: &str) -> ConnectionId {
    id.into()
}

fn held(pins: &Pins, session: &str, now: u64) -> Vec<(String, String, u64)> {
    let each = |pinned: &super::Pinned| {
        (pinned.provider.to_string(), pinned.pin.connection.to_string(), pinned.pin.expires_at)
    };
    let mut all: Vec<_> = pins.of(session).iter().filter(|pinned| pinned.holds(now)).map(each).collect();
    all.sort();
    all
}

fn one(provider: &str, connection: &str, expires_at: u64) -> Vec<(String, String, u64)> {
    vec![(provider.into(), connection.into(), expires_at)]
}

/// Rules A1, A2, A4; 6.13: a touch does not move the birth.
#[test]
fn a_use_slides_the_end() {
    let mut pins = Pins::default();
    let news = pins.bind(key("p", "s1"), &account("c1"), TTL, T0);
    let pin = Pin { connection: account("c1"), created_at: T0, last_at: T0, expires_at: T0 + TTL, uses: 1 };
    assert_eq!(news, [(key("p", "s1"), Some(pin.clone()))]);
    assert_eq!(held(&pins, "s1", T0 + TTL - 1), one("p", "c1", T0 + TTL));
    assert_eq!(held(&pins, "s1", T0 + TTL), []);
    let later = T0 + 10 * MINUTE;
    let touched = Pin { last_at: later, expires_at: later + TTL, uses: 2, ..pin };
    let news = pins.bind(key("p", "s1"), &account("c1"), TTL, later);
    assert_eq!(news, [(key("p", "s1"), Some(touched))]);
    assert_eq!(held(&pins, "s1", later), one("p", "c1", later + TTL));
}

/// Rules A3, 6.9.
#[test]
fn another_account_is_a_new_pin() {
    let mut pins = Pins::default();
    pins.bind(key("p", "s1"), &account("c1"), TTL, T0);
    let news = pins.bind(key("p", "s1"), &account("c2"), TTL, T0 + MINUTE);
    let pin = news[0].1.as_ref().unwrap();
    assert_eq!((pin.created_at, pin.uses, news.len()), (T0 + MINUTE, 1, 1));
    assert_eq!(held(&pins, "s1", T0 + MINUTE), one("p", "c2", T0 + MINUTE + TTL));
    assert_eq!(pins.count(), 1);
}

/// Rules 6.6: what has expired is no pin that could be touched.
#[test]
fn an_expired_pin_begins_anew() {
    let mut pins = Pins::default();
    pins.bind(key("p", "s1"), &account("c1"), TTL, T0);
    let news = pins.bind(key("p", "s1"), &account("c1"), TTL, T0 + TTL);
    let pin = news[0].1.as_ref().unwrap();
    assert_eq!((pin.created_at, pin.uses), (T0 + TTL, 1));
}

/// Rules 6.1: one for each provider.
#[test]
fn providers_do_not_share_pins() {
    let mut pins = Pins::default();
    pins.bind(key("p", "s1"), &account("c1"), TTL, T0);
    pins.bind(key("q", "s1"), &account("d1"), TTL, T0);
    pins.bind(key("p", "s2"), &account("c2"), TTL, T0);
    assert_eq!(held(&pins, "s1", T0), [one("p", "c1", T0 + TTL), one("q", "d1", T0 + TTL)].concat());
    assert_eq!(held(&pins, "s2", T0), one("p", "c2", T0 + TTL));
}

/// Rules A8, 6.11.
#[test]
fn only_the_failure_of_its_own_account_ends_a_pin() {
    let mut pins = Pins::default();
    pins.bind(key("p", "s1"), &account("c1"), TTL, T0);
    assert_eq!(pins.unbind(&key("p", "s1"), &account("c2")), None);
    assert_eq!(pins.unbind(&key("q", "s1"), &account("c1")), None);
    assert_eq!(held(&pins, "s1", T0).len(), 1);
    assert_eq!(pins.unbind(&key("p", "s1"), &account("c1")), Some((key("p", "s1"), None)));
    assert_eq!((held(&pins, "s1", T0).len(), pins.count()), (0, 0));
}

#[test]
fn pins_to_an_account_that_is_gone_go_too() {
    let mut pins = Pins::default();
    for (session, connection) in [("s1", "c1"), ("s2", "c2"), ("s3", "c1")] {
        pins.bind(key("p", session), &account(connection), TTL, T0);
    }
    let mut gone: Vec<String> =
        pins.forget(&account("c1")).into_iter().map(|(key, _)| key.session.to_string()).collect();
    gone.sort();
    assert_eq!((gone, pins.count()), (vec!["s1".to_owned(), "s3".to_owned()], 1));
}

/// A touch is written once in a while, a change always.
#[test]
fn touches_are_written_seldom() {
    let mut pins = Pins::default();
    pins.bind(key("p", "s1"), &account("c1"), TTL, T0);
    let mut written = 0;
    for second in 1..=30 {
        written += pins.bind(key("p", "s1"), &account("c1"), TTL, T0 + second * 1_000).len();
    }
    assert_eq!(written as u64, 30_000 / WRITTEN_EVERY_MS);
    assert_eq!(pins.bind(key("p", "s1"), &account("c2"), TTL, T0 + 30_001).len(), 1);
}

#[test]
fn expired_pins_go_when_others_come() {
    let mut pins = Pins::default();
    for session in 0..20 {
        pins.bind(key("p", &format!("old-{session}")), &account("c1"), TTL, T0 + session);
    }
    let news = pins.bind(key("p", "new"), &account("c1"), TTL, T0 + TTL + 9);
    let gone = news.iter().filter(|(_, pin)| pin.is_none()).count();
    assert_eq!((gone, pins.count()), (10, 11));
}

#[test]
fn the_number_of_pins_is_bounded() {
    let mut pins = Pins::default();
    for session in 0..MOST {
        pins.bind(key("p", &session.to_string()), &account("c1"), TTL, T0);
    }
    pins.bind(key("p", "0"), &account("c1"), TTL, T0 + 1);
    let news = pins.bind(key("p", "one more"), &account("c1"), TTL, T0 + 2);
    assert_eq!(pins.count(), MOST);
    let gone: Vec<&PinKey> = news.iter().filter(|(_, pin)| pin.is_none()).map(|(key, _)| key).collect();
    assert_eq!(gone, [&key("p", "1")], "the one that was used longest ago");
}

/// Decision 11: what holds comes back, what does not is told.
#[test]
fn pins_come_back() {
    let (mut before, mut pins) = (Pins::default(), Pins::default());
    let news = before.bind(key("p", "s1"), &account("c1"), TTL, T0);
    let pin = news[0].1.clone().unwrap();
    assert_eq!(pins.restore(key("p", "s1"), pin.clone(), T0 + TTL - 1), None);
    assert_eq!(held(&pins, "s1", T0 + TTL - 1), one("p", "c1", T0 + TTL));
    let late = pins.restore(key("p", "s2"), pin, T0 + TTL);
    assert_eq!((late, pins.count()), (Some((key("p", "s2"), None)), 1));
}
