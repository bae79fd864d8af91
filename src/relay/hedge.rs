//! A second target beside one that is slow to answer (routing 7.11, opt-in).
//!
//! The first good answer wins and the other attempt is dropped: its place returns, and it says
//! nothing about anybody. What failed meanwhile is judged afterwards, in the order in which it
//! failed, so that the loop hears of every failure and of none twice.

use std::time::{Duration, Instant};

use actors::permit::Permit;
use policy::attempts::Next;
use policy::plan::Planned;

use super::cascade::Run;
use super::commit::Committed;
use super::dial::Head;
use super::fault::Fault;
use super::tried::Tried;
use super::{Chosen, Reply};

/// One attempt under way.
pub(super) struct Lane {
    pub(super) index: usize,
    pub(super) target: Planned,
    pub(super) permit: Permit,
    pub(super) started: Instant,
}

/// A second attempt that has left: told apart from its lane, which is away while both run.
pub(super) struct Beside {
    index: usize,
    target: Planned,
    started: Instant,
}

type Dialled = Result<(Head, Committed), Fault>;

impl Run<'_> {
    /// Sends to a target, and to the next one beside it when it is slow.
    pub(super) async fn race(&mut self, first: Lane, delay: Duration) -> Result<Reply, Next> {
        let others = self.attempts.others_left(first.index);
        let mut ended: Vec<(Lane, Dialled)> = Vec::with_capacity(2);
        let mut first = first;
        let (beside, own, second_first) = {
            let run = self.execute(&first.target, &mut first.permit, others);
            tokio::pin!(run);
            let early = tokio::select! {
                dialled = &mut run => Some(dialled),
                () = tokio::time::sleep(delay) => None,
            };
            match early {
                Some(dialled) => (None, Some(dialled), false),
                None => match self.beside(first.index).await {
                    None => (None, Some(run.await), false),
                    Some(mut lane) => {
                        let (own, beside, won) = both(run, self.execute_lane(&mut lane)).await;
                        (Some((lane, beside)), own, won)
                    }
                },
            }
        };
        self.meet();
        let since = |lane: &Lane| (self.came, lane.started);
        let mut lost = None;
        match beside {
            Some((lane, Some(dialled))) => ended.push((lane, dialled)),
            Some((lane, None)) => lost = Some(Tried::dropped(Chosen::of(&lane.target), since(&lane))),
            None => {}
        }
        match own {
            Some(own) if second_first => ended.push((first, own)),
            Some(own) => ended.insert(0, (first, own)),
            None => lost = Some(Tried::dropped(Chosen::of(&first.target), since(&first))),
        }
        let judged = self.judge_all(ended).await;
        self.story.tried.extend(lost);
        judged
    }

    /// Counts the attempt that has left beside another one, however both have ended.
    pub(super) fn meet(&mut self) {
        if let Some(beside) = self.beside.take() {
            self.enter(beside.index, &beside.target, beside.started);
        }
    }

    /// Nobody waits for what is under way: it is told as dropped.
    pub(super) fn abandon(&mut self) {
        self.meet();
        let mut ended: Vec<&Chosen> = self.story.tried.iter().map(|tried| &tried.target).collect();
        let mut dropped = Vec::new();
        for (target, left) in self.story.order.iter().zip(&self.left) {
            match ended.iter().position(|ended| ended.is_same(target)) {
                Some(place) => drop(ended.remove(place)),
                None => dropped.push(Tried::dropped(target.clone(), (self.came, *left))),
            }
        }
        self.story.tried.extend(dropped);
        self.story.attempts = self.attempts.dispatched();
    }

    async fn execute_lane(&self, lane: &mut Lane) -> Dialled {
        let others = self.attempts.others_left(lane.index);
        self.execute(&lane.target, &mut lane.permit, others).await
    }

    /// The target that may run beside, with its place.
    async fn beside(&self, index: usize) -> Option<Lane> {
        let index = self.attempts.hedge(index).filter(|_| self.may_dispatch())?;
        let target = self.plan.targets[index].clone();
        let owners = &self.worker.tower.owners;
        let berths = self.berths_now(&target).ok()?;
        let mut permit = owners.acquire(&target, true).await.ok()?;
        permit.keep(berths);
        // No request that has a lease runs beside itself (rules 7.6.6).
        permit.fence(owners, None).ok()?;
        let started = Instant::now();
        self.beside.replace(Some(Box::new(Beside { index, target: target.clone(), started })));
        Some(Lane { index, target, permit, started })
    }

    /// A request leaves for a target.
    pub(super) fn enter(&mut self, index: usize, target: &Planned, at: Instant) {
        self.attempts.dispatch(index);
        self.left.push(at);
        if let Some(part) = &self.inquiry.part {
            part.count();
        }
        self.story.order.push(Chosen::of(target));
        self.bill.sent(&Chosen::of(target));
    }

    /// Failures first, as they came; a good answer ends it. Only what nothing follows may be tried
    /// again and is settled by that; all else is settled here (decision 9c).
    async fn judge_all(&mut self, ended: Vec<(Lane, Dialled)>) -> Result<Reply, Next> {
        let (mut good, mut next) = (None, Next::Exhausted);
        let mut stop = None;
        let any_good = ended.iter().any(|(_, dialled)| dialled.is_ok());
        let last = ended.len().saturating_sub(1);
        for (at, (lane, dialled)) in ended.into_iter().enumerate() {
            match dialled {
                Ok(answer) => good = Some((lane, answer)),
                Err(fault) => {
                    next = self.failed(lane, fault, any_good || at < last).await;
                    if let Next::Stop(_) = &next {
                        stop.get_or_insert(next.clone());
                    }
                }
            }
        }
        match good {
            Some((lane, answer)) => Ok(self.succeeded(lane, answer)),
            None => Err(stop.unwrap_or(next)),
        }
    }
}

/// Both until one is good; each as far as it came, and whether the second ended first.
async fn both(
    first: std::pin::Pin<&mut impl Future<Output = Dialled>>,
    second: impl Future<Output = Dialled>,
) -> (Option<Dialled>, Option<Dialled>, bool) {
    let mut first = first;
    tokio::pin!(second);
    tokio::select! {
        own = first.as_mut() => match own {
            Ok(good) => (Some(Ok(good)), None, false),
            failed => (Some(failed), Some(second.await), false),
        },
        beside = second.as_mut() => match beside {
            Ok(good) => (None, Some(Ok(good)), true),
            failed => (Some(first.await), Some(failed), true),
        },
    }
}
