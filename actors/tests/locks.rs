//! Locks of single models through the owners: families, refusals, bursts, new numbers, restarts
//! (core 5, 3.8, decisions 10, 11).

use std::sync::Arc;
use std::time::Duration;

use actors::messages::{Owner, Poison, Snapshot};
use actors::router::family::{Apply, Restored};
use actors::testing::{World, blueprint, failure, paused, verdict};
use policy::change::Exclusion;
use policy::lockout::LockReason;
use policy::verdict::{CooldownRule, End, Reason, Verdict};

const LIMITED: End = End::Status(429);
const NOT_FOUND: End = End::Status(404);

async fn ms(length: u64) {
    tokio::time::sleep(Duration::from_millis(length)).await;
}

fn rejected() -> Verdict {
    let mut failure = failure(&verdict(End::Status(403)));
    failure.reason = Reason::RequestRejected;
    failure.cooldown = CooldownRule::Rejected;
    Verdict::Failure(failure)
}

/// The locks of a connection: id of the key, failures, ms left.
fn locks(world: &World, connection: &str) -> Vec<(String, u32, u64)> {
    let board = world.owners.router.board.load();
    let locks = board.lockouts.get(connection).cloned().unwrap_or_default();
    let row = |lock: &Arc<policy::lockout::LockoutView>| {
        (lock.key.id(&connection.into()), lock.failures, lock.until.saturating_sub(world.now()))
    };
    locks.iter().map(row).collect()
}

#[test]
fn m4_p16_a_429_of_codex_bars_its_family_and_leaves_spark() {
    paused(async {
        let world = World::start(blueprint("codex: c1")).await;
        world.serve("codex/gpt-5.5", LIMITED).await;
        assert_eq!(locks(&world, "c1"), [("c1:family:codex".to_owned(), 1, 3_000)], "M4");
        for (model, left) in [("codex/gpt-5.5", 0), ("codex/gpt-5", 0), ("codex/gpt-5.3-codex-spark", 1)] {
            assert_eq!(world.pick(model).await.targets.len(), left, "M4 {model}");
        }
        let view = world.owners.router.board.load().connections["c1"].clone();
        assert_eq!(view.cooldown.until, None, "P16: never the whole account");
        assert_eq!(view.cooldown.last_error.map(|error| error.status), Some(429));
        // A success of a sibling decays the family's lock (core 5.6.2).
        ms(3_001).await;
        world.serve("codex/gpt-5", End::Status(200)).await;
        assert_eq!(locks(&world, "c1"), []);
    });
}

#[test]
fn f13_a_refusal_bars_one_model_of_one_connection() {
    paused(async {
        let world = World::start(blueprint("claude: c1 c2")).await;
        for (count, rest_ms) in [(1, 300_000), (2, 900_000)] {
            let plan = world.pick("claude/opus").await;
            assert_eq!(plan.targets[0].connection.as_str(), "c1");
            let permit = world.owners.acquire(&plan.targets[0], true).await.expect("let through");
            world.conclude(permit, "claude/opus", rejected()).await;
            assert_eq!(locks(&world, "c1"), [("c1:exact:opus".to_owned(), count, rest_ms)], "F13");
            let plan = world.pick("claude/opus").await;
            assert_eq!(plan.targets[0].connection.as_str(), "c2");
            assert_eq!(plan.excluded[0].reason, Exclusion::ModelLockout);
            assert_eq!(world.pick("claude/sonnet").await.targets.len(), 2, "F13: active");
            // The row outlives a crash and its lock.
            world.lockout_of("c1", "opus").mailbox.post(Poison);
            world.quiet().await;
            ms(rest_ms + 1).await;
        }
        world.quiet().await;
        assert_eq!(locks(&world, "c1")[0].1, 2);
        ms(86_400_000).await;
        world.quiet().await;
        assert_eq!(locks(&world, "c1"), [], "core 3.8.2");
    });
}

#[test]
fn core_8_3_a_burst_of_404s_raises_the_count_by_one() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let mut burst = Vec::new();
        for _ in 0..5 {
            burst.push(world.acquire("a/m").await.expect("let through"));
        }
        for permit in burst {
            ms(100).await;
            world.settle(permit, "a/m", NOT_FOUND).await;
        }
        assert_eq!(locks(&world, "a1"), [("a1:family:m".to_owned(), 1, 3_000)]);
        ms(3_001).await;
        world.serve("a/m", NOT_FOUND).await;
        assert_eq!(locks(&world, "a1")[0], ("a1:family:m".to_owned(), 2, 6_000));
    });
}

#[test]
fn core_5_4_a_404_behind_an_open_breaker_locks_nothing() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let (late, later) = (world.acquire("a/m").await, world.acquire("a/n").await);
        world.fail("a/m", 12).await;
        world.settle(late.expect("let through"), "a/m", NOT_FOUND).await;
        assert_eq!(locks(&world, "a1"), []);
        let view = world.owners.router.board.load().connections["a1"].clone();
        assert_eq!(
            (view.cooldown.until, view.cooldown.last_error.map(|error| error.status)),
            (None, Some(404))
        );
        // A given length is not bare.
        world.settle(later.expect("let through"), "a/n", End::Status(529)).await;
        assert_eq!(locks(&world, "a1"), [("a1:exact:n".to_owned(), 1, 10_000)]);
    });
}

#[test]
fn new_numbers_hold_for_the_next_failure_of_a_lock_that_lives() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        world.serve("a/m", NOT_FOUND).await;
        let mut changed = blueprint("a: a1");
        changed.connections.get_mut("a1").expect("a1").lockout.class_base_ms = 60_000;
        world.owners.router.mailbox.post(Apply(Arc::new(changed)));
        world.quiet().await;
        assert_eq!(locks(&world, "a1")[0].2, 3_000, "what runs keeps its end");
        ms(3_001).await;
        world.serve("a/m", NOT_FOUND).await;
        assert_eq!(locks(&world, "a1")[0], ("a1:family:m".to_owned(), 2, 120_000));
    });
}

#[test]
fn decision_11_locks_and_refusals_survive_a_restart() {
    paused(async {
        let world = World::start(blueprint("claude: c1")).await;
        let permit = world.acquire("claude/opus").await.expect("let through");
        world.conclude(permit, "claude/opus", rejected()).await;
        world.serve("claude/gone", NOT_FOUND).await;
        let lockouts = world.saved().into_iter().filter_map(|(owner, stored)| match (owner, stored) {
            (Owner::Lockout(connection, _), Some(Snapshot::Lockout(lock))) => Some((connection, lock)),
            _ => None,
        });
        let restored = Restored { lockouts: lockouts.collect(), ..Restored::default() };
        let again = World::restored(blueprint("claude: c1"), restored, vec![actix::Arbiter::current()]).await;
        for model in ["claude/opus", "claude/gone"] {
            assert!(again.pick(model).await.targets.is_empty(), "{model}");
        }
        let reasons: Vec<_> =
            again.owners.router.board.load().lockouts["c1"].iter().map(|lock| lock.reason).collect();
        assert!(reasons.contains(&LockReason::RequestRejected) && reasons.contains(&LockReason::NotFound));
    });
}
