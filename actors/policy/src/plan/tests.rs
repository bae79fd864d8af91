mod many;

use std::sync::Arc;

use super::{Ask, Memory, NoPlan, Plan, World, plan};
use crate::board::{Board, ConnectionView};
use crate::breaker::{Breaker, BreakerSettings};
use crate::catalogue::{Catalogue, Combo, ConnectionEntry, Dialect, ModelEntry, ProviderEntry, Step};
use crate::change::Exclusion;
use crate::cooldown::{Cooldown, CooldownSettings};
use crate::dice::Scripted;
use crate::ids::{Class, ConnectionId};
use crate::request::Traits;
use crate::validation::Validation;
use crate::window::WindowView;

pub(super) const NOW: u64 = 1_768_478_400_000;

pub(super) struct Nothing;

impl Memory for Nothing {}

fn connection(provider: &str, id: &str, priority: u32) -> Arc<ConnectionEntry> {
    Arc::new(ConnectionEntry {
        id: id.into(),
        provider: provider.into(),
        priority,
        usable: true,
        models: vec!["*".into()],
    })
}

fn provider(id: &str, dialect: Dialect, models: Option<&[&str]>, connections: &[&str]) -> ProviderEntry {
    ProviderEntry {
        id: id.into(),
        class: Class::Apikey,
        dialects: vec![dialect],
        models: models
            .map(|models| models.iter().map(|model| ((*model).into(), ModelEntry::default())).collect()),
        passthrough_models: false,
        connections: connections.iter().enumerate().map(|(n, c)| connection(id, c, n as u32)).collect(),
    }
}

fn combo(name: &str, strategy: &'static str, targets: &[(&str, &str, Option<&str>)]) -> Combo {
    let step = |(provider, model, pin): &(&str, &str, Option<&str>)| match pin {
        Some(pin) => Step::pinned((*provider).into(), (*model).into(), (*pin).into()),
        None => Step::new((*provider).into(), (*model).into()),
    };
    Combo::new(name, strategy, targets.iter().map(step).collect())
}

/// a: two accounts, any model; b: one account, lists `m` and `x`; c lists `m`; d speaks anthropic.
pub(super) fn catalogue() -> Catalogue {
    let providers = [
        provider("a", Dialect::Openai, None, &["a-1", "a-2"]),
        provider("b", Dialect::Openai, Some(&["m", "x"]), &["b-1"]),
        provider("c", Dialect::Openai, Some(&["m"]), &["c-1"]),
        provider("d", Dialect::Anthropic, None, &["d-1"]),
        provider("e", Dialect::Openai, None, &[]),
    ];
    let combos = [
        combo("abc", "priority", &[("a", "m", Some("a-1")), ("b", "m", None), ("c", "m", None)]),
        combo("mixed", "priority", &[("d", "m", None), ("a", "m", None)]),
        combo("foreign", "priority", &[("d", "m", None)]),
        combo("empty", "priority", &[]),
        combo("b/x", "priority", &[("c", "m", None)]),
        combo("pin", "priority", &[("a", "m", Some("a-2"))]),
    ];
    Catalogue {
        providers: providers.into_iter().map(|entry| (entry.id.clone(), entry)).collect(),
        combos: combos.into_iter().map(|combo| (combo.name.clone(), combo)).collect(),
        ..Catalogue::default()
    }
}

fn make(model: &str, board: &Board) -> Result<Plan, NoPlan> {
    let ask = Ask { model, dialect: Dialect::Openai, allowed: None, traits: &Traits::default(), lease: None };
    make_ask(&ask, board)
}

fn make_ask(ask: &Ask<'_>, board: &Board) -> Result<Plan, NoPlan> {
    let catalogue = catalogue();
    plan(ask, World { catalogue: &catalogue, board, memory: &Nothing, now: NOW }, &mut Scripted::default())
}

fn order(plan: &Plan) -> Vec<String> {
    plan.targets.iter().map(|target| format!("{}@{}", target.model, target.connection)).collect()
}

fn reasons(plan: &Plan) -> Vec<(String, Exclusion)> {
    let name = |target: &super::Excluded| target.connection.as_ref().map_or("-".into(), ToString::to_string);
    plan.excluded.iter().map(|target| (name(target), target.reason)).collect()
}

pub(super) fn open(board: &mut Board, provider: &str) {
    let mut breaker = Breaker::new(BreakerSettings::for_class(Class::Apikey));
    breaker.trip(Some(10_000), NOW);
    board.providers.insert(provider.into(), Arc::new(breaker.view()));
}

