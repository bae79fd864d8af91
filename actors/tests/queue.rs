//! Waiting in line at the owners: nothing is held meanwhile, every slot comes back whoever goes,
//! and caps above a connection span its owners (flow 1, decisions 3a, 9, 12, 13; FC-106).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actors::blueprint::Blueprint;
use actors::ceiling::CeilingSettings;
use actors::connection::Order;
use actors::messages::Barrier;
use actors::permit::Permit;
use actors::router::family::Apply;
use actors::testing::{World, blueprint, failure, paused, verdict};
use policy::change::{Exclusion, Refusal};
use policy::gate::Patience;
use policy::plan::Planned;
use policy::verdict::End;
use tokio::task::JoinHandle;

async fn ms(length: u64) {
    tokio::time::sleep(Duration::from_millis(length)).await;
}

async fn target(world: &World, model: &str) -> Planned {
    world.pick(model).await.targets[0].clone()
}

type Turn = JoinHandle<Result<Permit, Refusal>>;

/// Joins a line, and returns once the place is taken.
async fn queue(world: &World, target: &Planned) -> Turn {
    let (owners, target) = (world.owners.clone(), target.clone());
    let id = target.connection.clone();
    let turn = actix::spawn(async move { owners.queue(&target, Patience::Queue, true).await });
    tokio::task::yield_now().await;
    settle(world, id.as_str()).await;
    turn
}

/// Everything that was posted to a connection is handled.
async fn settle(world: &World, id: &str) {
    for _ in 0..3 {
        let _ = world.connection(id).mailbox.ask(Barrier).await;
    }
}

fn waiting(world: &World, id: &str) -> usize {
    world.connection(id).gate().waiting()
}

async fn permit(turn: Turn) -> Permit {
    turn.await.expect("the task ends").map_err(|refusal| refusal.why).expect("a slot")
}

async fn refusal(turn: Turn) -> Exclusion {
    turn.await.expect("the task ends").err().expect("a refusal").why
}

#[test]
fn a_freed_slot_goes_to_who_waited_longest() {
    paused(async {
        let world = World::start(blueprint("a: a1*1")).await;
        let target = target(&world, "a/m").await;
        let first = world.owners.acquire(&target, false).await.unwrap();
        let (second, third) = (queue(&world, &target).await, queue(&world, &target).await);
        assert_eq!((waiting(&world, "a1"), world.connection("a1").in_flight()), (2, 1));
        drop(first);
        let second = permit(second).await;
        assert!(!third.is_finished());
        drop(second);
        drop(permit(third).await);
        assert_eq!((waiting(&world, "a1"), world.connection("a1").in_flight()), (0, 0));
    });
}

#[test]
fn a_wait_ends_after_its_budget_and_marks_nobody() {
    paused(async {
        let world = World::start(blueprint("a: a1*1")).await;
        let target = target(&world, "a/m").await;
        let first = world.owners.acquire(&target, false).await.unwrap();
        let since = tokio::time::Instant::now();
        assert_eq!(refusal(queue(&world, &target).await).await, Exclusion::SemaphoreTimeout);
        assert_eq!(since.elapsed().as_millis(), 30_000);
        drop(first);
        settle(&world, "a1").await;
        let changes = ["provider", "connection", "lockout"].map(|kind| world.changes(kind).len());
        assert_eq!(changes, [0; 3], "our own wait is nobody's fault");
    });
}

