//! Combos of more targets than a plan holds: of their orders only the beginning is sorted at first,
//! and a roll says of them what looking each one up would.

use std::collections::HashMap;
use std::sync::Arc;

use super::{NOW, cool, order};
use crate::affinity::{PinKey, Pinned, Pins};
use crate::board::Board;
use crate::catalogue::{Catalogue, Combo, ConnectionEntry, Dialect, ModelEntry, ProviderEntry, Step};
use crate::change::Exclusion;
use crate::dice::Dice;
use crate::ids::{Class, ConnectionId, ProviderId};
use crate::plan::{Ask, Memory, Plan, World, plan};
use crate::reading::{AccountReading, WindowReading};
use crate::request::Traits;
use crate::strategy::STRATEGIES;
use crate::time::HOUR;

/// Targets; their prices, windows and quotas are this permutation of them.
const COUNT: usize = 200;

fn turned(n: usize) -> usize {
    n * 37 % COUNT
}

/// The target of a number.
fn at(number: usize) -> usize {
    (0..COUNT).find(|n| turned(*n) == number).expect("a permutation")
}

fn catalogue(strategy: &'static str) -> Catalogue {
    let provider = |n: usize| {
        let id = ProviderId::from(format!("p{n}"));
        let facts = ModelEntry {
            input_price: Some(turned(n) as f64),
            context_window: Some(100_000 - turned(n) as u64),
            ..ModelEntry::default()
        };
        let connection = ConnectionEntry {
            id: format!("c{n}").into(),
            provider: id.clone(),
            priority: 0,
            usable: true,
            models: vec!["*".into()],
        };
        let entry = ProviderEntry {
            id: id.clone(),
            class: Class::Apikey,
            dialects: vec![Dialect::Openai],
            models: Some([("m".into(), facts)].into_iter().collect()),
            passthrough_models: false,
            connections: vec![Arc::new(connection)],
        };
        (id, entry)
    };
    let steps = (0..COUNT).map(|n| Step::new(format!("p{n}").into(), "m".into())).collect();
    let mut catalogue = Catalogue {
        providers: (0..COUNT).map(provider).collect(),
        combos: [("all".into(), Combo::new("all", strategy, steps))].into(),
        ..Catalogue::default()
    };
    catalogue.accounts.affinity_ttl_ms = HOUR;
    catalogue
}

#[derive(Default)]
struct Remembered {
    readings: HashMap<ConnectionId, AccountReading>,
    pins: Pins,
}

impl Remembered {
    /// Of each account as much is used as its number says, and it starts anew by it.
    fn all() -> Self {
        let read = |n: usize| {
            let used = turned(n) as f64 / COUNT as f64;
            let window = Some(WindowReading { used, resets_at: Some(NOW + (1 + turned(n) as u64) * HOUR) });
            (format!("c{n}").into(), AccountReading { weekly: window, seen_at: NOW, ..Default::default() })
        };
        Self { readings: (0..COUNT).map(read).collect(), pins: Pins::default() }
    }
}

impl Memory for Remembered {
    fn reading(&self, connection: &ConnectionId) -> Option<&AccountReading> {
        self.readings.get(connection)
    }

    fn pins(&self, session: &str) -> &[Pinned] {
        self.pins.of(session)
    }
}

/// Numbers that look like chance, the same each time.
struct Wheel(u64);

impl Dice for Wheel {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize
    }
}

fn make(catalogue: &Catalogue, board: &Board, memory: &Remembered, traits: &Traits) -> Plan {
    let ask = Ask { model: "all", dialect: Dialect::Openai, allowed: None, traits, lease: None };
    let world = World { catalogue, board, memory, now: NOW };
    plan(&ask, world, &mut Wheel(7)).expect("somebody can be asked")
}

fn names(numbers: impl Iterator<Item = usize>) -> Vec<String> {
    numbers.map(|number| format!("m@c{}", at(number))).collect()
}

/// Routing 4.9, 4.17: the sixty that would go first rest, so the plan goes on where nothing was sorted.
#[test]
fn an_order_goes_on_behind_those_that_rest() {
    let mut board = Board::default();
    (0..60).for_each(|number| cool(&mut board, &format!("c{}", at(number)), 1_000));
    for strategy in ["cost-optimized", "context-optimized"] {
        let plan = make(&catalogue(strategy), &board, &Remembered::default(), &Traits::default());
        assert_eq!(order(&plan), names(60..90), "{strategy}");
        let told = plan.excluded.iter().map(|out| format!("m@{}", out.connection.as_ref().unwrap()));
        assert_eq!(told.collect::<Vec<_>>(), names(0..60), "{strategy}");
        assert!(plan.excluded.iter().all(|out| out.reason == Exclusion::ConnectionCooldown), "{strategy}");
    }
}

/// Rules 6.7: an account that would come last goes first for its session, the others as without it.
#[test]
fn a_session_is_found_wherever_it_stands() {
    let last = at(169);
    let (provider, account) = (format!("p{last}").into(), format!("c{last}").into());
    for strategy in ["headroom", "reset-window", "cost-optimized"] {
        let mut memory = Remembered::all();
        let key = PinKey { session: "s".into(), provider: ProviderId::clone(&provider) };
        memory.pins.bind(key, &account, HOUR, NOW);
        let traits = Traits { session: Some("s".into()), ..Traits::default() };
        let plan = make(&catalogue(strategy), &Board::default(), &memory, &traits);
        assert_eq!(order(&plan), names([169].into_iter().chain(0..29)), "{strategy}");
    }
}

/// What is known before anybody asks changes no plan, and neither does that somebody rests.
#[test]
fn a_roll_says_what_looking_each_one_up_does() {
    let mut resting = Board::default();
    (0..COUNT).step_by(3).for_each(|n| cool(&mut resting, &format!("c{n}"), 1_000));
    let traits = Traits { cache_key: Some("k1".into()), ..Traits::default() };
    for strategy in STRATEGIES {
        for board in [Board::default(), resting.clone()] {
            let (made, kept) = (catalogue(strategy.name()), catalogue(strategy.name()).ready());
            let plans = [made, kept].map(|catalogue| {
                let plan = make(&catalogue, &board, &Remembered::all(), &traits);
                (order(&plan), plan.excluded, plan.notes, plan.fan.map(|fan| fan.members.len()))
            });
            assert_eq!(plans[0], plans[1], "{}", strategy.name());
            assert_eq!(plans[0].0.len(), 30, "{}", strategy.name());
        }
    }
}
