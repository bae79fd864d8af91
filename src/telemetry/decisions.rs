//! The latest requests and what was decided for each: `GET /api/decisions` (contract 4, 8).
//!
//! A bounded ring in memory. What it says is what the answer's headers say: both are told from
//! the same story.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use policy::ids::{ConnectionId, ModelId, ProviderId};
use policy::plan::Excluded;
use policy::time::Millis;

/// Requests that are remembered.
const CAPACITY: usize = 1_000;

/// One request.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// The `x-request-id` of its answer.
    pub id: Arc<str>,
    /// When it came, epoch ms.
    pub at: Millis,
    /// The model as the client wrote it.
    pub model: Arc<str>,
    /// The name of its key.
    pub key: Option<Arc<str>>,
    /// The key of its session.
    pub session: Option<Arc<str>>,
    /// Name of the strategy; empty when there was no plan.
    pub strategy: &'static str,
    /// The status of its answer.
    pub status: u16,
    /// How long until its answer began, ms.
    pub duration_ms: Millis,
    /// Our own part of it, µs.
    pub overhead_us: u64,
    /// Each attempt, in the order in which they ended.
    pub attempts: Vec<Attempted>,
    /// Targets left out.
    pub excluded: Vec<Excluded>,
}

/// One attempt of a request.
#[derive(Clone, Debug)]
pub struct Attempted {
    /// Who was asked.
    pub provider: ProviderId,
    /// For which model.
    pub model: ModelId,
    /// On which connection.
    pub connection: ConnectionId,
    /// When it left, since the request came, ms.
    pub started_ms: Millis,
    /// When a good answer began, since it left, ms.
    pub first_byte_ms: Option<Millis>,
    /// When it was judged, since it left, ms.
    pub duration_ms: Millis,
    /// The status it stands for.
    pub status: Option<u16>,
    /// What was concluded.
    pub verdict: &'static str,
    /// Why it failed.
    pub reason: Option<&'static str>,
    /// How it failed, where no status of the upstream tells.
    pub end: Option<&'static str>,
    /// The wait that was stated, ms.
    pub wait_ms: Option<Millis>,
}

/// The latest decisions, shared by all workers.
#[derive(Debug, Default)]
pub struct Decisions {
    ring: Mutex<VecDeque<Arc<Decision>>>,
}

impl Decisions {
    /// Remembers one; the oldest makes room.
    pub fn add(&self, decision: Decision) {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        if ring.len() == CAPACITY {
            ring.pop_front();
        }
        ring.push_back(Arc::new(decision));
    }

    /// The newest first, those that pass the test, so many at most.
    pub fn latest(&self, most: usize, wanted: impl Fn(&Decision) -> bool) -> Vec<Arc<Decision>> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.iter().rev().filter(|decision| wanted(decision)).take(most).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{CAPACITY, Decision, Decisions};

    #[test]
    fn the_newest_come_first_and_the_oldest_make_room() {
        let decisions = Decisions::default();
        for n in 0..CAPACITY + 5 {
            decisions.add(Decision { id: n.to_string().into(), ..Decision::default() });
        }
        let shown = decisions.latest(2, |_| true);
        assert_eq!(shown.iter().map(|decision| &*decision.id).collect::<Vec<_>>(), ["1004", "1003"]);
        let all = decisions.latest(usize::MAX, |_| true);
        assert_eq!((all.len(), &*all.last().expect("a thousand").id), (CAPACITY, "5"));
        assert_eq!(decisions.latest(9, |decision| &*decision.id == "4").len(), 0);
    }
}
