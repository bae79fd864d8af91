//! Who is let in to a connection, who waits, and whose turn it is.
//!
//! The gate decides; this room gives it what stands above the connection, hands out slots and
//! looks again whenever something may have changed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{AsyncContext, Context, Handler, Message};
use policy::change::{Exclusion, Refusal};
use policy::cooldown::{Cooldown, Trial};
use policy::gate::{Door, Entered, Entry, FOLLOW_MS, Hold, Level, Patience, Ticket, Turns};
use policy::ids::ModelId;
use policy::time::Millis;
use tokio::sync::oneshot;

use super::{Admitted, Connection, Slot, Waiting};
use crate::ceiling::{Ceiling, Place};

/// Asks for a slot.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Admitted, Refusal>")]
pub struct Acquire {
    /// The model, as it is sent upstream.
    pub model: ModelId,
    /// The plan holds another target (decision 3a).
    pub others: bool,
    /// Whether it may wait in line.
    pub patience: Patience,
    /// It has sat out a rest with others, and follows those who try the connection first (FC-108).
    pub behind: bool,
    /// It passes the connection's rest (decision 33); caps and all else hold it as ever.
    pub forced: bool,
}

/// How somebody who waits is told that it is his turn.
pub(super) struct Waits {
    tell: oneshot::Sender<Result<Slot, Refusal>>,
    forced: bool,
}

/// Something came free: look whose turn it is.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct Look;

/// A request that waited has gone.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct Forget {
    pub(super) ticket: Ticket,
}

/// What stands above the gate, taken from the outside in (flow 1.9): the process, the provider,
/// then the connection's own rest.
struct Above<'a> {
    cooldown: &'a mut Cooldown,
    ceilings: [&'a Arc<Ceiling>; 2],
    others: bool,
    /// A newcomer passes the rest.
    forced: bool,
    waiting: &'a HashMap<Ticket, Waits>,
    /// Until when others go first at most, if a lone trial runs.
    follows_until: &'a mut Millis,
    passed: Vec<(Ticket, Trial, [Place; 2])>,
    /// The ceiling that had no room, so that a place must come back.
    full: Option<usize>,
}

/// How long nobody looks at a line in which somebody waits, ms (flow 4.21).
const LONGEST_SLEEP_MS: Millis = 10_000;

const LEVELS: [Level; 2] = [Level::Global, Level::Provider];

impl Above<'_> {
    fn place(&mut self, index: usize, now: Millis) -> Result<Place, Hold> {
        self.ceilings[index].try_take(now).map_err(|until| {
            match until {
                // The window is the limiter's first step (flow 4.10 (c)); time alone opens it.
                Some(at) => Hold::Window(at),
                None => {
                    self.full = self.full.or(Some(index));
                    Hold::Cap(LEVELS[index])
                }
            }
        })
    }
}

impl Door for Above<'_> {
    fn pass(&mut self, ticket: Ticket, now: Millis) -> Result<(), Hold> {
        let others = self.others && now < *self.follows_until;
        let forced = self.waiting.get(&ticket).map_or(self.forced, |waits| waits.forced);
        if let Some(refusal) = self.cooldown.view().refusal_of(forced, others, now) {
            return Err(match refusal.why {
                Exclusion::Recovering => Hold::Turn(Some(*self.follows_until)),
                _ => Hold::Rest(refusal.retry_at),
            });
        }
        let places = [self.place(0, now)?, self.place(1, now)?];
        let admitted = match forced {
            true => self.cooldown.admit_forced(others, now),
            false => self.cooldown.admit(others, now),
        };
        let trial = admitted.map_err(|refusal| Hold::Rest(refusal.retry_at))?;
        if trial.lone {
            *self.follows_until = now + FOLLOW_MS;
        }
        self.passed.push((ticket, trial, places));
        Ok(())
    }
}