fn cool(board: &mut Board, connection: &str, for_ms: u64) {
    let mut cooldown = Cooldown::new(CooldownSettings::for_class(Class::Apikey));
    cooldown.cool(for_ms, NOW);
    let view = ConnectionView::ready(cooldown.view());
    board.connections.insert(connection.into(), Arc::new(view));
}

/// Routing 16 #1.
#[test]
fn row_1_priority_keeps_the_declared_order() {
    let plan = make("abc", &Board::default()).unwrap();
    assert_eq!(order(&plan), ["m@a-1", "m@b-1", "m@c-1"]);
    assert_eq!((plan.strategy, plan.pool_size), ("priority", 3));
}

/// Routing 16 #2.
#[test]
fn row_2_an_open_breaker_is_skipped_with_its_reason() {
    let mut board = Board::default();
    open(&mut board, "a");
    let plan = make("abc", &board).unwrap();
    assert_eq!(order(&plan), ["m@b-1", "m@c-1"]);
    assert_eq!(reasons(&plan), [("-".to_owned(), Exclusion::CircuitOpen)]);
    assert_eq!(plan.excluded[0].until, Some(NOW + 10_000));
}

#[test]
fn a_single_target_offers_its_accounts_by_priority() {
    let plan = make("a/anything/at:all", &Board::default()).unwrap();
    assert_eq!(order(&plan), ["anything/at:all@a-1", "anything/at:all@a-2"]);
    assert_eq!((plan.strategy, plan.combo.is_none()), ("single", true));
}

#[test]
fn a_cooling_account_is_left_out_until_its_end() {
    let mut board = Board::default();
    cool(&mut board, "a-1", 5_000);
    let plan = make("a/m", &board).unwrap();
    assert_eq!(order(&plan), ["m@a-2"]);
    assert_eq!(reasons(&plan), [("a-1".to_owned(), Exclusion::ConnectionCooldown)]);
    assert_eq!(plan.excluded[0].until, Some(NOW + 5_000));
}

/// Routing 2.1, 12 and contract 8, "Models".
#[test]
fn names_are_looked_up_in_order() {
    let board = Board::default();
    let first = |model: &str| make(model, &board).map(|plan| order(&plan)[0].clone());
    let rows: [(&str, Result<&str, NoPlan>); 13] = [
        ("combo/abc", Ok("m@a-1")),
        ("b/x", Ok("m@c-1")),
        ("combo/b/x", Ok("m@c-1")),
        ("b/m", Ok("m@b-1")),
        (" b / m ", Ok("m@b-1")),
        ("x", Ok("x@b-1")),
        ("pin", Ok("m@a-2")),
        ("m", Err(NoPlan::Ambiguous(vec!["b/m".into(), "c/m".into()]))),
        ("b/unlisted", Err(NoPlan::UnknownModel)),
        ("nobody/m", Err(NoPlan::UnknownModel)),
        ("a/", Err(NoPlan::UnknownModel)),
        ("../x", Err(NoPlan::BadName)),
        ("a/\u{7}", Err(NoPlan::BadName)),
    ];
    for (model, expected) in rows {
        assert_eq!(first(model), expected.map(str::to_owned), "{model}");
    }
    assert_eq!(make("", &board).err(), Some(NoPlan::BadName));
    assert_eq!(make(&format!("a/{}", "m".repeat(511)), &board).err(), Some(NoPlan::BadName));
}

#[test]
fn a_target_of_another_dialect_is_skipped_unless_all_are() {
    let board = Board::default();
    let plan = make("mixed", &board).unwrap();
    assert_eq!(order(&plan), ["m@a-1", "m@a-2"]);
    assert_eq!(reasons(&plan), [("-".to_owned(), Exclusion::FormatNotSupported)]);
    let foreign = Err(NoPlan::FormatNotSupported(vec![Dialect::Anthropic]));
    assert_eq!(make("foreign", &board).map(|plan| order(&plan)), foreign);
    assert_eq!(make("d/m", &board).map(|plan| order(&plan)), foreign);
}

#[test]
fn a_key_sees_only_its_connections() {
    let allowed: [ConnectionId; 1] = ["a-2".into()];
    let ask = Ask {
        model: "abc",
        dialect: Dialect::Openai,
        allowed: Some(&allowed),
        traits: &Traits::default(),
        lease: None,
    };
    let plan = make_ask(&ask, &Board::default()).unwrap();
    assert!(plan.targets.is_empty());
    assert!(reasons(&plan).iter().all(|(_, reason)| *reason == Exclusion::KeyNotAllowed));
    let ask = Ask { model: "a/m", ..ask };
    assert_eq!(order(&make_ask(&ask, &Board::default()).unwrap()), ["m@a-2"]);
}

