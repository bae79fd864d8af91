use std::collections::HashMap;
use std::sync::Arc;

use crate::account::{AccountSettings, AccountStrategy, Usage};
use crate::affinity::{PinKey, Pinned, Pins};
use crate::board::{Board, ConnectionView};
use crate::catalogue::{Catalogue, Combo, ConnectionEntry, Dialect, ProviderEntry, Step};
use crate::cooldown::{Cooldown, CooldownSettings};
use crate::dice::Scripted;
use crate::ids::{Class, ConnectionId, ModelId, ProviderId};
use crate::latency::Latency;
use crate::plan::{Ask, Memory, World, plan};
use crate::reading::{AccountReading, WindowReading};
use crate::request::Traits;
use crate::session_model::SessionModels;
use crate::strategy::Metrics;
use crate::time::{MINUTE, Millis};

const T0: Millis = 1_768_478_400_000;
const TTL: Millis = 30 * MINUTE;

#[derive(Default)]
struct Remembered {
    usage: HashMap<ConnectionId, Usage>,
    sessions: HashMap<ConnectionId, u32>,
    readings: HashMap<ConnectionId, AccountReading>,
    pins: Pins,
    models: SessionModels,
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

    fn latency(&self, _: &ConnectionId, _: &ModelId, _: Millis) -> Latency {
        Latency::default()
    }

    fn pins(&self, session: &str) -> &[Pinned] {
        self.pins.of(session)
    }

    fn session_model(&self, combo: &str, session: &str, now: Millis) -> Option<&(ProviderId, ModelId)> {
        self.models.of(combo, session, now)
    }

    fn reading(&self, connection: &ConnectionId) -> Option<&AccountReading> {
        self.readings.get(connection)
    }

    fn sessions(&self, connection: &ConnectionId, _: Millis) -> u32 {
        self.sessions.get(connection).copied().unwrap_or_default()
    }
}

/// `p` has the accounts c1 to c3, of one priority; `q` has d1.
struct Scene {
    catalogue: Catalogue,
    board: Board,
    memory: Remembered,
}

fn provider(id: &str, accounts: &[&str]) -> ProviderEntry {
    let entry = |account: &&str| ConnectionEntry {
        id: (*account).into(),
        provider: id.into(),
        priority: 1,
        usable: true,
        models: vec!["*".into()],
    };
    ProviderEntry {
        id: id.into(),
        class: Class::Apikey,
        dialects: vec![Dialect::Openai],
        models: None,
        passthrough_models: true,
        connections: accounts.iter().map(|account| Arc::new(entry(account))).collect(),
    }
}

impl Scene {
    fn new(strategy: AccountStrategy) -> Self {
        let providers = [provider("p", &["c1", "c2", "c3"]), provider("q", &["d1"])];
        let on = |account: &str| Step::pinned("p".into(), "m".into(), account.into());
        let free = |provider: &str| Step::new(provider.into(), "m".into());
        let combos = [
            Combo::new("ordered", "priority", vec![on("c1"), on("c2"), on("c3")]),
            Combo::new("drawn", "p2c", vec![on("c1"), on("c2"), on("c3")]),
            Combo::new("both", "p2c", vec![free("q"), free("p")]),
        ];
        let catalogue = Catalogue {
            providers: providers.into_iter().map(|entry| (entry.id.clone(), entry)).collect(),
            combos: combos.into_iter().map(|combo| (combo.name.clone(), combo)).collect(),
            accounts: AccountSettings { strategy, affinity_ttl_ms: TTL, ..AccountSettings::default() },
            ..Catalogue::default()
        };
        Self { catalogue, board: Board::default(), memory: Remembered::default() }
    }

    fn order(&self, model: &str, session: Option<&str>, now: Millis) -> Vec<String> {
        let traits = Traits { session: session.map(Into::into), ..Traits::default() };
        let ask = Ask { model, dialect: Dialect::Openai, allowed: None, traits: &traits, lease: None };
        let world = World { catalogue: &self.catalogue, board: &self.board, memory: &self.memory, now };
        let plan = plan(&ask, world, &mut Scripted::default()).unwrap();
        plan.targets.iter().map(|target| target.connection.to_string()).collect()
    }

    fn first(&self, model: &str, session: &str, now: Millis) -> String {
        self.order(model, Some(session), now).remove(0)
    }

    fn pin(&mut self, provider: &str, session: &str, connection: &str, now: Millis) {
        let key = PinKey { provider: provider.into(), session: session.into() };
        self.memory.pins.bind(key, &connection.into(), TTL, now);
    }

