//! The sets of one request: a plan's targets are tried, and if all that is in the way is a
//! short rest, they are picked and tried again after it (flow 3, decisions 15, 15b).
//!
//! How long is `policy::cooldown_wait`'s business. The wait runs in no target's own clock and
//! holds nothing: a client that leaves drops it, and nobody was asked. The first request that
//! reaches an account after its rest is a lone trial (decision 3a), so of all that wake the
//! others find another target or come behind it.

use std::rc::Rc;
use std::time::Duration;

use actors::lease::desk::NoLease;
use actors::mailbox::Unanswered;
use actors::router::pick::{Look, Pick, Picked};
use policy::blocked::{Asked, Blocked, blocked};
use policy::change::Exclusion;
use policy::cooldown_wait::SetEnd;
use policy::time::Millis;

use super::cascade::Run;
use super::fan;
use super::meter::Bill;
use super::rescue::rescue;
use super::{Inquiry, Outcome, Reply, Served, Story, Trouble, Worker};

/// Most that chance adds to a wait besides a hundredth of it (FC-108), ms.
const SPREAD_MS: Millis = 250;

/// Serves one request to its commit.
pub async fn serve(worker: &Rc<Worker>, inquiry: &Inquiry) -> Served {
    let bill = Bill::new(worker, inquiry);
    let asked_at = worker.tower.owners.clock.now();
    if !inquiry.held.is_zero() && !Box::pin(held_back(worker, inquiry.held)).await {
        let outcome = shutting_down();
        bill.unanswered(&outcome);
        return Served { outcome, story: Story::default(), asked_at };
    }
    match pick(worker, inquiry).await {
        Ok(picked) if picked.plan.fan.is_some() => {
            // Its parts are counted, each by itself.
            bill.hand_over();
            Box::pin(fan::serve(worker, inquiry, picked.plan)).await
        }
        Ok(picked) => {
            let mut run = Run::new(worker, inquiry, picked, bill);
            let outcome = run.sets().await;
            if let Some(last) = run.last_resort(&outcome)
                && let Some(mut served) =
                    Box::pin(rescue(worker, (inquiry, run.plan.combo.as_deref()), &last)).await
            {
                run.bill.hand_over();
                served.story.counted = run.story.counted.take();
                return served;
            }
            run.bill.unanswered(&outcome);
            Served { outcome, story: std::mem::take(&mut run.story), asked_at }
        }
        Err(trouble) => {
            let outcome = Outcome::Ours(trouble);
            bill.unanswered(&outcome);
            Served { outcome, story: Story::default(), asked_at }
        }
    }
}

/// The wait that a key asks for, which holds nothing; false: a shutdown has begun (FC-062).
async fn held_back(worker: &Worker, wait: Duration) -> bool {
    tokio::select! {
        () = tokio::time::sleep(wait) => true,
        () = worker.tower.closing.begun() => false,
    }
}

pub(super) async fn pick(worker: &Worker, inquiry: &Inquiry) -> Result<Picked, Trouble> {
    let owners = &worker.tower.owners;
    let told = |no_lease: NoLease| Trouble::Lease(no_lease);
    if let Some(lease) = &inquiry.lease {
        owners.check_lease(&lease.fence, lease.forced.as_deref()).map_err(|denied| told(denied.into()))?;
    }
    let mut picked = match owners.router.mailbox.ask(asking(inquiry)).await {
        Ok(picked) => picked.map_err(Trouble::NoPlan)?,
        Err(Unanswered::Full) => return Err(Trouble::RouterFull),
        Err(Unanswered::Gone) => return Err(Trouble::RouterGone),
    };
    if let Some(lease) = &inquiry.lease {
        let allowed = inquiry.allowed.clone().unwrap_or_default();
        owners.bind(&mut picked.plan, &lease.fence, &allowed).await.map_err(told)?;
    }
    Ok(picked)
}

pub(super) fn asking(inquiry: &Inquiry) -> Pick {
    Pick {
        model: inquiry.model.clone(),
        dialect: inquiry.route.dialect(),
        allowed: inquiry.allowed.clone(),
        preferred: inquiry.preferred.clone(),
        key: inquiry.key.clone(),
        limited: inquiry.limited,
        traits: inquiry.traits.clone(),
        lease: inquiry.lease.as_ref().map(|lease| lease.fence.clone()),
        step: inquiry.part.as_ref().and_then(|part| part.step.clone()),
        last_resort: false,
    }
}