#[test]
fn nothing_configured_is_an_empty_plan_with_its_reason() {
    let board = Board::default();
    let plan = make("empty", &board).unwrap();
    assert!(plan.targets.is_empty() && plan.excluded.is_empty());
    let plan = make("e/m", &board).unwrap();
    assert_eq!(reasons(&plan), [("-".to_owned(), Exclusion::Unavailable)]);
}

/// Core 7.1: one model bad, the account stays in use for others.
/// Routing 16 #90.
#[test]
fn row_90_a_locked_model_leaves_the_account_to_others() {
    use crate::lockout::{LockCase, Lockout, LockoutSettings, lock_for};
    use crate::verdict::{Case, End, Signal, Verdict, judge};
    let Verdict::Failure(failure) = judge(&Signal::new(End::Status(404), None), &Case::of(Class::Apikey))
    else {
        panic!("404 is a failure");
    };
    let settings = LockoutSettings::for_class(Class::Apikey);
    let (provider, model) = ("a".into(), "m".into());
    let case = LockCase { provider: &provider, model: &model, use_hints: true };
    let (key, order_) = lock_for(&failure, &case, &settings).expect("decision 10");
    let mut lock = Lockout::new(key, settings);
    lock.record(&order_, NOW, NOW);
    let mut board = Board::default();
    board.lockouts.insert("a-1".into(), vec![Arc::new(lock.view())]);
    let plan = make("a/m", &board).unwrap();
    assert_eq!(order(&plan), ["m@a-2"]);
    assert_eq!(reasons(&plan), [("a-1".to_owned(), Exclusion::ModelLockout)]);
    // A missing model is nobody's to wait for (routing 7.17).
    assert!(!plan.excluded[0].transient);
    assert_eq!(order(&make("a/other", &board).unwrap()).len(), 2);
}

/// Flow 3.3: what is told as a wait and what is waited for are two lists.
#[test]
fn rests_of_a_known_passing_reason_are_waited_for() {
    use crate::verdict::Reason;
    let reasons = |list: &[Reason]| list.iter().copied().map(Some).collect::<Vec<_>>();
    let mut waited = reasons(&[
        Reason::RateLimitExceeded,
        Reason::ModelCapacity,
        Reason::ServerError,
        Reason::ConcurrencyLimited,
    ]);
    // An operator's order has no reason and a known end.
    waited.push(None);
    let told = reasons(&[Reason::RequestRejected, Reason::Unknown]);
    let never = reasons(&[Reason::AuthError, Reason::QuotaExhausted, Reason::NotFound]);
    for (reasons, expected) in [(waited, (true, true)), (told, (true, false)), (never, (false, false))] {
        for reason in reasons {
            let mut board = Board::default();
            cool(&mut board, "a-2", 1_000);
            let mut view = ConnectionView::clone(&board.connections[&ConnectionId::from("a-2")]);
            view.cooldown.rest_reason = reason;
            board.connections.insert("a-2".into(), Arc::new(view));
            let left_out = make("pin", &board).unwrap().excluded.remove(0);
            assert_eq!((left_out.transient, left_out.waitable), expected, "{reason:?}");
        }
    }
    let mut board = Board::default();
    open(&mut board, "a");
    assert!(make("pin", &board).unwrap().excluded[0].waitable, "a breaker asks again");
}

#[test]
fn a_half_open_breaker_must_be_asked() {
    let mut board = Board::default();
    open(&mut board, "b");
    let catalogue = catalogue();
    let world = World { catalogue: &catalogue, board: &board, memory: &Nothing, now: NOW + 10_000 };
    let ask = Ask {
        model: "b/m",
        dialect: Dialect::Openai,
        allowed: None,
        traits: &Traits::default(),
        lease: None,
    };
    let plan = plan(&ask, world, &mut Scripted::default()).unwrap();
    assert!(plan.targets[0].grant.is_none());
}

