//! How combos fare, for `GET /api/combos/metrics` (routing 14): counted once for each request, when
//! its answer begins or it has failed. In memory, from the start of the process.
//!
//! One lock, held for a look into a map; nothing is allocated for a combo and target that are known.
//! Names of combos can be made by clients (models of pools), so what is kept of them is bounded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use policy::ids::{ModelId, ProviderId};
use policy::time::Millis;

/// Combos that are remembered; the one that was used longest ago makes room.
const MOST_COMBOS: usize = 1_000;
/// Targets of one combo that are counted apart.
const MOST_TARGETS: usize = 100;
/// Latencies that a percentile is made of: the latest.
const SAMPLES: usize = 100;

/// What is counted, of a combo or of one of its targets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fared {
    /// Requests, each once.
    pub requests: u64,
    /// A combo's: requests with a good answer. A target's: attempts with one.
    pub successes: u64,
    /// A combo's: requests without one. A target's: attempts that failed.
    pub failures: u64,
    /// Requests that were sent upstream.
    pub attempts: u64,
    /// A combo's: requests that needed more than one attempt. A target's: good answers after another
    /// attempt had failed.
    pub fallbacks: u64,
    /// When it was used last, epoch ms.
    pub last_at: Millis,
    /// How long good answers took to begin, ms, the latest ones; the oldest is overwritten.
    latencies: Vec<u32>,
    next: usize,
    sum_ms: u64,
}

impl Fared {
    fn answered(&mut self, took_ms: u32) {
        self.successes += 1;
        self.sum_ms += u64::from(took_ms);
        match self.latencies.len() < SAMPLES {
            true => self.latencies.push(took_ms),
            false => self.latencies[self.next] = took_ms,
        }
        self.next = (self.next + 1) % SAMPLES;
    }

    /// How long a good answer took to begin on average, ms.
    pub fn average_ms(&self) -> Option<u64> {
        (self.successes > 0).then(|| self.sum_ms / self.successes)
    }

    /// What 95 of 100 good answers did not exceed, of the latest 100, ms.
    pub fn p95_ms(&self) -> Option<u32> {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * 95).div_ceil(100);
        sorted.get(rank.checked_sub(1)?).copied()
    }
}

/// One combo, as it is remembered.
#[derive(Clone, Debug, Default)]
pub struct ComboFared {
    /// Name of its strategy.
    pub strategy: &'static str,
    /// All of it.
    pub whole: Fared,
    /// Each provider's model, in the order in which they were first asked.
    pub targets: Vec<(ProviderId, ModelId, Fared)>,
}

/// A request of a combo that is over, as far as its combo is concerned.
#[derive(Clone, Copy, Debug)]
pub struct Over {
    /// Name of its strategy.
    pub strategy: &'static str,
    /// It has a good answer.
    pub good: bool,
    /// How long that took to begin, ms.
    pub took_ms: u32,
    /// It went on after its first attempt.
    pub fell_back: bool,
    /// Now, epoch ms.
    pub at: Millis,
}

/// One attempt of it.
#[derive(Clone, Copy, Debug)]
pub struct Try<'a> {
    /// Whom it went to.
    pub target: (&'a ProviderId, &'a ModelId),
    /// It was good; `None`: it says nothing of the target.
    pub good: Option<bool>,
    /// How long until it was judged, ms.
    pub took_ms: u32,
}

impl ComboFared {
    fn target(&mut self, (provider, model): (&ProviderId, &ModelId)) -> Option<&mut Fared> {
        let found = self.targets.iter().position(|(p, m, _)| p == provider && m == model);
        if found.is_none() && self.targets.len() < MOST_TARGETS {
            self.targets.push((provider.clone(), model.clone(), Fared::default()));
            return self.targets.last_mut().map(|(.., fared)| fared);
        }
        found.map(|index| &mut self.targets[index].2)
    }

    fn add<'a>(&mut self, over: Over, tries: impl Iterator<Item = Try<'a>> + Clone) {
        self.strategy = over.strategy;
        let whole = &mut self.whole;
        whole.requests += 1;
        whole.fallbacks += u64::from(over.fell_back);
        whole.last_at = over.at;
        match over.good {
            true => whole.answered(over.took_ms),
            false => whole.failures += 1,
        }
        let mut failed = false;
        for (index, tried) in tries.clone().enumerate() {
            self.whole.attempts += 1;
            let first = tries.clone().take(index).all(|before| before.target != tried.target);
            let Some(target) = self.target(tried.target) else { continue };
            target.requests += u64::from(first);
            target.attempts += 1;
            target.last_at = over.at;
            match tried.good {
                Some(true) => {
                    target.answered(tried.took_ms);
                    target.fallbacks += u64::from(failed && over.fell_back);
                }
                Some(false) => target.failures += 1,
                None => {}
            }
            failed |= tried.good == Some(false);
        }
    }
}