impl Run<'_> {
    /// Set after set, within what a combo may take in all (routing 7.15). What is in flight when
    /// that is over is dropped, and speaks against nobody.
    async fn sets(&mut self) -> Outcome {
        if !self.story.combo {
            return self.set_after_set().await;
        }
        let limit = Duration::from_millis(self.plan.attempts.whole_ms());
        match tokio::time::timeout(limit, self.set_after_set()).await {
            Ok(outcome) => outcome,
            Err(_) => {
                self.abandon();
                Outcome::Ours(Trouble::ComboTimeout)
            }
        }
    }

    /// Set after set, until one ends the request or no wait is allowed.
    async fn set_after_set(&mut self) -> Outcome {
        let mut before = None;
        loop {
            if let Some(outcome) = self.set().await {
                return outcome;
            }
            if let Some(denied) = self.denied.take() {
                return Outcome::Ours(Trouble::Lease(denied.into()));
            }
            let tried = !self.attempts.failures().is_empty();
            let told = match before.take() {
                // An upstream has spoken; that all rest by now is not the better answer (routing 7.13).
                Some(earlier) if !tried => self.still(earlier),
                _ => self.exhausted(),
            };
            // One try, and no other answer than its own (decision 33).
            if self.plan.is_last_resort() {
                return told;
            }
            if tried && self.moved().await {
                before = Some(told);
                continue;
            }
            let wait_ms = match self.next_wait(tried).await {
                Some(wait_ms) => wait_ms,
                None => match self.set_retry(tried) {
                    Some(wait_ms) => wait_ms,
                    None if self.resorts().await => continue,
                    None => return told,
                },
            };
            let worker = self.worker;
            tokio::select! {
                () = self.pause(Duration::from_millis(wait_ms)) => {}
                () = worker.tower.closing.begun() => return shutting_down(),
            }
            match pick(self.worker, self.inquiry).await {
                Ok(picked) => self.again(picked),
                // A request without its lease is not told of what it was without it.
                Err(trouble @ Trouble::Lease(_)) => return Outcome::Ours(trouble),
                Err(_) => return told,
            }
            before = (self.attempts.dispatched() > 0).then_some(told);
        }
    }

    /// The lease has left the account that has just failed, for one that is free (rules 7.6.5): nobody
    /// waits or is told of a failure while that one is there (decision 26a).
    async fn moved(&mut self) -> bool {
        let Some(lease) = self.inquiry.lease.as_ref().filter(|_| self.attempts.may_dispatch()) else {
            return false;
        };
        let owners = &self.worker.tower.owners;
        let bound = || owners.check_lease(&lease.fence, None).ok().map(|row| row.connection);
        let before = bound();
        let Ok(picked) = pick(self.worker, self.inquiry).await else { return false };
        if picked.plan.targets.is_empty() || bound() == before {
            return false;
        }
        self.again(picked);
        true
    }

    /// How long to wait before the next set; `None`: there is none.
    async fn next_wait(&mut self, tried: bool) -> Option<Millis> {
        if !self.waits.may_wait() || !self.attempts.may_dispatch() || self.attempts.is_hopeless() {
            return None;
        }
        let owners = &self.worker.tower.owners;
        let wait_ms = if tried {
            // What the attempts of this set did to their targets; all of it was awaited.
            let looked = owners.router.mailbox.ask(Look(asking(self.inquiry))).await.ok()?.ok()?;
            self.waits.next(SetEnd::Tried, &looked.excluded, owners.clock.now())
        } else {
            self.waits.next(SetEnd::Skipped, &self.story.excluded, owners.clock.now())
        }?;
        Some(wait_ms + self.spread(wait_ms))
    }

    /// The pause before all targets are tried again because all have failed (routing 7.13), if the
    /// combo wants that; not when it would only hear the same (7.14).
    fn set_retry(&mut self, tried: bool) -> Option<Millis> {
        let settings = self.plan.attempts;
        let may = tried && self.attempts.may_dispatch() && !self.attempts.is_hopeless();
        if !may || self.set_retries >= settings.max_set_retries {
            return None;
        }
        self.set_retries += 1;
        Some(settings.set_retry_delay_ms)
    }

    /// Nothing was sent and no wait is allowed: what returns first is tried, if the combo wants that
    /// and only timers of ours are in the way (decision 33). A lease is bound to an account, and stays.
    async fn resorts(&mut self) -> bool {
        let may = self.plan.attempts.last_resort && self.inquiry.lease.is_none();
        if !may || self.attempts.dispatched() > 0 || std::mem::replace(&mut self.resorted, true) {
            return false;
        }
        let asked = Pick { last_resort: true, ..asking(self.inquiry) };
        match self.worker.tower.owners.router.mailbox.ask(asked).await {
            Ok(Ok(picked)) if !picked.plan.targets.is_empty() => {
                self.again(picked);
                true
            }
            _ => false,
        }
    }

    /// Later, never earlier: those who wait for one account do not all wake at once (FC-108).
    fn spread(&self, wait_ms: Millis) -> Millis {
        self.worker.dice.borrow_mut().u64(0..=SPREAD_MS + wait_ms / 100)
    }

    /// An earlier set's answer, with the wait as it is now.
    fn still(&self, mut earlier: Outcome) -> Outcome {
        let now = self.worker.tower.owners.clock.now();
        let asked = Asked::of(self.story.combo, self.story.strategy);
        let wait_ms = blocked(asked, &self.story.excluded, now).wait_ms();
        match &mut earlier {
            Outcome::Upstream(Reply { retry_after_ms, .. })
            | Outcome::Ours(Trouble::AllFailed { retry_after_ms, .. }) => {
                *retry_after_ms = wait_ms.or(*retry_after_ms);
            }
            Outcome::Ours(_) => {}
        }
        earlier
    }
}

/// Who only waits is not kept until the end of the grace (FC-062).
fn shutting_down() -> Outcome {
    Outcome::Ours(Trouble::Blocked(Blocked::OwnLimit(Exclusion::ShuttingDown, Some(1_000)), None))
}
