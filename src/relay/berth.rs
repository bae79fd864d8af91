//! The berths of a request in the `round-robin` combos on its way (routing 8.7).
//!
//! They are taken before the connection is asked, from the inner combo to the outer one, and ride
//! on the permit. Where there is no room in time the next target is asked. A connection that has a
//! cap of its own needs none: its gate counts.

use std::time::{Duration, Instant};

use actors::berths::{Berth, InLine, Moored};
use policy::change::{Exclusion, Refusal};
use policy::plan::{Berths, Place, Planned};

use super::cascade::Run;

impl Run<'_> {
    /// The berths of a target, waited for as long as its combos allow.
    pub(super) async fn berths(&mut self, target: &Planned) -> Result<Vec<Berth>, Refusal> {
        let mut all = Vec::new();
        for (place, numbers) in self.moorings(target) {
            let berth = match self.worker.tower.owners.router.berths.take(place, numbers) {
                Moored::In(berth) => Ok(berth),
                Moored::Full => Err(Exclusion::SemaphoreQueueFull),
                Moored::Waits(line) => self.berth(line, numbers).await,
            };
            all.push(berth.map_err(|why| self.soon(why))?);
        }
        Ok(all)
    }

    /// The same for whom there is no time: it holds a place at the connection already, or runs
    /// beside another attempt.
    pub(super) fn berths_now(&self, target: &Planned) -> Result<Vec<Berth>, Refusal> {
        let taken = self.moorings(target).into_iter().map(|(place, numbers)| {
            match self.worker.tower.owners.router.berths.take(place, Berths { depth: 0, ..numbers }) {
                Moored::In(berth) => Ok(berth),
                Moored::Full | Moored::Waits(_) => Err(self.soon(Exclusion::SemaphoreQueueFull)),
            }
        });
        taken.collect()
    }

    /// Where it needs one.
    fn moorings<'a>(&self, target: &'a Planned) -> Vec<(&'a Place, Berths)> {
        let ways = std::iter::successors(target.place.as_deref(), |place| place.within.as_deref());
        let mut all: Vec<_> = ways.filter_map(|place| Some((place, place.berths?))).collect();
        if !all.is_empty() && self.has_own_cap(target) {
            all.clear();
        }
        all
    }

    fn has_own_cap(&self, target: &Planned) -> bool {
        let plan = self.worker.tower.plan.load();
        plan.connections.get(&target.connection).is_some_and(|numbers| numbers.gate.account_cap > 0)
    }

    async fn berth(&mut self, line: InLine, numbers: Berths) -> Result<Berth, Exclusion> {
        let tower = &self.worker.tower;
        let Some(counted) = tower.owners.router.queued.try_enter() else {
            return Err(Exclusion::QueuedTotal);
        };
        let since = Instant::now();
        let turn = tokio::select! {
            turn = line.turn() => turn.ok_or(Exclusion::SemaphoreTimeout),
            () = tower.closing.begun() => Err(Exclusion::ShuttingDown),
            () = tokio::time::sleep(Duration::from_millis(numbers.wait_ms)) => Err(Exclusion::SemaphoreTimeout),
        };
        drop(counted);
        self.story.waited += since.elapsed();
        self.story.queued += since.elapsed();
        turn
    }

    fn soon(&self, why: Exclusion) -> Refusal {
        Refusal { why, retry_at: Some(self.worker.tower.owners.clock.now() + 1_000) }
    }
}
