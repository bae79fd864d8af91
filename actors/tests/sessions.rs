//! Sessions at the router: a taken plan ties, a failure unties, the store is told, and what it
//! gives back holds (rules 6, 9.7; decisions 11, 27a).

use std::sync::Arc;
use std::time::Duration;

use actix::Arbiter;
use actors::blueprint::Blueprint;
use actors::messages::{Owner, Snapshot};
use actors::router::answers::Made;
use actors::router::family::{Apply, Restored};
use actors::router::pick::{Look, Pick, Served};
use actors::router::share::News;
use actors::testing::{START, World, blueprint, paused};
use policy::affinity::{Pin, PinKey};
use policy::ids::Class;
use policy::lease::{Fence, OwnerHash};
use policy::plan::Plan;
use policy::request::Traits;

const TTL: u64 = 1_800_000;

fn sticky(lines: &str) -> Blueprint {
    let mut blueprint = blueprint(lines);
    Arc::make_mut(&mut blueprint.catalogue).accounts.affinity_ttl_ms = TTL;
    blueprint
}

fn asked(model: &str, session: Option<&str>) -> Pick {
    let traits = Traits { session: session.map(Into::into), ..Traits::default() };
    Pick { traits: Arc::new(traits), ..World::pick_of(model, None) }
}

async fn pick(world: &World, model: &str, session: Option<&str>) -> Plan {
    let picked = world.owners.router.mailbox.ask(asked(model, session)).await;
    picked.expect("the router answers").expect("a plan").plan
}

async fn first(world: &World, session: &str) -> String {
    pick(world, "a/m", Some(session)).await.targets[0].connection.to_string()
}

async fn served(world: &World, session: &str, connection: &str, first_byte_ms: Option<u32>, failed: bool) {
    world.owners.router.mailbox.post(Served {
        combo: None,
        place: None,
        first: None,
        provider: "a".into(),
        connection: connection.into(),
        model: "m".into(),
        first_byte_ms,
        failed,
        news: News { session: Some(session.into()), ..News::default() },
    });
    world.quiet().await;
}

fn key(session: &str) -> PinKey {
    PinKey { provider: "a".into(), session: session.into() }
}

/// The pins that the store was told of, as they are there now.
fn told(world: &World) -> Vec<(String, Option<String>)> {
    let pins = world.saved().into_iter().filter_map(|(owner, snapshot)| match (owner, snapshot) {
        (Owner::Pin(key), Some(Snapshot::Pin(pin))) => {
            Some((key.session.to_string(), Some(pin.connection.to_string())))
        }
        (Owner::Pin(key), None) => Some((key.session.to_string(), None)),
        _ => None,
    });
    let mut pins: Vec<_> = pins.collect();
    pins.sort();
    pins
}

