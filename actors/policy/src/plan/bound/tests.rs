use std::collections::HashMap;
use std::sync::Arc;

use crate::affinity::{PinKey, Pinned, Pins};
use crate::board::{Board, ConnectionView};
use crate::catalogue::{Catalogue, Combo, ConnectionEntry, Dialect, ModelEntry, ProviderEntry, Step};
use crate::change::Exclusion;
use crate::cooldown::{Cooldown, CooldownSettings};
use crate::dice::Scripted;
use crate::ids::{Class, ConnectionId, ProviderId};
use crate::lockout::{LockCase, Lockout, LockoutSettings, LockoutView, lock_for};
use crate::plan::{Ask, Memory, NoPlan, Plan, World, plan};
use crate::request::Traits;
use crate::verdict::{Case, End, Signal, Verdict, judge};

const T0: u64 = 1_768_478_400_000;
const TTL: u64 = 1_800_000;

#[derive(Default)]
struct Remembered(Pins);

impl Memory for Remembered {
    fn made(&self, response: &str) -> &[Pinned] {
        self.0.of(response)
    }
}

/// `p` has the accounts p1 to p40, `q` has q1; `both` asks `p`, then `q`.
struct Scene {
    catalogue: Catalogue,
    board: Board,
    memory: Remembered,
}

impl Scene {
    fn new() -> Self {
        let provider = |id: &str, count: u32| {
            let connection = |number: u32| {
                Arc::new(ConnectionEntry {
                    id: format!("{id}{number}").into(),
                    provider: id.into(),
                    priority: number,
                    usable: true,
                    models: vec!["*".into()],
                })
            };
            let entry = ProviderEntry {
                id: id.into(),
                class: Class::Apikey,
                dialects: vec![Dialect::Responses],
                models: None,
                passthrough_models: false,
                connections: (1..=count).map(connection).collect(),
            };
            (ProviderId::from(id), entry)
        };
        let step = |id: &str| Step::new(id.into(), "m".into());
        let both = Combo::new("both", "priority", vec![step("p"), step("q")]);
        let catalogue = Catalogue {
            providers: [provider("p", 40), provider("q", 1)].into_iter().collect(),
            combos: HashMap::from([(both.name.clone(), both)]),
            ..Catalogue::default()
        };
        Self { catalogue, board: Board::default(), memory: Remembered::default() }
    }

    /// r1 was made by this account.
    fn made(&mut self, provider: &str, connection: &str, at: u64) {
        let key = PinKey { provider: provider.into(), session: "r1".into() };
        self.memory.0.bind(key, &connection.into(), TTL, at);
    }

    fn cools(&mut self, connection: &str) {
        let mut cooldown = Cooldown::new(CooldownSettings::for_class(Class::Apikey));
        cooldown.cool(60_000, T0);
        let view = ConnectionView::ready(cooldown.view());
        self.board.connections.insert(connection.into(), Arc::new(view));
    }

    fn plan(&self, model: &str, allowed: Option<&[ConnectionId]>, now: u64) -> Result<Plan, NoPlan> {
        self.sized(model, allowed, None, now)
    }

    fn sized(
        &self,
        model: &str,
        allowed: Option<&[ConnectionId]>,
        input_tokens: Option<u64>,
        now: u64,
    ) -> Result<Plan, NoPlan> {
        let traits = Traits { response: Some("r1".into()), input_tokens, ..Traits::default() };
        let ask = Ask { model, dialect: Dialect::Responses, allowed, traits: &traits, lease: None };
        let world = World { catalogue: &self.catalogue, board: &self.board, memory: &self.memory, now };
        plan(&ask, world, &mut Scripted::default())
    }

    fn order(&self, model: &str, allowed: Option<&[ConnectionId]>, now: u64) -> Vec<String> {
        let plan = self.plan(model, allowed, now).unwrap();
        plan.targets.iter().map(|target| target.connection.to_string()).collect()
    }
}

/// The lock that a missing model leaves.
fn locked(model: &str) -> Vec<Arc<LockoutView>> {
    let Verdict::Failure(missing) = judge(&Signal::new(End::Status(404), None), &Case::of(Class::Apikey))
    else {
        panic!("404 is a failure");
    };
    let settings = LockoutSettings::for_class(Class::Apikey);
    let (provider, model) = ("p".into(), model.into());
    let case = LockCase { provider: &provider, model: &model, use_hints: true };
    let (key, order) = lock_for(&missing, &case, &settings).expect("decision 10");
    let mut lock = Lockout::new(key, settings);
    lock.record(&order, T0, T0);
    vec![Arc::new(lock.view())]
}

