//! The accounts of one step as an account strategy weighs them (core 4, routing 11.8).
//!
//! With `fill-first` nothing is weighed and nothing is thrown. Otherwise at most as many are
//! weighed as the plan has room for; a larger provider is entered at a random place, so that every
//! account has the same chance and a plan costs the same whatever the provider's size. A session
//! goes first where it is at home (rules 6).

use std::sync::Arc;

use super::session::{self, Seat, Session};
use super::{Ask, Plan, Planned, World};
use crate::account::{self, Account, AccountStrategy};
use crate::board::ConnectionView;
use crate::catalogue::{Catalogue, ConnectionEntry, Step};
use crate::dice::Dice;
use crate::ids::{Class, ConnectionId};
use crate::strategy::{Deck, Note, QuotaWindow};
use crate::time::{MINUTE, Millis};

/// The longest that a failure is held against an account after its rest, ms.
const LONGEST_MEMORY_MS: Millis = 15 * MINUTE;

/// Accounts that may be asked, in the order of the plan's targets.
pub(super) struct Accounts<'a> {
    world: World<'a>,
    step: &'a Step,
    /// The one account that was chosen already.
    only: Option<&'a ConnectionId>,
    slow_start_ms: Millis,
    /// Targets that are there already.
    before: usize,
    weighed: Vec<Account>,
    session: Option<Session<'a>>,
    seats: Vec<Seat>,
}

impl<'a> Accounts<'a> {
    pub(super) fn new(
        plan: &Plan,
        (step, only): (&'a Step, Option<&'a ConnectionId>),
        ask: &Ask<'a>,
        world: World<'a>,
    ) -> Self {
        let combo = plan.combo.as_ref().and_then(|name| world.catalogue.combos.get(name));
        let slow_start_ms =
            combo.map_or(0, |combo| combo.own.slow_start_ms(&step.provider, combo.slow_start_ms));
        let before = plan.targets.len();
        // One account is chosen already: no session moves it.
        let session = Session::of(ask, world).filter(|_| only.is_none());
        Self { world, step, only, slow_start_ms, before, weighed: Vec::new(), session, seats: Vec::new() }
    }