/// FC-106: who has gone takes no turn.
#[test]
fn twenty_thousand_cancels_give_every_slot_back() {
    paused(async {
        let mut plan = blueprint("a: a1*3");
        plan.connections.values_mut().for_each(|numbers| numbers.gate.queue_size = 0);
        let world = World::start(plan).await;
        let target = target(&world, "a/m").await;
        let mut dice = fastrand::Rng::with_seed(4);
        let mut turns: Vec<Turn> = Vec::new();
        let mut held: Vec<Permit> = Vec::new();
        for _ in 0..20_000 {
            let (owners, target) = (world.owners.clone(), target.clone());
            turns.push(actix::spawn(async move { owners.queue(&target, Patience::Queue, true).await }));
            if dice.bool() {
                tokio::task::yield_now().await;
            }
            let gone = turns.swap_remove(dice.usize(0..turns.len()));
            if gone.is_finished() {
                held.push(permit(gone).await);
            } else {
                gone.abort();
            }
            if dice.u8(0..3) == 0 && !held.is_empty() {
                held.swap_remove(dice.usize(0..held.len()));
            }
        }
        turns.into_iter().for_each(|turn| turn.abort());
        held.clear();
        for _ in 0..10 {
            settle(&world, "a1").await;
        }
        assert_eq!((waiting(&world, "a1"), world.connection("a1").in_flight()), (0, 0));
        assert_eq!(world.connection("a1").gate().in_flight(), 0);
        let all: Vec<Permit> = {
            let mut all = Vec::new();
            for _ in 0..3 {
                all.push(world.owners.acquire(&target, false).await.unwrap());
            }
            all
        };
        assert_eq!(all.len(), 3, "all three slots are there");
    });
}

/// Decision 12: who waits at an owner that dies asks the next one, and slots taken before count.
#[test]
fn an_owner_that_dies_loses_neither_slots_nor_those_who_wait() {
    paused(async {
        let world = World::start(blueprint("a: a1*1")).await;
        let target = target(&world, "a/m").await;
        let first = world.owners.acquire(&target, false).await.unwrap();
        let second = queue(&world, &target).await;
        world.connection("a1").mailbox.post(actors::messages::Poison);
        ms(10).await;
        assert_eq!(
            (waiting(&world, "a1"), world.connection("a1").in_flight()),
            (1, 1),
            "it stands in line again"
        );
        drop(first);
        drop(permit(second).await);
        assert_eq!(world.connection("a1").in_flight(), 0);
    });
}

#[test]
fn draining_sends_those_away_who_wait() {
    paused(async {
        let world = World::start(blueprint("a: a1*1")).await;
        let target = target(&world, "a/m").await;
        let _first = world.owners.acquire(&target, false).await.unwrap();
        let second = queue(&world, &target).await;
        world.connection("a1").mailbox.post(Order::Drain);
        assert_eq!(refusal(second).await, Exclusion::Draining);
    });
}

/// Fails a permit with a status, without a stated wait.
async fn fails(world: &World, mut permit: Permit, end: End) {
    let verdict = verdict(end);
    permit.settle(verdict.clone(), true, true);
    permit.close(&world.owners, &failure(&verdict)).await;
}

/// A rest is waited out by those in line, behind the lone trial (decision 3a, FC-108).
#[test]
fn those_in_line_wait_out_a_rest_and_then_for_the_trial() {
    paused(async {
        let world = World::start(blueprint("a: a1*2")).await;
        let target = target(&world, "a/m").await;
        let (first, other) = (
            world.owners.acquire(&target, false).await.unwrap(),
            world.owners.acquire(&target, false).await.unwrap(),
        );
        let (second, third) = (queue(&world, &target).await, queue(&world, &target).await);
        fails(&world, first, End::Status(429)).await;
        drop(other);
        let since = tokio::time::Instant::now();
        let trial = permit(second).await;
        assert_eq!(since.elapsed().as_millis(), 3_000, "the rest");
        ms(500).await;
        assert!(!third.is_finished(), "the trial is not judged");
        let mut trial = trial;
        trial.settle(policy::verdict::Verdict::Success, true, true);
        drop(permit(third).await);
    });
}

