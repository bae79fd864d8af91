use std::sync::Arc;

use super::super::tests::Nothing;
use super::super::{Ask, Forced, Plan, World, plan};
use crate::board::{Board, ConnectionView};
use crate::catalogue::{Catalogue, Combo, ConnectionEntry, Dialect, ProviderEntry, Step};
use crate::cooldown::{Cooldown, CooldownSettings};
use crate::dice::Scripted;
use crate::ids::Class;
use crate::request::Traits;
use crate::verdict::{Case, End, Signal, judge};
use crate::window::WindowView;

const NOW: u64 = 1_768_478_400_000;

/// A provider of accounts 1 to `count`, of which at most `percent` may rest.
fn catalogue(count: usize, percent: u32) -> Catalogue {
    let connection = |number: usize| ConnectionEntry {
        id: number.to_string().as_str().into(),
        provider: "p".into(),
        priority: number as u32,
        usable: true,
        models: vec!["*".into()],
    };
    let provider = ProviderEntry {
        id: "p".into(),
        class: Class::Apikey,
        dialects: vec![Dialect::Openai],
        models: None,
        passthrough_models: true,
        connections: (1..=count).map(|number| Arc::new(connection(number))).collect(),
    };
    let combo = Combo::new("m", "priority", vec![Step::new("p".into(), "x".into())]);
    Catalogue {
        providers: [("p".into(), provider)].into_iter().collect(),
        combos: [(combo.name.clone(), combo)].into(),
        most_benched: [("p".into(), percent)].into(),
        ..Catalogue::default()
    }
}

/// Accounts by the seconds for which they rest; 0: well, `x`: out of use, `d`: drained, `r3`: left out
/// of combos for three.
fn board(accounts: &[&str]) -> Board {
    let mut board = Board::default();
    for (index, how) in accounts.iter().enumerate() {
        let mut cooldown = Cooldown::new(CooldownSettings::for_class(Class::Apikey));
        let seconds = how.parse().unwrap_or(0);
        if seconds > 0 {
            cooldown.cool(seconds * 1_000, NOW);
        }
        if *how == "x" {
            let trial = cooldown.admit(false, NOW).unwrap();
            let unpaid = judge(&Signal::new(End::Status(402), None), &Case::of(Class::Apikey));
            cooldown.record(trial, &unpaid, NOW, NOW);
        }
        let retry: Option<u64> = how.strip_prefix('r').map(|seconds| seconds.parse().unwrap());
        let view = ConnectionView {
            cooldown: cooldown.view(),
            retry: WindowView { until: retry.map(|seconds| NOW + seconds * 1_000) },
            draining: *how == "d",
            usable: true,
            egress: None,
            lease: None,
        };
        board.connections.insert((index + 1).to_string().as_str().into(), Arc::new(view));
    }
    board
}

fn make(model: &str, accounts: &[&str], percent: u32) -> Plan {
    let (catalogue, board) = (catalogue(accounts.len(), percent), board(accounts));
    let ask = Ask { model, dialect: Dialect::Openai, allowed: None, traits: &Traits::default(), lease: None };
    let world = World { catalogue: &catalogue, board: &board, memory: &Nothing, now: NOW };
    plan(&ask, world, &mut Scripted::default()).unwrap()
}

/// Who may be asked; `!`: though it rests.
fn asked(model: &str, accounts: &[&str], percent: u32) -> String {
    let plan = make(model, accounts, percent);
    let name = |target: &super::super::Planned| match target.forced {
        Forced::Not => target.connection.to_string(),
        Forced::Rest => format!("{}!", target.connection),
        Forced::LastResort => panic!("nobody asked for it"),
    };
    plan.targets.iter().map(name).collect()
}

#[test]
fn decision_33_rests_beyond_the_share_are_not_acted_on() {
    let rows: [(&[&str], [&str; 3]); 11] = [
        // 0, 50 and 100 percent.
        (&["9"], ["1!", "1!", ""]),
        (&["0"], ["1", "1", "1"]),
        (&["9", "5"], ["1!2!", "2!", ""]),
        (&["5", "9"], ["1!2!", "1!", ""]),
        (&["5", "5"], ["1!2!", "1!", ""]),
        (&["9", "0"], ["1!2", "2", "2"]),
        (&["9", "5", "7", "3"], ["1!2!3!4!", "2!4!", ""]),
        (&["9", "0", "7", "3"], ["1!23!4!", "24!", "2"]),
        (&["9", "0", "0", "3"], ["1!234!", "23", "23"]),
        // Of those that could serve.
        (&["9", "x", "d", "x"], ["1!", "1!", ""]),
        (&["9", "x", "5", "d"], ["1!3!", "3!", ""]),
    ];
    for (accounts, expected) in rows {
        for (percent, expected) in [0, 50, 100].into_iter().zip(expected) {
            assert_eq!(asked("p/x", accounts, percent), expected, "{accounts:?} {percent}");
            assert_eq!(asked("m", accounts, percent), expected, "a combo: {accounts:?} {percent}");
        }
    }
}

#[test]
fn decision_33_what_only_combos_mind_is_a_rest_in_combos() {
    assert_eq!(asked("m", &["r9", "5"], 50), "2!");
    assert_eq!(asked("p/x", &["r9", "5"], 50), "1", "the one that rests is half of them");
    assert_eq!(asked("m", &["r3", "5"], 50), "1!");
    let told = make("m", &["9", "5"], 50).excluded;
    assert_eq!((told.len(), told[0].until), (1, Some(NOW + 9_000)), "the other one is told as ever");
}