/// Decision 34: a connection that rested for longer than a minute wins fewer draws at first.
#[test]
fn slow_start_spares_a_connection_that_came_back() {
    let mut catalogue = catalogue();
    let mut two = combo("two", "p2c", &[("b", "m", None), ("c", "m", None)]);
    two.slow_start_ms = 100_000;
    catalogue.combos.insert("two".into(), two);
    let mut board = Board::default();
    cool(&mut board, "b-1", 61_000);
    let back = NOW + 61_000;
    let ask = Ask {
        model: "two",
        dialect: Dialect::Openai,
        allowed: None,
        traits: &Traits::default(),
        lease: None,
    };
    let first = |at: u64, numbers: &[f64]| {
        let world = World { catalogue: &catalogue, board: &board, memory: &Nothing, now: at };
        order(&plan(&ask, world, &mut Scripted::new(numbers)).unwrap())[0].clone()
    };
    // Drawn: b, c; the tie's dice give b; then the throw for keeping it.
    assert_eq!(first(back + 20_000, &[0.0, 0.0, 0.0, 0.19]), "m@b-1");
    assert_eq!(first(back + 20_000, &[0.0, 0.0, 0.0, 0.21]), "m@c-1");
    assert_eq!(first(back + 100_000, &[0.0, 0.0, 0.0, 0.99]), "m@b-1");
}

/// Core 7.2: breaker, provider cooldown, then what is the connection's own; core 2.1: only combos ask.
#[test]
fn provider_cooldowns_stand_between_the_breaker_and_the_connections() {
    let mut board = Board::default();
    board.windows.insert("b".into(), WindowView { until: Some(NOW + 600_000) });
    cool(&mut board, "b-1", 900_000);
    let made = make("abc", &board).unwrap();
    assert_eq!(order(&made), ["m@a-1", "m@c-1"]);
    let left_out = &made.excluded[0];
    assert_eq!((left_out.reason, left_out.until), (Exclusion::ProviderCooldown, Some(NOW + 600_000)));
    assert!(left_out.connection.is_none() && left_out.transient);
    assert_eq!(reasons(&make("b/m", &board).unwrap()), [("b-1".to_owned(), Exclusion::ConnectionCooldown)]);
    open(&mut board, "b");
    assert_eq!(make("abc", &board).unwrap().excluded[0].reason, Exclusion::CircuitOpen);
}

/// A combo over so many providers with so many accounts each; how many targets each step got.
fn shares(steps: usize, accounts: usize) -> Vec<usize> {
    let ids: Vec<String> = (1..=steps).map(|step| format!("p{step:02}")).collect();
    let names = |id: &str| (1..=accounts).map(|n| format!("{id}-{n:02}")).collect::<Vec<_>>();
    let entry = |id: &String| {
        let names = names(id);
        provider(id, Dialect::Openai, None, &names.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let targets: Vec<_> = ids.iter().map(|id| (id.as_str(), "m", None)).collect();
    let all = combo("all", "priority", &targets);
    let catalogue = Catalogue {
        providers: ids.iter().map(entry).map(|entry| (entry.id.clone(), entry)).collect(),
        combos: [(all.name.clone(), all)].into(),
        ..Catalogue::default()
    };
    let traits = Traits::default();
    let ask = Ask { model: "all", dialect: Dialect::Openai, allowed: None, traits: &traits, lease: None };
    let world = World { catalogue: &catalogue, board: &Board::default(), memory: &Nothing, now: NOW };
    let plan = plan(&ask, world, &mut Scripted::default()).unwrap();
    assert!(plan.targets.is_sorted_by_key(|target| target.step), "priority keeps its order");
    (0..steps).map(|step| plan.targets.iter().filter(|target| target.step == step).count()).collect()
}

/// Thirty targets are the most (routing 7.8), and many accounts of the first steps take no step's
/// last place: it may be the healthy one.
#[test]
fn fc_051_every_step_has_a_place_in_the_plan() {
    assert_eq!(shares(12, 3), [3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 1, 1]);
    assert_eq!(shares(2, 40), [29, 1]);
    assert_eq!(shares(1, 40), [30]);
    assert_eq!(shares(10, 3), [3; 10]);
    assert_eq!(shares(30, 2), [1; 30]);
    assert_eq!(shares(32, 2), [[1; 30].as_slice(), &[0; 2]].concat());
}

/// Routing 7.9: it goes with the plan of its combo, and with no other.
#[test]
fn what_a_combo_expects_of_an_answer_goes_with_its_plan() {
    let rules = Arc::new(Validation { min_length: 3, ..Validation::default() });
    let mut catalogue = catalogue();
    catalogue.combos.get_mut("pin").unwrap().validation = Some(rules.clone());
    let of = |model| {
        let ask =
            Ask { model, dialect: Dialect::Openai, allowed: None, traits: &Traits::default(), lease: None };
        let world = World { catalogue: &catalogue, board: &Board::default(), memory: &Nothing, now: NOW };
        plan(&ask, world, &mut Scripted::default()).unwrap().validation
    };
    assert_eq!([of("pin"), of("abc"), of("a/m")], [Some(rules), None, None]);
}