    fn used(&mut self, connection: &str, at: Millis) {
        self.memory.usage.insert(connection.into(), Usage { consecutive: 1, last_at: Some(at), turn: 0 });
    }

    fn cool(&mut self, connection: &str) {
        let mut cooldown = Cooldown::new(CooldownSettings::for_class(Class::Apikey));
        cooldown.cool(60_000, T0);
        let view = ConnectionView::ready(cooldown.view());
        self.board.connections.insert(connection.into(), Arc::new(view));
    }
}

/// Rules 9.7.
#[test]
fn a1_a_new_session_goes_to_the_account_that_was_used_longest_ago() {
    let mut scene = Scene::new(AccountStrategy::FillFirst);
    scene.used("c2", T0 - 3_600_000);
    assert_eq!(scene.order("p/m", Some("s1"), T0), ["c1", "c2", "c3"], "never used, first in the list");
    scene.used("c1", T0 - 1_000);
    assert_eq!(scene.order("p/m", Some("s1"), T0), ["c3", "c1", "c2"]);
    scene.used("c3", T0 - 2_000);
    assert_eq!(scene.order("p/m", Some("s1"), T0), ["c2", "c1", "c3"]);
    assert_eq!(scene.order("p/m", None, T0), ["c1", "c2", "c3"], "no session");
}

#[test]
fn a2_a_pin_holds_until_its_end() {
    let mut scene = Scene::new(AccountStrategy::FillFirst);
    scene.pin("p", "s1", "c2", T0);
    assert_eq!(scene.order("p/m", Some("s1"), T0 + TTL - 1), ["c2", "c1", "c3"]);
    assert_eq!(scene.first("p/m", "s1", T0 + TTL), "c1", "A4: expired");
    assert_eq!(scene.first("p/m", "s2", T0), "c1", "somebody else's");
}

#[test]
fn a3_a_pin_to_a_cooling_account_does_not_count() {
    let mut scene = Scene::new(AccountStrategy::FillFirst);
    scene.pin("p", "s1", "c1", T0);
    scene.cool("c1");
    scene.used("c2", T0 - 1_000);
    assert_eq!(scene.order("p/m", Some("s1"), T0 + 10), ["c3", "c2"]);
}

#[test]
fn a5_without_a_ttl_there_are_no_sessions() {
    let mut scene = Scene::new(AccountStrategy::FillFirst);
    scene.pin("p", "s1", "c2", T0);
    scene.catalogue.accounts.affinity_ttl_ms = 0;
    assert_eq!(scene.order("p/m", Some("s1"), T0), ["c1", "c2", "c3"]);
}

/// The dice would give c1 every time.
#[test]
fn a7_a_pin_beats_a_strategy_that_scores() {
    let mut scene = Scene::new(AccountStrategy::P2c);
    assert_eq!(scene.order("p/m", None, T0)[0], "c1");
    scene.pin("p", "s1", "c3", T0);
    scene.used("c3", T0);
    assert_eq!(scene.first("p/m", "s1", T0), "c3");
}

/// FC-100, routing 3.4: whatever the combo's strategy, but never over an earlier step of
/// `priority`.
#[test]
fn fc_100_a_combo_keeps_a_session_on_its_account() {
    let mut scene = Scene::new(AccountStrategy::FillFirst);
    scene.pin("p", "s1", "c3", T0);
    assert_eq!(scene.order("drawn", None, T0)[0], "c1");
    assert_eq!(scene.first("drawn", "s1", T0), "c3");
    assert_eq!(scene.order("ordered", Some("s1"), T0), ["c1", "c2", "c3"]);
    assert_eq!(scene.order("both", Some("s1"), T0), ["c3", "c1", "c2", "d1"]);
    assert_eq!(scene.first("both", "s2", T0), "d1", "the strategy places what is new");
}

/// Pins are kept for each provider: the one that was used last leads.
#[test]
fn of_several_pins_the_latest_leads() {
    let mut scene = Scene::new(AccountStrategy::FillFirst);
    scene.pin("p", "s1", "c2", T0);
    scene.pin("q", "s1", "d1", T0 + 1);
    assert_eq!(scene.first("both", "s1", T0 + 2), "d1");
    scene.pin("p", "s1", "c2", T0 + 2);
    assert_eq!(scene.order("both", Some("s1"), T0 + 2), ["c2", "c1", "c3", "d1"]);
    scene.cool("c2");
    assert_eq!(scene.first("both", "s1", T0 + 3), "d1");
}