impl Connection {
    /// What stands above the gate for those who may wait for others to go first.
    fn above(&mut self, others: bool, forced: bool) -> Above<'_> {
        let (ceilings, waiting) = ([&self.ceilings[0], &self.ceilings[1]], &self.waiting);
        let (cooldown, follows_until) = (&mut self.cooldown, &mut self.follows_until);
        Above { cooldown, ceilings, others, forced, waiting, follows_until, passed: Vec::new(), full: None }
    }

    /// Why nobody is let in at all.
    pub(super) fn closed(&self) -> Option<Exclusion> {
        if self.shared.leaving.load(Ordering::SeqCst) {
            return Some(Exclusion::Unavailable);
        }
        (self.draining && self.cooldown.view().terminal.is_none()).then_some(Exclusion::Draining)
    }

    fn slot(&mut self, (ticket, trial, places): (Ticket, Trial, [Place; 2]), now: Millis) -> Slot {
        self.shared.in_flight.fetch_add(1, Ordering::SeqCst);
        if self.shared.gate().is_without_slot(ticket) {
            // It waited too long, or found the line full (flow 2.27).
            tracing::warn!(connection = %self.shared.id, "no slot is free; the request goes on without one");
        }
        if trial.lone {
            self.shared.gate().comes_back(now);
            self.note("ready", "ready", "trial", now);
        }
        let (connection, clock) = (self.shared.clone(), self.links.clock);
        Slot { trial, ticket, connection, clock, _places: places, spoken: false, stumbled: None }
    }

    /// Looks whose turn it is, if anybody waits.
    pub(super) fn look_at_line(&mut self, ctx: &mut Context<Self>) {
        if !self.waiting.is_empty() {
            self.look(ctx);
        }
    }

    fn look(&mut self, ctx: &mut Context<Self>) {
        let now = self.links.clock.now();
        let mut enlisted = false;
        while let Some(index) = self.turn(now) {
            let ceiling = &self.ceilings[index];
            ceiling.enlist(&self.shared);
            enlisted = true;
            // A place that came back before the name was on the list told nobody.
            if !ceiling.has_room() {
                break;
            }
            enlisted = false;
        }
        if !enlisted {
            // What this connection has no use for is for another one.
            self.ceilings.iter().for_each(|ceiling| ceiling.wake());
        }
        self.set_timer(ctx);
    }

    /// Lets in whom it can; the ceiling that has no room, if somebody waits for it.
    fn turn(&mut self, now: Millis) -> Option<usize> {
        let shared = self.shared.clone();
        let mut above = self.above(true, false);
        let Turns { admitted, refused, above: waits_above } = shared.gate().tick(&mut above, now);
        let (passed, full) = (above.passed, above.full);
        debug_assert_eq!(admitted.len(), passed.len(), "who goes in has passed the door");
        for pass in passed {
            let ticket = pass.0;
            let slot = self.slot(pass, now);
            if let Some(Waits { tell, .. }) = self.waiting.remove(&ticket) {
                // Whoever has gone meanwhile: the slot comes back and says so.
                drop(tell.send(Ok(slot)));
            }
        }
        self.send_away(refused);
        full.filter(|_| waits_above)
    }

    fn send_away(&mut self, refused: impl IntoIterator<Item = (Ticket, Refusal)>) {
        for (ticket, refusal) in refused {
            if let Some(Waits { tell, .. }) = self.waiting.remove(&ticket) {
                drop(tell.send(Err(refusal)));
            }
        }
    }

    /// Sends everybody away who waits.
    pub(super) fn clear_line(&mut self, refusal: Refusal) {
        let tickets = self.shared.gate().reset();
        self.send_away(tickets.into_iter().map(|ticket| (ticket, refusal)));
    }

    /// The connection has begun to rest: whoever has not the patience for that hears it now, the
    /// others go on when it is over (flow 4.23, 4.26).
    pub(super) fn rest_line(&mut self, now: Millis) {
        if self.waiting.is_empty() {
            return;
        }
        let Some(refusal) = self.cooldown.view().refusal(false, now) else { return };
        match refusal.retry_at {
            None => self.clear_line(refusal),
            Some(until) => {
                let minds = |ticket| self.waiting.get(&ticket).is_none_or(|waits| !waits.forced);
                let gone = self.shared.gate().send_impatient_away(until, minds);
                self.send_away(gone.into_iter().map(|ticket| (ticket, refusal)));
            }
        }
    }

    /// Whoever could go after all of that and does not is stuck (flow 4.21).
    fn replace_stuck(&mut self) {
        let now = self.links.clock.now();
        let stuck = self.shared.gate().replace_stuck(now);
        if !stuck.is_empty() {
            tracing::error!(connection = %self.shared.id, requests = stuck.len(), "its limiter stood still and was replaced");
        }
        let refusal = Refusal { why: Exclusion::QueueWedged, retry_at: Some(now + 1_000) };
        self.send_away(stuck.into_iter().map(|ticket| (ticket, refusal)));
    }

    /// Sets the next look; while anybody waits there is one every ten seconds at least. One that comes
    /// too early does no harm.
    fn set_timer(&mut self, ctx: &mut Context<Self>) {
        let Some(next) = self.shared.gate().next_tick_at() else { return };
        let at = next.min(self.links.clock.now() + LONGEST_SLEEP_MS);
        match self.timer.take() {
            Some((set, timer)) if set <= at => return self.timer = Some((set, timer)),
            Some((_, timer)) => drop(ctx.cancel_future(timer)),
            None => {}
        }
        let wait = at.saturating_sub(self.links.clock.now()).max(1);
        let timer = ctx.run_later(Duration::from_millis(wait), |owner, ctx| {
            owner.timer = None;
            owner.look(ctx);
            owner.replace_stuck();
        });
        self.timer = Some((at, timer));
    }
}

