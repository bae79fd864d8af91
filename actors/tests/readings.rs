//! What accounts say of their quota, as the router deals with it: kept, read by strategies and by
//! the cutoff, and asked for only where somebody minds.

use std::sync::Arc;

use actors::blueprint::Blueprint;
use actors::router::pick::Served;
use actors::router::share::{Gauged, News};
use actors::testing::{START, World, blueprint, paused};
use policy::change::Exclusion;
use policy::plan::Plan;
use policy::preflight::Preflight;
use policy::reading::{AccountReading, WindowReading};

const HOUR: u64 = 3_600_000;

async fn says(world: &World, account: &str, used: f64) {
    let session = Some(WindowReading { used, resets_at: Some(START + HOUR) });
    let reading = AccountReading { session, seen_at: START, ..AccountReading::default() };
    world.owners.router.mailbox.post(Gauged { connection: account.into(), reading });
    world.quiet().await;
}

fn ready(mut blueprint: Blueprint, preflight: Preflight) -> Blueprint {
    let mut catalogue = (*blueprint.catalogue).clone();
    catalogue.preflight = preflight;
    blueprint.catalogue = Arc::new(catalogue.ready());
    blueprint
}

fn order(plan: &Plan) -> String {
    let names = plan.targets.iter().map(|target| target.connection.to_string());
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn strategies_read_what_accounts_said() {
    paused(async {
        let world = World::start(blueprint("a: a1 a2 a3\nmine headroom: a/m")).await;
        says(&world, "a1", 0.9).await;
        says(&world, "a2", 0.2).await;
        says(&world, "a3", 0.5).await;
        assert_eq!(order(&world.pick("mine").await), "a2 a3 a1");
        tokio::time::advance(std::time::Duration::from_millis(HOUR)).await;
        assert_eq!(order(&world.pick("mine").await), "a1 a2 a3", "all have started anew");
    });
}

#[test]
fn rules_8_4_6_the_cutoff_is_read_anew_for_each_plan() {
    paused(async {
        let lines = "a: a1 a2\nmine priority: a/m";
        let on = Preflight { enabled: true, ..Preflight::default() };
        let world = World::start(ready(blueprint(lines), on)).await;
        says(&world, "a1", 0.98).await;
        for model in ["mine", "a/m"] {
            let plan = world.pick(model).await;
            assert_eq!((order(&plan).as_str(), plan.reads_quota), ("a2", true), "{model}");
            let excluded = &plan.excluded[0];
            assert_eq!((excluded.reason, excluded.until), (Exclusion::QuotaCutoff, Some(START + HOUR)));
            assert!(!excluded.transient && !excluded.waitable, "quota is nobody's to sit out");
        }
        says(&world, "a1", 0.9).await;
        assert_eq!(order(&world.pick("mine").await), "a1 a2", "a later reading acts at once");
        says(&world, "a1", 1.0).await;
        tokio::time::advance(std::time::Duration::from_millis(HOUR)).await;
        assert_eq!(order(&world.pick("mine").await), "a1 a2", "nobody is left out for good");
    });
}

#[test]
fn answers_are_read_only_where_somebody_minds() {
    paused(async {
        let lines = "a: a1 a2\nplain priority: a/m";
        let world = World::start(ready(blueprint(lines), Preflight::default())).await;
        assert!(!world.pick("plain").await.reads_quota && !world.pick("a/m").await.reads_quota);
        let lines = format!("{lines}\nmine reset-aware: a/m");
        let world = World::start(ready(blueprint(&lines), Preflight::default())).await;
        assert!(world.pick("plain").await.reads_quota, "its accounts are those of another combo");
    });
}

#[test]
fn routing_4_13_an_account_with_nothing_left_is_not_drawn_and_said_so() {
    paused(async {
        let world = World::start(blueprint("a: a1 a2\nmine quota-weighted: a/m")).await;
        says(&world, "a1", 1.0).await;
        let plan = world.pick("mine").await;
        assert_eq!((order(&plan).as_str(), plan.reserves), ("a2", true));
        let excluded = &plan.excluded[0];
        assert_eq!((excluded.reason, excluded.until), (Exclusion::QuotaExhausted, Some(START + HOUR)));
        assert_eq!(excluded.connection.as_ref().map(|id| id.as_str()), Some("a1"));
    });
}

/// Routing 5.1: nobody wrote the combo, and what is learnt of it counts all the same.
#[test]
fn auto_is_learnt_from_its_own_answers() {
    paused(async {
        let mut blueprint = blueprint("a: a1\nb: b1");
        let providers = &mut Arc::make_mut(&mut blueprint.catalogue).providers;
        for provider in providers.values_mut() {
            provider.models = Some([("m".into(), Default::default())].into_iter().collect());
        }
        let world = World::start(blueprint).await;
        let served = |plan: &Plan, connection: &str, first_byte_ms| {
            let target = plan.targets.iter().find(|target| target.connection.as_str() == connection).unwrap();
            Served {
                combo: plan.combo.clone(),
                place: target.place.clone(),
                first: plan.targets[0].place.clone(),
                provider: target.provider.clone(),
                connection: target.connection.clone(),
                model: target.model.clone(),
                first_byte_ms: Some(first_byte_ms),
                failed: false,
                news: News::default(),
            }
        };
        let plan = world.pick("auto/fast").await;
        assert_eq!((plan.strategy, plan.targets.len(), plan.reads_quota), ("auto", 2, true));
        world.owners.router.mailbox.post(served(&plan, "a1", 4_000));
        world.owners.router.mailbox.post(served(&plan, "b1", 100));
        world.quiet().await;
        for _ in 0..3 {
            let plan = world.pick("auto/fast").await;
            let score = |index: usize| plan.targets[index].place.as_ref().unwrap().score.unwrap();
            assert!(score(0) != score(1), "what was learnt is weighed");
            let b1 = plan.targets.iter().position(|target| target.connection.as_str() == "b1").unwrap();
            assert!(score(b1) > score(1 - b1));
        }
    });
}
