//! Half-open breakers and lone trials as requests meet them: permits and verdicts, nothing
//! of a socket (FC-012, FC-013, decisions 3a, 5, 5a, 6). Time is paused.

use std::time::Duration;

use actors::permit::Permit;
use actors::provider::Order;
use actors::testing::{World, blueprint, paused};
use policy::breaker::BreakerState;
use policy::change::{Exclusion, Refusal};
use policy::hint::{Hint, HintSource};
use policy::ids::Class;
use policy::verdict::{Case, End, Signal, judge};

const TWO: &str = "a: a1\nb: b1\nab priority: a/m b/m";
const GOOD: End = End::Status(200);
/// The hold and the lease of a probe of an API-key provider, ms.
const HOLD: u64 = 30_000;

async fn ms(length: u64) {
    tokio::time::sleep(Duration::from_millis(length)).await;
}

/// A world in which the hold of provider `a` has just ended.
async fn at_the_end_of_the_hold(lines: &str) -> World {
    let world = World::start(blueprint(lines)).await;
    world.fail("a/m", 12).await;
    assert_eq!(world.provider("a").view.load().state, BreakerState::Open);
    ms(HOLD).await;
    world
}

fn state(world: &World) -> BreakerState {
    world.provider("a").view.load().state_at(world.now())
}

/// So many requests that pick first and then all ask at once; each goes down its plan.
async fn rush(world: &World, model: &str, count: usize) -> Vec<(Option<Permit>, Vec<Refusal>)> {
    let mut plans = Vec::new();
    for _ in 0..count {
        plans.push(world.pick(model).await);
    }
    let mut asked = Vec::new();
    for plan in plans {
        let owners = world.owners.clone();
        asked.push(actix::spawn(async move {
            let mut refusals = Vec::new();
            for (index, target) in plan.targets.iter().enumerate() {
                match owners.acquire(target, index + 1 < plan.targets.len()).await {
                    Ok(permit) => return (Some(permit), refusals),
                    Err(refusal) => refusals.push(refusal),
                }
            }
            (None, refusals)
        }));
    }
    let mut answers = Vec::new();
    for task in asked {
        answers.push(task.await.unwrap());
    }
    answers
}

fn served_by(answers: &[(Option<Permit>, Vec<Refusal>)], connection: &str) -> usize {
    let permits = answers.iter().filter_map(|(permit, _)| permit.as_ref());
    permits.filter(|permit| permit.target().connection.as_str() == connection).count()
}

#[test]
fn fc_012_one_of_fifty_probes_and_the_others_go_on_at_once() {
    paused(async {
        let world = at_the_end_of_the_hold(TWO).await;
        let started = world.now();
        let answers = rush(&world, "ab", 50).await;
        assert_eq!((served_by(&answers, "a1"), served_by(&answers, "b1")), (1, 49));
        assert_eq!(world.now(), started, "nobody waited");
        let probes = answers.iter().flat_map(|(permit, _)| permit).filter(|permit| permit.is_probe());
        assert_eq!(probes.count(), 1);
        let refused = Refusal { why: Exclusion::CircuitOpen, retry_at: Some(started + HOLD) };
        let refusals: Vec<Refusal> = answers.iter().flat_map(|(_, refusals)| refusals.clone()).collect();
        assert_eq!(refusals, vec![refused; 49]);
        assert_eq!(world.pick("ab").await.targets.len(), 1, "later picks do not even ask");
    });
}

#[test]
fn fc_012_without_another_target_the_others_are_refused_with_the_wait() {
    paused(async {
        let world = at_the_end_of_the_hold(TWO).await;
        let answers = rush(&world, "a/m", 50).await;
        assert_eq!(served_by(&answers, "a1"), 1);
        let waits = answers.iter().flat_map(|(_, refusals)| refusals).filter_map(|refusal| refusal.retry_at);
        assert_eq!(waits.collect::<Vec<u64>>(), vec![world.now() + HOLD; 49]);
    });
}

