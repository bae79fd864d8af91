use std::sync::Arc;

use super::Entries;
use crate::board::{Board, ConnectionView};
use crate::breaker::{Breaker, BreakerSettings};
use crate::catalogue::{Combo, Dialect, Step};
use crate::cooldown::{Cooldown, CooldownSettings, Terminal, TerminalState};
use crate::ids::Class;
use crate::lockout::{LockCase, Lockout, LockoutSettings, lock_for};
use crate::plan::tests::{Nothing, catalogue};
use crate::plan::{Ask, World};
use crate::request::Traits;
use crate::strategy::{Grain, Pool};
use crate::verdict::{Case, End, Failure, Signal, Verdict, judge};
use crate::window::WindowView;

const NOW: u64 = 1_768_478_400_000;

/// What can hold an account of `a`, and whether it holds its other account too.
const HELD: &[(&str, bool)] = &[
    ("nothing", false),
    ("rest", false),
    ("retry", false),
    ("draining", false),
    ("terminal", false),
    ("lock", false),
    ("open", true),
    ("isolated", true),
    ("window", true),
];

fn failure(status: u16) -> Failure {
    match judge(&Signal::new(End::Status(status), None), &Case::of(Class::Apikey)) {
        Verdict::Failure(failure) => failure,
        other => panic!("{status} is {other:?}"),
    }
}

fn board(how: &str) -> Board {
    let mut board = Board::default();
    let mut cooldown = Cooldown::new(CooldownSettings::for_class(Class::Apikey));
    let mut breaker = Breaker::new(BreakerSettings::for_class(Class::Apikey));
    let (mut retry, until) = (WindowView::default(), Some(NOW + 1));
    match how {
        "rest" => drop(cooldown.cool(1, NOW)),
        "retry" => retry.until = until,
        "open" => drop(breaker.trip(Some(1), NOW)),
        "isolated" => drop(breaker.isolate(NOW)),
        "window" => drop(board.windows.insert("a".into(), WindowView { until })),
        "lock" => {
            let (settings, case) = (LockoutSettings::for_class(Class::Apikey), ("a".into(), "m".into()));
            let case = LockCase { provider: &case.0, model: &case.1, use_hints: true };
            let (key, order) = lock_for(&failure(404), &case, &settings).expect("decision 10");
            let mut lock = Lockout::new(key, settings);
            lock.record(&order, NOW, NOW);
            board.lockouts.insert("a-1".into(), vec![Arc::new(lock.view())]);
        }
        _ => {}
    }
    let mut cooldown = cooldown.view();
    if how == "terminal" {
        let state = TerminalState::Banned;
        cooldown.terminal = Some(Terminal { state, at: NOW, reason: None, retries: 0, retried_at: None });
    }
    let view = ConnectionView {
        cooldown,
        retry,
        draining: how == "draining",
        usable: true,
        egress: None,
        lease: None,
    };
    board.connections.insert("a-1".into(), Arc::new(view));
    board.providers.insert("a".into(), Arc::new(breaker.view()));
    board
}

fn eligible(combo: &Combo, board: &Board, dialect: Dialect) -> Vec<bool> {
    let (catalogue, traits) = (catalogue(), Traits::default());
    let ask = Ask { model: "m", dialect, allowed: None, traits: &traits, lease: None };
    let world = World { catalogue: &catalogue, board, memory: &Nothing, now: NOW };
    let roll = catalogue.roll(combo);
    let entries = Entries::new((combo, &roll), Grain::Accounts, &ask, world);
    (0..entries.count()).map(|index| entries.eligible(index)).collect()
}

/// Routing 4.2a, 4.21: an account is asked by itself, and is no other than a step that is tied to
/// it; who is calm is known without a look.
#[test]
fn an_account_is_eligible_as_a_step_of_its_own_would_be() {
    let accounts = Combo::new("all", "headroom", vec![Step::new("a".into(), "m".into())]);
    let tied = |id: &str| Step::pinned("a".into(), "m".into(), id.into());
    let steps = Combo::new("tied", "priority", vec![tied("a-1"), tied("a-2")]);
    for (how, both) in HELD {
        let (board, held) = (board(how), *how != "nothing");
        let expected = [!held, !(held && *both)];
        assert_eq!(eligible(&accounts, &board, Dialect::Openai), expected, "{how}");
        assert_eq!(eligible(&accounts, &board, Dialect::Gemini), [false, false], "{how}");
        let (catalogue, traits) = (catalogue(), Traits::default());
        let ask = Ask { model: "m", dialect: Dialect::Openai, allowed: None, traits: &traits, lease: None };
        let world = World { catalogue: &catalogue, board: &board, memory: &Nothing, now: NOW };
        let roll = catalogue.roll(&steps);
        let by_step = Entries::new((&steps, &roll), Grain::Steps, &ask, world);
        assert_eq!([0, 1].map(|index| by_step.eligible(index)), expected, "{how}");
    }
}

/// Keys are made when they are asked for, and are those of routing 0.4.
#[test]
fn the_key_of_an_account_is_that_of_its_step_and_its_own() {
    let tied = Step::pinned("b".into(), "m".into(), "b-1".into());
    let combo = Combo::new("all", "headroom", vec![Step::new("a".into(), "m".into()), tied]);
    let (catalogue, traits, board) = (catalogue(), Traits::default(), Board::default());
    let ask = Ask { model: "m", dialect: Dialect::Openai, allowed: None, traits: &traits, lease: None };
    let world = World { catalogue: &catalogue, board: &board, memory: &Nothing, now: NOW };
    let roll = catalogue.roll(&combo);
    let mut entries = Entries::new((&combo, &roll), Grain::Accounts, &ask, world);
    let keys = |entries: &Entries<'_>| -> Vec<String> {
        (0..entries.count()).map(|index| entries.key(index).to_owned()).collect()
    };
    assert_eq!(keys(&entries), ["a/m@a-1", "a/m@a-2", "b/m@b-1"]);
    let mut gone = Vec::new();
    entries.retain(|step| step.provider.as_str() == "b", &mut |step| gone.push(step.provider.to_string()));
    assert!(!gone.is_empty() && !gone.contains(&"b".to_owned()), "{gone:?}");
    assert_eq!(keys(&entries), ["b/m@b-1"]);
}
