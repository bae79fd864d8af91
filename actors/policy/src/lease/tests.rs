//! Every transition of a lease as rows of rules 9.8, with its clock.

use std::sync::Arc;

use super::{
    Claim, Contention, Denied, EndReason, Fence, Lack, LeaseBook, LeaseState, LeaseView, Managed, OwnerHash,
    Row, TTL_MS, is_owner, lack, move_reason, retry_after_s, unsupported,
};
use crate::change::Exclusion;
use crate::ids::ConnectionId;
use crate::plan::Excluded;
use crate::time::Millis;

const T0: Millis = 1_700_000_000_000;

fn owner(name: char) -> OwnerHash {
    let digit = format!("{:x}", name as u32 % 16);
    OwnerHash::from_hex(&digit.repeat(64)).unwrap()
}

fn claim(key: &str, owner_name: char, connection: &str) -> Claim {
    Claim { owner: owner(owner_name), key: key.into(), provider: "p".into(), connection: connection.into() }
}

fn fence(key: &str, owner_name: char, generation: u64) -> Fence {
    Fence { owner: owner(owner_name), generation, key: key.into() }
}

/// M1: KA has c1 for OA since T0.
fn m1() -> LeaseBook {
    let mut book = LeaseBook::default();
    let row = book.claim(&claim("KA", 'a', "c1"), T0).unwrap();
    assert_eq!((row.state, row.generation, row.expires_at), (LeaseState::Active, 1, T0 + 120_000));
    book
}

#[test]
fn m2_renewing_extends_from_now() {
    let row = m1().renew(&fence("KA", 'a', 1), T0 + 30_000).unwrap();
    assert_eq!((row.expires_at, row.renewed_at, row.acquired_at), (T0 + 150_000, T0 + 30_000, T0));
}

#[test]
fn m3_m6_m7_what_is_not_exactly_the_active_lease_is_stale() {
    for (row, fence, at) in [
        ("M3, generation", fence("KA", 'a', 2), T0 + 30_000),
        ("M3, key", fence("KB", 'a', 1), T0 + 30_000),
        ("another owner", fence("KA", 'b', 1), T0 + 30_000),
        ("M6, M7", fence("KA", 'a', 1), T0 + 120_000),
    ] {
        assert_eq!(m1().renew(&fence, at), Err(Denied::Stale), "{row}");
        assert_eq!(m1().release(&fence, EndReason::OwnerExit, at), Err(Denied::Stale), "{row}");
    }
    assert!(m1().renew(&fence("KA", 'a', 1), T0 + 119_999).is_ok());
}

#[test]
fn m4_m5_a_release_is_said_twice_and_the_next_generation_is_higher() {
    let mut book = m1();
    for _ in 0..2 {
        let row = book.release(&fence("KA", 'a', 1), EndReason::ClientCancelled, T0 + 40_000).unwrap();
        let expected = (LeaseState::Released, Some(EndReason::ClientCancelled), Some(T0 + 40_000));
        assert_eq!((row.state, row.end_reason, row.ended_at), expected);
    }
    assert_eq!(book.release(&fence("KB", 'a', 1), EndReason::OwnerExit, T0 + 41_000), Err(Denied::Stale));
    assert_eq!(book.claim(&claim("KA", 'a', "c1"), T0 + 50_000).unwrap().generation, 2);
    assert_eq!(book.release(&fence("KA", 'a', 1), EndReason::OwnerExit, T0 + 51_000), Err(Denied::Stale));
}

#[test]
fn m8_a_foreign_lease_tells_its_end() {
    let mut book = m1();
    assert_eq!(book.claim(&claim("KA", 'b', "c1"), T0 + 72_800), Err(Denied::Taken(Some(T0 + 120_000))));
    assert_eq!(retry_after_s(Some(T0 + 120_000), T0 + 72_800), 48);
    assert_eq!(retry_after_s(Some(T0), T0 + 5_000), 1);
    assert_eq!(retry_after_s(None, T0), 1);
    assert_eq!(retry_after_s(Some(T0 + 90_000_000), T0), 3_600);
    // Free the moment it ends.
    assert_eq!(book.claim(&claim("KA", 'b', "c1"), T0 + 120_000).unwrap().generation, 1);
    assert_eq!(book.row(&owner('a')).unwrap().end_reason, Some(EndReason::TtlExpired));
}

