//! Whom the parts of a fan may go to, in the order in which they are asked: for whoever wants to know.
//! The parts themselves are picked one by one.

use std::sync::Arc;

use super::super::names::{Named, find};
use super::super::step::{Turn, add_step};
use super::super::{Ask, Making, Place, Plan, World, empty};
use super::{Fan, FanKind, Share, Who, assemble};
use crate::attempts::MAX_DISPATCHES;
use crate::catalogue::{Combo, Step};
use crate::combo::DEEPEST;
use crate::dice::Dice;

/// Adds what those offer whom a request like this one goes to.
pub(in crate::plan) fn fill(
    plan: Plan,
    (combo, fan): (&Combo, &Fan),
    ask: &Ask<'_>,
    world: World<'_>,
    dice: &mut dyn Dice,
) -> Plan {
    let mut filling = Filling { plan, steps: 0, world, dice };
    filling.fan((combo, None), fan, ask, DEEPEST);
    filling.plan
}

struct Filling<'a> {
    plan: Plan,
    /// Steps that have a number.
    steps: usize,
    world: World<'a>,
    dice: &'a mut dyn Dice,
}

impl Filling<'_> {
    fn fan(&mut self, (combo, within): (&Combo, Option<Arc<Place>>), fan: &Fan, ask: &Ask<'_>, depth: u32) {
        let traits = ask.traits.with_more(combo.added_tokens);
        let asked = asked(fan, traits.tools);
        let of = asked.len();
        for (entry, (who, share)) in asked.into_iter().enumerate() {
            if self.plan.targets.len() >= MAX_DISPATCHES {
                break;
            }
            let traits = share.of(&traits);
            let place = Place {
                combo: combo.name.clone(),
                key: who.name(),
                entry,
                of,
                score: None,
                slow: false,
                berths: None,
                within: within.clone(),
            };
            self.whom((who, Arc::new(place)), &Ask { traits: &traits, ..*ask }, (of - entry - 1, depth));
        }
    }

    fn whom(&mut self, (who, place): (&Who, Arc<Place>), ask: &Ask<'_>, (left, depth): (usize, u32)) {
        let name = match who {
            Who::Step(step) => return self.step(step, place, ask, left),
            Who::Named(name) => name,
        };
        match find(self.world.catalogue, name) {
            Ok(Named::Combo(combo)) => self.combo((combo, place), ask, depth),
            Ok(Named::Made(combo)) => self.combo((&combo, place), ask, depth),
            Ok(Named::Model(provider, model)) => {
                self.step(&Step::new(provider.id.clone(), model), place, ask, left);
            }
            Err(_) => {}
        }
    }

    fn step(&mut self, step: &Step, place: Arc<Place>, ask: &Ask<'_>, left: usize) {
        let turn = Turn { index: self.steps, step, left, only: None, place: Some(place) };
        self.steps += 1;
        add_step(&mut self.plan, turn, ask, self.world, self.dice);
    }

    fn combo(&mut self, (combo, place): (&Combo, Arc<Place>), ask: &Ask<'_>, depth: u32) {
        if depth == 0 {
            return;
        }
        let request = (ask.dialect, ask.traits);
        match assemble(combo, request, self.world.catalogue, &mut self.plan.unfit) {
            Ok(Some(fan)) => self.fan((combo, Some(place)), &fan, ask, depth - 1),
            Ok(None) => {
                let nothing = empty(None, self.plan.strategy, self.plan.attempts, 0);
                let mut making = Making {
                    plan: std::mem::replace(&mut self.plan, nothing),
                    steps: self.steps,
                    barred: false,
                    added_tokens: 0,
                    ask,
                    home: None,
                    world: self.world,
                    dice: self.dice,
                };
                // A nested combo that cannot serve it contributes nothing.
                let roll = making.world.catalogue.roll(combo);
                let _ = making.add((combo, &roll), Some(place), depth - 1);
                (self.plan, self.steps) = (making.plan, making.steps);
            }
            Err(_) => {}
        }
    }
}

/// Who is asked, and what each gets (routing 6.1a, b; 6.2).
fn asked(fan: &Fan, tools: bool) -> Vec<(&Who, Share)> {
    let members = || fan.members.iter().map(|member| (&member.who, member.share));
    let judge = fan.judge.iter().map(|judge| (judge, Share::Whole));
    match &fan.kind {
        FanKind::Pipeline => members().collect(),
        FanKind::Fusion(_) if tools => judge.collect(),
        FanKind::Fusion(_) if fan.members.len() == 1 => {
            members().map(|(who, _)| (who, Share::Whole)).collect()
        }
        FanKind::Fusion(_) => {
            // One that is a member, too, stands there already.
            let judge = judge.filter(|(judge, _)| members().all(|(who, _)| who != *judge));
            members().chain(judge).collect()
        }
    }
}
