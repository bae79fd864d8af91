//! Flow 8.1 row by row, decision 13 in its place, and what the gate and the limiter do together.

mod follow;
mod limits;
mod soft;

use std::collections::BTreeMap;

use super::{
    Door, Entered, Entry, Gate, GateSettings, Hold, Level, Open, Patience, Stumble, Ticket, Turns, cap,
};
use crate::change::{Exclusion, Refusal};
use crate::ids::ModelId;
use crate::time::Millis;

/// A gate with its clock, as a test drives it.
struct Stage {
    gate: Gate,
    now: Millis,
    /// Everybody who went in later, with when.
    started: Vec<(Ticket, Millis)>,
    refused: Vec<(Ticket, Exclusion, Millis)>,
}

fn settings(account_cap: u32, models: &[(&str, u32)]) -> GateSettings {
    let model_caps = models.iter().map(|(model, cap)| (ModelId::from(*model), *cap)).collect();
    GateSettings { account_cap, model_caps, ..GateSettings::default() }
}

impl Stage {
    fn new(settings: GateSettings) -> Self {
        Self { gate: Gate::new(settings), now: 0, started: Vec::new(), refused: Vec::new() }
    }

    fn take(&mut self, turns: Turns) {
        let now = self.now;
        self.started.extend(turns.admitted.into_iter().map(|ticket| (ticket, now)));
        self.refused.extend(turns.refused.into_iter().map(|(ticket, refusal)| (ticket, refusal.why, now)));
    }

    /// Time passes; every due instant is looked at, as a timer would.
    fn until(&mut self, at: Millis) -> &mut Self {
        while let Some(next) = self.gate.next_tick_at().filter(|next| *next <= at) {
            self.now = self.now.max(next);
            let turns = self.gate.tick(&mut Open, self.now);
            self.take(turns);
        }
        self.now = at;
        self
    }

    fn asks(&mut self, model: &str, patience: Patience) -> Result<Entered, Refusal> {
        let entered =
            self.gate.enter(&Entry { model: &model.into(), patience, behind: false }, &mut Open, self.now);
        if matches!(entered, Ok(Entered::Waits(_))) {
            self.until(self.now);
        }
        entered
    }

    fn goes_in(&mut self, model: &str) -> Ticket {
        match self.asks(model, Patience::Queue) {
            Ok(Entered::In(ticket)) => ticket,
            other => panic!("{model} at {}: {other:?}", self.now),
        }
    }

    fn waits(&mut self, model: &str) -> Ticket {
        match self.asks(model, Patience::Queue) {
            Ok(Entered::Waits(ticket)) => ticket,
            other => panic!("{model} at {}: {other:?}", self.now),
        }
    }

    fn refuses(&mut self, model: &str, patience: Patience) -> Exclusion {
        match self.asks(model, patience) {
            Err(refusal) => refusal.why,
            other => panic!("{model} at {}: {other:?}", self.now),
        }
    }

    fn leaves(&mut self, ticket: Ticket) {
        self.gate.leave(ticket, self.now);
        let turns = self.gate.tick(&mut Open, self.now);
        self.take(turns);
    }

    fn running(&self, model: &str) -> u32 {
        let view = self.gate.view(self.now);
        let level =
            view.levels.iter().find(|level| level.model.as_ref().is_some_and(|it| it.as_str() == model));
        level.map_or(0, |level| level.running)
    }

    fn account(&self) -> u32 {
        self.gate.view(self.now).levels[0].running
    }
}

#[test]
fn e1_a_cap_that_is_none_opens_the_gate() {
    for given in [None, Some(0.0), Some(-1.0), Some(f64::NAN), Some(f64::INFINITY), Some(0.5)] {
        assert_eq!(cap(given), 0, "{given:?}");
        let mut stage = Stage::new(settings(cap(given), &[]));
        let tickets: Vec<Ticket> = (0..100).map(|_| stage.goes_in("m")).collect();
        tickets.into_iter().for_each(|ticket| stage.leaves(ticket));
        assert_eq!(stage.gate.in_flight(), 0);
    }
    assert_eq!((cap(Some(2.9)), cap(Some(1.0)), cap(Some(1e20))), (2, 1, u32::MAX));
}

/// E2, E3, E4 as decision 13 has them: R3 overtakes a waiter for a full model, and no one else.
#[test]
fn e2_to_e4_a_full_model_holds_back_no_other_model() {
    let mut stage = Stage::new(settings(4, &[("glm-5", 1), ("glm-4.7", 3)]));
    let first = stage.goes_in("glm-5");
    stage.until(1);
    let second = stage.waits("glm-5");
    assert_eq!((stage.account(), stage.running("glm-5")), (1, 1), "E2: waiting holds nothing");
    stage.until(2).goes_in("glm-4.7");
    stage.until(100).leaves(first);
    assert_eq!(stage.started, [(second, 100)]);
    assert_eq!((stage.account(), stage.running("glm-5"), stage.running("glm-4.7")), (2, 1, 1));
}

