use std::collections::HashMap;
use std::sync::Arc;

use crate::account::{AccountSettings, AccountStrategy, Usage};
use crate::attempts::{MAX_DISPATCHES, Own};
use crate::board::{Board, ConnectionView};
use crate::catalogue::{Catalogue, Combo, ConnectionEntry, Dialect, ProviderEntry, Step};
use crate::cooldown::{Cooldown, CooldownSettings};
use crate::dice::{Dice, Scripted};
use crate::ids::{Class, ConnectionId, ModelId, ProviderId};
use crate::latency::{Latency, Summary};
use crate::plan::{Ask, Memory, Plan, World, plan};
use crate::request::Traits;
use crate::strategy::Metrics;
use crate::time::Millis;
use crate::verdict::{Case, End, Signal, judge};

const NOW: Millis = 1_768_478_400_000;

/// Remembers uses, and answers times per connection.
#[derive(Default)]
struct Remembered {
    usage: HashMap<ConnectionId, Usage>,
    mean_ms: HashMap<ConnectionId, f64>,
}

impl Memory for Remembered {
    fn in_flight(&self, _: &ConnectionId) -> u32 {
        0
    }

    fn metrics(&self, _: &str, _: &ProviderId, _: &ModelId) -> Option<Metrics> {
        None
    }

    fn usage(&self, connection: &ConnectionId) -> Usage {
        self.usage.get(connection).copied().unwrap_or_default()
    }

    fn latency(&self, connection: &ConnectionId, _: &ModelId, _: Millis) -> Latency {
        let mean_ms = self.mean_ms.get(connection).copied();
        let series = Summary { samples: 3, failures: 0, mean_ms };
        Latency { connection: series, model: series }
    }
}

/// Provider `a` with so many accounts of one priority, under `p2c`, and two combos over it.
fn catalogue(accounts: usize) -> Catalogue {
    let entry = |n| ConnectionEntry {
        id: format!("a-{n}").into(),
        provider: "a".into(),
        priority: 1,
        usable: true,
        models: vec!["*".into()],
    };
    let provider = ProviderEntry {
        id: "a".into(),
        class: Class::Apikey,
        dialects: vec![Dialect::Openai],
        models: None,
        passthrough_models: true,
        connections: (0..accounts).map(|n| Arc::new(entry(n))).collect(),
    };
    let step = |model: &str, connection: Option<&str>| match connection {
        Some(pin) => Step::pinned("a".into(), model.into(), pin.into()),
        None => Step::new("a".into(), model.into()),
    };
    let combo =
        |name: &str, strategy, steps| Combo { slow_start_ms: 100_000, ..Combo::new(name, strategy, steps) };
    let combos = [
        combo("free", "priority", vec![step("m", None)]),
        combo("pinned", "priority", vec![step("m", Some("a-2"))]),
        combo("two", "priority", vec![step("m", None), step("n", None)]),
        combo("drawn", "p2c", vec![step("m", None), step("n", Some("a-1"))]),
    ];
    Catalogue {
        providers: [(provider.id.clone(), provider)].into_iter().collect(),
        combos: combos.into_iter().map(|combo| (combo.name.clone(), combo)).collect(),
        accounts: AccountSettings { strategy: AccountStrategy::P2c, ..AccountSettings::default() },
        ..Catalogue::default()
    }
}

struct Scene {
    catalogue: Catalogue,
    board: Board,
    memory: Remembered,
}

impl Scene {
    fn of(accounts: usize) -> Self {
        Self { catalogue: catalogue(accounts), board: Board::default(), memory: Remembered::default() }
    }

    fn plan(&self, model: &str, now: Millis, dice: &mut dyn Dice) -> Plan {
        let world = World { catalogue: &self.catalogue, board: &self.board, memory: &self.memory, now };
        plan(
            &Ask { model, dialect: Dialect::Openai, allowed: None, traits: &Traits::default(), lease: None },
            world,
            dice,
        )
        .unwrap()
    }

    fn order(&self, model: &str, now: Millis, numbers: &[f64]) -> Vec<String> {
        let plan = self.plan(model, now, &mut Scripted::new(numbers));
        plan.targets.iter().map(|target| target.connection.to_string()).collect()
    }

    /// The account failed at NOW and rests.
    fn fails(&mut self, account: &str, status: u16) {
        self.fails_with(account, status, CooldownSettings::for_class(Class::Apikey));
    }

