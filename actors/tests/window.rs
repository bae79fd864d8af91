//! The opt-in provider cooldown as requests meet it (core 2): combos leave out what failed too
//! often, direct requests do not ask, and it outlives the actors but is never stored. Time is
//! paused.

use std::time::Duration;

use actors::blueprint::Blueprint;
use actors::connection;
use actors::messages::Poison;
use actors::provider::Order;
use actors::router::family::Apply;
use actors::testing::{START, World, blueprint, paused};
use policy::breaker::BreakerState;
use policy::change::Exclusion;
use policy::ids::Class;
use policy::verdict::End;
use policy::window::{RetryCooldown, WindowSettings};

const LINES: &str = "a: a1 a2\nb: b1\nab priority: a/m b/m";
const GOOD: End = End::Status(200);

async fn ms(length: u64) {
    tokio::time::sleep(Duration::from_millis(length)).await;
}

/// Provider `a` cools for ten minutes after three failures.
fn with_window() -> Blueprint {
    let mut blueprint = blueprint(LINES);
    let numbers = WindowSettings { enabled: true, failures: 3, ..WindowSettings::for_class(Class::Apikey) };
    blueprint.windows.insert("a".into(), numbers);
    blueprint
}

/// Every connection is left out for 5 s and more after a failure.
fn with_retry() -> Blueprint {
    let mut blueprint = blueprint(LINES);
    for numbers in blueprint.connections.values_mut() {
        numbers.retry = RetryCooldown { enabled: true, ..RetryCooldown::default() };
    }
    blueprint
}

