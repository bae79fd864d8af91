//! How news flows: bad news is awaited, good news is posted, and the board, the directory and
//! the store agree about what is left (core 5, decisions 5b, 8, 10, 11).

use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Arbiter, System};
use actors::connection::Order;
use actors::messages::{Barrier, Owner, Publish, Snapshot, View};
use actors::permit::Permit;
use actors::provider;
use actors::router::family::{Apply, Restored};
use actors::testing::{START, World, blueprint, failure, paused, verdict};
use policy::breaker::{Breaker, BreakerSettings, BreakerState};
use policy::change::Exclusion;
use policy::gate::Patience;
use policy::ids::Class;
use policy::plan::{Forced, Planned};
use policy::verdict::End;
use policy::window::WindowView;

const GOOD: End = End::Status(200);
const NOT_FOUND: End = End::Status(404);

async fn ms(length: u64) {
    tokio::time::sleep(Duration::from_millis(length)).await;
}

/// Ends a request badly as relay does, then at once picks again: what failed is not planned.
async fn fails_and_is_not_planned_again(world: &World, mut permit: Permit, model: &str, end: End) {
    let (target, verdict) = (permit.target().clone(), verdict(end));
    permit.settle(verdict.clone(), true, false);
    permit.close(&world.owners, &failure(&verdict)).await;
    let plan = world.pick(model).await;
    let same = |planned: &policy::plan::Planned| {
        planned.connection == target.connection && planned.model == target.model
    };
    assert!(!plan.targets.iter().any(same), "{target:?} has just ended with {end:?}");
}

// === bad news is awaited ===

/// A second 401 in a row ends an account (decision 12a); a passing test brings it back.
async fn bring_back(world: &World) {
    for shared in world.owners.directory.connections() {
        shared.mailbox.post(Order::TestPassed);
    }
    world.quiet().await;
}

#[test]
fn what_was_just_seen_to_fail_is_not_planned() {
    paused(async {
        let lines = "a: a1 a2\nb: b1 b2\nc: c1\nall p2c: a/m b/m c/m a/n b/n";
        let world = World::start(blueprint(lines)).await;
        let mut dice = fastrand::Rng::with_seed(1);
        let ends = [End::Status(503), End::Status(429), NOT_FOUND, End::Status(401), End::Status(529)];
        let mut failed = 0;
        while failed < 1000 {
            ms(dice.u64(0..2_000)).await;
            let plan = world.pick("all").await;
            let Some(target) = plan.targets.first() else {
                bring_back(&world).await;
                continue;
            };
            let Ok(permit) = world.owners.acquire(target, plan.targets.len() > 1).await else { continue };
            failed += 1;
            fails_and_is_not_planned_again(&world, permit, "all", ends[dice.usize(0..ends.len())]).await;
        }
    });
}

#[test]
fn what_was_just_seen_to_fail_is_not_planned_across_threads() {
    System::new().block_on(async {
        let arbiters: Vec<Arbiter> = (0..3).map(|_| Arbiter::new()).collect();
        let homes = arbiters.iter().map(Arbiter::handle).collect();
        let lines = "a: a1 a2 a3 a4 a5 a6 a7 a8";
        let world = World::restored(blueprint(lines), Restored::default(), homes).await;
        let mut dice = fastrand::Rng::with_seed(2);
        for turn in 0..1000 {
            let (model, end) = match turn % 4 {
                0 => (format!("a/m{turn}"), NOT_FOUND),
                _ => ("a/m".to_owned(), End::Status(429)),
            };
            let plan = world.pick(&model).await;
            let target = &plan.targets[dice.usize(0..plan.targets.len())];
            let permit = world.owners.acquire(target, false).await.unwrap();
            let connection = world.connection(target.connection.as_str());
            fails_and_is_not_planned_again(&world, permit, &model, end).await;
            connection.mailbox.post(Order::Reset);
            let _ = connection.mailbox.ask(Barrier).await;
            let _ = world.owners.router.mailbox.ask(Barrier).await;
        }
        for arbiter in &arbiters {
            arbiter.stop();
        }
    });
}

