//! What client keys have done of late, and what they have cost: one book for all workers.
//!
//! Only keys with limits come here before a request; every key's cost comes here after it, so that a
//! budget given later finds it. Costs follow from the usage history by the prices of the models:
//! after a restart they are read from there.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use policy::keys::{Counts, Denial, Limits, Spent};
use policy::time::Millis;
use policy::usage::Day;

#[derive(Debug, Default)]
struct Account {
    counts: Counts,
    spent: Spent,
}

/// The keys' accounts.
#[derive(Debug, Default)]
pub struct KeyBook {
    keys: Mutex<HashMap<Arc<str>, Account>>,
    /// The history has been read.
    complete: AtomicBool,
}

impl KeyBook {
    fn keys(&self) -> MutexGuard<'_, HashMap<Arc<str>, Account>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a request of a key through and counts it, or says why not.
    pub fn admit(
        &self,
        key: &Arc<str>,
        limits: &Limits,
        session: Option<&str>,
        now: Millis,
    ) -> Result<(), Denial> {
        let mut keys = self.keys();
        let account = keys.entry(key.clone()).or_default();
        account.counts.admit(limits, Some(&account.spent), session, now)
    }

    /// Whether a request of a key would be let through; it is not counted.
    pub fn would_admit(
        &self,
        key: &Arc<str>,
        limits: &Limits,
        session: Option<&str>,
        now: Millis,
    ) -> Result<(), Denial> {
        let mut keys = self.keys();
        let mut fresh = Account::default();
        let account = keys.get_mut(key).unwrap_or(&mut fresh);
        account.counts.would_admit(limits, Some(&account.spent), session, now)
    }

    /// A request of a key has cost something.
    pub fn spend(&self, key: &Arc<str>, usd: f64, now: Millis) {
        if usd > 0.0 {
            self.keys().entry(key.clone()).or_default().spent.add(Day::of(now), usd);
        }
    }

    /// The history is in it.
    pub fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }

    /// Puts what the history says in the place of what is known.
    pub fn recall(&self, costs: impl IntoIterator<Item = (Arc<str>, Day, f64)>) {
        let mut spent: HashMap<Arc<str>, Spent> = HashMap::new();
        for (key, day, usd) in costs {
            spent.entry(key).or_default().add(day, usd);
        }
        let mut keys = self.keys();
        for (key, spent) in spent {
            keys.entry(key).or_default().spent = spent;
        }
        self.complete.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use policy::keys::{Budget, BudgetWindow, Limits, Over};
    use policy::time::DAY;
    use policy::usage::Day;

    use super::KeyBook;

    #[test]
    fn what_the_history_says_and_what_comes_after_it_is_the_cost() {
        let (book, key, now): (KeyBook, Arc<str>, u64) = (KeyBook::default(), "k".into(), 20_787 * DAY);
        let budget = Budget { limit_usd: 3.0, window: BudgetWindow::Day };
        let limits = Limits { budgets: vec![budget], ..Limits::default() };
        let refused = |book: &KeyBook| book.admit(&key, &limits, None, now).err().map(|denial| denial.over);
        book.spend(&key, 1.0, now);
        assert_eq!((refused(&book), book.is_complete()), (None, false));
        // The history has it already.
        book.recall([(key.clone(), Day::of(now), 2.0), (key.clone(), Day::of(now).back(1), 9.0)]);
        assert_eq!((refused(&book), book.is_complete()), (None, true));
        book.spend(&key, 1.0, now);
        assert_eq!(refused(&book), Some(Over::Budget));
        assert!(book.admit(&"other".into(), &limits, None, now).is_ok());
    }
}
