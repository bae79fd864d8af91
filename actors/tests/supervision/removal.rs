//! What happens to owners whose entity is removed or moves.

use super::{TWO, count, ms};
use actors::blueprint::Blueprint;
use actors::messages::Poison;
use actors::router::family::Apply;
use actors::testing::{World, blueprint, paused};
use policy::change::Exclusion;
use policy::verdict::End;
use std::sync::Arc;

fn without_a1() -> Arc<Blueprint> {
    Arc::new(blueprint("a: a2\nb: b1\nab priority: a/m b/m"))
}

#[test]
fn a_removed_connection_drains_and_is_gone() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        let first = world.acquire("a/m").await.unwrap();
        let second = world.acquire("a/m").await.unwrap();
        let target = first.target().clone();
        let shared = world.connection("a1");
        world.owners.router.mailbox.post(Apply(without_a1()));
        world.quiet().await;
        assert_eq!(world.pick("a/m").await.targets[0].connection.as_str(), "a2");
        let late = world.owners.acquire(&target, true).await.err().unwrap().why;
        assert_eq!(late, Exclusion::Unavailable, "a plan from before gets nothing more");
        world.settle(first, "a/m", End::NoFirstByte).await;
        assert_eq!(world.provider("a").view.load().failures, 1, "its verdict is heard");
        assert!(shared.mailbox.is_live(), "a permit is still out");
        world.settle(second, "a/m", End::Status(200)).await;
        assert!(!shared.mailbox.is_live());
        assert!(world.owners.directory.connection(&"a1".into()).is_none());
        assert!(!world.owners.router.board.load().connections.contains_key("a1"));
    });
}

#[test]
fn an_idle_removed_owner_is_gone_at_once() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        let (connection, provider) = (world.connection("b1"), world.provider("b"));
        world.owners.router.mailbox.post(Apply(Arc::new(blueprint("a: a1 a2"))));
        world.quiet().await;
        assert!(!connection.mailbox.is_live() && !provider.mailbox.is_live());
        assert!(world.owners.directory.connection(&"b1".into()).is_none());
        assert!(world.owners.directory.provider(&"b".into()).is_none());
        assert!(!world.owners.router.board.load().providers.contains_key("b"));
        assert_eq!(count(&world.connection("a1").restarts), 0);
    });
}

#[test]
fn an_owner_removed_in_its_gap_is_gone() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        into_the_gap!(world, world.connection("a1"));
        world.owners.router.mailbox.post(Apply(without_a1()));
        ms(150).await;
        world.quiet().await;
        assert!(world.owners.directory.connection(&"a1".into()).is_none());
    });
}

#[test]
fn a_connection_that_comes_back_while_it_drains_stays() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        let permit = world.acquire("a/m").await.unwrap();
        world.owners.router.mailbox.post(Apply(without_a1()));
        world.owners.router.mailbox.post(Apply(Arc::new(blueprint(TWO))));
        world.quiet().await;
        drop(permit);
        world.quiet().await;
        assert!(world.connection("a1").mailbox.is_live());
        assert_eq!(world.pick("a/m").await.targets[0].connection.as_str(), "a1");
        assert!(world.acquire("a/m").await.is_ok());
    });
}

#[test]
fn a_connection_that_moves_to_another_provider_is_served_there() {
    paused(async {
        let world = World::start(blueprint(TWO)).await;
        world.owners.router.mailbox.post(Apply(Arc::new(blueprint("a: a2\nb: b1 a1"))));
        world.quiet().await;
        world.quiet().await;
        assert_eq!(world.connection("a1").provider.as_str(), "b");
        assert!(world.connection("a1").mailbox.is_live());
    });
}