#[test]
fn an_opening_breaker_is_seen_by_the_next_pick() {
    paused(async {
        let world = World::start(blueprint("a: a1\nb: b1\nab priority: a/m b/m")).await;
        world.fail("ab", 11).await;
        let permit = world.acquire("ab").await.unwrap();
        fails_and_is_not_planned_again(&world, permit, "ab", End::NoFirstByte).await;
    });
}

// === good news is posted ===

#[test]
fn a_success_lowers_a_degraded_count() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        world.fail("a/m", 9).await;
        assert_eq!(world.provider("a").view.load().state, BreakerState::Degraded);
        let mut permit = world.acquire("a/m").await.unwrap();
        permit.settle(verdict(GOOD), true, true);
        assert_eq!(world.provider("a").view.load().failures, 9, "nobody waited for it");
        drop(permit);
        world.quiet().await;
        assert_eq!(world.provider("a").view.load().failures, 8);
        world.serve("a/m", GOOD).await;
        let view = world.provider("a").view.load_full();
        assert_eq!((view.state, view.failures), (BreakerState::Closed, 7));
    });
}

#[test]
fn a_success_of_a_healthy_target_is_no_news() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let shares = world.owners.router.shares.load(Ordering::Relaxed);
        world.serve("a/m", GOOD).await;
        assert!(world.changes("provider").is_empty() && world.changes("connection").is_empty());
        assert_eq!(world.owners.router.shares.load(Ordering::Relaxed), shares);
    });
}

// === lockouts ===

/// Locks `a1`'s model so often that its count is four, and waits until the lock is over.
async fn locked_four_times(world: &World) {
    for length in [3_000, 6_000, 12_000, 24_000] {
        world.serve("a/m", NOT_FOUND).await;
        let lock = world.owners.router.board.load().lockouts["a1"][0].clone();
        assert_eq!(lock.until, world.now() + length);
        ms(length + 1).await;
    }
}

fn lock_failures(world: &World) -> Option<u32> {
    world.owners.router.board.load().lockouts.get("a1").map(|locks| locks[0].failures)
}

#[test]
fn a_combos_success_halves_a_lock() {
    paused(async {
        let world = World::start(blueprint("a: a1\nalone priority: a/m")).await;
        locked_four_times(&world).await;
        let mut counts = vec![lock_failures(&world)];
        for _ in 0..3 {
            world.serve("alone", GOOD).await;
            counts.push(lock_failures(&world));
        }
        assert_eq!(counts, [Some(4), Some(2), Some(1), None]);
        assert_eq!(world.connection("a1").lockouts.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_direct_success_removes_a_lock() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        locked_four_times(&world).await;
        world.serve("a/other", GOOD).await;
        assert_eq!(lock_failures(&world), Some(4), "another model says nothing");
        world.serve("a/m", GOOD).await;
        assert_eq!(lock_failures(&world), None);
    });
}

#[test]
fn a_404_bars_only_that_model() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        world.serve("a/m", NOT_FOUND).await;
        let barred = world.pick("a/m").await;
        let until = Some(world.now() + 3_000);
        assert!(barred.targets.is_empty());
        assert_eq!((barred.excluded[0].reason, barred.excluded[0].until), (Exclusion::ModelLockout, until));
        assert_eq!(world.pick("a/n").await.targets.len(), 1);
        assert_eq!(world.provider("a").view.load().failures, 0);
    });
}

