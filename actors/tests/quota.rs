//! Accounts that keys share, as the router deals with them (flow 2): turns, leases, shares that
//! are used up, and what of it survives.

use std::sync::Arc;

use actix::Arbiter;
use actors::blueprint::Blueprint;
use actors::messages::{Owner, Snapshot};
use actors::router::family::{Apply, Restored};
use actors::router::pick::{Picked, Served};
use actors::router::share::{Gauged, News, Used};
use actors::testing::{START, World, blueprint, paused};
use policy::change::Exclusion;
use policy::gate::Patience;
use policy::plan::NoPlan;
use policy::quota::{
    Allocation, Counts, DimensionLimit, Pool, Pools, Rule, SLOT_MS, SlotKey, Unit, UsageWindow,
};
use policy::reading::{AccountReading, WindowReading};

const MODEL: &str = "qtSd/team/a/m";
const HOUR: u64 = 3_600_000;

/// The accounts of `lines` in one pool; k1 and k2 have half each, of one limit.
fn shared(lines: &str, limit: Option<(Unit, f64)>, rule: Rule) -> Blueprint {
    let mut blueprint = blueprint(lines);
    let mut members: Vec<_> = blueprint.connections.keys().cloned().collect();
    members.sort();
    let allocation = |key: &str| Allocation { key: key.into(), weight: 50.0, rule, cap: None };
    let dimension = |(unit, limit)| DimensionLimit { unit, window: UsageWindow::Session, limit };
    let pool = Pool {
        id: "pool".into(),
        slug: "team".into(),
        provider: "a".into(),
        members,
        allocations: vec![allocation("k1"), allocation("k2")],
        limits: limit.map(dimension).into_iter().collect(),
    };
    Arc::make_mut(&mut blueprint.catalogue).pools = Pools { pools: vec![pool], ..Pools::default() };
    blueprint
}

fn first(picked: &Picked) -> &str {
    picked.plan.targets[0].connection.as_str()
}

async fn pick(world: &World, key: &str) -> Picked {
    world.pick_as(MODEL, Some(key)).await.expect("a plan")
}

/// An answer of this account to a request of this key.
fn served(connection: &str, news: News) -> Served {
    Served {
        combo: Some(MODEL.into()),
        place: None,
        first: None,
        provider: "a".into(),
        connection: connection.into(),
        model: "m".into(),
        first_byte_ms: Some(10),
        failed: false,
        news,
    }
}

fn of_key(key: &str) -> News {
    News { key: Some(key.into()), ..News::default() }
}

async fn serve(world: &World, connection: &str, key: &str) {
    world.owners.router.mailbox.post(served(connection, of_key(key)));
    world.quiet().await;
}

fn slot(key: &str, start: u64) -> SlotKey {
    SlotKey { pool: "pool".into(), key: key.into(), start }
}

/// The slot of the start.
fn now() -> u64 {
    START - START % SLOT_MS
}

#[test]
fn e20_equal_accounts_take_turns() {
    paused(async {
        let world = World::start(shared("a: a1 a2", None, Rule::Hard)).await;
        let mut order = String::new();
        for _ in 0..6 {
            order += first(&pick(&world, "k1").await);
        }
        assert_eq!(order, "a1a2a1a2a1a2");
        let plan = world.pick(MODEL).await;
        assert_eq!((plan.strategy, plan.targets.len(), plan.timed), ("quota-share", 2, true));
    });
}

#[test]
fn e24_picks_that_wait_for_their_slot_see_each_other() {
    paused(async {
        let world = World::start(shared("a: a1*1 a2*1", None, Rule::Hard)).await;
        let mut burst = Vec::new();
        for _ in 0..4 {
            burst.push(pick(&world, "k1").await);
        }
        assert_eq!(burst.iter().map(first).collect::<Vec<_>>(), ["a1", "a2", "a2", "a1"]);
    });
}

#[test]
fn flow_2_23_a_lease_is_given_back_when_the_request_has_its_slot_or_left() {
    paused(async {
        let world = World::start(shared("a: a1*1 a2*1", None, Rule::Hard)).await;
        drop(pick(&world, "k1").await);
        drop(pick(&world, "k1").await);
        let taken = pick(&world, "k1").await;
        assert_eq!(first(&taken), "a1");
        // a1 is at its cap as long as the lease lives, and by its slot after that.
        assert_eq!(first(&pick(&world, "k1").await), "a2");
        let permit = world.owners.acquire(&taken.plan.targets[0], true).await.expect("a free slot");
        drop(taken);
        assert_eq!(first(&pick(&world, "k1").await), "a2");
        drop(permit);
        let free = [pick(&world, "k1").await, pick(&world, "k1").await];
        assert_eq!(free.iter().map(first).collect::<Vec<_>>(), ["a2", "a1"], "a2 is owed one");
    });
}

