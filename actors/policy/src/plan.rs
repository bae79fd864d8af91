//! From a name to ordered targets, and why each other one is left out
//! (routing 2.1, 3, 7.2, 12; contract 8, "Models").

mod accounts;
mod benched;
mod bound;
mod direct;
mod empty;
mod entries;
mod excluded;
mod fan;
mod filters;
mod kept_model;
mod leads;
mod memory;
mod names;
mod no_plan;
mod place;
mod prefer;
mod resort;
mod session;
mod slow;
mod step;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::affinity::Pinned;
use crate::attempts::{AttemptSettings, MAX_DISPATCHES, Owns};
use crate::board::Board;
use crate::breaker::Grant;
use crate::catalogue::{Catalogue, Combo, Dialect, Roll, Step};
use crate::change::Exclusion;
use crate::combo::DEEPEST;
use crate::dice::Dice;
use crate::gate::Patience;
use crate::handoff::Relay;
use crate::ids::{Class, ConnectionId, ModelId, ProviderId};
use crate::lease::OwnerHash;
use crate::request::Traits;
use crate::session_model::Target;
use crate::strategy::{self, ComboState, Field, Grain, Note, Pool, Ranked};
use crate::time::Millis;
use crate::validation::Validation;

use bound::is_own;
pub use bound::plan;
pub use filters::{Filters, Lack};

pub use direct::of_step;
pub(crate) use empty::empty;
use entries::{Entries, Entry};
pub use excluded::Excluded;
pub use fan::{DEEPEST_FAN, Fan, FanKind, Member, Share, Who};
use filters::Sieve;
pub use leads::{Leads, leads, tracked};
pub use memory::Memory;
use names::Named;
pub use names::family;
pub use no_plan::NoPlan;
pub use place::{Berths, Place};
pub use prefer::prefer;
pub use resort::{Forced, Resort};
use session::Session;
use step::{Turn, add_step, leave_out, may_be_passed};

/// A request, free of its dialect's details.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The model as the client wrote it.
    pub model: &'a str,
    /// The dialect the client speaks.
    pub dialect: Dialect,
    /// The connections the client's key may use; `None`: all.
    pub allowed: Option<&'a [ConnectionId]>,
    /// What it is like.
    pub traits: &'a Traits,
    /// Whose lease the request has (rules 7.6), or asks for.
    pub lease: Option<&'a OwnerHash>,
}

/// One target a request may be sent to.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its provider.
    pub provider: ProviderId,
    /// Its resilience profile.
    pub class: Class,
    /// Its connection.
    pub connection: ConnectionId,
    /// The model as the provider names it.
    pub model: ModelId,
    /// Number of its step: targets of one step are accounts of one provider's model.
    pub step: usize,
    /// The step names this connection.
    pub pinned: bool,
    /// It may be passed only when all its failures were exhausted quota (routing 4.1).
    pub only_on_quota: bool,
    /// Where it stands in its combo; `None` without one.
    pub place: Option<Arc<Place>>,
    /// The right to speak about the provider; `None`: its breaker is half-open and must grant a probe.
    pub grant: Option<Grant>,
    /// The rests of ours that it passes.
    pub forced: Forced,
}

/// Ordered targets.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The combo asked for.
    pub combo: Option<Arc<str>>,
    /// Name of its strategy; `single` without a combo.
    pub strategy: &'static str,
    /// How the attempt loop behaves.
    pub attempts: AttemptSettings,
    /// What is said otherwise of some providers' targets.
    pub own: Owns,
    /// Targets in the order in which they are tried; at most 30 (routing 7.8).
    pub targets: Vec<Planned>,
    /// Targets left out.
    pub excluded: Vec<Excluded>,
    /// Targets of a combo that could not serve the request at all (routing 3.1, 3.5, 3.6); at most 30.
    pub unfit: Vec<Excluded>,
    /// What is tried when that leaves none (decision 33).
    pub resort: Resort,
    /// Steps the combo has; 1 without a combo.
    pub pool_size: usize,
    /// How its combo fares is counted.
    pub counted: bool,
    /// The router wants to hear how each attempt went (a combo's it always does).
    pub timed: bool,
    /// An account of it is shared: the router wants to hear what answers say of its quota.
    pub shared: bool,
    /// Somebody wants to know what answers say of the quota of their accounts.
    pub reads_quota: bool,
    /// The account that was charged for going first (flow 2.20).
    pub charged: Option<ConnectionId>,
    /// How it waits for a target that is merely full.
    pub patience: Patience,
    /// What an answer must be like (routing 7.9); `None`: anything.
    pub validation: Option<Arc<Validation>>,
    /// What each combo on the way remembers once the request is sent.
    pub notes: Vec<(Arc<str>, Note)>,
    /// The first target counts as in flight from the pick on (routing 4.13e).
    pub reserves: bool,
    /// The targets do not stand in for each other: these are asked for one answer (routing 6).
    pub fan: Option<Arc<Fan>>,
    /// What its session hands over, where the combo does that (routing 4.4).
    pub relay: Option<Box<Relay>>,
    /// The model that its session stays with, if that goes first (routing 3.9).
    pub kept: Option<Target>,
}