#[test]
fn m9_an_owner_is_active_under_one_key() {
    let mut book = m1();
    assert_eq!(book.claim(&claim("KB", 'a', "c2"), T0 + 1), Err(Denied::Stale));
    assert_eq!(book.claim(&claim("KB", 'a', "c1"), T0 + 1), Err(Denied::Stale));
    assert_eq!(book.claim(&claim("KA", 'a', "c2"), T0 + 1), Err(Denied::Elsewhere("c1".into())));
    assert_eq!(book.check(&fence("KA", 'a', 1), T0 + 2).unwrap().connection, "c1".into());
}

/// M13, M14, M18: the last look, in its order.
#[test]
fn m18_the_fence_binds_owner_generation_key_and_connection() {
    let mut book = m1();
    book.relocate(&claim("KA", 'a', "c2"), 1, EndReason::HealthOrCooldown, T0 + 1).unwrap();
    for (row, fence, connection, expected) in [
        ("no lease", fence("KA", 'b', 1), "c2", Err(Denied::Required)),
        ("generation before key", fence("KB", 'a', 2), "c1", Err(Denied::Stale)),
        ("key before connection", fence("KB", 'a', 1), "c1", Err(Denied::AuthorizationMismatch)),
        ("KA c1", fence("KA", 'a', 1), "c1", Err(Denied::ConnectionMismatch)),
        ("KA c2", fence("KA", 'a', 1), "c2", Ok(())),
        ("KB c2", fence("KB", 'a', 1), "c2", Err(Denied::AuthorizationMismatch)),
    ] {
        assert_eq!(book.fence(&fence, &connection.into(), T0 + 2), expected, "{row}");
    }
    // Where the target is chosen another key is told less.
    assert_eq!(book.check(&fence("KB", 'a', 1), T0 + 2), Err(Denied::Stale));
    assert_eq!(book.check(&fence("KA", 'b', 1), T0 + 2), Err(Denied::Required));
}

#[test]
fn m17_a_move_keeps_generation_and_time_and_ends_the_old_row() {
    let mut book = m1();
    drop(book.take_news());
    let row = book.relocate(&claim("KA", 'a', "c2"), 1, EndReason::HealthOrCooldown, T0 + 60_000).unwrap();
    assert_eq!((row.generation, row.expires_at, row.connection), (1, T0 + 120_000, "c2".into()));
    let news = book.take_news();
    assert_eq!(news.ended.len(), 1);
    let old = &news.ended[0];
    assert_eq!((&old.connection, old.state, old.generation), (&"c1".into(), LeaseState::Invalidated, 1));
    assert_eq!(old.end_reason, Some(EndReason::HealthOrCooldown));
    assert_eq!(book.claim(&claim("KA", 'b', "c1"), T0 + 60_001).unwrap().generation, 1, "it is free");
    let taken = book.relocate(&claim("KA", 'a', "c1"), 1, EndReason::HealthOrCooldown, T0 + 60_002);
    assert_eq!(taken, Err(Denied::Taken(Some(T0 + 180_001))));
    assert_eq!(book.check(&fence("KA", 'a', 1), T0 + 60_003).unwrap().connection, "c2".into(), "it stays");
}

#[test]
fn m24_acquiring_again_extends_and_keeps_the_generation() {
    let row = m1().claim(&claim("KA", 'a', "c1"), T0 + 60_000).unwrap();
    assert_eq!((row.generation, row.acquired_at, row.expires_at), (1, T0, T0 + 180_000));
}

/// Decision 30a.
#[test]
fn fc_102_a_running_request_holds_its_lease_and_its_end_starts_the_time_anew() {
    let mut book = m1();
    let c1 = ConnectionId::from("c1");
    book.enter(&fence("KA", 'a', 1), &c1, T0 + 1_000).unwrap();
    book.enter(&fence("KA", 'a', 1), &c1, T0 + 2_000).unwrap();
    let long = T0 + 600_000;
    assert_eq!(book.claim(&claim("KA", 'b', "c1"), long), Err(Denied::Taken(None)));
    assert_eq!(book.view(&c1, long), Some(LeaseView { owner: owner('a'), until: None }));
    book.leave(&owner('a'), 1, long);
    assert_eq!(book.view(&c1, long + TTL_MS).map(|view| view.until), Some(None), "one still runs");
    book.leave(&owner('a'), 1, long + 1_000);
    let until = long + 1_000 + TTL_MS;
    assert_eq!(book.view(&c1, until - 1).unwrap().until, Some(until));
    assert_eq!(book.view(&c1, until), None);
    assert_eq!(book.renew(&fence("KA", 'a', 1), until), Err(Denied::Stale));
}