    fn fails_with(&mut self, account: &str, status: u16, numbers: CooldownSettings) {
        let mut cooldown = Cooldown::new(numbers);
        let trial = cooldown.admit(false, NOW).unwrap();
        let verdict = judge(&Signal::new(End::Status(status), None), &Case::of(Class::Apikey));
        cooldown.record(trial, &verdict, NOW, NOW);
        self.show(account, &cooldown);
    }

    fn show(&mut self, account: &str, cooldown: &Cooldown) {
        let view = ConnectionView::ready(cooldown.view());
        self.board.connections.insert(account.into(), Arc::new(view));
    }
}

#[test]
fn an_unpinned_steps_accounts_are_drawn_and_a_pinned_ones_are_not() {
    let scene = Scene::of(3);
    assert_eq!(scene.order("free", NOW, &[2.0, 0.0]), ["a-2", "a-0", "a-1"]);
    assert_eq!(scene.order("a/m", NOW, &[1.0, 1.0]), ["a-1", "a-0", "a-2"]);
    assert_eq!(scene.order("pinned", NOW, &[0.0, 0.0]), ["a-2"]);
}

#[test]
fn each_step_has_its_own_draw() {
    let scene = Scene::of(2);
    let plan = scene.plan("two", NOW, &mut Scripted::new(&[1.0, 0.0, 0.0, 0.0]));
    let order: Vec<String> =
        plan.targets.iter().map(|target| format!("{}@{}", target.model, target.connection)).collect();
    assert_eq!(order, ["m@a-1", "m@a-0", "n@a-0", "n@a-1"]);
}

#[test]
fn fill_first_keeps_the_order_of_priority() {
    let mut scene = Scene::of(3);
    scene.catalogue.accounts.strategy = AccountStrategy::FillFirst;
    assert_eq!(scene.order("free", NOW, &[2.0, 0.0]), ["a-0", "a-1", "a-2"]);
}

#[test]
fn use_is_weighed() {
    let mut scene = Scene::of(2);
    let used = Usage { consecutive: 1, last_at: Some(NOW - 1_000), turn: 0 };
    scene.memory.usage.insert("a-0".into(), used);
    assert_eq!(scene.order("a/m", NOW, &[0.0]), ["a-1", "a-0"]);
}

#[test]
fn latency_is_weighed_only_with_a_weight() {
    let mut scene = Scene::of(2);
    scene.memory.mean_ms = [("a-0".into(), 900.0), ("a-1".into(), 300.0)].into();
    assert_eq!(scene.order("a/m", NOW, &[0.0]), ["a-0", "a-1"]);
    assert!(!scene.plan("a/m", NOW, &mut Scripted::default()).timed);
    assert!(scene.plan("free", NOW, &mut Scripted::default()).timed, "a combo's record is kept anyway");
    scene.catalogue.accounts.latency_weight = 1.0;
    assert_eq!(scene.order("a/m", NOW, &[0.0]), ["a-1", "a-0"]);
    assert!(scene.plan("a/m", NOW, &mut Scripted::default()).timed);
}

/// A 429 cools for 3 s and is held against the account for a minute more: after that it may win
/// a draw again, and a success forgives it.
#[test]
fn a_failure_is_held_against_an_account_for_a_minute_after_its_rest() {
    let mut scene = Scene::of(2);
    scene.fails("a-0", 429);
    assert_eq!(scene.order("a/m", NOW + 2_999, &[0.0]), ["a-1"]);
    assert_eq!(scene.order("a/m", NOW + 62_999, &[0.0]), ["a-1", "a-0"]);
    assert_eq!(scene.order("a/m", NOW + 63_000, &[0.0]), ["a-0", "a-1"]);
}

/// Without cooling there is no rest: the minute counts from the failure.
#[test]
fn a_failure_without_a_rest_is_held_against_an_account_for_a_minute() {
    let mut scene = Scene::of(2);
    let numbers = CooldownSettings { disable_cooling: true, ..CooldownSettings::for_class(Class::Apikey) };
    scene.fails_with("a-0", 429, numbers);
    assert_eq!(scene.order("a/m", NOW + 59_999, &[0.0]), ["a-1", "a-0"]);
    assert_eq!(scene.order("a/m", NOW + 60_000, &[0.0]), ["a-0", "a-1"]);
}

