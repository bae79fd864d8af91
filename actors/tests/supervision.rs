//! Owners that die come back as they were: their last state, their slots, their waiting
//! callers (decision 12, design "Actors"). Time is paused, so every pause is exact.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actors::messages::{Owner, Poison};
use actors::provider::Leave;
use actors::router::family::Restart;
use actors::router::pick::Pick;
use actors::testing::{START, World, blueprint, paused, verdict};
use actors::watch::End as Death;
use policy::breaker::BreakerState;
use policy::catalogue::Dialect;
use policy::change::Exclusion;
use policy::verdict::End;

const TWO: &str = "a: a1 a2\nb: b1\nab priority: a/m b/m";
const NOT_FOUND: End = End::Status(404);
const FAILED: End = End::Status(503);

fn count(restarts: &AtomicU64) -> u64 {
    restarts.load(Ordering::Relaxed)
}

async fn ms(length: u64) {
    tokio::time::sleep(Duration::from_millis(length)).await;
}

/// Kills an owner and waits until its death is counted; its next life may have a pause before it.
macro_rules! kill {
    ($shared:expr) => {{
        let before = count(&$shared.restarts);
        $shared.mailbox.post(Poison);
        while count(&$shared.restarts) == before {
            tokio::task::yield_now().await;
        }
    }};
}

/// Kills the router; the next one comes when time moves.
async fn kill_router(world: &World) {
    world.owners.router.mailbox.post(Poison);
    while world.owners.router.mailbox.is_live() {
        tokio::task::yield_now().await;
    }
}

/// Crashes an owner twice, so that it is in the 100 ms pause of a crash loop.
macro_rules! into_the_gap {
    ($world:expr, $shared:expr) => {{
        kill!($shared);
        $world.quiet().await;
        kill!($shared);
        assert!(!$shared.mailbox.is_live());
    }};
}

#[path = "supervision/removal.rs"]
mod removal;

// === each kind of owner ===

#[test]
fn a_poisoned_provider_comes_back_with_its_count() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        world.fail("a/m", 3).await;
        world.provider("a").mailbox.post(Poison);
        world.quiet().await;
        assert_eq!(count(&world.provider("a").restarts), 1);
        assert_eq!(world.provider("a").view.load().failures, 3);
        assert_eq!(world.owners.router.board.load().providers["a"].failures, 3);
        world.fail("a/m", 1).await;
        assert_eq!(world.provider("a").view.load().failures, 4);
        let others = [
            count(&world.provider("b").restarts),
            count(&world.connection("a1").restarts),
            count(&world.connection("b1").restarts),
            count(&world.owners.router.restarts),
        ];
        assert_eq!(others, [0; 4], "nobody else was touched");
    });
}

#[test]
fn a_poisoned_connection_rests_to_the_same_instant() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        world.serve("a/m", FAILED).await;
        ms(1_000).await;
        world.connection("a1").mailbox.post(Poison);
        world.quiet().await;
        let rest = world.owners.router.board.load().connections["a1"].cooldown.clone();
        assert_eq!((rest.until, rest.level), (Some(START + 3_000), 1));
        assert_eq!(count(&world.connection("a1").restarts), 1);
        assert_eq!(count(&world.connection("a2").restarts), 0);
        assert_eq!(world.pick("a/m").await.targets[0].connection.as_str(), "a2");
    });
}

#[test]
fn a_poisoned_lockout_bars_to_the_same_instant() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        world.serve("a/m", NOT_FOUND).await;
        let until = world.owners.router.board.load().lockouts["a1"][0].until;
        ms(500).await;
        let lockout = world.lockout("a1", "m").unwrap();
        lockout.mailbox.post(Poison);
        world.quiet().await;
        let board = world.owners.router.board.load();
        let locks: Vec<u64> = board.lockouts["a1"].iter().map(|lock| lock.until).collect();
        assert_eq!(locks, [until], "one lock, to the same instant");
        assert_eq!(count(&lockout.restarts), 1);
        assert_eq!(world.connection("a1").lockouts.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_new_router_learns_everything_by_asking() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        world.fail("b/m", 2).await;
        world.serve("a/m", FAILED).await;
        world.serve("a/m", NOT_FOUND).await;
        let before = world.owners.router.board.load_full();
        world.owners.router.mailbox.post(Poison);
        world.quiet().await;
        let after = world.owners.router.board.load_full();
        assert_eq!(count(&world.owners.router.restarts), 1);
        assert!(!Arc::ptr_eq(&before, &after), "the new router has shared its own board");
        assert_eq!(*before.providers, *after.providers);
        assert_eq!(before.lockouts, after.lockouts);
        for id in ["a1", "a2", "b1"] {
            assert_eq!(before.connections[id].cooldown, after.connections[id].cooldown, "{id}");
        }
        assert_eq!(count(&world.connection("a1").restarts), 0, "the owners lived on");
        let excluded = world.pick("a/m").await.excluded;
        let reasons: Vec<Exclusion> = excluded.iter().map(|target| target.reason).collect();
        assert_eq!(reasons, [Exclusion::ConnectionCooldown, Exclusion::ModelLockout]);
    });
}

