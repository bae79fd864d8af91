//! Waiting in line for a target that has no room.
//!
//! A request comes here only when nothing else of its plan is left. It joins the lines of all
//! targets that were merely full and takes the first place that comes free; the others are given
//! up. While it waits it holds nothing, and our own wait is nobody's fault (decision 9).

use std::time::Instant;

use actors::permit::{Owners, Permit};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use policy::attempts::Next;
use policy::change::{Exclusion, Refusal};

use super::cascade::Run;

impl Run<'_> {
    /// The first slot of these targets, or what comes next when none of them had one in time.
    pub(super) async fn queue(&mut self, targets: &[usize]) -> Result<(usize, Permit), Next> {
        let owners = &self.worker.tower.owners;
        let closing = &self.worker.tower.closing;
        // As many wait as may: nobody is asked, so that a refusal costs next to nothing (decision 14).
        let Some(counted) = owners.router.queued.try_enter() else {
            return Err(self.all_refused(refused_by(Exclusion::QueuedTotal, targets, owners)));
        };
        let since = Instant::now();
        let patience = self.plan.patience;
        let behind = self.waits.has_waited() || self.attempts.dispatched() > 0;
        let turn = {
            let wait = |index: usize| {
                let target = &self.plan.targets[index];
                async move { (index, owners.queue(target, patience, behind).await) }
            };
            let mut lines: FuturesUnordered<_> = targets.iter().copied().map(wait).collect();
            let mut refused = Vec::new();
            loop {
                tokio::select! {
                    turn = lines.next() => match turn {
                        Some((index, Ok(permit))) => break Ok((index, permit)),
                        Some((index, Err(refusal))) => refused.push((index, refusal)),
                        None => break Err(refused),
                    },
                    () = closing.begun() => break Err(refused_by(Exclusion::ShuttingDown, targets, owners)),
                }
            }
        };
        drop(counted);
        self.story.waited += since.elapsed();
        self.story.queued += since.elapsed();
        turn.map_err(|refused| self.all_refused(refused))
    }

    fn all_refused(&mut self, refused: Vec<(usize, Refusal)>) -> Next {
        let next = refused.into_iter().map(|(index, refusal)| self.refused(index, refusal));
        next.last().unwrap_or(Next::Exhausted)
    }
}

/// The same refusal for all.
fn refused_by(why: Exclusion, targets: &[usize], owners: &Owners) -> Vec<(usize, Refusal)> {
    let refusal = Refusal { why, retry_at: Some(owners.clock.now() + 1_000) };
    targets.iter().map(|index| (*index, refusal)).collect()
}