impl Handler<Acquire> for Connection {
    type Result = Result<Admitted, Refusal>;

    fn handle(&mut self, acquire: Acquire, ctx: &mut Self::Context) -> Self::Result {
        if let Some(why) = self.closed() {
            return Err(Refusal { why, retry_at: None });
        }
        let now = self.links.clock.now();
        // A connection that rests says so itself; only who stands in line already waits for it. Behind
        // a lone trial there is a line.
        let queues = acquire.patience != Patience::None;
        let others = acquire.others || acquire.behind;
        match self.cooldown.view().refusal_of(acquire.forced, others, now) {
            Some(refusal) if !(queues && refusal.why == Exclusion::Recovering) => return Err(refusal),
            _ => {}
        }
        let shared = self.shared.clone();
        let mut above = self.above(others, acquire.forced);
        let Acquire { model, patience, behind, forced, .. } = &acquire;
        let entry = Entry { model, patience: *patience, behind: *behind };
        let entered = shared.gate().enter(&entry, &mut above, now);
        let passed = above.passed.pop();
        match (entered?, passed) {
            (Entered::In(_), Some(pass)) => Ok(Admitted::In(self.slot(pass, now))),
            (Entered::In(ticket), None) => unreachable!("{ticket} is in and has passed the door"),
            (Entered::Waits(ticket), _) => {
                let (tell, turn) = oneshot::channel();
                self.waiting.insert(ticket, Waits { tell, forced: *forced });
                self.look(ctx);
                Ok(Admitted::Waits(Waiting { ticket, connection: shared, turn, over: false }))
            }
        }
    }
}

impl Handler<Look> for Connection {
    type Result = ();

    fn handle(&mut self, _: Look, ctx: &mut Self::Context) {
        self.look(ctx);
    }
}

impl Handler<Forget> for Connection {
    type Result = ();

    fn handle(&mut self, Forget { ticket }: Forget, _: &mut Self::Context) {
        self.waiting.remove(&ticket);
        self.shared.gate().forget(ticket);
    }
}