#[test]
fn decision_16_the_account_that_served_is_charged() {
    paused(async {
        let world = World::start(shared("a: a1 a2", None, Rule::Hard)).await;
        let picked = pick(&world, "k1").await;
        assert_eq!(picked.plan.charged, Some("a1".into()));
        let news = News { charged: picked.plan.charged.clone(), ..of_key("k1") };
        drop(picked);
        world.owners.router.mailbox.post(served("a2", news));
        world.quiet().await;
        let mut order = String::new();
        for _ in 0..3 {
            order += first(&pick(&world, "k1").await);
        }
        assert_eq!(order, "a1a1a2");
    });
}

#[test]
fn flow_2_17_an_account_that_says_it_is_used_up_is_asked_last_until_its_reset() {
    paused(async {
        let world = World::start(shared("a: a1 a2", None, Rule::Hard)).await;
        let session = Some(WindowReading { used: 1.0, resets_at: Some(START + HOUR) });
        let reading = AccountReading { session, seen_at: START, ..AccountReading::default() };
        world.owners.router.mailbox.post(Gauged { connection: "a1".into(), reading });
        world.quiet().await;
        for _ in 0..3 {
            let picked = pick(&world, "k1").await;
            assert_eq!((first(&picked), picked.plan.targets.len()), ("a2", 2));
        }
        tokio::time::advance(std::time::Duration::from_millis(HOUR)).await;
        assert_eq!(first(&pick(&world, "k1").await), "a1");
    });
}

#[test]
fn flow_2_13_a_hard_share_ends_at_its_part_on_every_path() {
    paused(async {
        let world = World::start(shared("a: a1", Some((Unit::Requests, 4.0)), Rule::Hard)).await;
        serve(&world, "a1", "k1").await;
        assert_eq!(pick(&world, "k1").await.plan.targets.len(), 1);
        serve(&world, "a1", "k1").await;
        for model in [MODEL, "a/m"] {
            let plan = world.pick_as(model, Some("k1")).await.expect("a plan").plan;
            assert!(plan.targets.is_empty());
            let excluded = &plan.excluded[0];
            assert_eq!(excluded.reason, Exclusion::QuotaShareExceeded);
            assert_eq!(excluded.until, Some(now() + SLOT_MS + 5 * HOUR));
        }
        assert_eq!(pick(&world, "k2").await.plan.targets.len(), 1, "the other half is another key's");
        assert_eq!(world.pick("a/m").await.targets.len(), 1, "no key, no share");
    });
}

#[test]
fn flow_2_13_a_soft_share_that_is_used_up_sends_the_key_to_the_other_accounts_first() {
    paused(async {
        let mut blueprint = shared("a: a1 a2", Some((Unit::Requests, 2.0)), Rule::Soft);
        let pool = &mut Arc::make_mut(&mut blueprint.catalogue).pools.pools[0];
        // Only the first account is shared by k1.
        pool.members.truncate(1);
        let world = World::start(blueprint).await;
        serve(&world, "a1", "k1").await;
        let targets = |picked: Picked| -> Vec<String> {
            picked.plan.targets.iter().map(|target| target.connection.to_string()).collect()
        };
        let direct = |key| world.pick_as("a/m", key);
        assert_eq!(targets(direct(Some("k1")).await.unwrap()), ["a2", "a1"]);
        assert_eq!(targets(direct(Some("k2")).await.unwrap()), ["a1", "a2"]);
        assert_eq!(targets(direct(None).await.unwrap()), ["a1", "a2"]);
    });
}