#[test]
fn a_long_rest_is_held_against_an_account_as_long_again_up_to_fifteen_minutes() {
    for (rest, memory) in [(300_000, 300_000), (7_200_000, 900_000)] {
        let mut scene = Scene::of(2);
        let mut cooldown = Cooldown::new(CooldownSettings::for_class(Class::Apikey));
        let trial = cooldown.admit(false, NOW).unwrap();
        let verdict = judge(&Signal::new(End::Status(429), None), &Case::of(Class::Apikey));
        cooldown.record(trial, &verdict, NOW, NOW);
        cooldown.cool(rest, NOW);
        scene.show("a-0", &cooldown);
        let end = NOW + rest + memory;
        assert_eq!(scene.order("a/m", end - 1, &[0.0]), ["a-1", "a-0"], "{rest}");
        assert_eq!(scene.order("a/m", end, &[0.0]), ["a-0", "a-1"], "{rest}");
    }
}

/// Decision 34 for the draw among accounts: the combo's slow start is 100 s.
#[test]
fn an_account_in_slow_start_gives_draws_away() {
    let mut scene = Scene::of(2);
    let mut cooldown = Cooldown::new(CooldownSettings::for_class(Class::Apikey));
    cooldown.cool(61_000, NOW);
    scene.show("a-0", &cooldown);
    let half = NOW + 61_000 + 50_000;
    assert_eq!(scene.order("free", half, &[0.0, 0.0, 0.49]), ["a-0", "a-1"]);
    assert_eq!(scene.order("free", half, &[0.0, 0.0, 0.5]), ["a-1", "a-0"]);
    assert_eq!(scene.order("a/m", half, &[0.0, 0.0, 0.5]), ["a-0", "a-1"], "the setting is a combo's");
}

/// Decision 34 among the steps: a step is spared only as far as all its accounts are. Of two
/// that are equal the dice take the first here, and 0.3 keeps a draw at probability 0.5 only.
#[test]
fn a_step_with_a_rested_account_keeps_its_draw() {
    let mut scene = Scene::of(2);
    let mut cooldown = Cooldown::new(CooldownSettings::for_class(Class::Apikey));
    cooldown.cool(61_000, NOW);
    scene.show("a-0", &cooldown);
    let first = |scene: &Scene| {
        let plan = scene.plan("drawn", NOW + 61_000, &mut Scripted::new(&[0.0, 0.0, 0.0, 0.3]));
        plan.targets[0].model.to_string()
    };
    scene.show("a-1", &Cooldown::new(CooldownSettings::for_class(Class::Apikey)));
    assert_eq!(first(&scene), "m", "a-1 is not in slow start");
    scene.show("a-1", &cooldown);
    assert_eq!(first(&scene), "n", "both are, at 0.1");
}

/// Routing 1.4: what is said of the provider is stronger, for accounts and steps alike.
#[test]
fn slow_start_may_be_said_of_a_provider() {
    for (of_all, of_a, spared) in [(0, 100_000, true), (100_000, 0, false)] {
        let mut scene = Scene::of(2);
        for combo in scene.catalogue.combos.values_mut() {
            combo.slow_start_ms = of_all;
            let own = Own { attempts: combo.attempts, slow_start_ms: of_a };
            combo.own = [("a".into(), own)].into_iter().collect();
        }
        let mut cooldown = Cooldown::new(CooldownSettings::for_class(Class::Apikey));
        cooldown.cool(61_000, NOW);
        scene.show("a-0", &cooldown);
        let first = scene.order("free", NOW + 61_000 + 50_000, &[0.0, 0.0, 0.5]).remove(0);
        assert_eq!(first, if spared { "a-1" } else { "a-0" });
        scene.show("a-1", &cooldown);
        let plan = scene.plan("drawn", NOW + 61_000, &mut Scripted::new(&[0.0, 0.0, 0.0, 0.3]));
        assert_eq!(plan.targets[0].model.as_str(), if spared { "n" } else { "m" });
    }
}

/// Of 100 accounts 30 are weighed, from a random place on and round the end.
#[test]
fn a_large_provider_is_entered_at_a_random_place() {
    let scene = Scene::of(100);
    let order = scene.order("a/m", NOW, &[90.0, 0.0, 0.0]);
    assert_eq!(order.len(), MAX_DISPATCHES);
    let mut expected: Vec<String> = (90..100).chain(0..20).map(|n| format!("a-{n}")).collect();
    assert_eq!(order, expected);
    let mut few = scene.order("a/m", NOW, &[0.0, 29.0, 0.0]);
    few.sort_by_key(|id| id[2..].parse::<usize>().unwrap());
    expected = (0..30).map(|n| format!("a-{n}")).collect();
    assert_eq!(few, expected, "each once");
}