#[test]
fn beyond_a_thousand_lockouts_the_connection_cools() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let (connection, router) = (world.connection("a1"), world.owners.router.clone());
        for model in 0..=1000 {
            let before = world.owners.router.board.load().connections["a1"].cooldown.until;
            assert_eq!(before, None, "{model} lockouts");
            let mut permit = world.acquire(&format!("a/m{model}")).await.unwrap();
            permit.settle(verdict(NOT_FOUND), true, true);
            drop(permit);
            let _ = connection.mailbox.ask(Barrier).await;
            let _ = router.mailbox.ask(Barrier).await;
        }
        assert_eq!(connection.lockouts.load(Ordering::Relaxed), 1000);
        let plan = world.pick("a/healthy").await;
        assert_eq!(plan.excluded[0].reason, Exclusion::ConnectionCooldown);
    });
}

#[test]
fn a_lockout_ends_itself_when_its_count_is_dead() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        world.serve("a/m", NOT_FOUND).await;
        let owner = Owner::Lockout("a1".into(), world.lockout("a1", "m").unwrap().key.clone());
        assert!(world.saved()[&owner].is_some());
        // Its count outlives its lock: failure + reset timeout + length of the lock.
        ms(33_000).await;
        assert!(world.lockout("a1", "m").is_some());
        ms(10).await;
        world.quiet().await;
        assert!(world.lockout("a1", "m").is_none());
        assert!(!world.owners.router.board.load().lockouts.contains_key("a1"));
        assert_eq!(world.connection("a1").lockouts.load(Ordering::Relaxed), 0);
        assert!(world.saved()[&owner].is_none(), "the store forgets it too");
        assert_eq!(world.owners.router.restarts.load(Ordering::Relaxed), 0);
    });
}

// === changes and the board ===

async fn half_open_changes(world: &World) -> Vec<u64> {
    world.quiet().await;
    let all = world.changes("provider").into_iter();
    all.filter(|change| change.from == "open" && change.to == "half_open").map(|change| change.at).collect()
}

#[test]
fn decision_5b_the_turn_to_half_open_is_told_once_by_the_timer() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        world.fail("a/m", 12).await;
        let failed_at = world.provider("a").view.load().last_failure_at.unwrap();
        ms(29_990).await;
        assert_eq!(half_open_changes(&world).await, Vec::<u64>::new());
        ms(5_000).await;
        assert_eq!(half_open_changes(&world).await, [failed_at + 30_000]);
        drop(world.acquire("a/m").await.unwrap());
        assert_eq!(half_open_changes(&world).await, [failed_at + 30_000]);
    });
}

#[test]
fn decision_5b_the_turn_to_half_open_is_told_once_by_the_first_acquire() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        world.fail("a/m", 12).await;
        let failed_at = world.provider("a").view.load().last_failure_at.unwrap();
        // The clock is past the hold before the timer has had its turn.
        tokio::time::advance(Duration::from_millis(30_500)).await;
        let permit = world.acquire("a/m").await.unwrap();
        assert!(permit.is_probe());
        assert_eq!(half_open_changes(&world).await, [failed_at + 30_000]);
        drop(permit);
        ms(60_000).await;
        assert_eq!(half_open_changes(&world).await, [failed_at + 30_000]);
    });
}

#[test]
fn five_hundred_pieces_of_news_share_the_board_once() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let breaker = Breaker::new(BreakerSettings::for_class(Class::Apikey));
        let before = world.owners.router.shares.load(Ordering::Relaxed);
        for _ in 0..500 {
            world.owners.router.mailbox.post(Publish {
                owner: Owner::Provider("a".into()),
                view: View::Breaker(breaker.view().into(), WindowView::default()),
                snapshot: Snapshot::Breaker(breaker.snapshot()),
            });
        }
        world.quiet().await;
        assert_eq!(world.owners.router.shares.load(Ordering::Relaxed) - before, 1);
    });
}