#[test]
fn e5_a_wait_ends_with_its_budget() {
    let mut stage = Stage::new(GateSettings { timeout_ms: 50, ..settings(4, &[("glm-5", 1)]) });
    stage.goes_in("glm-5");
    let second = stage.until(1).waits("glm-5");
    stage.until(50);
    assert_eq!(stage.refused, []);
    stage.until(51);
    assert_eq!(stage.refused, [(second, Exclusion::SemaphoreTimeout, 51)]);
    assert_eq!((stage.gate.waiting(), stage.account()), (0, 1));
}

#[test]
fn e6_who_goes_away_is_forgotten() {
    let mut stage = Stage::new(settings(4, &[("glm-5", 1)]));
    let first = stage.goes_in("glm-5");
    let (second, third) = (stage.until(1).waits("glm-5"), stage.waits("glm-5"));
    stage.until(40).gate.forget(second);
    stage.leaves(first);
    assert_eq!(stage.started, [(third, 40)], "its place is not given to the one that left");
}

#[test]
fn e7_to_e9_a_full_line_refuses_at_once() {
    let mut stage = Stage::new(settings(1, &[]));
    stage.goes_in("m");
    for _ in 0..20 {
        stage.waits("m");
    }
    assert_eq!(stage.refuses("m", Patience::Queue), Exclusion::SemaphoreQueueFull, "E7");
    assert_eq!(stage.refuses("m", Patience::None), Exclusion::ConcurrencyCap, "E9");
    stage.gate.configure(GateSettings { queue_size: 0, ..settings(1, &[]) }, 0);
    stage.waits("m");
}

#[test]
fn e11_a_lowered_cap_drops_nobody() {
    let mut stage = Stage::new(settings(3, &[]));
    let running: Vec<Ticket> = (0..3).map(|_| stage.goes_in("m")).collect();
    stage.gate.configure(settings(1, &[]), 0);
    let fourth = stage.waits("m");
    stage.leaves(running[0]);
    stage.leaves(running[1]);
    assert_eq!(stage.started, []);
    stage.leaves(running[2]);
    assert_eq!(stage.started, [(fourth, 0)]);
}

#[test]
fn a_raised_cap_lets_in_who_waits() {
    let mut stage = Stage::new(settings(1, &[]));
    stage.goes_in("m");
    let (second, third, fourth) = (stage.waits("m"), stage.waits("m"), stage.waits("n"));
    stage.gate.configure(settings(3, &[("m", 2)]), 0);
    stage.until(0);
    assert_eq!(stage.started, [(second, 0), (fourth, 0)], "and a cap that is new counts who runs");
    assert_eq!((stage.gate.waiting(), stage.running("m")), (1, 2));
    stage.gate.configure(settings(0, &[]), 0);
    assert_eq!(stage.until(0).started.last(), Some(&(third, 0)));
}

#[test]
fn e12_leaving_twice_gives_one_slot_back() {
    let mut stage = Stage::new(settings(2, &[]));
    let (first, _) = (stage.goes_in("m"), stage.goes_in("m"));
    stage.leaves(first);
    stage.leaves(first);
    assert_eq!(stage.account(), 1);
}

#[test]
fn e13_e14_a_model_cap_is_exact_and_positive() {
    let mut stage = Stage::new(settings(0, &[("glm-5", 1)]));
    for model in ["zai/glm-5", "zai/glm-5", "GLM-5", "GLM-5"] {
        stage.goes_in(model);
    }
    let mut stage = Stage::new(settings(0, &[("glm-5", 0)]));
    stage.goes_in("glm-5");
    stage.goes_in("glm-5");
}

/// A connection that rests until an instant.
struct Rests(Millis);

impl Door for Rests {
    fn pass(&mut self, _: Ticket, now: Millis) -> Result<(), Hold> {
        if now < self.0 { Err(Hold::Rest(Some(self.0))) } else { Ok(()) }
    }
}

#[test]
fn e16_a_block_ends_by_itself() {
    let mut gate = Gate::new(settings(1, &[]));
    let entry = Entry { model: &"m".into(), patience: Patience::Queue, behind: false };
    let Ok(Entered::Waits(waiting)) = gate.enter(&entry, &mut Rests(500), 100) else { panic!("it waits") };
    assert!(gate.tick(&mut Rests(500), 100).admitted.is_empty());
    assert_eq!(gate.next_tick_at(), Some(500), "nothing else happens");
    assert_eq!(gate.tick(&mut Rests(500), 500).admitted, [waiting]);
}

#[test]
fn newcomers_do_not_overtake_those_who_wait_for_the_same() {
    let mut gate = Gate::new(settings(2, &[]));
    let entry = Entry { model: &"m".into(), patience: Patience::Queue, behind: false };
    let asked = [gate.enter(&entry, &mut Rests(500), 0), gate.enter(&entry, &mut Open, 500)];
    // Nobody has looked yet: the newcomer goes behind, and both are let in by the next look.
    assert_eq!(asked, [Ok(Entered::Waits(1)), Ok(Entered::Waits(2))]);
    assert_eq!(gate.tick(&mut Open, 500).admitted, [1, 2]);
}