#[test]
fn a_request_of_an_ended_lease_says_nothing_of_the_next_one() {
    let mut book = m1();
    book.enter(&fence("KA", 'a', 1), &"c1".into(), T0).unwrap();
    book.release(&fence("KA", 'a', 1), EndReason::OwnerExit, T0 + 1).unwrap();
    assert_eq!(book.claim(&claim("KA", 'a', "c1"), T0 + 2).unwrap().generation, 2);
    book.enter(&fence("KA", 'a', 2), &"c1".into(), T0 + 3).unwrap();
    book.leave(&owner('a'), 1, T0 + 4);
    assert_eq!(book.view(&"c1".into(), T0 + 5).unwrap().until, None, "the newer one runs");
}

/// A key's name, and what it may lease if it has the scope.
type Key = (&'static str, Option<Arc<[ConnectionId]>>);

/// Rules 7.6.9.
#[test]
fn a_lease_ends_with_the_right_to_it() {
    let list = |ids: &[&str]| Some(ids.iter().map(|id| ConnectionId::from(*id)).collect());
    let rows: [(&str, Vec<Key>, bool, Option<EndReason>); 5] = [
        ("as before", vec![("KA", list(&["c2", "c1"]))], true, None),
        ("no key", vec![("KB", list(&["c1"]))], true, Some(EndReason::ManagedKeyRevoked)),
        ("no scope", vec![("KA", None)], true, Some(EndReason::AuthorizationChanged)),
        ("not this connection", vec![("KA", list(&["c2"]))], true, Some(EndReason::AuthorizationChanged)),
        ("no connection", vec![("KA", list(&["c1"]))], false, Some(EndReason::ConnectionIneligible)),
    ];
    for (row, keys, lives, expected) in rows {
        let mut book = m1();
        let managed = Managed::new(keys.into_iter().map(|(key, list)| (key.into(), list)));
        book.authorise(&managed, |_| lives, T0 + 1);
        assert_eq!(book.row(&owner('a')).unwrap().end_reason, expected, "{row}");
        assert_eq!(book.held(), usize::from(expected.is_none()), "{row}");
    }
}

fn stored(name: char, connection: &str, acquired_at: Millis) -> Row {
    let mut book = LeaseBook::default();
    book.claim(&claim("KA", name, connection), acquired_at).unwrap()
}

/// Decision 11.
#[test]
fn a_restart_keeps_leases_and_generations() {
    let mut book = LeaseBook::default();
    let ended = Row { state: LeaseState::Released, generation: 7, ..stored('b', "c2", T0) };
    let used = Row { in_use: true, ..stored('c', "c3", T0) };
    book.restore([stored('a', "c1", T0), ended, used], T0 + 119_999);
    assert!(book.renew(&fence("KA", 'a', 1), T0 + 119_999).is_ok());
    assert_eq!(book.claim(&claim("KA", 'b', "c2"), T0 + 119_999).unwrap().generation, 8);
    // Its request was cut by the crash: the time starts anew.
    assert_eq!(book.view(&"c3".into(), T0 + 119_999).unwrap().until, Some(T0 + 119_999 + TTL_MS));
    // What is known is newer than what a store says.
    book.restore([stored('a', "c9", T0)], T0 + 120_000);
    assert_eq!(book.check(&fence("KA", 'a', 1), T0 + 120_000).unwrap().connection, "c1".into());
    // Later than its end it has expired.
    let mut late = LeaseBook::default();
    late.restore([stored('a', "c1", T0)], T0 + 120_000);
    assert_eq!(late.row(&owner('a')).unwrap().state, LeaseState::Expired);
    assert_eq!(late.claim(&claim("KA", 'a', "c1"), T0 + 120_000).unwrap().generation, 2);
}

#[test]
fn of_two_stored_leases_of_one_connection_the_later_holds() {
    for order in [['a', 'b'], ['b', 'a']] {
        let mut book = LeaseBook::default();
        let row = |name| stored(name, "c1", if name == 'a' { T0 } else { T0 + 1 });
        book.restore(order.map(row), T0 + 2);
        assert!(book.check(&fence("KA", 'b', 1), T0 + 2).is_ok());
        assert_eq!(book.check(&fence("KA", 'a', 1), T0 + 2), Err(Denied::Required));
    }
}

/// Rules 7.1.4.
#[test]
fn the_time_of_a_lease_has_bounds() {
    for (asked, given) in [(0, 1_000), (5_000, 5_000), (u64::MAX, 1_800_000)] {
        let row = LeaseBook::new(asked).claim(&claim("KA", 'a', "c1"), T0).unwrap();
        assert_eq!(row.expires_at - T0, given);
    }
}

/// Rules 7.1.2.
#[test]
fn an_owner_is_43_characters_of_base64url() {
    let good = format!("vlo_{}", "aZ9_-".repeat(9)[..43].to_owned());
    assert!(is_owner(&good));
    for bad in
        [&good[..46], &format!("{good}A"), &good.replace("vlo", "VLO"), &good.replace('_', "+"), "", "vlo_"]
    {
        assert!(!is_owner(bad), "{bad}");
    }
    assert_eq!(OwnerHash::from_hex(&"A".repeat(64)), None, "lower case only");
}

/// Rules 7.5.1; rows 12, 14 and 15 of 7.3.
#[test]
fn what_a_plan_without_targets_says_of_leases() {
    let target = |reason, connection: Option<&str>, until| Excluded {
        provider: "p".into(),
        model: "m".into(),
        connection: connection.map(Into::into),
        reason,
        until,
        transient: false,
        waitable: false,
    };
    let leased = |id, until| target(Exclusion::Leased, Some(id), until);
    let cools = target(Exclusion::ConnectionCooldown, Some("c3"), Some(T0 + 9));
    let foreign = target(Exclusion::KeyNotAllowed, Some("c4"), None);
    let contended = |eligible, until| Lack::Contended(Contention { eligible, until });
    let rows: [(&str, Vec<Excluded>, Lack); 8] = [
        ("nothing", vec![], Lack::NoneEligible),
        ("others' only", vec![foreign.clone()], Lack::NoneEligible),
        ("inactive", vec![target(Exclusion::Unavailable, Some("c1"), None)], Lack::NoneEligible),
        (
            "leased",
            vec![leased("c1", Some(T0 + 5)), leased("c2", Some(T0 + 3)), foreign.clone()],
            contended(2, Some(T0 + 3)),
        ),
        ("leased, for two models", vec![leased("c1", None), leased("c1", None)], contended(1, None)),
        ("leased and resting", vec![cools.clone(), leased("c1", None)], contended(1, None)),
        ("resting", vec![cools, foreign], Lack::Unavailable(Some(T0 + 9))),
        ("banned", vec![target(Exclusion::Banned, Some("c1"), None)], Lack::Unavailable(None)),
    ];
    for (row, excluded, expected) in rows {
        assert_eq!(lack(&excluded, |_| true), expected, "{row}");
    }
    let open = [target(Exclusion::CircuitOpen, None, Some(T0))];
    assert_eq!(lack(&open, |_| true), Lack::Unavailable(Some(T0)));
    assert_eq!(lack(&open, |_| false), Lack::NoneEligible, "of a provider that is not the key's");
    for (reason, expected) in [
        (Exclusion::ConnectionCooldown, EndReason::HealthOrCooldown),
        (Exclusion::ModelLockout, EndReason::HealthOrCooldown),
        (Exclusion::QuotaShareExceeded, EndReason::QuotaUnavailable),
        (Exclusion::CreditsExhausted, EndReason::QuotaUnavailable),
        (Exclusion::KeyNotAllowed, EndReason::AuthorizationChanged),
        (Exclusion::Banned, EndReason::ConnectionIneligible),
    ] {
        assert_eq!(move_reason(&[target(reason, Some("c1"), None)], &"c1".into()), expected, "{reason:?}");
    }
    assert_eq!(move_reason(&open, &"c1".into()), EndReason::HealthOrCooldown);
    assert_eq!(move_reason(&[], &"c1".into()), EndReason::ModelIneligible);
}

/// Rules 7.6.6, M20.
#[test]
fn what_asks_several_accounts_for_one_answer_has_no_lease() {
    for (strategy, steps, hedging, expected) in [
        ("fusion", 2, false, true),
        ("context-relay", 1, false, true),
        ("chaos", 3, false, true),
        ("pipeline", 2, false, true),
        ("pipeline", 1, false, false),
        ("priority", 5, false, false),
        ("priority", 5, true, true),
        ("single", 1, false, false),
    ] {
        assert_eq!(unsupported(strategy, steps, hedging), expected, "{strategy} {steps} {hedging}");
    }
}