#[test]
fn the_store_is_told_what_the_board_shows() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        world.serve("a/m", End::Status(503)).await;
        let saved = world.saved();
        let Some(Some(Snapshot::Connection(connection))) = saved.get(&Owner::Connection("a1".into())) else {
            panic!("{saved:?}");
        };
        assert_eq!(connection.cooldown.until, Some(START + 3_000));
        let Some(Some(Snapshot::Breaker(breaker))) = saved.get(&Owner::Provider("a".into())) else {
            panic!("{saved:?}");
        };
        assert_eq!(breaker.failures, 1);
    });
}

/// The count of a connection's locks once began at nothing when its id came back, and ran below it
/// when they ended: from then on every 404 cooled the whole account instead of locking one model.
#[test]
fn locks_that_outlive_a_removed_connection_are_counted_when_it_comes_back() {
    paused(async {
        let world = World::start(blueprint("a: a1 a2")).await;
        world.serve("a/m", NOT_FOUND).await;
        for lines in ["a: a2", "a: a1 a2"] {
            world.owners.router.mailbox.post(Apply(std::sync::Arc::new(blueprint(lines))));
            world.quiet().await;
        }
        let a1 = world.connection("a1");
        assert_eq!(a1.lockouts.load(Ordering::Relaxed), 1);
        ms(3_600_000).await;
        world.quiet().await;
        assert!(world.lockout("a1", "m").is_none(), "it has ended itself");
        assert_eq!(a1.lockouts.load(Ordering::Relaxed), 0);
    });
}

// === what a marked target passes ===

/// Decision 33: the rest of its connection and nothing else, in line, too.
#[test]
fn decision_33_a_marked_target_passes_the_rest_and_no_cap() {
    paused(async {
        let world = World::start(blueprint("a: a1*1")).await;
        let plain = world.pick("a/m").await.targets[0].clone();
        let marked = Planned { forced: Forced::Rest, ..plain.clone() };
        let first = world.owners.acquire(&plain, false).await.expect("a slot");
        let why = async |target: &Planned| world.owners.acquire(target, false).await.err().map(|no| no.why);
        world.connection("a1").mailbox.post(Order::Cool(60_000));
        assert_eq!(why(&plain).await, Some(Exclusion::ConnectionCooldown));
        assert_eq!(why(&marked).await, Some(Exclusion::ConcurrencyCap));
        let (owners, target) = (world.owners.clone(), marked.clone());
        let line = actix::spawn(async move { owners.queue(&target, Patience::Queue, false).await });
        ms(10).await;
        assert_eq!(world.connection("a1").gate().waiting(), 1);
        // A failure while it rests is no word to those who do not mind the rest.
        let verdict = verdict(End::Status(503));
        let mut first = first;
        first.settle(verdict.clone(), true, false);
        first.close(&world.owners, &failure(&verdict)).await;
        drop(line.await.expect("the task ends").map_err(|no| no.why).expect("the slot that came free"));
        world.connection("a1").mailbox.post(Order::Drain);
        assert_eq!(why(&marked).await, Some(Exclusion::Draining));
    });
}

/// Decision 33: the last resort passes an open breaker without a probe, and no operator's order.
#[test]
fn decision_33_the_last_resort_passes_an_open_breaker_and_no_order() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let plain = world.pick("a/m").await.targets[0].clone();
        let marked = |forced| Planned { forced, ..plain.clone() };
        let asks =
            async |forced| world.owners.acquire(&marked(forced), false).await.map(|permit| permit.is_probe());
        let provider = world.owners.directory.provider(&"a".into()).expect("its owner");
        let why = |asked: Result<bool, policy::change::Refusal>| asked.map_err(|no| no.why);
        provider.mailbox.post(provider::Order::Trip(Some(60_000)));
        world.quiet().await;
        assert_eq!(why(asks(Forced::Rest).await), Err(Exclusion::CircuitOpen));
        assert_eq!(why(asks(Forced::LastResort).await), Ok(false));
        provider.mailbox.post(provider::Order::Isolate);
        world.quiet().await;
        assert_eq!(why(asks(Forced::LastResort).await), Err(Exclusion::Isolated));
    });
}