// === permits from before (decision 12) ===

#[test]
fn a_permit_from_before_a_crash_gives_its_slot_back() {
    paused(async {
        let world = World::start(blueprint("a: a1*1")).await;
        let permit = world.acquire("a/m").await.unwrap();
        world.connection("a1").mailbox.post(Poison);
        world.quiet().await;
        assert_eq!(world.connection("a1").in_flight(), 1);
        let why = world.acquire("a/m").await.err().unwrap().why;
        assert_eq!(why, Exclusion::ConcurrencyCap, "the new owner counts the old permit");
        drop(permit);
        assert_eq!(world.connection("a1").in_flight(), 0);
        assert!(world.acquire("a/m").await.is_ok());
    });
}

#[test]
fn a_verdict_from_before_a_crash_counts() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        let permit = world.acquire("a/m").await.unwrap();
        world.connection("a1").mailbox.post(Poison);
        world.provider("a").mailbox.post(Poison);
        world.quiet().await;
        world.settle(permit, "a/m", FAILED).await;
        assert_eq!(world.provider("a").view.load().failures, 1);
        let until = world.owners.router.board.load().connections["a1"].cooldown.until;
        assert_eq!(until, Some(START + 3_000));
    });
}

#[test]
fn a_probe_from_before_a_crash_no_longer_decides() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        world.fail("a/m", 12).await;
        ms(30_000).await;
        let old = world.acquire("a/m").await.unwrap();
        assert!(old.is_probe());
        world.provider("a").mailbox.post(Poison);
        world.quiet().await;
        world.settle(old, "a/m", End::NoFirstByte).await;
        let view = world.provider("a").view.load_full();
        assert_eq!((view.state, view.failures, view.permits_left), (BreakerState::HalfOpen, 12, 1));
        let new = world.acquire("a/m").await.unwrap();
        assert!(new.is_probe(), "its permits are full again (B24)");
        world.settle(new, "a/m", End::Status(200)).await;
        assert_eq!(world.provider("a").view.load().state, BreakerState::Closed);
    });
}

#[test]
fn a_verdict_in_the_gap_waits_for_the_next_owner() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        let mut permit = world.acquire("a/m").await.unwrap();
        into_the_gap!(world, world.connection("a1"));
        permit.settle(verdict(FAILED), true, true);
        drop(permit);
        ms(150).await;
        world.quiet().await;
        assert_eq!(world.provider("a").view.load().failures, 1);
        kill!(world.provider("a"));
        world.quiet().await;
        let mut permit = world.acquire("a/m").await.unwrap();
        kill!(world.provider("a"));
        permit.settle(verdict(FAILED), true, true);
        drop(permit);
        ms(150).await;
        world.quiet().await;
        assert_eq!(world.provider("a").view.load().failures, 2);
    });
}

#[test]
fn a_verdict_planned_by_a_router_that_knows_nobody_yet_counts() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        // The breaker has moved on from its first generation.
        world.fail("a/m", 12).await;
        ms(30_000).await;
        world.serve("a/m", End::Status(200)).await;
        kill_router(&world).await;
        // A task among the owners' own: it asks before they have told the new router who they are.
        let owners = world.owners.clone();
        let asked = actix::spawn(async move {
            let pick = Pick::new("a/m", Dialect::Openai);
            let picked = owners.router.mailbox.ask(pick).await.unwrap().unwrap();
            owners.acquire(&picked.plan.targets[0], true).await
        });
        let permit = asked.await.unwrap().unwrap();
        world.settle(permit, "a/m", End::NoFirstByte).await;
        assert_eq!(world.provider("a").view.load().failures, 1);
    });
}

// === the gap ===