#[test]
fn fc_012_a_good_probe_closes_and_bad_ones_hold_longer() {
    paused(async {
        let world = at_the_end_of_the_hold(TWO).await;
        let mut holds = Vec::new();
        for _ in 0..5 {
            world.serve("a/m", End::NoFirstByte).await;
            let view = world.provider("a").view.load_full();
            assert_eq!(view.open_until, Some(world.now() + view.hold_ms));
            holds.push(view.hold_ms);
            ms(view.hold_ms).await;
        }
        assert_eq!(holds, [30_000, 30_000, 30_000, 60_000, 120_000]);
        world.serve("a/m", GOOD).await;
        assert_eq!(state(&world), BreakerState::Closed);
        assert_eq!(served_by(&rush(&world, "ab", 50).await, "a1"), 50);
    });
}

#[test]
fn fc_013_i_a_probe_that_hangs_reopens() {
    paused(async {
        let world = at_the_end_of_the_hold(TWO).await;
        world.serve("a/m", End::NoFirstByte).await;
        assert_eq!(state(&world), BreakerState::Open);
        assert_eq!(world.provider("a").view.load().open_until, Some(world.now() + HOLD));
    });
}

#[test]
fn fc_013_ii_a_probe_whose_client_leaves_decides_nothing() {
    paused(async {
        let world = at_the_end_of_the_hold(TWO).await;
        for left in [true, false] {
            let mut permit = world.acquire("a/m").await.unwrap();
            assert!(permit.is_probe());
            if left {
                permit.settle(actors::testing::verdict(End::ClientGone), true, true);
            }
            drop(permit);
            world.quiet().await;
            let view = world.provider("a").view.load_full();
            assert_eq!((view.state, view.failures, view.permits_left), (BreakerState::HalfOpen, 12, 1));
        }
        assert!(world.acquire("a/m").await.unwrap().is_probe(), "the next one may probe");
    });
}

#[test]
fn fc_013_iii_a_429_proves_reachable_and_cools_as_stated() {
    paused(async {
        let world = at_the_end_of_the_hold(TWO).await;
        let hint = Some(Hint { wait_ms: 30_000, source: HintSource::Header });
        let verdict = judge(&Signal::new(End::Status(429), hint), &Case::of(Class::Apikey));
        let mut permit = world.acquire("a/m").await.unwrap();
        permit.settle(verdict.clone(), true, true);
        permit.close(&world.owners, &actors::testing::failure(&verdict)).await;
        assert_eq!(state(&world), BreakerState::Closed);
        let until = world.pick("a/m").await.excluded[0].until;
        assert_eq!(until, Some(world.now() + 30_000));
    });
}

#[test]
fn fc_013_iv_a_400_closes_and_cools_nobody() {
    paused(async {
        let world = at_the_end_of_the_hold(TWO).await;
        world.serve("a/m", End::Status(400)).await;
        assert_eq!(state(&world), BreakerState::Closed);
        assert_eq!(world.pick("a/m").await.targets.len(), 1);
    });
}

#[test]
fn fc_013_v_a_late_success_of_an_older_probe_is_ignored() {
    paused(async {
        let world = at_the_end_of_the_hold(TWO).await;
        let late = world.acquire("a/m").await.unwrap();
        ms(HOLD + 1).await;
        // Its lease is over: another one probes, fails, and the breaker opens again.
        world.serve("a/m", End::NoFirstByte).await;
        let open_until = world.provider("a").view.load().open_until;
        world.settle(late, "a/m", GOOD).await;
        assert_eq!(state(&world), BreakerState::Open);
        assert_eq!(world.provider("a").view.load().open_until, open_until);
    });
}