/// Everything a plan is made from.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// What is configured.
    pub catalogue: &'a Catalogue,
    /// What the owners published.
    pub board: &'a Board,
    /// What the router remembers.
    pub memory: &'a dyn Memory,
    /// Epoch ms.
    pub now: Millis,
}

/// The plan of a request, wherever it may go; `home`: the one account that it is about.
fn free(ask: &Ask<'_>, home: Option<&Pinned>, world: World<'_>, dice: &mut dyn Dice) -> Result<Plan, NoPlan> {
    let (provider, model) = match names::find(world.catalogue, ask.model)? {
        Named::Combo(combo) => return of_combo((ask, home), combo, world, dice),
        Named::Made(combo) => return of_combo((ask, home), &combo, world, dice),
        Named::Model(provider, model) => (provider, model),
    };
    of_step(&Step::new(provider.id.clone(), model), ask, world, dice)
}

fn of_combo(
    (ask, home): (&Ask<'_>, Option<&Pinned>),
    combo: &Combo,
    world: World<'_>,
    dice: &mut dyn Dice,
) -> Result<Plan, NoPlan> {
    let mut plan = empty(Some(combo.name.clone()), combo.strategy, combo.attempts, combo.units.len());
    plan.timed = true;
    plan.own = combo.own.clone();
    plan.counted = combo.counted;
    plan.reads_quota = world.catalogue.reads_quota;
    plan.validation = combo.validation.clone();
    let request = (ask.dialect, ask.traits);
    if let Some(fan) = fan::assemble(combo, request, world.catalogue, &mut plan.unfit)? {
        let mut plan = fan::fill(plan, (combo, &fan), ask, world, dice);
        plan.fan = Some(Arc::new(fan));
        excluded::settle(&mut plan);
        return Ok(plan);
    }
    let roll = world.catalogue.roll(combo);
    let mut making = Making { plan, steps: 0, barred: false, added_tokens: 0, ask, home, world, dice };
    making.add((combo, &roll), None, DEEPEST)?;
    let mut plan = making.plan;
    excluded::settle(&mut plan);
    let foreign = |excluded: &Excluded| excluded.reason == Exclusion::FormatNotSupported;
    if plan.targets.is_empty() && !plan.excluded.is_empty() && plan.excluded.iter().all(foreign) {
        let known = |excluded: &Excluded| world.catalogue.providers.get(&excluded.provider);
        let dialects = plan.excluded.iter().filter_map(known);
        return Err(NoPlan::FormatNotSupported(
            dialects.flat_map(|provider| provider.dialects.clone()).collect(),
        ));
    }
    Ok(plan)
}

/// A plan while its combos are ordered.
struct Making<'a> {
    plan: Plan,
    /// Steps of the combos that were ordered already: each step has a number of its own.
    steps: usize,
    /// A step that may be passed only for quota is held by something else: nothing comes after it
    /// (routing 4.1).
    barred: bool,
    /// What the combos on the way add to the request (routing 1.1).
    added_tokens: u64,
    ask: &'a Ask<'a>,
    /// The one account that it is about: what holds others back bars nothing.
    home: Option<&'a Pinned>,
    world: World<'a>,
    dice: &'a mut dyn Dice,
}

