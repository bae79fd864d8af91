//! The worked examples E17-E41 of flow 8.2, row by row; E31-E34 are the gate's.

mod books;
mod select;
mod share;

use super::{Buckets, LEASE_MS, Leases, QuotaName, Window, slug};
use crate::ids::ConnectionId;

#[test]
fn flow_8_2_names() {
    let name = |group: &str, provider: &str, model: &str| {
        let group = slug(group);
        QuotaName { group: &group, provider, model }.to_string()
    };
    assert_eq!(name("Pool Principal", "codex", "gpt-5.5"), "qtSd/poolprincipal/codex/gpt-5.5", "E17");
    assert_eq!(name("!!", "codex", "m"), "qtSd/pool/codex/m", "flow 2.1");
    assert_eq!(name("Équipe 7", "a", "m"), "qtSd/quipe7/a/m");
    let parsed = QuotaName::parse("qtSd/g/openrouter/meta/llama-3");
    assert_eq!(parsed, Some(QuotaName { group: "g", provider: "openrouter", model: "meta/llama-3" }), "E18");
    let none = ["qtSd/g/codex", "qtSd//codex/m", "QTSD/g/codex/m", "qtSd/g//m", "qtSd/g/codex/", "qtSd/", ""];
    for text in none.into_iter().chain(["quotaShared-g/codex/m", "g/codex/m", " qtSd/g/codex/m"]) {
        assert_eq!(QuotaName::parse(text), None, "E19: {text}");
    }
}

#[test]
fn e29_a_full_window_lasts_until_its_reset() {
    let account: ConnectionId = "a".into();
    let mut buckets = Buckets::default();
    buckets.read(&account, Window::Session, (100.0, Some(10_000)), 0);
    assert!(buckets.is_full(&account, Window::Session, 9_999));
    assert!(!buckets.is_full(&account, Window::Session, 10_000));
    assert!(buckets.is_empty(), "the reading forgot it");
}

#[test]
fn flow_2_18_readings() {
    let account: ConnectionId = "a".into();
    let rows: [(&str, f64, Option<u64>, bool); 6] = [
        ("used up, reset unknown", 100.0, None, true),
        ("more than used up", 140.0, Some(6_000), true),
        ("almost", 99.9, None, false),
        ("its reset has passed", 100.0, Some(5_000), false),
        ("no number", f64::NAN, None, false),
        ("endless", f64::INFINITY, None, false),
    ];
    for (row, used, reset_at, full) in rows {
        let mut buckets = Buckets::default();
        buckets.read(&account, Window::Week, (used, reset_at), 5_000);
        assert_eq!(buckets.is_full(&account, Window::Week, 5_000), full, "{row}");
    }
    let mut buckets = Buckets::default();
    buckets.read(&account, Window::Week, (100.0, None), 0);
    assert!(buckets.is_full(&account, Window::Week, u64::MAX), "unknown: it stays");
    buckets.read(&account, Window::Week, (99.0, None), 1);
    assert!(!buckets.is_full(&account, Window::Week, 1), "until a lower reading comes");
}

#[test]
fn flow_2_17_a_week_of_a_model_saturates_that_model_only() {
    let (account, other): (ConnectionId, ConnectionId) = ("a".into(), "b".into());
    let mut buckets = Buckets::default();
    buckets.read(&account, Window::WeekOf("opus".into()), (100.0, None), 0);
    assert!(buckets.is_saturated(&account, &"opus".into(), 0));
    assert!(!buckets.is_saturated(&account, &"haiku".into(), 0));
    assert!(!buckets.is_saturated(&other, &"opus".into(), 0));
    buckets.read(&account, Window::Session, (100.0, None), 0);
    assert!(buckets.is_saturated(&account, &"haiku".into(), 0));
    buckets.forget(&account);
    assert!(buckets.is_empty());
}

#[test]
fn flow_2_18_labels() {
    let rows = [
        ("session (5h)", Some(Window::Session)),
        ("weekly (7d)", Some(Window::Week)),
        ("weekly opus (7d)", Some(Window::WeekOf("opus".into()))),
        ("weekly  (7d)", None),
        ("monthly (30d)", None),
        ("", None),
    ];
    for (label, window) in rows {
        assert_eq!(Window::of_label(label), window, "{label}");
    }
}

#[test]
fn flow_2_18_the_least_recently_used_of_1024_makes_room() {
    let mut buckets = Buckets::default();
    let account = |number: usize| ConnectionId::from(format!("c{number}"));
    for number in 0..1_024 {
        buckets.read(&account(number), Window::Session, (100.0, None), 0);
    }
    assert!(buckets.is_full(&account(0), Window::Session, 0), "used: no longer the oldest");
    buckets.read(&account(1_024), Window::Session, (100.0, None), 0);
    assert_eq!(buckets.len(), 1_024);
    assert!(buckets.is_full(&account(0), Window::Session, 0));
    assert!(!buckets.is_full(&account(1), Window::Session, 0));
}

#[test]
fn e30_a_lost_lease_ends_by_itself() {
    let account: ConnectionId = "a".into();
    let mut leases = Leases::default();
    leases.take(&account, 0);
    assert_eq!((leases.count(&account, 119_999), leases.count(&account, 120_000)), (1, 0));
    assert_eq!(LEASE_MS, 120_000);
}

#[test]
fn flow_2_24_traffic_keeps_no_lost_lease_alive_and_a_late_release_takes_no_newer_down() {
    let account: ConnectionId = "a".into();
    let mut leases = Leases::default();
    let lost = leases.take(&account, 0);
    leases.take(&account, 100_000);
    assert_eq!(leases.count(&account, 120_000), 1);
    leases.release(&account, lost);
    leases.release(&account, lost);
    assert_eq!(leases.count(&account, 120_000), 1);
}