/// All combos that were asked.
#[derive(Debug, Default)]
pub struct ComboBook(Mutex<HashMap<Arc<str>, ComboFared>>);

impl ComboBook {
    /// Counts one request.
    pub fn count<'a>(&self, combo: &Arc<str>, over: Over, tries: impl Iterator<Item = Try<'a>> + Clone) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get_mut(combo) {
            return known.add(over, tries);
        }
        if all.len() >= MOST_COMBOS {
            let oldest =
                all.iter().min_by_key(|(_, fared)| fared.whole.last_at).map(|(name, _)| name.clone());
            oldest.and_then(|name| all.remove(&name));
        }
        all.entry(combo.clone()).or_default().add(over, tries);
    }

    /// Each by its name.
    pub fn all(&self) -> Vec<(Arc<str>, ComboFared)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = all.iter().map(|(name, fared)| (name.clone(), fared.clone())).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{ComboBook, ComboFared, MOST_COMBOS, MOST_TARGETS, Over, Try};
    use policy::ids::{ModelId, ProviderId};

    fn over(good: bool, took_ms: u32, fell_back: bool, at: u64) -> Over {
        Over { strategy: "priority", good, took_ms, fell_back, at }
    }

    /// Counts a request whose attempts are (provider, good, ms).
    fn count(book: &ComboBook, name: &str, over: Over, tries: &[(&str, Option<bool>, u32)]) {
        let model = ModelId::from("m");
        let tries: Vec<_> = tries.iter().map(|(p, good, ms)| (ProviderId::from(*p), *good, *ms)).collect();
        let each = tries.iter().map(|(p, good, ms)| Try { target: (p, &model), good: *good, took_ms: *ms });
        book.count(&Arc::from(name), over, each);
    }

    fn only(book: &ComboBook) -> ComboFared {
        let mut all = book.all();
        assert_eq!(all.len(), 1);
        all.remove(0).1
    }

    #[test]
    fn fc_131_a_request_counts_once_whatever_it_took() {
        let book = ComboBook::default();
        count(&book, "c", over(true, 40, false, 1), &[("a", Some(true), 30)]);
        let tries = [("a", Some(false), 5), ("a", Some(false), 5), ("b", None, 1), ("b", Some(true), 50)];
        count(&book, "c", over(true, 70, true, 2), &tries);
        count(&book, "c", over(false, 9, false, 3), &[("a", Some(false), 9)]);
        count(&book, "c", over(false, 0, false, 4), &[]);
        let ComboFared { whole, targets, strategy } = only(&book);
        assert_eq!((whole.requests, whole.successes, whole.failures), (4, 2, 2));
        assert_eq!((whole.attempts, whole.fallbacks, whole.last_at, strategy), (6, 1, 4, "priority"));
        assert_eq!((whole.average_ms(), whole.p95_ms()), (Some(55), Some(70)));
        let [(_, _, a), (_, _, b)] = &targets[..] else { panic!("{targets:?}") };
        assert_eq!((a.requests, a.attempts, a.successes, a.failures, a.fallbacks), (3, 4, 1, 3, 0));
        assert_eq!((b.requests, b.attempts, b.successes, b.failures, b.fallbacks), (1, 2, 1, 0, 1));
        assert_eq!((a.average_ms(), b.average_ms(), a.last_at, b.last_at), (Some(30), Some(50), 3, 2));
    }

    #[test]
    fn the_percentile_is_of_the_latest_hundred() {
        let book = ComboBook::default();
        for ms in 0..50 {
            count(&book, "c", over(true, 9_000 + ms, false, 1), &[]);
        }
        for ms in 1..=100 {
            count(&book, "c", over(true, ms, false, 1), &[]);
        }
        assert_eq!(only(&book).whole.p95_ms(), Some(95));
        count(&book, "d", over(false, 1, false, 1), &[]);
        let d = &book.all()[1].1.whole;
        assert_eq!((d.p95_ms(), d.average_ms()), (None, None));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let book = ComboBook::default();
        for n in 0..=MOST_COMBOS {
            count(&book, &n.to_string(), over(true, 1, false, n as u64), &[]);
        }
        let names: Vec<_> = book.all().into_iter().map(|(name, _)| name).collect();
        assert_eq!((names.len(), names.iter().any(|name| &**name == "0")), (MOST_COMBOS, false));
        for n in 0..=MOST_TARGETS {
            count(&book, "last", over(true, 1, false, 9_999), &[(&format!("p{n}"), Some(true), 1)]);
        }
        let last = book.all().into_iter().find(|(name, _)| &**name == "last").unwrap().1;
        assert_eq!((last.targets.len(), last.whole.attempts), (MOST_TARGETS, MOST_TARGETS as u64 + 1));
    }
}
