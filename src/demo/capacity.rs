//! How many requests of one `capacity-N` are in flight, for each credential by itself.
//!
//! A real account takes so many requests at once and refuses the rest. A place is held by whoever
//! works on an answer and comes back when it is dropped: before the client can have read the answer,
//! or when the client has gone. So a client that asks again after it was answered never meets its
//! own last request.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::behaviour::Behaviour;

/// Who shares places: requests of one name with one credential.
type Key = (Behaviour, Option<String>);

/// The places taken now; what nobody holds has no entry.
#[derive(Clone, Default)]
pub(super) struct Places(Arc<Mutex<HashMap<Key, u64>>>);

/// One place, until it is dropped.
pub(super) struct Place {
    places: Places,
    key: Key,
}

// === impl Places ===

impl Places {
    /// Takes a place, if fewer than `count` are taken.
    pub(super) fn take(&self, behaviour: Behaviour, count: u64, credential: Option<&str>) -> Option<Place> {
        let key = (behaviour, credential.map(str::to_owned));
        let mut taken = self.locked();
        match taken.entry(key.clone()) {
            Entry::Occupied(entry) if *entry.get() >= count => return None,
            Entry::Occupied(mut entry) => *entry.get_mut() += 1,
            Entry::Vacant(_) if count == 0 => return None,
            Entry::Vacant(entry) => {
                entry.insert(1);
            }
        }
        Some(Place { places: self.clone(), key })
    }

    /// A count is whole between any two steps, so one that a panic interrupted is still right.
    fn locked(&self) -> MutexGuard<'_, HashMap<Key, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.locked();
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Behaviour, Places};

    #[test]
    fn a_place_is_taken_until_it_is_dropped_and_nothing_remains() {
        let (places, two) = (Places::default(), Behaviour::parse("capacity-2"));
        let take = |credential| places.take(two, 2, credential);
        let (first, second) = (take(Some("a")), take(Some("a")));
        assert!(first.is_some() && second.is_some() && take(Some("a")).is_none());
        let others = (take(Some("b")), take(None));
        assert!(others.0.is_some() && others.1.is_some(), "each credential has its own");
        let other_name = places.take(Behaviour::parse("capacity-1-9ms"), 1, Some("a"));
        assert!(other_name.is_some(), "each name has its own");
        drop(first);
        let third = take(Some("a"));
        assert!(third.is_some() && take(Some("a")).is_none());
        drop((second, third, others, other_name));
        assert!(places.locked().is_empty());
    }

    #[test]
    fn no_capacity_has_no_place() {
        let places = Places::default();
        assert!(places.take(Behaviour::parse("capacity-0"), 0, None).is_none());
        assert!(places.locked().is_empty());
    }
}