/// What the plan would try, in order, and what it leaves out: connection, reason, end after START.
async fn plan(world: &World, model: &str) -> (Vec<String>, Vec<(String, Exclusion, Option<u64>)>) {
    let plan = world.pick(model).await;
    let targets = plan.targets.iter().map(|target| target.connection.to_string()).collect();
    let excluded = plan.excluded.iter().map(|left_out| {
        let id = left_out.connection.as_ref().map_or(left_out.provider.to_string(), ToString::to_string);
        (id, left_out.reason, left_out.until.map(|until| until - START))
    });
    (targets, excluded.collect())
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

// === the provider ===

#[test]
fn a_combo_leaves_out_a_provider_in_cooldown_and_a_direct_request_does_not() {
    paused(async {
        let world = World::start(with_window()).await;
        world.fail("ab", 2).await;
        assert_eq!(plan(&world, "ab").await, (names(&["a1", "a2", "b1"]), vec![]));
        ms(1_000).await;
        world.fail("ab", 1).await;
        let left_out = vec![("a".to_owned(), Exclusion::ProviderCooldown, Some(601_000))];
        assert_eq!(plan(&world, "ab").await, (names(&["b1"]), left_out));
        assert_eq!(plan(&world, "a/m").await, (names(&["a1", "a2"]), vec![]));
        ms(599_999).await;
        assert_eq!(plan(&world, "ab").await.0, names(&["b1"]));
        ms(1).await;
        assert_eq!(plan(&world, "ab").await, (names(&["a1", "a2", "b1"]), vec![]));
    });
}

/// Core 2.7: a success on any connection empties the window, even when the breaker has nothing
/// to lower (three 429 count here and not there).
#[test]
fn a_success_on_any_connection_empties_the_window() {
    paused(async {
        let world = World::start(with_window()).await;
        let permit = world.acquire("ab").await.unwrap();
        world.settle(permit, "ab", End::Status(429)).await;
        let permit = world.acquire("ab").await.unwrap();
        assert_eq!(permit.target().connection.as_str(), "a2", "a1 rests");
        world.settle(permit, "ab", End::Status(429)).await;
        assert_eq!(world.provider("a").window.load().failures(START), 2);
        assert!(world.provider("a").view.load().is_clean());
        ms(3_000).await;
        world.serve("a/m", GOOD).await;
        assert_eq!(world.provider("a").window.load().failures(world.now()), 0);
        world.fail("ab", 2).await;
        assert_eq!(plan(&world, "ab").await.0, names(&["a1", "a2", "b1"]));
    });
}

#[test]
fn a_success_ends_a_running_provider_cooldown() {
    paused(async {
        let world = World::start(with_window()).await;
        world.fail("ab", 3).await;
        assert_eq!(plan(&world, "ab").await.0, names(&["b1"]));
        world.serve("a/m", GOOD).await;
        assert_eq!(plan(&world, "ab").await, (names(&["a1", "a2", "b1"]), vec![]));
        let told: Vec<String> = world.changes("provider").into_iter().map(|change| change.why).collect();
        assert_eq!(told.last().map(String::as_str), Some("provider-cooldown-ended"));
    });
}

/// Core 7.2: the breaker speaks first; core 2.7: what was sent before the trip clears nothing.
#[test]
fn an_open_breaker_is_the_reason_and_keeps_the_window() {
    paused(async {
        let world = World::start(with_window()).await;
        let early = world.acquire("a/m").await.unwrap();
        world.fail("a/m", 12).await;
        assert_eq!(world.provider("a").view.load().state, BreakerState::Open);
        assert_eq!(plan(&world, "ab").await.1[0].1, Exclusion::CircuitOpen);
        world.settle(early, "a/m", GOOD).await;
        ms(30_000).await;
        let left_out = plan(&world, "ab").await.1;
        assert_eq!(left_out, [("a".to_owned(), Exclusion::ProviderCooldown, Some(600_000))]);
    });
}

#[test]
fn nothing_is_remembered_while_it_is_off() {
    paused(async {
        let world = World::start(blueprint(LINES)).await;
        world.fail("ab", 11).await;
        assert_eq!(world.provider("a").window.load().failures(START), 0);
        assert_eq!(plan(&world, "ab").await, (names(&["a1", "a2", "b1"]), vec![]));
    });
}

// === the connection ===

#[test]
fn a_combo_leaves_out_a_connection_that_failed_and_a_direct_request_does_not() {
    paused(async {
        let world = World::start(with_retry()).await;
        world.fail("ab", 1).await;
        let left_out = vec![("a1".to_owned(), Exclusion::ProviderCooldown, Some(5_000))];
        assert_eq!(plan(&world, "ab").await, (names(&["a2", "b1"]), left_out));
        assert_eq!(plan(&world, "a/m").await, (names(&["a1", "a2"]), vec![]));
        ms(5_000).await;
        assert_eq!(plan(&world, "ab").await.0, names(&["a1", "a2", "b1"]));
        world.fail("ab", 1).await;
        assert_eq!(plan(&world, "ab").await.1[0].2, Some(15_000), "the second wait is twice as long");
        world.serve("a/m", GOOD).await;
        assert_eq!(plan(&world, "ab").await.0, names(&["a1", "a2", "b1"]));
    });
}

/// Decision 26b: the wait that is told is the true one.
#[test]
fn of_two_rests_the_longer_one_is_told() {
    paused(async {
        let world = World::start(with_retry()).await;
        world.serve("a/m", End::Status(503)).await;
        let shorter = vec![("a1".to_owned(), Exclusion::ProviderCooldown, Some(5_000))];
        assert_eq!(plan(&world, "ab").await.1, shorter, "its own rest ends at 3000");
        world.connection("a1").mailbox.post(connection::Order::Cool(60_000));
        world.quiet().await;
        let longer = vec![("a1".to_owned(), Exclusion::ConnectionCooldown, Some(60_000))];
        assert_eq!(plan(&world, "ab").await.1, longer);
    });
}

// === what it outlives ===

#[test]
fn it_outlives_its_actors_and_the_router() {
    paused(async {
        let mut both = with_window();
        both.connections.clone_from(&with_retry().connections);
        let world = World::start(both).await;
        world.fail("ab", 1).await;
        ms(5_000).await;
        world.fail("a/m", 2).await;
        let before = plan(&world, "ab").await;
        assert_eq!(before.1, [("a".to_owned(), Exclusion::ProviderCooldown, Some(605_000))]);
        world.provider("a").mailbox.post(Poison);
        world.connection("a1").mailbox.post(Poison);
        world.quiet().await;
        assert_eq!(plan(&world, "ab").await, before);
        world.owners.router.mailbox.post(Poison);
        world.quiet().await;
        assert_eq!(plan(&world, "ab").await, before);
        let retry = world.owners.router.board.load().connections["a1"].retry;
        assert_eq!(retry.until, Some(START + 5_000 + 20_000), "three failures in a row");
    });
}

#[test]
fn an_operators_reset_ends_it() {
    paused(async {
        let mut both = with_window();
        both.connections.clone_from(&with_retry().connections);
        let world = World::start(both).await;
        world.fail("a/m", 3).await;
        world.provider("a").mailbox.post(Order::Reset);
        world.quiet().await;
        assert_eq!(plan(&world, "ab").await.1[0].0, "a1");
        world.connection("a1").mailbox.post(connection::Order::Reset);
        world.quiet().await;
        assert_eq!(plan(&world, "ab").await, (names(&["a1", "a2", "b1"]), vec![]));
    });
}

#[test]
fn switching_it_off_ends_it_at_once() {
    paused(async {
        let mut both = with_window();
        both.connections.clone_from(&with_retry().connections);
        let world = World::start(both).await;
        world.fail("a/m", 3).await;
        assert_eq!(plan(&world, "ab").await.0, names(&["b1"]));
        world.owners.router.mailbox.post(Apply(blueprint(LINES).into()));
        world.quiet().await;
        assert_eq!(plan(&world, "ab").await, (names(&["a1", "a2", "b1"]), vec![]));
        assert!(world.owners.router.board.load().windows.is_empty());
    });
}

#[test]
fn a_removed_provider_takes_it_along() {
    paused(async {
        let world = World::start(with_window()).await;
        world.fail("a/m", 3).await;
        assert!(world.owners.router.board.load().windows.contains_key("a"));
        world.owners.router.mailbox.post(Apply(blueprint("b: b1").into()));
        world.quiet().await;
        assert!(world.owners.router.board.load().windows.is_empty());
        world.owners.router.mailbox.post(Apply(with_window().into()));
        world.quiet().await;
        assert_eq!(plan(&world, "ab").await, (names(&["a1", "a2", "b1"]), vec![]));
    });
}
