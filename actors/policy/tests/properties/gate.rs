//! The gate under any order of arrivals, ends, cancels, changes and time: no cap is ever passed,
//! nobody is lost, and those who wait for the same are served in order (flow 1, decision 13).

use std::collections::{BTreeMap, BTreeSet};

use policy::gate::{Door, Entered, Entry, Gate, GateSettings, Hold, Level, Patience, Ticket};
use policy::ids::ModelId;
use policy::limiter::{LimiterScope, LimiterSettings};
use policy::time::Millis;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

const MODELS: [&str; 3] = ["m", "n", "free"];

#[derive(Clone, Debug)]
enum Step {
    Ask { model: usize, patient: bool },
    Leave(usize),
    Cancel(usize),
    Pass(Millis),
    Configure { account: u32, m: u32, n: u32 },
    Rooms(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3_usize, any::<bool>()).prop_map(|(model, patient)| Step::Ask { model, patient }),
        4 => any::<usize>().prop_map(Step::Leave),
        2 => any::<usize>().prop_map(Step::Cancel),
        2 => (0..20_000_u64).prop_map(Step::Pass),
        1 => (0..4_u32, 0..3_u32, 0..3_u32).prop_map(|(account, m, n)| Step::Configure { account, m, n }),
        1 => (0..6_u32).prop_map(Step::Rooms),
    ]
}

fn settings(account_cap: u32, m: u32, n: u32) -> GateSettings {
    let model_caps = [("m", m), ("n", n)].into_iter().map(|(model, cap)| (ModelId::from(model), cap));
    let limiter = LimiterSettings {
        rpm: 0,
        min_time_ms: 0,
        parallel: 5,
        max_wait_ms: 40_000,
        max_depth: 0,
        scope: LimiterScope::Connection,
    };
    GateSettings {
        account_cap,
        model_caps: model_caps.collect(),
        queue_size: 8,
        timeout_ms: 30_000,
        limiter: Some(limiter),
    }
}

/// Places above, of which `in_use` are those of requests that are in.
struct Above {
    rooms: u32,
    in_use: u32,
}

impl Door for Above {
    fn pass(&mut self, _: Ticket, _: Millis) -> Result<(), Hold> {
        if self.in_use >= self.rooms {
            return Err(Hold::Cap(Level::Provider));
        }
        self.in_use += 1;
        Ok(())
    }
}

struct World {
    gate: Gate,
    settings: GateSettings,
    above: Above,
    now: Millis,
    inside: BTreeMap<Ticket, ModelId>,
    waiting: BTreeMap<Ticket, ModelId>,
}

impl World {
    fn count(&self, model: &str) -> usize {
        self.inside.values().filter(|inside| inside.as_str() == model).count()
    }

    /// One more went in: nothing may be above its cap now.
    fn went_in(&mut self, ticket: Ticket, model: ModelId) {
        self.inside.insert(ticket, model.clone());
        let within = |cap: u32, count: usize| cap == 0 || count <= cap as usize;
        assert!(within(self.settings.account_cap, self.inside.len()), "account");
        let cap = self.settings.model_caps.get(&model).copied().unwrap_or(0);
        assert!(within(cap, self.count(model.as_str())), "model {model}");
        assert!(self.inside.len() <= 5, "limiter");
        assert!(self.inside.len() <= self.above.rooms as usize, "above");
        // Nobody of the same lane who came earlier still waits.
        let same = |other: &ModelId| self.lane(other) == self.lane(&model);
        assert!(!self.waiting.iter().any(|(other, name)| *other < ticket && same(name)), "in order");
    }

    fn lane<'a>(&self, model: &'a ModelId) -> Option<&'a ModelId> {
        self.settings.model_caps.contains_key(model).then_some(model)
    }

    fn ticks(&mut self) {
        let turns = self.gate.tick(&mut self.above, self.now);
        let mut seen = BTreeSet::new();
        for ticket in turns.admitted {
            let model = self.waiting.remove(&ticket).expect("who goes in has waited");
            self.went_in(ticket, model);
            assert!(seen.insert(ticket));
        }
        for (ticket, _) in turns.refused {
            assert!(self.waiting.remove(&ticket).is_some(), "who is sent away has waited");
            assert!(seen.insert(ticket));
        }
        assert_eq!(self.gate.waiting(), self.waiting.len());
    }

    fn does(&mut self, step: Step) {
        match step {
            Step::Ask { model, patient } => {
                let model = ModelId::from(MODELS[model]);
                let patience = if patient { Patience::Queue } else { Patience::None };
                let entry = Entry { model: &model, patience, behind: false };
                match self.gate.enter(&entry, &mut self.above, self.now) {
                    Ok(Entered::In(ticket)) => self.went_in(ticket, model),
                    Ok(Entered::Waits(ticket)) => {
                        assert!(patient);
                        self.waiting.insert(ticket, model);
                    }
                    Err(_) => {}
                }
            }
            Step::Leave(nth) => {
                let Some(ticket) = self.inside.keys().nth(nth % self.inside.len().max(1)).copied() else {
                    return;
                };
                self.leaves(ticket);
            }
            Step::Cancel(nth) => {
                let Some(ticket) = self.waiting.keys().nth(nth % self.waiting.len().max(1)).copied() else {
                    return;
                };
                self.waiting.remove(&ticket);
                self.gate.forget(ticket);
            }
            Step::Pass(ms) => self.passes(ms),
            Step::Configure { account, m, n } => {
                self.settings = settings(account, m, n);
                self.gate.configure(self.settings.clone(), self.now);
            }
            Step::Rooms(rooms) => self.above.rooms = rooms,
        }
        self.ticks();
    }

    fn leaves(&mut self, ticket: Ticket) {
        self.inside.remove(&ticket);
        self.above.in_use -= 1;
        assert_eq!(self.gate.leave(ticket, self.now), !self.waiting.is_empty());
        self.gate.leave(ticket, self.now);
    }

    /// Time goes on as the owner's timer sees it.
    fn passes(&mut self, ms: Millis) {
        let end = self.now + ms;
        while let Some(next) = self.gate.next_tick_at().filter(|next| *next <= end) {
            assert!(next > self.now || self.gate.waiting() > 0);
            self.now = self.now.max(next);
            self.ticks();
            // A tick leaves nothing behind that is due already.
            assert!(self.gate.next_tick_at().is_none_or(|next| next > self.now), "a tick makes progress");
        }
        self.now = end;
    }
}

proptest! {
    #[test]
    fn no_cap_is_passed_and_nobody_is_lost(steps in vec(step(), 1..120)) {
        let settings = settings(2, 1, 2);
        let gate = Gate::new(settings.clone());
        let above = Above { rooms: 4, in_use: 0 };
        let mut world = World { gate, settings, above, now: 0, inside: BTreeMap::new(), waiting: BTreeMap::new() };
        for step in steps {
            world.does(step);
            prop_assert_eq!(world.gate.in_flight(), world.inside.len());
        }
        // Nobody waits for ever, and everything comes back.
        world.above.rooms = 100;
        world.passes(40_001);
        prop_assert!(world.waiting.is_empty(), "a wait ends with its budget");
        while let Some(ticket) = world.inside.keys().next().copied() {
            world.leaves(ticket);
            world.ticks();
        }
        prop_assert_eq!((world.gate.in_flight(), world.gate.waiting(), world.above.in_use), (0, 0, 0));
        prop_assert_eq!(world.gate.view(world.now).levels[0].running, 0);
    }
}