/// A burst of new sessions is spread before anybody has answered, and each stays where it is.
#[test]
fn sessions_are_spread_and_stay() {
    paused(async {
        let world = World::start(sticky("a: a1 a2 a3")).await;
        let sessions = ["s1", "s2", "s3", "s4"];
        let mut firsts = Vec::new();
        for session in sessions {
            firsts.push(first(&world, session).await);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(firsts, ["a1", "a2", "a3", "a1"]);
        for _ in 0..10 {
            for (session, account) in sessions.iter().zip(&firsts) {
                assert_eq!(first(&world, session).await, *account);
            }
        }
        assert_eq!(pick(&world, "a/m", None).await.targets[0].connection.as_str(), "a1", "fill-first");
        assert!(pick(&world, "a/m", Some("s1")).await.timed, "how it goes is wanted");
        assert!(!pick(&world, "a/m", None).await.timed);
    });
}

/// Rules A8, 6.11: only a failure that speaks against its own account unties.
#[test]
fn a_failure_unties_and_whoever_serves_then_is_next() {
    paused(async {
        let world = World::start(sticky("a: a1 a2 a3")).await;
        assert_eq!(first(&world, "s1").await, "a1");
        served(&world, "s1", "a2", None, true).await;
        served(&world, "s1", "a1", None, false).await;
        assert_eq!(first(&world, "s1").await, "a1");
        // It had to wait in the line of another account once.
        served(&world, "s1", "a2", Some(5), false).await;
        assert_eq!(first(&world, "s1").await, "a1");
        assert_eq!(told(&world), [("s1".to_owned(), Some("a1".to_owned()))]);
        served(&world, "s1", "a1", None, true).await;
        assert_eq!(told(&world), [("s1".to_owned(), None)]);
        served(&world, "s1", "a3", Some(5), false).await;
        assert_eq!(told(&world), [("s1".to_owned(), Some("a3".to_owned()))]);
        assert_eq!(first(&world, "s1").await, "a3");
    });
}

#[test]
fn an_explanation_ties_nobody() {
    paused(async {
        let world = World::start(sticky("a: a1 a2")).await;
        let look = Look(asked("a/m", Some("s1")));
        world.owners.router.mailbox.ask(look).await.expect("the router answers").expect("a plan");
        assert_eq!(told(&world), []);
    });
}

/// Rules 6.14: the lease says where it goes.
#[test]
fn a_request_under_a_lease_ties_nobody() {
    paused(async {
        let world = World::start(sticky("a: a1 a2")).await;
        let owner = OwnerHash::from_hex(&"a".repeat(64)).expect("64 digits");
        let fence = Fence { owner, generation: 1, key: "k".into() };
        let leased = Pick { lease: Some(fence), ..asked("a/m", Some("s1")) };
        world.owners.router.mailbox.ask(leased).await.expect("the router answers").expect("a plan");
        assert_eq!(told(&world), []);
        assert_eq!(first(&world, "s1").await, "a2", "the other was used");
    });
}

/// Decision 11.
#[test]
fn pins_survive_a_restart_until_their_end() {
    paused(async {
        let pin = |connection: &str, expires_at| Pin {
            connection: connection.into(),
            created_at: START - 1_000,
            last_at: START - 1_000,
            expires_at,
            uses: 3,
        };
        let pins = vec![
            (key("s1"), pin("a2", START + 60_000)),
            (key("old"), pin("a2", START)),
            (key("gone"), pin("a9", START + 60_000)),
        ];
        let restored = Restored { pins, ..Restored::default() };
        let world = World::restored(sticky("a: a1 a2"), restored, vec![Arbiter::current()]).await;
        assert_eq!(told(&world), [("old".to_owned(), None)]);
        assert_eq!(first(&world, "s1").await, "a2");
        assert_eq!(first(&world, "old").await, "a1");
        assert_eq!(first(&world, "gone").await, "a2", "used longest ago of those that are there");
    });
}

#[test]
fn a_connection_that_leaves_takes_its_pins_along() {
    paused(async {
        let world = World::start(sticky("a: a1 a2")).await;
        assert_eq!(first(&world, "s1").await, "a1");
        world.owners.router.mailbox.post(Apply(Arc::new(sticky("a: a2"))));
        world.quiet().await;
        assert_eq!(told(&world), [("s1".to_owned(), None)]);
    });
}

/// Decision 27a; a1 is used longest ago, but has seen two sessions.
#[test]
fn subscriptions_share_sessions_out() {
    paused(async {
        let mut blueprint = sticky("a: a1 a2");
        let catalogue = Arc::make_mut(&mut blueprint.catalogue);
        catalogue.providers.get_mut("a").expect("a provider").class = Class::Oauth;
        let world = World::start(blueprint).await;
        let mut firsts = Vec::new();
        for session in ["s1", "s2", "s3", "s1", "s3", "s2"] {
            firsts.push(first(&world, session).await);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(firsts, ["a1", "a2", "a1", "a1", "a1", "a2"]);
        // Both were used since, a1 first; it has two sessions, a2 one.
        assert_eq!(first(&world, "s4").await, "a2");
    });
}

/// FC-101: who made a response is remembered, stored, and known after a restart; no session is
/// moved by it.
#[test]
fn fc_101_who_made_a_response_is_known_after_a_restart() {
    let goes_on = |response: &str| {
        let traits = Traits { response: Some(response.into()), ..Traits::default() };
        Pick { traits: Arc::new(traits), ..World::pick_of("a/m", None) }
    };
    let order =
        |plan: Plan| plan.targets.iter().map(|target| target.connection.to_string()).collect::<Vec<_>>();
    let response = "response-0123456789abcdef0123456789abcdef";
    let stored =
        Pin { connection: "a3".into(), created_at: START, last_at: START, expires_at: START + TTL, uses: 1 };
    paused(async move {
        let world = World::start(sticky("a: a1 a2 a3")).await;
        let made = Made { response: response.into(), provider: "a".into(), connection: "a2".into() };
        world.owners.router.mailbox.post(made);
        world.quiet().await;
        assert_eq!(told(&world), [(response.to_owned(), Some("a2".to_owned()))]);
        let picked = world.owners.router.mailbox.ask(goes_on(response)).await.unwrap().unwrap();
        assert_eq!(order(picked.plan), ["a2"]);
        let picked = world.owners.router.mailbox.ask(goes_on("response-f")).await.unwrap().unwrap();
        assert_eq!(order(picked.plan), ["a1", "a2", "a3"]);
    });
    paused(async move {
        let restored = Restored { pins: vec![(key(response), stored)], ..Restored::default() };
        let world = World::restored(sticky("a: a1 a2 a3"), restored, vec![Arbiter::current()]).await;
        let picked = world.owners.router.mailbox.ask(goes_on(response)).await.unwrap().unwrap();
        assert_eq!(order(picked.plan), ["a3"]);
    });
}
