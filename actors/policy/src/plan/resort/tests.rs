use std::sync::Arc;

use super::super::tests::Nothing;
use super::super::{Ask, Plan, World, plan};
use super::{Forced, Resort};
use crate::board::{Board, ConnectionView};
use crate::breaker::{Breaker, BreakerSettings};
use crate::catalogue::{Catalogue, Combo, ConnectionEntry, Dialect, ProviderEntry, Step};
use crate::cooldown::{Cooldown, CooldownSettings, CooldownView};
use crate::dice::Scripted;
use crate::hint::{Hint, HintSource};
use crate::ids::{Class, ConnectionId};
use crate::lockout::{LockCase, Lockout, LockoutSettings, lock_for};
use crate::request::Traits;
use crate::verdict::{Case, End, Failure, Signal, Verdict, judge};
use crate::window::WindowView;

const NOW: u64 = 1_768_478_400_000;

/// One account of each of a, b and c; `m` asks them in this order, `none` without a last resort.
fn catalogue() -> Catalogue {
    let provider = |id: &str| ProviderEntry {
        id: id.into(),
        class: Class::Apikey,
        dialects: vec![Dialect::Openai],
        models: None,
        passthrough_models: true,
        connections: vec![Arc::new(ConnectionEntry {
            id: format!("{id}-1").as_str().into(),
            provider: id.into(),
            priority: 1,
            usable: true,
            models: vec!["*".into()],
        })],
    };
    let step = |id: &&str| Step::new((*id).into(), "x".into());
    let combo = |name: &str, targets: &[&str], last_resort: bool| {
        let mut combo = Combo::new(name, "priority", targets.iter().map(step).collect());
        combo.attempts.last_resort = last_resort;
        (combo.name.clone(), combo)
    };
    Catalogue {
        providers: ["a", "b", "c"].iter().map(|id| ((*id).into(), provider(id))).collect(),
        combos: [combo("m", &["a", "b", "c"], true), combo("none", &["a", "b", "c"], false)].into(),
        ..Catalogue::default()
    }
}

fn failure(status: u16, stated_ms: Option<u64>) -> Failure {
    let hint = stated_ms.map(|wait| Hint::new(wait, HintSource::Header));
    match judge(&Signal::new(End::Status(status), hint), &Case::of(Class::Apikey)) {
        Verdict::Failure(failure) => failure,
        other => panic!("{status} is {other:?}"),
    }
}

fn put(board: &mut Board, connection: &str, cooldown: CooldownView) {
    let view = ConnectionView {
        cooldown,
        retry: WindowView::default(),
        draining: false,
        usable: true,
        egress: None,
        lease: None,
    };
    board.connections.insert(connection.into(), Arc::new(view));
}

/// What can hold the account of a provider; a number: its breaker is open for so many ms.
fn hold(board: &mut Board, provider: &str, how: &str) {
    let account = format!("{provider}-1");
    let mut cooldown = Cooldown::new(CooldownSettings::for_class(Class::Apikey));
    let mut breaker = Breaker::new(BreakerSettings::for_class(Class::Apikey));
    let mut fails = |status: u16, stated_ms: Option<u64>| {
        let trial = cooldown.admit(false, NOW).or_else(|_| cooldown.admit_forced(false, NOW)).unwrap();
        cooldown.record(trial, &Verdict::Failure(failure(status, stated_ms)), NOW, NOW);
        cooldown.view()
    };
    match how {
        "well" => {}
        "rest" => put(board, &account, fails(503, None)),
        "stated" => put(board, &account, fails(503, Some(500))),
        "joined" => {
            fails(503, None);
            put(board, &account, fails(503, Some(1)));
        }
        "auth" => put(board, &account, fails(401, None)),
        "order" => {
            cooldown.cool(5_000, NOW);
            put(board, &account, cooldown.view());
        }
        "draining" => {
            put(board, &account, fails(503, None));
            let view = ConnectionView { draining: true, ..(*board.connections[account.as_str()]).clone() };
            board.connections.insert(account.as_str().into(), Arc::new(view));
        }
        "window" => {
            board.windows.insert(provider.into(), WindowView { until: Some(NOW + 9_000) });
        }
        "isolated" => drop(breaker.isolate(NOW)),
        "lock" => lock(board, &account, None),
        "stated lock" => lock(board, &account, Some(1)),
        open => drop(breaker.trip(Some(open.parse().unwrap()), NOW)),
    }
    board.providers.insert(provider.into(), Arc::new(breaker.view()));
}

