//! The limiters of one connection: one for all, or one per model or quota family where a
//! provider limits those apart (flow 4.5).

use std::collections::BTreeMap;

use super::{Learnt, Limiter, LimiterScope, LimiterSettings, LimiterView, RateHeaders};
use crate::ids::ModelId;
use crate::lockout::family_of;
use crate::time::Millis;

/// What a limiter is for: the connection (`None`), a model, or a family by its name.
pub type LimiterKey = Option<ModelId>;

/// The limiters of one connection. One comes to be when it is asked for and goes when it is idle.
#[derive(Clone, Debug)]
pub struct Limiters {
    settings: LimiterSettings,
    by_key: BTreeMap<LimiterKey, Limiter>,
}

// === impl Limiters: finding one ===

impl Limiters {
    /// None yet; each starts its clock when it is first asked for.
    pub fn new(settings: LimiterSettings) -> Self {
        Self { settings, by_key: BTreeMap::new() }
    }

    /// The numbers of all of them.
    pub fn settings(&self) -> LimiterSettings {
        self.settings
    }

    /// Which limiter a model falls under. A permit keeps it: numbers may change meanwhile.
    pub fn key(&self, model: &ModelId) -> LimiterKey {
        match self.settings.scope {
            LimiterScope::Connection => None,
            LimiterScope::Model => Some(model.clone()),
            // Only Antigravity is limited by family, under either of its names.
            LimiterScope::Family => match family_of("antigravity", model.as_str()) {
                own if own == model.as_str() => Some(model.clone()),
                family => Some(family.into()),
            },
        }
    }

    /// The limiter of a key, new if there is none.
    pub fn of(&mut self, key: &LimiterKey, now: Millis) -> &mut Limiter {
        let settings = self.settings;
        self.by_key.entry(key.clone()).or_insert_with(|| Limiter::new(settings, now))
    }

    /// The limiter of a key, if there is one.
    pub fn get(&self, key: &LimiterKey) -> Option<&Limiter> {
        self.by_key.get(key)
    }

    /// Every limiter and its key.
    pub fn iter(&self) -> impl Iterator<Item = (&LimiterKey, &Limiter)> {
        self.by_key.iter()
    }

    /// Every limiter as people see it.
    pub fn views(&self, now: Millis) -> Vec<(LimiterKey, LimiterView)> {
        self.by_key.iter().map(|(key, limiter)| (key.clone(), limiter.view(now))).collect()
    }

    /// What each learnt, to be saved (flow 4.20).
    pub fn learnt(&self) -> Vec<(LimiterKey, Learnt)> {
        let learnt = |(key, limiter): (&LimiterKey, &Limiter)| Some((key.clone(), limiter.learnt()?));
        self.by_key.iter().filter_map(learnt).collect()
    }
}

// === impl Limiters: what they are told ===

impl Limiters {
    /// New numbers for all. A new scope begins with new limiters; the old ones count down those
    /// that run and go when they are idle.
    pub fn configure(&mut self, settings: LimiterSettings, now: Millis) {
        self.settings = settings;
        for limiter in self.by_key.values_mut() {
            limiter.configure(settings, now);
        }
    }

    /// One that started under this key has ended. True: a limiter knew of it.
    pub fn finish(&mut self, key: &LimiterKey, now: Millis) -> bool {
        let Some(limiter) = self.by_key.get_mut(key) else { return false };
        limiter.finish(now);
        true
    }

    /// Reads the headers of an answer to a request of this key. True: look at the line again.
    pub fn learn(&mut self, key: &LimiterKey, headers: &RateHeaders, now: Millis) -> bool {
        self.of(key, now).learn(headers, now)
    }

    /// Takes over what was learnt before a restart.
    pub fn restore(&mut self, saved: impl IntoIterator<Item = (LimiterKey, Learnt)>, now: Millis) {
        let settings = self.settings;
        let fresh = saved.into_iter().filter(|(_, learnt)| learnt.restored(now).is_some());
        self.by_key.extend(fresh.map(|(key, learnt)| (key, Limiter::restore(settings, learnt, now))));
    }

    /// All that was learnt is dropped; those that run go on counting (flow 4.17).
    pub fn forget(&mut self) {
        self.by_key.values_mut().for_each(Limiter::forget);
    }

    /// Nobody is held back by a stated wait any longer.
    pub fn unpause(&mut self) {
        self.by_key.values_mut().for_each(Limiter::unpause);
    }

    /// A stuck limiter makes room for a fresh one with the same numbers (flow 4.21).
    pub fn replace(&mut self, key: &LimiterKey, now: Millis) {
        self.by_key.insert(key.clone(), Limiter::new(self.settings, now));
    }

    /// Drops those that are idle and that nobody waits for (flow 4.21).
    pub fn sweep(&mut self, now: Millis, is_awaited: impl Fn(&LimiterKey) -> bool) {
        self.by_key.retain(|key, limiter| !limiter.is_idle(now) || is_awaited(key));
    }
}