/// Rows 22 and 28: a pin goes before what fill-first and random say, never before `priority`.
#[test]
fn rows_22_and_28() {
    let mut scene = Scene::new(AccountStrategy::FillFirst);
    scene.pin("p", "s1", "c3", T0);
    for (strategy, first) in [("fill-first", "c3"), ("random", "c3"), ("priority", "c1")] {
        scene.catalogue.combos.get_mut("drawn").unwrap().strategy = strategy;
        assert_eq!(scene.first("drawn", "s1", T0), first, "{strategy}");
    }
}

/// Routing 3.4: a combo may do without.
#[test]
fn a_combo_may_leave_sessions_alone() {
    let mut scene = Scene::new(AccountStrategy::FillFirst);
    scene.pin("p", "s1", "c3", T0);
    scene.catalogue.combos.get_mut("drawn").unwrap().settings.sessions = false;
    assert_eq!(scene.first("drawn", "s1", T0), "c1");
}

/// Row 65: little quota is left of the account.
#[test]
fn row_65() {
    let mut scene = Scene::new(AccountStrategy::FillFirst);
    scene.pin("p", "s1", "c2", T0);
    for (used, expected) in [(0.84, "c2"), (0.86, "c1")] {
        let session = Some(WindowReading { used, resets_at: None });
        scene
            .memory
            .readings
            .insert("c2".into(), AccountReading { session, seen_at: T0, ..AccountReading::default() });
        assert_eq!(scene.first("drawn", "s1", T0), expected, "{used}");
    }
}

/// Decision 27a: among subscriptions the one with the fewest sessions.
#[test]
fn a_new_session_prefers_the_subscription_with_the_fewest() {
    let mut scene = Scene::new(AccountStrategy::FillFirst);
    for (account, sessions) in [("c1", 2), ("c2", 1), ("c3", 1)] {
        scene.memory.sessions.insert(account.into(), sessions);
    }
    scene.used("c2", T0 - 1_000);
    scene.used("c3", T0 - 2_000);
    assert_eq!(scene.first("p/m", "s1", T0), "c1", "keys do not count sessions");
    scene.catalogue.providers.get_mut("p").unwrap().class = Class::Oauth;
    assert_eq!(scene.first("p/m", "s1", T0), "c3");
    scene.pin("p", "s1", "c1", T0);
    assert_eq!(scene.first("p/m", "s1", T0), "c1", "a pin does not look at the others");
}

/// More accounts than a plan holds: the pinned one is among them whatever its place.
#[test]
fn a_pin_reaches_far_down_the_list() {
    let mut scene = Scene::new(AccountStrategy::FillFirst);
    let names: Vec<String> = (0..100).map(|n| format!("c{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    scene.catalogue.providers.insert("p".into(), provider("p", &names));
    scene.pin("p", "s1", "c99", T0);
    let order = scene.order("p/m", Some("s1"), T0);
    assert_eq!((order.len(), order[0].as_str(), order[1].as_str()), (30, "c99", "c0"));
}

/// Routing 3.9: the model that served the session goes before the strategy's choice, even over an
/// earlier step of `priority`; not when it is down, nor in a combo that did not ask for it.
#[test]
fn a_combo_may_keep_a_session_with_its_model() {
    let mut scene = Scene::new(AccountStrategy::FillFirst);
    scene.catalogue.accounts.affinity_ttl_ms = 0;
    let steps = ["q", "p"].map(|provider| Step::new(provider.into(), "m".into())).to_vec();
    let combo = Combo { keeps_model: true, ..Combo::new("kept", "priority", steps) };
    scene.catalogue.combos.insert(combo.name.clone(), combo);
    scene.memory.models.heard((&"kept".into(), &"s1".into()), ("p".into(), "m".into()), true, (T0, T0));
    assert_eq!(scene.order("kept", Some("s1"), T0 + 1), ["c1", "c2", "c3", "d1"]);
    assert_eq!(scene.first("kept", "s2", T0 + 1), "d1");
    for account in ["c1", "c2", "c3"] {
        scene.cool(account);
    }
    assert_eq!(scene.first("kept", "s1", T0 + 1), "d1", "it rests for more than 20 s");
    let mut scene = Scene::new(AccountStrategy::FillFirst);
    scene.memory.models.heard((&"both".into(), &"s1".into()), ("p".into(), "m".into()), true, (T0, T0));
    assert_eq!(scene.first("both", "s1", T0), "d1");
}