fn lock(board: &mut Board, account: &str, stated_ms: Option<u64>) {
    let mut settings = LockoutSettings::for_class(Class::Apikey);
    (settings.enabled, settings.error_codes) = (true, vec![503]);
    let case = LockCase { provider: &"a".into(), model: &"x".into(), use_hints: true };
    let (key, order) = lock_for(&failure(503, stated_ms), &case, &settings).expect("a lock");
    let mut lockout = Lockout::new(key, settings);
    lockout.record(&order, NOW, NOW);
    board.lockouts.insert(account.into(), vec![Arc::new(lockout.view())]);
}

fn make(model: &str, held: [&str; 3], allowed: Option<&[ConnectionId]>) -> Plan {
    let mut board = Board::default();
    for (provider, how) in ["a", "b", "c"].iter().zip(held) {
        hold(&mut board, provider, how);
    }
    let ask = Ask { model, dialect: Dialect::Openai, allowed, traits: &Traits::default(), lease: None };
    let catalogue = catalogue();
    let world = World { catalogue: &catalogue, board: &board, memory: &Nothing, now: NOW };
    let mut plan = plan(&ask, world, &mut Scripted::default()).unwrap();
    plan.take_resort();
    plan
}

fn order(plan: &Plan) -> String {
    plan.targets.iter().map(|target| target.provider.as_str()).collect()
}

#[test]
fn decision_33_only_timers_of_ours_leave_a_last_resort() {
    for (held, expected) in [
        (["3000", "2000", "4000"], "b"),
        (["2000", "2000", "2000"], "a"),
        (["30000", "rest", "window"], "b"),
        (["lock", "900000", "800000"], "a"),
        (["window", "30000", "40000"], "a"),
        // One of them has more to say than a timer.
        (["2000", "stated", "2000"], ""),
        (["joined", "2000", "2000"], ""),
        (["2000", "2000", "stated lock"], ""),
        (["order", "2000", "2000"], ""),
        (["auth", "2000", "2000"], ""),
        (["draining", "2000", "2000"], ""),
        (["isolated", "2000", "2000"], ""),
        // Who has a target needs none.
        (["2000", "well", "2000"], "b"),
    ] {
        let plan = make("m", held, None);
        assert_eq!(order(&plan), expected, "{held:?}");
        assert_eq!(plan.is_last_resort(), !expected.is_empty() && !held.contains(&"well"), "{held:?}");
    }
    assert_eq!(order(&make("none", ["2000", "2000", "2000"], None)), "");
}

#[test]
fn decision_33_an_account_that_is_the_keys_for_nobody_is_no_target() {
    let own: [ConnectionId; 2] = ["a-1".into(), "c-1".into()];
    let plan = make("m", ["3000", "stated", "2000"], Some(&own));
    assert_eq!(order(&plan), "c");
    assert_eq!(plan.targets[0].forced, Forced::LastResort);
    let grant = plan.targets[0].grant.expect("nobody need be asked for a probe");
    assert!(!grant.probe);
}

#[test]
fn decision_33_a_terminal_account_bars_the_last_resort() {
    let mut board = Board::default();
    hold(&mut board, "a", "2000");
    hold(&mut board, "c", "2000");
    let mut cooldown = Cooldown::new(CooldownSettings::for_class(Class::Apikey));
    let trial = cooldown.admit(false, NOW).unwrap();
    cooldown.record(trial, &Verdict::Failure(failure(402, None)), NOW, NOW);
    assert!(cooldown.view().terminal.is_some(), "an unpaid account is out of use");
    put(&mut board, "b-1", cooldown.view());
    let ask =
        Ask { model: "m", dialect: Dialect::Openai, allowed: None, traits: &Traits::default(), lease: None };
    let catalogue = catalogue();
    let world = World { catalogue: &catalogue, board: &board, memory: &Nothing, now: NOW };
    let plan = plan(&ask, world, &mut Scripted::default()).unwrap();
    assert!(matches!(plan.resort, Resort::Barred), "{:?}", plan.resort);
}

/// Else the board would never hear of it.
#[test]
fn a_stated_wait_that_ends_sooner_is_told_all_the_same() {
    let mut cooldown = Cooldown::new(CooldownSettings::for_class(Class::Apikey));
    let trial = cooldown.admit(false, NOW).unwrap();
    let mut fails = |stated_ms| {
        let verdict = Verdict::Failure(failure(503, stated_ms));
        let told = cooldown.record(trial, &verdict, NOW, NOW).is_some();
        (told, cooldown.view().computed)
    };
    assert_eq!(fails(None), (true, true));
    assert_eq!(fails(Some(1)), (true, false));
    assert_eq!(fails(Some(1)), (false, false));
}
