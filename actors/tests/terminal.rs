//! Terminal states through the owners: who is left out, what clears, what stays (core 3.9,
//! decisions 3c, 11, 12a).

use actors::blueprint::Blueprint;
use actors::connection::{CheckFailed, Order};
use actors::messages::{Barrier, Owner, Poison, Snapshot};
use actors::router::family::Apply;
use actors::testing::{World, blueprint, failure, paused, verdict};
use policy::blocked::{Asked, Blocked, blocked};
use policy::change::Exclusion;
use policy::cooldown::TerminalState;
use policy::verdict::{End, TerminalRule, Verdict};

fn ending(status: u16, terminal: TerminalRule) -> Verdict {
    let mut failure = failure(&verdict(End::Status(status)));
    failure.terminal = Some(terminal);
    Verdict::Failure(failure)
}

/// One request to the first target of `model` that ends so.
async fn conclude(world: &World, model: &str, verdict: Verdict) {
    let permit = world.acquire(model).await.expect("let through");
    world.conclude(permit, model, verdict).await;
}

async fn order(world: &World, connection: &str, order: Order) {
    let shared = world.connection(connection);
    shared.mailbox.post(order);
    let _ = shared.mailbox.ask(Barrier).await;
    world.quiet().await;
}

fn state(world: &World, connection: &str) -> Option<TerminalState> {
    let board = world.owners.router.board.load();
    board.connections[connection].cooldown.terminal.map(|terminal| terminal.state)
}

#[test]
fn decision_9b_a_target_whose_accounts_are_all_terminal_has_no_usable_connection() {
    paused(async {
        let world = World::start(blueprint("a: a1 a2 a3")).await;
        conclude(&world, "a/m", ending(403, TerminalRule::Banned)).await;
        conclude(&world, "a/m", ending(402, TerminalRule::CreditsExhausted)).await;
        let plan = world.pick("a/m").await;
        assert_eq!(plan.targets.len(), 1, "the third is left");
        conclude(&world, "a/m", ending(401, TerminalRule::Expired)).await;
        let plan = world.pick("a/m").await;
        let reasons: Vec<_> = plan.excluded.iter().map(|target| (target.reason, target.until)).collect();
        let (banned, unpaid) = (Exclusion::Banned, Exclusion::CreditsExhausted);
        assert_eq!(reasons, [(banned, None), (unpaid, None), (Exclusion::Expired, None)]);
        assert!(plan.targets.is_empty() && !plan.excluded.iter().any(|target| target.transient));
        assert_eq!(blocked(Asked::Direct, &plan.excluded, world.now()), Blocked::NoUsableConnection);
        assert_eq!(world.provider("a").view.load().failures, 0, "no breaker counts it");
    });
}

#[test]
fn a_terminal_state_survives_a_crash_and_an_operators_cooldown() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        conclude(&world, "a/m", ending(403, TerminalRule::Banned)).await;
        order(&world, "a1", Order::Cool(60_000)).await;
        order(&world, "a1", Order::Lift).await;
        order(&world, "a1", Order::Drain).await;
        order(&world, "a1", Order::Undrain).await;
        world.connection("a1").mailbox.post(Poison);
        world.quiet().await;
        assert_eq!(state(&world, "a1"), Some(TerminalState::Banned));
        let saved = world.saved();
        let Some(Some(Snapshot::Connection(stored))) = saved.get(&Owner::Connection("a1".into())) else {
            panic!("{saved:?}");
        };
        assert_eq!(stored.cooldown.terminal.map(|terminal| terminal.state), Some(TerminalState::Banned));
        assert_eq!(stored.cooldown.until, None, "core 8.5");
        order(&world, "a1", Order::Reset).await;
        assert_eq!((state(&world, "a1"), world.pick("a/m").await.targets.len()), (None, 1));
    });
}

#[test]
fn draining_hides_no_terminal_state() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let permit = world.acquire("a/m").await.expect("let through");
        order(&world, "a1", Order::Drain).await;
        assert_eq!(world.pick("a/m").await.excluded[0].reason, Exclusion::Draining);
        world.conclude(permit, "a/m", ending(403, TerminalRule::Banned)).await;
        assert_eq!(world.pick("a/m").await.excluded[0].reason, Exclusion::Banned);
    });
}