#[test]
fn flow_2_15_tokens_and_dollars_are_counted_when_the_answer_has_ended() {
    paused(async {
        let mut blueprint = shared("a: a1", Some((Unit::Usd, 10.0)), Rule::Hard);
        let pools = &mut Arc::make_mut(&mut blueprint.catalogue).pools;
        pools.prices.insert("a".into(), [("m".into(), (1.0, 10.0))].into());
        let world = World::start(blueprint).await;
        let used = Used {
            key: "k1".into(),
            provider: "a".into(),
            connection: "a1".into(),
            model: "m".into(),
            input: 1_000_000,
            output: 400_000,
        };
        world.owners.router.mailbox.post(used.clone());
        world.owners.router.mailbox.post(Used { key: "stranger".into(), ..used });
        world.quiet().await;
        let counts = Counts { requests: 0, tokens: 1_400_000, usd: 5.0 };
        let saved: Vec<_> = usage(&world);
        assert_eq!(saved, [(slot("k1", now()), Some(counts))], "a stranger has no part");
        assert!(pick(&world, "k1").await.plan.targets.is_empty());
    });
}

/// The slots that the store was told of, as they are there now.
fn usage(world: &World) -> Vec<(SlotKey, Option<Counts>)> {
    let saved = world.saved().into_iter();
    let slots = saved.filter_map(|(owner, snapshot)| match (owner, snapshot) {
        (Owner::Usage(slot), Some(Snapshot::Usage(counts))) => Some((slot, Some(counts))),
        (Owner::Usage(slot), None) => Some((slot, None)),
        _ => None,
    });
    let mut slots: Vec<_> = slots.collect();
    slots.sort_by(|a, b| a.0.cmp(&b.0));
    slots
}

#[test]
fn what_was_used_is_known_after_a_restart_and_what_is_of_no_use_leaves_the_store() {
    paused(async {
        let two = Counts { requests: 2, ..Counts::default() };
        let lost = SlotKey { pool: "lost".into(), ..slot("k1", now()) };
        let old = slot("k1", now() - 8 * 24 * HOUR);
        let restored = Restored {
            usage: vec![(slot("k1", now()), two), (lost.clone(), two), (old.clone(), two)],
            ..Restored::default()
        };
        let blueprint = shared("a: a1", Some((Unit::Requests, 4.0)), Rule::Hard);
        let world = World::restored(blueprint.clone(), restored, vec![Arbiter::current()]).await;
        assert!(pick(&world, "k1").await.plan.targets.is_empty());
        assert_eq!(usage(&world), [(lost.clone(), None), (old.clone(), None)]);
        let mut without = blueprint;
        Arc::make_mut(&mut without.catalogue).pools = Pools::default();
        world.owners.router.mailbox.ask(Apply(Arc::new(without))).await.unwrap();
        world.quiet().await;
        let gone = [(lost, None), (old, None), (slot("k1", now()), None)];
        assert_eq!(usage(&world), gone, "the pool is gone");
        let gone = world.pick_as(MODEL, Some("k1")).await;
        assert!(matches!(gone, Err(NoPlan::UnknownModel)), "{gone:?}");
    });
}

#[test]
fn flow_2_26_only_a_pools_model_waits_softly_and_only_while_that_is_switched_on() {
    paused(async {
        let mut blueprint = shared("a: a1*1", None, Rule::Hard);
        let world = World::start(blueprint.clone()).await;
        let patience = [world.pick(MODEL).await.patience, world.pick("a/m").await.patience];
        assert_eq!(patience, [Patience::Soft { wait_ms: 30_000, queue: Some(20) }, Patience::Queue]);
        Arc::make_mut(&mut blueprint.catalogue).pools.serialise = false;
        world.owners.router.mailbox.ask(Apply(Arc::new(blueprint))).await.unwrap();
        assert_eq!(world.pick(MODEL).await.patience, Patience::Queue);
    });
}

#[test]
fn flow_2_6_a_limited_key_may_ask_for_nothing_but_its_pools_models() {
    paused(async {
        let world = World::start(shared("a: a1", None, Rule::Hard)).await;
        let asked = |model: &str, key: Option<&str>| {
            let mut pick = World::pick_of(model, key);
            pick.limited = true;
            pick
        };
        let router = &world.owners.router.mailbox;
        assert!(router.ask(asked(MODEL, Some("k1"))).await.unwrap().is_ok());
        for (model, key) in [("a/m", Some("k1")), (MODEL, Some("k3")), (MODEL, None)] {
            let refused = router.ask(asked(model, key)).await.unwrap();
            assert!(matches!(refused, Err(NoPlan::NotForKey)), "{model} {key:?}: {refused:?}");
        }
    });
}
