//! Hand-offs of `context-relay` (routing 4.4): which session has one, and for which one a summary
//! is being written. Their words come here sealed; they are stored until they expire.

use std::collections::HashMap;

use actix::{Handler, Message};
use policy::handoff::{Handoff, HandoffKey, Relay, STRATEGY, TIME_LIMIT_MS};
use policy::ids::ConnectionId;
use policy::plan::Plan;
use policy::request::Traits;
use policy::time::Millis;

use super::Router;
use crate::messages::{Owner, Snapshot, StoreLink};

/// Most that are kept: sessions are named by clients.
const MOST: usize = 10_000;

/// What the router remembers of hand-offs.
#[derive(Default)]
pub(super) struct Handoffs {
    held: HashMap<HandoffKey, Handoff>,
    /// Until when a summary may still come, epoch ms.
    making: HashMap<HandoffKey, Millis>,
}

impl Handoffs {
    /// What the store had; what has expired is taken out of it.
    pub(super) fn restored(found: Vec<(HandoffKey, Handoff)>, store: &StoreLink, now: Millis) -> Self {
        let held = found.into_iter().collect();
        let mut handoffs = Self { held, making: HashMap::new() };
        handoffs.sweep(store, now);
        handoffs
    }

    fn sweep(&mut self, store: &StoreLink, now: Millis) {
        self.making.retain(|_, until| *until > now);
        self.held.retain(|key, handoff| {
            let active = handoff.is_active(now);
            if !active {
                store.save(Owner::Handoff(key.clone()), None);
            }
            active
        });
    }

    /// A summary may be written, and by nobody else until then.
    fn begin(&mut self, key: HandoffKey, now: Millis) -> bool {
        let there = self.held.get(&key).is_some_and(|handoff| handoff.is_active(now));
        let making = self.making.get(&key).is_some_and(|until| *until > now);
        let free = !there && !making && self.making.len() < MOST;
        if free {
            self.making.insert(key, now + 2 * TIME_LIMIT_MS);
        }
        free
    }

    fn end(&mut self, key: HandoffKey, handoff: Option<Handoff>, (store, now): (&StoreLink, Millis)) {
        self.making.remove(&key);
        self.sweep(store, now);
        let Some(handoff) = handoff.filter(|_| self.held.len() < MOST) else { return };
        store.save(Owner::Handoff(key.clone()), Some(Snapshot::Handoff(handoff.clone())));
        self.held.insert(key, handoff);
    }
}

impl Router {
    /// What a plan's session hands over; `None`: its combo does not, or it has no session.
    pub(super) fn relay(&self, plan: &Plan, traits: &Traits) -> Option<Box<Relay>> {
        let combo = plan.combo.as_ref().filter(|_| plan.strategy == STRATEGY)?;
        let blueprint = self.seed.blueprint.load();
        let settings = blueprint.catalogue.combos.get(combo)?.settings.relay.clone();
        let key = HandoffKey { session: traits.session.clone()?, combo: combo.clone() };
        let now = self.seed.links.clock.now();
        let handoff = self.handoffs.held.get(&key).filter(|handoff| handoff.is_active(now)).cloned();
        let making = self.handoffs.making.get(&key).is_some_and(|until| *until > now);
        let reading = |id: &ConnectionId| Some((id.clone(), self.memory.readings.get(id)?.clone()));
        let readings = plan.targets.iter().filter_map(|target| reading(&target.connection)).collect();
        Some(Box::new(Relay { key, settings, handoff, making, readings }))
    }
}

/// A summary is about to be written; answers whether it may.
#[derive(Clone, Debug, Message)]
#[rtype(result = "bool")]
pub struct BeginHandoff(pub HandoffKey);

impl Handler<BeginHandoff> for Router {
    type Result = bool;

    fn handle(&mut self, BeginHandoff(key): BeginHandoff, _: &mut Self::Context) -> bool {
        self.handoffs.begin(key, self.seed.links.clock.now())
    }
}

/// A summary was written, or none came of it.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct EndHandoff {
    /// Whose.
    pub key: HandoffKey,
    /// `None`: it failed.
    pub handoff: Option<Handoff>,
}

impl Handler<EndHandoff> for Router {
    type Result = ();

    fn handle(&mut self, EndHandoff { key, handoff }: EndHandoff, _: &mut Self::Context) {
        let (store, now) = (&self.seed.links.store, self.seed.links.clock.now());
        self.handoffs.end(key, handoff, (store, now));
    }
}

#[cfg(test)]
mod tests {
    use policy::handoff::{Handoff, HandoffKey};

    use super::{Handoffs, StoreLink, TIME_LIMIT_MS};

    fn key(session: &str) -> HandoffKey {
        HandoffKey { session: session.into(), combo: "m".into() }
    }

    fn handoff(expires_at: u64) -> Handoff {
        Handoff { from: "c1".into(), sealed: "s".into(), expires_at }
    }

    /// Routing 4.4a: one at a time, and none while one holds.
    #[test]
    fn row_19_nobody_else_writes_while_one_is_written_or_holds() {
        let store = StoreLink::new(1);
        let mut handoffs = Handoffs::default();
        assert!(handoffs.begin(key("s"), 0));
        assert!(!handoffs.begin(key("s"), 1));
        assert!(handoffs.begin(key("other"), 1));
        handoffs.end(key("s"), Some(handoff(100)), (&store, 2));
        assert!(!handoffs.begin(key("s"), 99));
        assert!(handoffs.begin(key("s"), 100));
        handoffs.end(key("s"), None, (&store, 101));
        assert!(handoffs.held.is_empty(), "it has expired");
        assert!(handoffs.begin(key("s"), 102));
        assert!(
            handoffs.begin(key("s"), 102 + 2 * TIME_LIMIT_MS),
            "a writer that is gone bars nobody for good"
        );
    }

    #[test]
    fn decision_11_what_holds_comes_back_and_the_rest_does_not() {
        let found = vec![(key("a"), handoff(10)), (key("b"), handoff(11))];
        let handoffs = Handoffs::restored(found, &StoreLink::new(1), 10);
        assert_eq!(handoffs.held.keys().collect::<Vec<_>>(), [&key("b")]);
    }
}
