//! Connections that share an egress rest together where the quota belongs to the address
//! (rules 4, 9.4, decision 31a).

use std::time::Duration;

use actors::connection::Order;
use actors::messages::{Barrier, Owner, Snapshot};
use actors::router::family::Restored;
use actors::testing::{World, blueprint, failure, paused, verdict};
use policy::verdict::{CooldownRule, End, Level, Reason, TerminalRule, Verdict};

const HOUR: u64 = 3_600_000;
const LIMITED: End = End::Status(429);

/// A, B and C at a provider of the list, D at another.
fn family() -> actors::blueprint::Blueprint {
    let mut blueprint = blueprint("opencode: A B C\nopenai: D");
    for id in ["A", "B", "C"] {
        blueprint.connections.get_mut(id).expect("it is there").shares_egress = true;
    }
    blueprint
}

/// One request of a connection that comes from `identity` and ends so.
async fn send(world: &World, connection: &str, identity: &str, verdict: Verdict) {
    let model = if connection == "D" { "openai/m" } else { "opencode/m" };
    let plan = world.pick(model).await;
    let target = plan.targets.iter().find(|target| target.connection.as_str() == connection);
    let mut permit = world.owners.acquire(target.expect("planned"), false).await.expect("let through");
    if !identity.is_empty() {
        permit.came_from(identity.into());
    }
    world.conclude(permit, model, verdict).await;
}

async fn hours(count: u64) {
    tokio::time::sleep(Duration::from_millis(count * HOUR)).await;
}

/// Seen at ip1: C 25 h ago, B 23 h ago, A and D 1 h ago.
async fn world() -> World {
    let world = World::start(family()).await;
    for (pause, connections) in [(0, "C"), (2, "B"), (22, "A D")] {
        hours(pause).await;
        for connection in connections.split(' ') {
            send(&world, connection, "ip1", Verdict::Success).await;
        }
    }
    hours(1).await;
    world
}

fn gone() -> Verdict {
    let mut failure = failure(&verdict(LIMITED));
    failure.reason = Reason::QuotaExhausted;
    failure.cooldown = CooldownRule::Exact { ms: HOUR, level: Level::Zero, stated: false };
    Verdict::Failure(failure)
}

/// How long A, B, C and D rest, and their levels.
fn rests(world: &World) -> [(u64, u32); 4] {
    let board = world.owners.router.board.load();
    ["A", "B", "C", "D"].map(|id| {
        let cooldown = &board.connections[id].cooldown;
        let until = cooldown.cooling_until(world.now());
        (until.map_or(0, |until| until - world.now()), cooldown.level)
    })
}

#[test]
fn e1_those_at_the_same_address_rest_as_long() {
    paused(async {
        let world = world().await;
        send(&world, "A", "", verdict(LIMITED)).await;
        assert_eq!(rests(&world), [(3_000, 1), (3_000, 0), (0, 0), (0, 0)], "E1");
        let error = world.owners.router.board.load().connections["B"].cooldown.last_error;
        let error = error.expect("4.9");
        assert_eq!((error.status, error.reason), (429, Reason::RateLimitExceeded), "4.9");
        assert!(world.owners.router.board.load().lockouts.is_empty(), "4.5");
    });
}

#[test]
fn e2_an_exhausted_quota_too() {
    paused(async {
        let world = world().await;
        send(&world, "A", "", gone()).await;
        assert_eq!(rests(&world), [(HOUR, 0), (HOUR, 0), (0, 0), (0, 0)], "E2");
    });
}

#[test]
fn e3_e4_a_terminal_or_resting_sibling_is_left_alone() {
    paused(async {
        let world = world().await;
        let mut banning = failure(&verdict(End::Status(403)));
        banning.terminal = Some(TerminalRule::Banned);
        send(&world, "B", "", Verdict::Failure(banning)).await;
        send(&world, "A", "", gone()).await;
        assert_eq!(rests(&world)[1], (0, 0), "E3");
        assert!(world.owners.router.board.load().connections["B"].cooldown.terminal.is_some(), "E3");
    });
    paused(async {
        let world = world().await;
        let b = world.connection("B");
        b.mailbox.post(Order::Cool(2 * HOUR));
        let _ = b.mailbox.ask(Barrier).await;
        send(&world, "A", "", gone()).await;
        assert_eq!(rests(&world), [(HOUR, 0), (2 * HOUR, 0), (0, 0), (0, 0)], "E4");
    });
}

#[test]
fn e6_without_a_known_address_only_the_failing_one_rests() {
    paused(async {
        let world = World::start(family()).await;
        send(&world, "B", "ip1", Verdict::Success).await;
        send(&world, "A", "", gone()).await;
        assert_eq!(rests(&world), [(HOUR, 0), (0, 0), (0, 0), (0, 0)], "E6");
        // Nor when what is known of it is more than a day old.
        hours(2).await;
        send(&world, "A", "ip1", Verdict::Success).await;
        hours(25).await;
        send(&world, "B", "ip1", Verdict::Success).await;
        send(&world, "A", "", gone()).await;
        assert_eq!(rests(&world)[1], (0, 0), "4.6");
    });
}

#[test]
fn e8_e9_another_address_and_an_empty_list() {
    paused(async {
        let world = world().await;
        send(&world, "A", "ip2", gone()).await;
        assert_eq!(rests(&world), [(HOUR, 0), (0, 0), (0, 0), (0, 0)], "E9");
    });
    paused(async {
        let world = World::start(blueprint("opencode: A B C\nopenai: D")).await;
        send(&world, "B", "ip1", Verdict::Success).await;
        send(&world, "A", "ip1", gone()).await;
        assert_eq!(rests(&world), [(HOUR, 0), (0, 0), (0, 0), (0, 0)], "E8");
        assert_eq!(world.owners.router.board.load().connections["A"].egress, None, "nobody asks for it");
    });
}

#[test]
fn decision_31a_the_address_survives_a_restart() {
    paused(async {
        let world = world().await;
        let connections = world.saved().into_iter().filter_map(|(owner, stored)| match (owner, stored) {
            (Owner::Connection(id), Some(Snapshot::Connection(stored))) => Some((id, stored)),
            _ => None,
        });
        let restored = Restored { connections: connections.collect(), ..Restored::default() };
        // The second world's clock begins 25 h earlier; what was seen then is no older than a day.
        let again = World::restored(family(), restored, vec![actix::Arbiter::current()]).await;
        send(&again, "A", "", gone()).await;
        assert_eq!(rests(&again), [(HOUR, 0), (HOUR, 0), (HOUR, 0), (0, 0)]);
    });
}

#[test]
fn a_healthy_connection_tells_its_address_at_most_every_ten_minutes() {
    paused(async {
        let world = World::start(family()).await;
        for _ in 0..20 {
            send(&world, "A", "ip1", Verdict::Success).await;
            tokio::time::sleep(Duration::from_secs(59)).await;
        }
        assert_eq!(world.changes("connection").len(), 2, "at 0 and after 10 min");
    });
}
