//! What owners of one kind published, by id, and who of them is restless.
//!
//! Of many owners few are: the others need not be looked at one by one to know that they would let
//! a request through. Who is calm stays so until it publishes itself anew, whatever the time.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hash};
use std::ops::Deref;
use std::sync::Arc;

use super::ConnectionView;
use crate::breaker::{BreakerState, BreakerView, Operator};
use crate::ids::{ById, Quick};

/// An owner as it published itself.
pub trait Published: Clone {
    /// It could refuse a request, now or at another time.
    fn is_restless(&self) -> bool;
}

impl Published for BreakerView {
    fn is_restless(&self) -> bool {
        self.state != BreakerState::Closed || self.operator == Operator::Isolated
    }
}

impl Published for ConnectionView {
    /// Leases are left aside: whose request it is matters there.
    fn is_restless(&self) -> bool {
        let Self { cooldown, retry, draining, .. } = self;
        *draining || cooldown.terminal.is_some() || cooldown.until.is_some() || retry.until.is_some()
    }
}

/// Views by id; they are read as a map.
#[derive(Clone, Debug)]
pub struct Views<K, V> {
    all: ById<K, Arc<V>>,
    restless: HashSet<K, BuildHasherDefault<Quick>>,
}

impl<K, V> Default for Views<K, V> {
    fn default() -> Self {
        Self { all: ById::default(), restless: HashSet::default() }
    }
}

impl<K, V> Deref for Views<K, V> {
    type Target = ById<K, Arc<V>>;

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

impl<K: Clone + Eq + Hash, V: Published> Views<K, V> {
    /// Puts an owner's newest view in the place of the one before.
    pub fn insert(&mut self, id: K, view: Arc<V>) {
        self.sort(&id, &view);
        self.all.insert(id, view);
    }

    /// Changes a view that is there.
    pub fn change(&mut self, id: &K, change: impl FnOnce(&mut V)) {
        let Some(view) = self.all.get_mut(id) else { return };
        change(Arc::make_mut(view));
        let view = view.clone();
        self.sort(id, &view);
    }

    /// Takes an owner out.
    pub fn remove(&mut self, id: &K) {
        self.restless.remove(id);
        self.all.remove(id);
    }

    /// Everybody is calm.
    pub fn are_calm(&self) -> bool {
        self.restless.is_empty()
    }

    /// One whom nobody has heard of is calm.
    pub fn is_calm(&self, id: &K) -> bool {
        self.restless.is_empty() || !self.restless.contains(id)
    }

    fn sort(&mut self, id: &K, view: &V) {
        match view.is_restless() {
            true => drop(self.restless.insert(id.clone())),
            false => drop(self.restless.remove(id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Views;
    use crate::board::ConnectionView;
    use crate::breaker::{Breaker, BreakerSettings, BreakerState, BreakerView, Operator};
    use crate::cooldown::{Cooldown, CooldownSettings};
    use crate::ids::{Class, ConnectionId, ProviderId};

    fn breaker() -> BreakerView {
        Breaker::new(BreakerSettings::for_class(Class::Apikey)).view()
    }

    fn connection() -> ConnectionView {
        ConnectionView::ready(Cooldown::new(CooldownSettings::for_class(Class::Apikey)).view())
    }

    #[test]
    fn who_may_refuse_is_restless_until_it_says_otherwise() {
        let (id, mut views) = (ConnectionId::from("c"), Views::default());
        assert!(views.is_calm(&id), "nobody has heard of it");
        views.insert(id.clone(), Arc::new(ConnectionView { draining: true, ..connection() }));
        assert!(!views.is_calm(&id));
        views.change(&id, |view| view.draining = false);
        assert!(views.is_calm(&id));
        views.change(&id, |view| view.retry.until = Some(1));
        assert!(!views.is_calm(&id), "also when it has passed: it has not said so");
        views.remove(&id);
        assert!(views.is_calm(&id) && views.is_empty());
        let mut view = connection();
        view.cooldown.until = Some(1);
        views.insert(id.clone(), Arc::new(view));
        assert!(!views.is_calm(&id));
        views.insert(id.clone(), Arc::new(connection()));
        assert!(views.is_calm(&id));
    }

    /// Whatever is not plainly closed is looked at.
    #[test]
    fn a_breaker_is_calm_while_it_is_closed_and_not_held_shut() {
        let (id, mut views) = (ProviderId::from("p"), Views::default());
        let mut calm = |state, operator| {
            views.insert(id.clone(), Arc::new(BreakerView { state, operator, ..breaker() }));
            views.is_calm(&id)
        };
        use BreakerState::{Closed, Degraded, HalfOpen, Open};
        assert!(calm(Closed, Operator::None) && calm(Closed, Operator::Observe));
        assert!(!calm(Closed, Operator::Isolated));
        for state in [Degraded, HalfOpen, Open] {
            assert!(!calm(state, Operator::None) && !calm(state, Operator::Observe));
        }
    }
}
