//! Accounts of one provider as the router chooses among them: the pick counts its own use, and
//! what is reported of answers weighs the next draw (core 4, routing 11.8). Dice are seeded,
//! so every count is exact.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actors::blueprint::Blueprint;
use actors::router::family::Apply;
use actors::router::pick::Served;
use actors::router::share::News;
use actors::testing::{World, blueprint, paused};
use policy::account::{AccountSettings, AccountStrategy};

async fn ms(length: u64) {
    tokio::time::sleep(Duration::from_millis(length)).await;
}

/// Accounts of one priority, chosen by `p2c`.
fn p2c(lines: &str, latency_weight: f64) -> Blueprint {
    let mut blueprint = blueprint(lines);
    let catalogue = Arc::make_mut(&mut blueprint.catalogue);
    catalogue.accounts =
        AccountSettings { strategy: AccountStrategy::P2c, latency_weight, ..AccountSettings::default() };
    for provider in catalogue.providers.values_mut() {
        for entry in &mut provider.connections {
            Arc::make_mut(entry).priority = 1;
        }
    }
    blueprint
}

async fn first(world: &World, model: &str) -> String {
    world.pick(model).await.targets[0].connection.to_string()
}

/// How often each account was first in so many picks.
async fn spread(world: &World, model: &str, picks: usize) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for _ in 0..picks {
        *counts.entry(first(world, model).await).or_default() += 1;
    }
    counts
}

fn counts(rows: &[(&str, usize)]) -> BTreeMap<String, usize> {
    rows.iter().map(|(id, count)| ((*id).to_owned(), *count)).collect()
}

async fn served(world: &World, connection: &str, first_byte_ms: Option<u32>) {
    world.owners.router.mailbox.post(Served {
        combo: None,
        place: None,
        first: None,
        provider: "a".into(),
        connection: connection.into(),
        model: "m".into(),
        first_byte_ms,
        failed: first_byte_ms.is_none(),
        news: News::default(),
    });
    world.quiet().await;
}

#[test]
fn fill_first_sends_all_to_the_first_account() {
    paused(async {
        let world = World::start(blueprint("a: a1 a2 a3")).await;
        assert_eq!(spread(&world, "a/m", 300).await, counts(&[("a1", 300)]));
    });
}

/// Nobody has answered yet: only the pick's own count can spread a burst.
#[test]
fn p2c_spreads_a_burst_over_equal_accounts() {
    paused(async {
        let world = World::start(p2c("a: a1 a2", 0.0)).await;
        assert_eq!(spread(&world, "a/m", 300).await, counts(&[("a1", 150), ("a2", 150)]));
        let world = World::start(p2c("a: a1 a2 a3 a4", 0.0)).await;
        let four = spread(&world, "a/m", 400).await;
        assert_eq!(four, counts(&[("a1", 89), ("a2", 103), ("a3", 103), ("a4", 105)]));
    });
}

#[test]
fn p2c_spreads_the_accounts_of_a_combos_step_too() {
    paused(async {
        let world = World::start(p2c("a: a1 a2\nb: b1\nab priority: a/m b/m", 0.0)).await;
        assert_eq!(spread(&world, "ab", 100).await, counts(&[("a1", 50), ("a2", 50)]));
        let plan = world.pick("ab").await;
        let last = plan.targets.last().map(|target| target.connection.to_string());
        assert_eq!(last.as_deref(), Some("b1"), "the combo's own order stays");
    });
}

/// Core 4.2: a pick in a row costs 2, and a run ends when another account is picked.
#[test]
fn a_run_ends_when_another_account_is_picked() {
    paused(async {
        let world = World::start(p2c("a: a1 a2", 0.0)).await;
        let one = first(&world, "a/m").await;
        let other = first(&world, "a/m").await;
        assert_ne!(one, other);
        assert_eq!(first(&world, "a/m").await, one, "its run is over, the other's is not");
    });
}

fn turns(strategy: AccountStrategy, sticky_limit: u32) -> Blueprint {
    let mut blueprint = blueprint("a: a1 a2 a3\nboth priority: a/m a/n");
    let settings = AccountSettings { strategy, sticky_limit, ..AccountSettings::default() };
    Arc::make_mut(&mut blueprint.catalogue).accounts = settings;
    blueprint
}

async fn firsts(world: &World, picks: usize) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..picks {
        all.push(first(world, "a/m").await);
    }
    all
}