impl Making<'_> {
    /// Adds what a combo offers, in the order of its strategy; `depth`: how much deeper it may go.
    fn add(
        &mut self,
        (combo, roll): (&Combo, &Roll),
        within: Option<Arc<Place>>,
        depth: u32,
    ) -> Result<(), NoPlan> {
        let rule = strategy::find(combo.strategy);
        let grain = rule.map_or(Grain::Steps, |rule| rule.grain());
        self.added_tokens += combo.added_tokens;
        let traits = self.ask.traits.with_more(self.added_tokens);
        let mut entries = Entries::new((combo, roll), grain, self.ask, self.world);
        let sieve = Sieve::through(combo, &mut entries, &traits, self.world, &mut self.plan.unfit)?;
        let unknown = ComboState::default();
        let field = Field {
            pool: &entries,
            state: self.world.memory.combo(&combo.name).unwrap_or(&unknown),
            settings: &combo.settings,
            request: &traits,
            now: self.world.now,
        };
        let mut ranked = match rule {
            Some(rule) => rule.rank(&field, self.dice),
            None => Ranked::of((0..entries.count()).collect()),
        };
        sieve.arrange(&mut ranked, &entries);
        if let Some(rule) = rule {
            let session = Session::of(self.ask, self.world);
            let lifts = combo.settings.sessions && rule.yields_to_session(self.ask.traits);
            let mut stuck =
                session.filter(|_| lifts).is_some_and(|session| session.lift(&mut ranked, &entries));
            if combo.keeps_model {
                let kept = kept_model::lift(&mut ranked, &entries, self.ask, self.world);
                stuck |= kept.is_some();
                self.plan.kept = kept.filter(|_| within.is_none()).cloned().or(self.plan.kept.take());
            }
            if self.world.catalogue.prompt_cache_affinity {
                strategy::stage::cache(&mut ranked, &field, rule, stuck);
            }
        }
        let slow_from = slow::put_last(&mut ranked, &entries);
        self.plan.notes.extend(ranked.notes.drain(..).map(|note| (combo.name.clone(), note)));
        self.plan.reserves |= rule.is_some_and(|rule| rule.reserves());
        self.plan.reads_quota |= rule.is_some_and(|rule| rule.reads_quota());
        leave_out(&mut self.plan, &entries, std::mem::take(&mut ranked.left_out), self.world);
        let base = self.steps;
        self.steps += combo.steps.len();
        let of = entries.count();
        for turn in 0..ranked.order.len() {
            if self.plan.targets.len() >= MAX_DISPATCHES || self.barred {
                break;
            }
            let entry = ranked.at(turn);
            let place = Arc::new(Place {
                combo: combo.name.clone(),
                key: entries.shared_key(entry),
                entry,
                of,
                score: ranked.scores.get(entry).copied(),
                slow: slow_from.is_some_and(|first| turn >= first),
                berths: combo.berths,
                within: within.clone(),
            });
            let left = ranked.order.len() - turn - 1;
            self.enter((combo, &sieve), entries.entry(entry), place, (base, left, depth));
        }
        Ok(())
    }

    fn enter(
        &mut self,
        (combo, sieve): (&Combo, &Sieve<'_>),
        entry: Entry<'_>,
        place: Arc<Place>,
        (base, left, depth): (usize, usize, u32),
    ) {
        let (first, last, only) = match entry {
            Entry::Step(step) => (step, step + 1, None),
            Entry::Account(candidate, account) => (candidate.step, candidate.step + 1, Some(&account.id)),
            Entry::Unit(unit) => match &combo.units[unit].nested {
                Some(name) => {
                    if let Some(nested) = self.world.catalogue.combos.get(name).filter(|_| depth > 0) {
                        let added_tokens = self.added_tokens;
                        // A nested combo that cannot serve it contributes nothing.
                        let roll = self.world.catalogue.roll(nested);
                        let _ = self.add((nested, &roll), Some(place), depth - 1);
                        self.added_tokens = added_tokens;
                    }
                    return;
                }
                None => {
                    let steps = combo.steps_of(unit);
                    (steps.start, steps.end, None)
                }
            },
        };
        for step in first..last {
            if let Some(why) = sieve.why_not(&combo.steps[step]) {
                excluded::tell(&mut self.plan.unfit, &combo.steps[step], why);
                continue;
            }
            let left = left + last - step - 1;
            let (index, place) = (base + step, Some(place.clone()));
            let turn = Turn { index, step: &combo.steps[step], left, only, place };
            let before = self.plan.excluded.len();
            add_step(&mut self.plan, turn, self.ask, self.world, self.dice);
            let is_meant = |held: &&Excluded| self.home.is_none_or(|home| is_own(held, home));
            let mut held = self.plan.excluded[before..].iter().filter(is_meant);
            if combo.steps[step].only_on_quota && !held.all(|excluded| may_be_passed(excluded, self.world)) {
                self.barred = true;
                return;
            }
        }
    }
}