/// FC-108 and decision 3a: those in line follow the trial, but not for ever: a call that hangs holds
/// them for seconds, not the account for good.
#[test]
fn a_trial_that_hangs_holds_a_line_for_a_moment_only() {
    paused(async {
        let world = World::start(blueprint("a: a1*9")).await;
        let target = target(&world, "a/m").await;
        let mut inside = Vec::new();
        for _ in 0..9 {
            inside.push(world.owners.acquire(&target, false).await.unwrap());
        }
        let mut line = Vec::new();
        for _ in 0..8 {
            line.push(queue(&world, &target).await);
        }
        fails(&world, inside.pop().unwrap(), End::Status(429)).await;
        inside.clear();
        ms(3_000).await;
        settle(&world, "a1").await;
        let in_flight = || world.connection("a1").in_flight();
        assert_eq!(in_flight(), 1, "the trial");
        for (wait, inside) in [(999, 1), (1, 2), (1_000, 4), (1_000, 8)] {
            ms(wait).await;
            settle(&world, "a1").await;
            assert_eq!(in_flight(), inside);
        }
        for turn in line {
            drop(permit(turn).await);
        }
    });
}

/// Decision 3a: a request that has nowhere else to go is let in beside the trial, unless it asks to
/// stand behind it.
#[test]
fn only_who_asks_for_it_stands_behind_the_trial() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let target = target(&world, "a/m").await;
        fails(&world, world.owners.acquire(&target, false).await.unwrap(), End::Status(429)).await;
        ms(3_000).await;
        let mut trial = world.owners.acquire(&target, true).await.unwrap();
        let recovering = world.owners.acquire(&target, true).await.err().unwrap();
        assert_eq!(recovering.why, Exclusion::Recovering);
        let beside = world.owners.queue(&target, Patience::Queue, false).await.unwrap();
        let behind = queue(&world, &target).await;
        assert!(!behind.is_finished());
        trial.settle(policy::verdict::Verdict::Success, true, true);
        drop((trial, beside));
        drop(permit(behind).await);
    });
}

/// A rest longer than the patience of those in line is told at once (flow 4.26).
#[test]
fn a_rest_that_outlasts_the_patience_is_told_at_once() {
    paused(async {
        let mut plan = blueprint("a: a1*1");
        plan.connections.values_mut().for_each(|numbers| numbers.gate.timeout_ms = 2_000);
        let world = World::start(plan).await;
        let target = target(&world, "a/m").await;
        let first = world.owners.acquire(&target, false).await.unwrap();
        let second = queue(&world, &target).await;
        fails(&world, first, End::Status(429)).await;
        assert_eq!(refusal(second).await, Exclusion::ConnectionCooldown);
    });
}

// === caps above a connection: they span owners, so they are tried and never waited for ===

fn capped(lines: &str, global_max: u32, ceilings: &[(&str, CeilingSettings)]) -> Blueprint {
    let ceilings: HashMap<_, _> = ceilings.iter().map(|(id, settings)| ((*id).into(), *settings)).collect();
    Blueprint { global_max, ceilings, ..blueprint(lines) }
}

#[test]
fn a_provider_cap_spans_its_connections() {
    paused(async {
        let cap = CeilingSettings { cap: 1, rpm: 0 };
        let world = World::start(capped("a: a1 a2\nb: b1", 0, &[("a", cap)])).await;
        let targets = world.pick("a/m").await.targets;
        let first = world.owners.acquire(&targets[0], false).await.unwrap();
        let refused = world.owners.acquire(&targets[1], false).await.err().unwrap();
        assert_eq!(refused.why, Exclusion::ConcurrencyCap);
        let second = queue(&world, &targets[1]).await;
        assert_eq!(world.connection("a2").in_flight(), 0, "waiting holds nothing");
        let other = target(&world, "b/m").await;
        drop(world.owners.acquire(&other, false).await.unwrap());
        drop(first);
        drop(permit(second).await);
        assert_eq!(world.provider("a").ceiling.taken(), 0);
    });
}