    fn pinned(&self) -> Option<&'a ConnectionId> {
        self.session?.account(self.step)
    }

    fn are_weighed(&self) -> bool {
        self.world.catalogue.accounts.strategy != AccountStrategy::FillFirst
    }

    /// The accounts in the order in which they are looked at; there is `room` for so many.
    pub(super) fn walk(
        &self,
        room: usize,
        dice: &mut dyn Dice,
    ) -> impl Iterator<Item = &'a Arc<ConnectionEntry>> + use<'a> {
        let (only, all) = (self.only, || connections(self.step, self.world.catalogue));
        let all = || all().filter(move |entry| only.is_none_or(|only| *only == entry.id));
        let pinned = self.pinned();
        let is_placed = self.session.is_some() && pinned.is_none();
        let count = if self.are_weighed() || is_placed { all().count() } else { 0 };
        let skipped = if count > room { dice.below(count) } else { 0 };
        let tied = move |entry: &&Arc<ConnectionEntry>| pinned == Some(&entry.id);
        let first = pinned.and_then(|_| all().find(tied));
        let others = all().skip(skipped).chain(all().take(skipped));
        first.into_iter().chain(others.filter(move |entry| !tied(entry)))
    }

    /// Notes one that was put into the plan.
    pub(super) fn note(&mut self, entry: &ConnectionEntry, class: Class) {
        if self.are_weighed() {
            self.weighed.push(self.weigh(entry));
        }
        if self.session.is_some() {
            self.seats.push(Seat::of(entry, class, self.world));
        }
    }

    /// Brings the targets of the step into their order.
    pub(super) fn arrange(self, plan: &mut Plan, dice: &mut dyn Dice) {
        let count = plan.targets.len() - self.before;
        if count <= 1 || (self.weighed.is_empty() && self.seats.is_empty()) {
            return;
        }
        let own = &plan.targets[self.before..];
        let first = self.session.map(|_| session::first(own, &self.seats, self.pinned()));
        let mut order = match (self.world.catalogue.accounts.strategy, first) {
            // A session that has its place takes nobody's card.
            (AccountStrategy::StrictRandom, None) => {
                let (order, name, deck) = self.draw(own, dice);
                plan.notes.push((name, Note::Deck(deck)));
                order
            }
            (AccountStrategy::FillFirst, _) => (0..count).collect(),
            (_, _) => account::order(&self.weighed, self.world.catalogue.accounts, self.world.now, dice),
        };
        if let Some(first) = first {
            order.retain(|index| *index != first);
            order.insert(0, first);
        }
        let mut own: Vec<Option<Planned>> = plan.targets.drain(self.before..).map(Some).collect();
        plan.targets.extend(order.into_iter().filter_map(|index| own[index].take()));
    }

    /// The deck of a provider stands beside those of combos; no combo is called so.
    fn draw(&self, own: &[Planned], dice: &mut dyn Dice) -> (Vec<usize>, Arc<str>, Deck) {
        let name: Arc<str> = format!("conn:{}", self.step.provider).into();
        let ids: Vec<&ConnectionId> = own.iter().map(|target| &target.connection).collect();
        let unknown = Deck::default();
        let deck = self.world.memory.combo(&name).map_or(&unknown, |state| &state.deck);
        let (order, deck) = account::draw(&ids, deck, dice);
        (order, name, deck)
    }

    fn weigh(&self, entry: &ConnectionEntry) -> Account {
        let World { board, memory, now, .. } = self.world;
        let mut account = Account {
            priority: Some(entry.priority),
            usage: memory.usage(&entry.id),
            in_flight: memory.in_flight(&entry.id),
            ..Account::default()
        };
        if self.world.catalogue.accounts.records_latency() {
            account.latency = memory.latency(&entry.id, &self.step.model, now);
        }
        let left = memory.reading(&entry.id).and_then(|reading| reading.left(&QuotaWindow::ALL, now));
        account.headroom = left.map(|left| left * 100.0);
        if let Some(view) = board.connections.get(&entry.id) {
            if is_held_against(view, now) {
                account.error = view.cooldown.last_error;
                account.level = view.cooldown.level;
            }
            account.keeps_draw = keeps_draw(view, self.slow_start_ms, now);
        }
        account
    }
}

/// A failure counts for as long again as its rest was, a minute at least. Without an end the
/// account would lose every draw, never succeed, and so never be forgiven: nobody is benched
/// for good.
fn is_held_against(view: &ConnectionView, now: Millis) -> bool {
    let failed_at = view.cooldown.last_error.map_or(0, |error| error.at);
    let ended_at = view.cooldown.ended_at.unwrap_or(0).max(failed_at);
    let memory_ms = view.cooldown.cooled_for_ms.clamp(MINUTE, LONGEST_MEMORY_MS);
    now < ended_at.saturating_add(memory_ms)
}

/// Decision 34: the probability with which a connection that has come back keeps a draw.
pub(super) fn keeps_draw(view: &ConnectionView, slow_start_ms: Millis, now: Millis) -> f64 {
    match view.cooldown.ended_at {
        Some(ended) if slow_start_ms > 0 && view.cooldown.cooled_for_ms > MINUTE => {
            (now.saturating_sub(ended) as f64 / slow_start_ms as f64).clamp(0.1, 1.0)
        }
        _ => 1.0,
    }
}

/// The accounts of a step that could ever serve it.
pub(super) fn usable<'a>(
    step: &'a Step,
    catalogue: &'a Catalogue,
) -> impl Iterator<Item = &'a Arc<ConnectionEntry>> {
    connections(step, catalogue).filter(|entry| entry.usable && entry.serves(step.model.as_str()))
}

/// The accounts that a step may mean.
pub(super) fn connections<'a>(
    step: &'a Step,
    catalogue: &'a Catalogue,
) -> impl Iterator<Item = &'a Arc<ConnectionEntry>> {
    let all = catalogue.providers.get(&step.provider).map_or(&[][..], |provider| &provider.connections);
    all.iter().filter(|entry| step.admits(&entry.id))
}

#[cfg(test)]
mod tests;