/// Routing 11.8; all picks are of one millisecond.
#[test]
fn round_robin_and_least_used_take_turns() {
    paused(async {
        let world = World::start(turns(AccountStrategy::RoundRobin, 3)).await;
        let expected = ["a1", "a1", "a1", "a2", "a2", "a2", "a3", "a3", "a3", "a1"];
        assert_eq!(firsts(&world, 10).await, expected);
        let world = World::start(turns(AccountStrategy::RoundRobin, 1)).await;
        assert_eq!(firsts(&world, 4).await, ["a1", "a2", "a3", "a1"]);
        let world = World::start(turns(AccountStrategy::LeastUsed, 3)).await;
        assert_eq!(firsts(&world, 7).await, ["a1", "a2", "a3", "a1", "a2", "a3", "a1"]);
    });
}

/// Routing 4.14 for accounts: the deck is the provider's, whoever asks.
#[test]
fn strict_random_gives_each_account_a_turn_in_each_round() {
    paused(async {
        let world = World::start(turns(AccountStrategy::StrictRandom, 1)).await;
        let mut drawn = Vec::new();
        for pick in 0..60 {
            drawn.push(first(&world, if pick % 2 == 0 { "a/m" } else { "a/n" }).await);
        }
        for round in drawn.chunks(3) {
            let mut round = round.to_vec();
            round.sort();
            assert_eq!(round, ["a1", "a2", "a3"]);
        }
        assert!(drawn.windows(2).all(|pair| pair[0] != pair[1]), "{drawn:?}");
    });
}

#[test]
fn random_is_even_in_the_long_run() {
    paused(async {
        let world = World::start(turns(AccountStrategy::Random, 1)).await;
        assert_eq!(spread(&world, "a/m", 300).await, counts(&[("a1", 95), ("a2", 112), ("a3", 93)]));
    });
}

/// Five minutes later a use costs nothing any more, and the run of the last one 2 points.
#[test]
fn an_old_use_leaves_only_the_run() {
    paused(async {
        let world = World::start(p2c("a: a1 a2", 0.0)).await;
        for _ in 0..20 {
            let last = first(&world, "a/m").await;
            ms(300_000).await;
            assert_ne!(first(&world, "a/m").await, last);
            ms(300_000).await;
        }
    });
}

/// Core 4.5–4.7: only after three samples of both. Twice as slow costs 10 points here, and a run
/// of picks costs 2 for each and 1 for being recent: a1 has the last of two picks behind it, so
/// its fifth in a row would cost 11.
#[test]
fn answers_weigh_the_draw() {
    paused(async {
        let world = World::start(p2c("a: a1 a2", 20.0)).await;
        for n in 0..3 {
            if n == 2 {
                assert_eq!(spread(&world, "a/m", 2).await.len(), 2, "two samples say nothing");
            }
            served(&world, "a1", Some(100)).await;
            served(&world, "a2", Some(200)).await;
        }
        ms(300_000).await;
        let mut seen = Vec::new();
        for _ in 0..5 {
            seen.push(first(&world, "a/m").await);
            ms(60_000).await;
        }
        assert_eq!(seen, ["a1", "a1", "a1", "a1", "a2"]);
    });
}

#[test]
fn failed_answers_weigh_the_draw() {
    paused(async {
        let world = World::start(p2c("a: a1 a2", 20.0)).await;
        for _ in 0..3 {
            served(&world, "a1", None).await;
            served(&world, "a2", Some(200)).await;
        }
        for _ in 0..4 {
            assert_eq!(first(&world, "a/m").await, "a2");
            ms(60_000).await;
        }
    });
}

#[test]
fn without_a_weight_nothing_is_recorded() {
    paused(async {
        let lines = "a: a1 a2";
        let world = World::start(p2c(lines, 0.0)).await;
        assert!(!world.pick("a/m").await.timed);
        for _ in 0..5 {
            served(&world, "a1", None).await;
            served(&world, "a2", Some(200)).await;
        }
        world.owners.router.mailbox.post(Apply(p2c(lines, 20.0).into()));
        world.quiet().await;
        assert!(world.pick("a/m").await.timed);
        ms(300_000).await;
        assert_eq!(spread(&world, "a/m", 10).await, counts(&[("a1", 5), ("a2", 5)]));
    });
}

#[test]
fn a_removed_account_is_forgotten() {
    paused(async {
        let lines = "a: a1 a2";
        let world = World::start(p2c(lines, 20.0)).await;
        for _ in 0..3 {
            served(&world, "a1", None).await;
            served(&world, "a2", Some(200)).await;
        }
        world.owners.router.mailbox.post(Apply(p2c("a: a2", 20.0).into()));
        world.quiet().await;
        world.owners.router.mailbox.post(Apply(p2c(lines, 20.0).into()));
        world.quiet().await;
        assert_eq!(spread(&world, "a/m", 10).await, counts(&[("a1", 5), ("a2", 5)]));
    });
}