#[test]
fn a_passing_test_and_a_refresh_bring_it_back() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        conclude(&world, "a/m", ending(402, TerminalRule::CreditsExhausted)).await;
        order(&world, "a1", Order::Retried(true)).await;
        assert_eq!(state(&world, "a1"), Some(TerminalState::CreditsExhausted), "core 3.9.8");
        order(&world, "a1", Order::TestPassed).await;
        assert_eq!(state(&world, "a1"), None);
        conclude(&world, "a/m", ending(401, TerminalRule::Expired)).await;
        order(&world, "a1", Order::Retried(false)).await;
        assert_eq!(state(&world, "a1"), Some(TerminalState::Expired));
        order(&world, "a1", Order::Retried(true)).await;
        assert_eq!((state(&world, "a1"), world.pick("a/m").await.targets.len()), (None, 1));
        let whys: Vec<_> = world.changes("connection").into_iter().map(|change| change.why).collect();
        let expected = ["quota_exhausted", "connection-test", "auth_error", "refresh-failed", "refreshed"];
        assert_eq!(whys, expected);
    });
}

#[test]
fn a_dead_refresh_token_expires_it_once() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        order(&world, "a1", Order::Expire).await;
        order(&world, "a1", Order::Retried(false)).await;
        order(&world, "a1", Order::Expire).await;
        let view = world.owners.router.board.load().connections["a1"].clone();
        let terminal = view.cooldown.terminal.expect("it is out");
        assert_eq!((terminal.state, terminal.retries), (TerminalState::Expired, 1), "news again is no retry");
        assert_eq!(view.cooldown.last_error.map(|error| error.status), Some(401));
        assert_eq!(world.pick("a/m").await.excluded[0].reason, Exclusion::Expired);
        order(&world, "a1", Order::Retried(true)).await;
        assert_eq!(world.pick("a/m").await.targets.len(), 1);
        // Sent before the news, so it is on its way when the connection ends.
        let permit = world.acquire("a/m").await.expect("let through");
        order(&world, "a1", Order::Expire).await;
        world.conclude(permit, "a/m", ending(403, TerminalRule::Banned)).await;
        assert_eq!(state(&world, "a1"), Some(TerminalState::Expired), "the first word stays");
    });
}

#[test]
fn p8_a_failed_check_is_told_and_rests_nobody() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let shared = world.connection("a1");
        shared.mailbox.post(CheckFailed(failure(&ending(403, TerminalRule::Banned))));
        world.quiet().await;
        let view = world.owners.router.board.load().connections["a1"].clone();
        assert_eq!(view.cooldown.last_error.map(|error| error.status), Some(403));
        assert_eq!((view.label(world.now()), world.pick("a/m").await.targets.len()), ("ready", 1));
    });
}

/// One account whose credential has this fingerprint.
fn with(fingerprint: &str) -> Blueprint {
    let mut blueprint = blueprint("a: a1");
    blueprint.connections.get_mut("a1").expect("a1").fingerprint = fingerprint.into();
    blueprint
}

#[test]
fn decision_3c_another_credential_clears_it_and_the_same_one_does_not() {
    paused(async {
        let world = World::start(with("one")).await;
        conclude(&world, "a/m", ending(403, TerminalRule::Banned)).await;
        for (fingerprint, left) in [("one", Some(TerminalState::Banned)), ("two", None)] {
            world.owners.router.mailbox.post(Apply(std::sync::Arc::new(with(fingerprint))));
            world.quiet().await;
            assert_eq!(state(&world, "a1"), left, "{fingerprint}");
        }
    });
}

#[test]
fn decision_3c_a_late_answer_to_the_old_credential_is_not_said_to_the_new_one() {
    paused(async {
        let world = World::start(with("one")).await;
        let late = [
            ending(403, TerminalRule::Banned),
            ending(402, TerminalRule::CreditsExhausted),
            verdict(End::Status(429)),
            verdict(End::Status(401)),
            verdict(End::Status(404)),
        ];
        let mut permits = Vec::new();
        for verdict in late {
            permits.push((world.acquire("a/m").await.expect("let through"), verdict));
        }
        let ill = world.acquire("a/m").await.expect("let through");
        tokio::time::advance(std::time::Duration::from_millis(5)).await;
        world.owners.router.mailbox.post(Apply(std::sync::Arc::new(with("two"))));
        world.quiet().await;
        for (permit, verdict) in permits {
            world.conclude(permit, "a/m", verdict).await;
        }
        assert_eq!((state(&world, "a1"), world.pick("a/m").await.targets.len()), (None, 1));
        assert!(world.lockout("a1", "m").is_none());
        world.conclude(ill, "a/m", verdict(End::Status(503))).await;
        assert_eq!(world.provider("a").view.load().failures, 1, "the provider's own failure counts");
    });
}