/// More accounts than a plan holds; a later provider of a combo.
#[test]
fn fc_101_a_request_goes_where_its_response_was_made_and_nowhere_else() {
    let mut scene = Scene::new();
    assert_eq!(scene.order("p/m", None, T0).len(), 30);
    scene.made("p", "p40", T0);
    for model in ["p/m", "both"] {
        assert_eq!(scene.order(model, None, T0 + TTL - 1), ["p40"], "{model}");
    }
    assert_eq!(scene.order("p/m", None, T0 + TTL).len(), 30, "it has expired");
    scene.made("q", "q1", T0 + 1);
    assert_eq!(scene.order("both", None, T0 + 1), ["q1"], "the latest of that name");
    assert_eq!(scene.order("p/m", None, T0 + 1), ["p40"]);
}

#[test]
fn fc_101_while_its_account_is_out_a_request_is_told_so() {
    let mut scene = Scene::new();
    scene.made("p", "p2", T0);
    scene.cools("p2");
    for model in ["p/m", "both"] {
        let plan = scene.plan(model, None, T0).unwrap();
        assert!(plan.targets.is_empty(), "{model}");
        let told = plan.excluded.iter().map(|excluded| (excluded.reason, excluded.until));
        assert_eq!(told.collect::<Vec<_>>(), [(Exclusion::ConnectionCooldown, Some(T0 + 60_000))], "{model}");
    }
}

/// It was made elsewhere, by nobody that the key may use, or by an account that is switched off.
#[test]
fn fc_101_what_its_account_cannot_serve_goes_the_usual_way() {
    let mut scene = Scene::new();
    scene.made("p", "p2", T0);
    assert_eq!(scene.order("q/m", None, T0), ["q1"]);
    assert_eq!(scene.order("p/m", Some(&["p1".into()]), T0), ["p1"]);
    assert_eq!(scene.order("p/m", Some(&["p1".into(), "p2".into()]), T0), ["p2"]);
    assert_eq!(scene.plan("nobody/m", None, T0).unwrap_err(), NoPlan::UnknownModel);
    let accounts = &mut scene.catalogue.providers.get_mut("p").unwrap().connections;
    Arc::make_mut(&mut accounts[1]).usable = false;
    assert!(!scene.order("p/m", None, T0).contains(&"p2".to_owned()));
    assert_eq!(scene.order("p/m", None, T0).len(), 30);
}

/// Routing 4.1 holds for the account's own steps; those of others have no part in it.
#[test]
fn fc_101_a_protected_step_of_others_does_not_bar_the_way_home() {
    let mut scene = Scene::new();
    let both: Arc<str> = "both".into();
    scene.catalogue.combos.get_mut(&both).unwrap().steps[0].only_on_quota = true;
    scene.made("q", "q1", T0);
    assert_eq!(scene.order("both", None, T0), ["q1"], "it was made while p had no quota");
    scene.cools("q1");
    let plan = scene.plan("both", None, T0).unwrap();
    assert!(plan.targets.is_empty());
    let told: Vec<_> = plan.excluded.iter().map(|held| (held.connection.clone(), held.reason)).collect();
    assert_eq!(told, [(Some("q1".into()), Exclusion::ConnectionCooldown)]);
    // Its own is passed for quota alone.
    let pinned = |model: &str| Step::pinned("p".into(), model.into(), "p2".into());
    let mut steps = vec![pinned("m"), pinned("n")];
    steps[0].only_on_quota = true;
    scene.catalogue.combos.insert("own".into(), Combo::new("own", "priority", steps));
    scene.made("p", "p2", T0 + 1);
    assert_eq!(scene.order("own", None, T0 + 1), ["p2", "p2"]);
    scene.board.lockouts.insert("p2".into(), locked("m"));
    assert!(scene.order("own", None, T0 + 1).is_empty());
}

/// Of those who could not serve it only its own are told.
#[test]
fn fc_101_who_could_not_serve_it_is_told_of_its_own_account() {
    let mut scene = Scene::new();
    scene.made("p", "p2", T0);
    let listed = |window| ModelEntry { context_window: Some(window), ..ModelEntry::default() };
    for provider in ["p", "q"] {
        let models = [("m".into(), listed(10)), ("n".into(), listed(100))].into_iter().collect();
        scene.catalogue.providers.get_mut(provider).unwrap().models = Some(models);
    }
    let step = |(provider, model): (&str, &str)| Step::new(provider.into(), model.into());
    let steps = [("p", "m"), ("q", "m"), ("p", "n")].map(step).to_vec();
    scene.catalogue.combos.insert("long".into(), Combo::new("long", "priority", steps));
    let plan = scene.sized("long", None, Some(50), T0).unwrap();
    assert_eq!(plan.targets.len(), 1);
    let told: Vec<_> = plan.unfit.iter().map(|unfit| (unfit.provider.as_str(), unfit.reason)).collect();
    assert_eq!(told, [("p", Exclusion::WindowTooSmall)]);
}