/// Who waits for the connection below holds no place above: another connection may have it.
#[test]
fn a_place_above_is_given_back_before_anybody_waits_below() {
    paused(async {
        let world = World::start(capped("a: a1*1 a2*1", 2, &[])).await;
        let targets = world.pick("a/m").await.targets;
        let first = world.owners.acquire(&targets[0], false).await.unwrap();
        let second = queue(&world, &targets[0]).await;
        assert_eq!(world.owners.router.ceiling.taken(), 1);
        let third = world.owners.acquire(&targets[1], false).await.unwrap();
        drop(first);
        let second = permit(second).await;
        assert_eq!(world.owners.router.ceiling.taken(), 2);
        drop((second, third));
        assert_eq!(world.owners.router.ceiling.taken(), 0);
    });
}

/// Every freed place finds a connection that can use it, however many wait (no lost wake-up).
#[test]
fn the_global_cap_is_never_passed_and_never_idle_while_somebody_waits() {
    paused(async {
        let lines = "a: a1*2 a2*1\nb: b1\nc: c1*1";
        let world = World::start(capped(lines, 2, &[("b", CeilingSettings { cap: 1, rpm: 0 })])).await;
        let mut targets = Vec::new();
        for model in ["a/m", "b/m", "c/m"] {
            targets.extend(world.pick(model).await.targets);
        }
        let mut dice = fastrand::Rng::with_seed(11);
        let most = Arc::new(std::sync::atomic::AtomicU32::new(0));
        let mut all = Vec::new();
        for _ in 0..400 {
            let (owners, most) = (world.owners.clone(), most.clone());
            let target = targets[dice.usize(0..targets.len())].clone();
            let runs = dice.u64(1..30);
            all.push(actix::spawn(async move {
                let permit = loop {
                    // A full line sends away; it is asked again, as a client would.
                    match owners.queue(&target, Patience::Queue, true).await {
                        Ok(permit) => break permit,
                        Err(refusal) => assert_eq!(refusal.why, Exclusion::SemaphoreQueueFull),
                    }
                    ms(50).await;
                };
                most.fetch_max(owners.router.ceiling.taken(), std::sync::atomic::Ordering::SeqCst);
                ms(runs).await;
                drop(permit);
            }));
        }
        let since = tokio::time::Instant::now();
        for task in all {
            task.await.unwrap();
        }
        assert_eq!(most.load(std::sync::atomic::Ordering::SeqCst), 2);
        assert!(
            since.elapsed() < Duration::from_secs(10),
            "nobody slept through a free place: {:?}",
            since.elapsed()
        );
        assert_eq!((world.owners.router.ceiling.taken(), world.provider("b").ceiling.taken()), (0, 0));
    });
}

#[test]
fn caps_above_change_while_requests_wait() {
    paused(async {
        let world = World::start(capped("a: a1", 1, &[])).await;
        let target = target(&world, "a/m").await;
        let first = world.owners.acquire(&target, false).await.unwrap();
        let second = queue(&world, &target).await;
        world.owners.router.mailbox.post(Apply(Arc::new(capped("a: a1", 2, &[]))));
        let second = permit(second).await;
        world.owners.router.mailbox.post(Apply(Arc::new(capped("a: a1", 1, &[]))));
        world.quiet().await;
        let third = queue(&world, &target).await;
        drop(first);
        settle(&world, "a1").await;
        assert!(!third.is_finished(), "two ran under a cap that is one now");
        drop(second);
        drop(permit(third).await);
    });
}

/// Flow 4.4 (c): a static window of the provider, for all its connections.
#[test]
fn a_window_of_the_provider_paces_all_its_connections() {
    paused(async {
        let window = CeilingSettings { cap: 0, rpm: 2 };
        let mut plan = capped("a: a1 a2", 0, &[("a", window)]);
        plan.connections.values_mut().for_each(|numbers| numbers.gate.timeout_ms = 90_000);
        let world = World::start(plan).await;
        let targets = world.pick("a/m").await.targets;
        let since = tokio::time::Instant::now();
        for target in [&targets[0], &targets[1]] {
            drop(world.owners.acquire(target, false).await.unwrap());
        }
        drop(permit(queue(&world, &targets[0]).await).await);
        assert_eq!(since.elapsed().as_secs(), 60);
    });
}