#[test]
fn e24_a_reset_sends_everybody_away() {
    let mut stage = Stage::new(settings(1, &[("n", 1)]));
    stage.goes_in("m");
    let waiting = [stage.waits("m"), stage.waits("n")];
    assert_eq!(stage.gate.reset(), waiting);
    assert_eq!((stage.gate.waiting(), stage.gate.next_tick_at(), stage.account()), (0, None, 1));
}

/// What stands above: `rooms` places, as a provider's cap would have.
struct Rooms(u32);

impl Door for Rooms {
    fn pass(&mut self, _: Ticket, _: Millis) -> Result<(), Hold> {
        match self.0 {
            0 => Err(Hold::Cap(Level::Provider)),
            _ => {
                self.0 -= 1;
                Ok(())
            }
        }
    }
}

/// E10 and flow 1.11: the smallest cap holds, and nothing below is taken meanwhile.
#[test]
fn e10_a_cap_above_holds_and_nothing_below_is_taken() {
    let mut gate = Gate::new(settings(3, &[]));
    let mut above = Rooms(2);
    let entry = Entry { model: &"m".into(), patience: Patience::Queue, behind: false };
    let asked: Vec<_> = (0..3).map(|_| gate.enter(&entry, &mut above, 0).unwrap()).collect();
    assert!(matches!(asked[..], [Entered::In(1), Entered::In(2), Entered::Waits(3)]), "{asked:?}");
    assert_eq!(gate.view(0).levels[0].running, 2);
    let turns = gate.tick(&mut above, 5);
    assert_eq!((turns.admitted, turns.above), (vec![], true));
    assert!(gate.leave(1, 5));
    let turns = gate.tick(&mut Rooms(1), 5);
    assert_eq!((turns.admitted, turns.above), (vec![3], false));
}

#[test]
fn a_gate_tells_who_is_in_and_for_how_long() {
    let mut stage = Stage::new(settings(2, &[("n", 1)]));
    stage.goes_in("m");
    stage.until(100).goes_in("n");
    stage.until(250).waits("n");
    let view = stage.until(1_000).gate.view(1_000);
    let levels: BTreeMap<Option<&str>, _> = view
        .levels
        .iter()
        .map(|level| {
            let seen = (level.running, level.queued, level.max_concurrency, level.oldest_holder_ms);
            (level.model.as_ref().map(ModelId::as_str), seen)
        })
        .collect();
    assert_eq!(levels[&None], (2, 1, 2, Some(1_000)));
    assert_eq!(levels[&Some("n")], (1, 1, 1, Some(900)));
    assert_eq!(view.oldest_wait_ms, Some(750));
}

/// Flow 1.16: any one of its gates that has as many waiters refuses; the account's are all of them.
#[test]
fn the_line_of_an_account_is_one_line() {
    let mut stage = Stage::new(GateSettings { queue_size: 2, ..settings(4, &[("m", 1), ("k", 1)]) });
    for model in ["m", "k"] {
        stage.goes_in(model);
        stage.waits(model);
    }
    assert_eq!(stage.refuses("m", Patience::Queue), Exclusion::SemaphoreQueueFull);
    // Without a cap on the account each model has a line of its own.
    stage.gate.configure(GateSettings { queue_size: 2, ..settings(0, &[("m", 1), ("k", 1)]) }, 0);
    stage.waits("m");
    assert_eq!(stage.refuses("m", Patience::Queue), Exclusion::SemaphoreQueueFull);
}

/// Those who come while others wait for a cap above stand in the same line, and it is as long.
#[test]
fn a_line_for_a_cap_above_is_bounded_too() {
    let mut gate = Gate::new(GateSettings { queue_size: 2, ..settings(0, &[]) });
    let entry = Entry { model: &"m".into(), patience: Patience::Queue, behind: false };
    for _ in 0..2 {
        assert!(matches!(gate.enter(&entry, &mut Rooms(0), 0), Ok(Entered::Waits(_))));
        gate.tick(&mut Rooms(0), 0);
    }
    assert_eq!(gate.enter(&entry, &mut Rooms(0), 0).unwrap_err().why, Exclusion::SemaphoreQueueFull);
}

/// Whatever holds it, nobody waits longer than the larger of both budgets.
#[test]
fn a_rest_is_waited_for_no_longer_than_anything_else() {
    let mut gate = Gate::new(settings(1, &[]));
    let entry = Entry { model: &"m".into(), patience: Patience::Queue, behind: false };
    let Ok(Entered::Waits(waiting)) = gate.enter(&entry, &mut Rests(90_000), 0) else { panic!("it waits") };
    assert!(gate.tick(&mut Rests(90_000), 29_999).refused.is_empty());
    let over = Refusal { why: Exclusion::ConnectionCooldown, retry_at: Some(90_000) };
    assert_eq!(gate.tick(&mut Rests(90_000), 30_000).refused, [(waiting, over)]);
}