/// Nobody waits for the first verdict before the second is posted.
#[test]
fn decision_9a_a_cut_right_behind_a_good_probe_is_a_failure_of_its_own() {
    paused(async {
        let world = at_the_end_of_the_hold(TWO).await;
        let mut permit = world.acquire("a/m").await.unwrap();
        assert!(permit.is_probe());
        permit.settle(actors::testing::verdict(GOOD), true, true);
        permit.settle_again(actors::testing::verdict(End::CutAfterCommit), true);
        drop(permit);
        world.quiet().await;
        let view = world.provider("a").view.load_full();
        assert_eq!((view.state, view.failures), (BreakerState::Closed, 1));
    });
}

#[test]
fn decision_3a_after_a_cooldown_one_goes_ahead() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        world.serve("a/m", End::Status(503)).await;
        ms(3_000).await;
        let plan = world.pick("ab").await;
        let lone = world.owners.acquire(&plan.targets[0], true).await.unwrap();
        let refusal = world.owners.acquire(&plan.targets[0], true).await.err().unwrap();
        let lease_end = Some(world.now() + HOLD);
        assert_eq!(refusal, Refusal { why: Exclusion::Recovering, retry_at: lease_end });
        let without = world.owners.acquire(&plan.targets[0], false).await;
        assert!(without.is_ok(), "nobody waits without need");
        drop(without);
        world.settle(lone, "ab", GOOD).await;
        assert_eq!(served_by(&rush(&world, "ab", 50).await, "a1"), 50, "judged: all are admitted");
    });
}

#[test]
fn decision_3a_of_a_rush_one_is_the_trial_and_the_others_go_on() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        world.serve("a/m", End::Status(503)).await;
        ms(3_000).await;
        let answers = rush(&world, "ab", 50).await;
        assert_eq!((served_by(&answers, "a1"), served_by(&answers, "b1")), (1, 49));
        drop(answers);
        world.quiet().await;
        let again = rush(&world, "ab", 50).await;
        assert_eq!(served_by(&again, "a1"), 1, "a dropped trial is due again");
    });
}

#[test]
fn decision_5a_the_lease_of_a_probe_is_the_reset_timeout() {
    paused(async {
        let world = at_the_end_of_the_hold(TWO).await;
        assert_eq!(world.acquire("a/m").await.unwrap().probe_lease_ms(), HOLD);
    });
}

#[test]
fn decision_6_a_success_admitted_before_the_trip_changes_nothing() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        let early = world.acquire("a/m").await.unwrap();
        world.fail("a/m", 12).await;
        let before = world.provider("a").view.load_full();
        ms(1_000).await;
        world.settle(early, "a/m", GOOD).await;
        assert_eq!(*world.provider("a").view.load_full(), *before);
    });
}

#[test]
fn a_client_that_leaves_while_asking_takes_nothing_along() {
    paused(async {
        let world = World::start(blueprint("a: a1*3")).await;
        // Both are at stake: the probe of the breaker and the lone trial of the connection.
        world.serve("a/m", End::Status(503)).await;
        world.provider("a").mailbox.post(Order::Trip(Some(10_000)));
        ms(10_000).await;
        let target = world.pick("a/m").await.targets[0].clone();
        let (mut got, mut left) = (0, 0);
        for patience in (0..10).cycle().take(1000) {
            let asked = world.owners.acquire(&target, false);
            tokio::select! {
                biased;
                answer = asked => got += usize::from(answer.is_ok()),
                () = yields(patience) => left += 1,
            }
        }
        world.quiet().await;
        assert!(got > 0 && left > 100, "some left while asking: {got} got it, {left} left");
        assert_eq!(world.connection("a1").in_flight(), 0);
        assert_eq!(world.provider("a").view.load().permits_left, 1);
        let cooldown = world.owners.router.board.load().connections["a1"].cooldown.clone();
        assert_eq!((cooldown.trial_due, cooldown.trial_until), (true, None));
        assert!(world.acquire("a/m").await.unwrap().is_probe());
    });
}

async fn yields(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}
