//! Waiting in line for a target that has no room.
//!
//! A request comes here only when nothing else of its plan is left. It joins the lines of all
//! targets that were merely full and takes the first place that comes free; the others are given
//! up. While it waits it holds nothing, and our own wait is nobody's fault (decision 9).

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use actors::permit::{Owners, Permit};
use actors::router::pick::{Look, Picked};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use policy::attempts::Next;
use policy::change::{Exclusion, Refusal};
use policy::plan::{Excluded, Planned};

use super::cascade::Run;
use super::sets::{asking, pick};

/// How often a request in line looks whether it could go elsewhere.
const LOOK_ROUND: Duration = Duration::from_secs(1);

/// How a wait ends.
enum Turn {
    Slot(usize, Permit),
    Refused(Vec<(usize, Refusal)>),
    /// There is a target now that was none before.
    Elsewhere(Picked),
}

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
        let behind = self.follows();
        let turn = {
            let wait = |index: usize| {
                let target = &self.plan.targets[index];
                async move { (index, owners.queue(target, patience, behind).await) }
            };
            let mut lines: FuturesUnordered<_> = targets.iter().copied().map(wait).collect();
            let mut refused = Vec::new();
            let mut seen = owners.router.shares.load(Ordering::Relaxed);
            loop {
                tokio::select! {
                    turn = lines.next() => match turn {
                        Some((index, Ok(permit))) => break Turn::Slot(index, permit),
                        Some((index, Err(refusal))) => refused.push((index, refusal)),
                        None => break Turn::Refused(refused),
                    },
                    () = closing.begun() => {
                        break Turn::Refused(refused_by(Exclusion::ShuttingDown, targets, owners));
                    }
                    () = tokio::time::sleep(LOOK_ROUND) => {
                        if let Some(picked) = self.elsewhere(&mut seen).await {
                            break Turn::Elsewhere(picked);
                        }
                    }
                }
            }
        };
        drop(counted);
        self.story.waited += since.elapsed();
        self.story.queued += since.elapsed();
        match turn {
            Turn::Slot(index, mut permit) => match self.berths_now(&self.plan.targets[index]) {
                Ok(berths) => {
                    permit.keep(berths);
                    Ok((index, permit))
                }
                Err(refusal) => Err(self.refused(index, refusal)),
            },
            Turn::Refused(refused) => Err(self.all_refused(refused)),
            Turn::Elsewhere(picked) => {
                self.again(picked);
                Err(self.attempts.first())
            }
        }
    }

    /// A new plan, if an account that was away when this one was made has come back: whoever waits
    /// must not be overtaken there by those who come later. `seen`: the board as it was looked at.
    async fn elsewhere(&self, seen: &mut u64) -> Option<Picked> {
        let owners = &self.worker.tower.owners;
        let shares = owners.router.shares.load(Ordering::Relaxed);
        let now = owners.clock.now();
        let is_over = |target: &Excluded| {
            !target.reason.is_own_limit() && target.until.is_some_and(|until| until <= now)
        };
        let news = std::mem::replace(seen, shares) != shares || self.story.excluded.iter().any(is_over);
        // After a failure the last answer of this set is still to be told; a lease has one place only.
        if self.inquiry.lease.is_some() || !news || !self.attempts.failures().is_empty() {
            return None;
        }
        let looked = owners.router.mailbox.ask(Look(asking(self.inquiry))).await.ok()?.ok()?;
        let known = |target: &Planned| {
            let same =
                |other: &Planned| (&other.connection, &other.model) == (&target.connection, &target.model);
            self.plan.targets.iter().any(same)
        };
        if looked.targets.iter().all(known) {
            return None;
        }
        pick(self.worker, self.inquiry).await.ok()
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