#[test]
fn a_crash_loop_backs_off_from_100_ms_to_30_s() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let shared = world.provider("a");
        let mut pauses = Vec::new();
        for _ in 0..12 {
            kill!(shared);
            let died = world.now();
            while !shared.mailbox.is_live() {
                ms(1).await;
            }
            pauses.push((world.now() - died) / 100 * 100);
        }
        let expected = [0, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000];
        assert_eq!(pauses, expected);
        assert_eq!(count(&shared.restarts), 12);
        ms(60_001).await;
        kill!(shared);
        let died = world.now();
        world.quiet().await;
        assert!(shared.mailbox.is_live() && world.now() - died < 100, "after a calm minute: at once");
    });
}

#[test]
fn an_acquire_in_the_gap_is_put_once_more_to_the_next_owner() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        into_the_gap!(world, world.connection("a1"));
        let died = world.now();
        let permit = world.acquire("a/m").await.unwrap();
        assert_eq!(permit.target().connection.as_str(), "a1");
        assert!((100..110).contains(&(world.now() - died)), "{} ms", world.now() - died);
    });
}

#[test]
fn an_acquire_in_a_long_gap_is_refused_after_a_second() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        // 0, 100, 200, 400, 800, 1600 ms.
        for _ in 0..5 {
            kill!(world.connection("a1"));
            ms(1_000).await;
        }
        kill!(world.connection("a1"));
        let died = world.now();
        let why = world.acquire("a/m").await.err().unwrap().why;
        assert_eq!((why, world.now() - died), (Exclusion::Unavailable, 1_000));
        assert_eq!(world.connection("a1").in_flight(), 0);
    });
}

#[test]
fn a_pick_in_a_routers_gap_succeeds() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        kill_router(&world).await;
        let asked = world.now();
        assert_eq!(world.pick("ab").await.targets.len(), 3);
        assert!(world.now() - asked < 1_000);
    });
}

#[test]
fn owners_that_die_with_their_router_keep_their_state() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        world.fail("a/m", 3).await;
        world.serve("a/m", NOT_FOUND).await;
        let lockout = world.lockout("a1", "m").unwrap();
        let until = world.owners.router.board.load().lockouts["a1"][0].until;
        world.serve("b/m", FAILED).await;
        kill_router(&world).await;
        world.provider("a").mailbox.post(Poison);
        world.connection("b1").mailbox.post(Poison);
        lockout.mailbox.post(Poison);
        world.quiet().await;
        assert!(lockout.mailbox.is_live());
        let board = world.owners.router.board.load();
        assert_eq!(board.providers["a"].failures, 3);
        assert_eq!(board.connections["b1"].cooldown.until, Some(START + 3_000));
        assert_eq!(board.lockouts["a1"][0].until, until);
        assert_eq!(count(&world.provider("a").restarts), 1, "its death was heard of");
    });
}

// === restart by command (decision 12) ===

#[test]
fn a_restart_keeps_the_state_of_every_kind() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        world.fail("a/m", 3).await;
        world.serve("b/m", FAILED).await;
        world.serve("a/m", NOT_FOUND).await;
        let lockout = world.lockout("a1", "m").unwrap();
        let before = world.owners.router.board.load_full();
        let all = [
            Owner::Provider("a".into()),
            Owner::Connection("b1".into()),
            Owner::Lockout("a1".into(), lockout.key.clone()),
        ];
        for owner in all {
            world.owners.router.mailbox.post(Restart(owner));
        }
        world.quiet().await;
        let after = world.owners.router.board.load_full();
        assert_eq!(after.providers["a"].failures, 3);
        assert_eq!(before.connections["b1"].cooldown, after.connections["b1"].cooldown);
        assert_eq!(before.lockouts, after.lockouts);
        let restarts = [&world.provider("a").restarts, &world.connection("b1").restarts, &lockout.restarts];
        assert_eq!(restarts.map(count), [1, 1, 1]);
    });
}

#[test]
fn what_waits_behind_a_restart_is_heard() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        let mut permit = world.acquire("a/m").await.unwrap();
        world.connection("a1").mailbox.post(Leave(Death::Restarted));
        permit.settle(verdict(FAILED), true, true);
        drop(permit);
        world.quiet().await;
        assert_eq!(count(&world.connection("a1").restarts), 1);
        let until = world.owners.router.board.load().connections["a1"].cooldown.until;
        assert_eq!(until, Some(START + 3_000));
        assert_eq!(world.provider("a").view.load().failures, 1);
    });
}

// === a removed entity (contract 1) ===
