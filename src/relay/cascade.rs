//! The attempt loop, obeyed: acquire, dial, commit, settle, and on to what `policy` says.

use std::cell::{OnceCell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};

use actors::permit::Permit;
use actors::router::pick::{Picked, Served as Record};
use actors::router::share::Lease;
use bytes::Bytes;
use policy::attempts::{AttemptSettings, Attempts, Failed, Next};
use policy::change::{Exclusion, Refusal};
use policy::cooldown_wait::Waits;
use policy::latency::is_failed;
use policy::lease::Denied;
use policy::lockout::{LockCase, lock_for};
use policy::plan::{Excluded, Plan, Planned};
use policy::stream::Limit;
use policy::time::Millis;
use policy::verdict::{End, Failure, Verdict};

use super::commit::Committed;
use super::dial::Head;
use super::fault::{Fault, Kept, Lack, leased};
use super::hedge::{Beside, Lane};
use super::judging::{Emergency, Known};
use super::meter::Bill;
use super::stream::{Rest, Way};
use super::tried::Tried;
use super::{Chosen, Inquiry, Outcome, Part, Relayed, Reply, ReplyBody, Story, Trouble, Worker};

/// There is no way to send.
const UNAVAILABLE: Refusal = Refusal { why: Exclusion::Unavailable, retry_at: None };

/// One request on its way through the targets of a plan.
pub(super) struct Run<'a> {
    pub(super) worker: &'a Rc<Worker>,
    pub(super) inquiry: &'a Inquiry,
    pub(super) plan: Plan,
    /// Counts on the first target until an owner has answered.
    pub(super) lease: Option<Lease>,
    pub(super) attempts: Attempts,
    pub(super) kept: Vec<(Option<Kept>, Option<Lack>)>,
    /// When each attempt left, as they stand in the story's order.
    pub(super) left: Vec<Instant>,
    /// The attempt beside the one that runs, until both have ended.
    pub(super) beside: RefCell<Option<Box<Beside>>>,
    /// When the request came, epoch ms.
    pub(super) asked_at: Millis,
    /// When it came.
    pub(super) came: Instant,
    /// How often all targets were tried again (routing 7.13).
    pub(super) set_retries: u32,
    pub(super) waits: Waits,
    /// Its last resort was asked for (decision 33).
    pub(super) resorted: bool,
    pub(super) story: Story,
    pub(super) bill: Bill<'a>,
    /// What its lease said when it should have been sent.
    pub(super) denied: Option<Denied>,
    /// The latest failure was about money, and this is the last resort (rules 8.3).
    pub(super) unpaid: Option<Emergency>,
    /// The body without thoughts and where its model stands, once they were refused (FC-045).
    pub(super) thoughtless: OnceCell<(Bytes, Range<usize>)>,
}

impl<'a> Run<'a> {
    pub(super) fn new(worker: &'a Rc<Worker>, inquiry: &'a Inquiry, picked: Picked, bill: Bill<'a>) -> Self {
        let Picked { mut plan, lease } = picked;
        if let Some(part) = &inquiry.part {
            part.shape(&mut plan);
        }
        let story = Story {
            strategy: plan.strategy,
            combo: plan.combo.is_some(),
            counted: plan.counted(),
            pool_size: plan.pool_size,
            excluded: std::mem::take(&mut plan.excluded),
            unfit: std::mem::take(&mut plan.unfit),
            ..Story::default()
        };
        let attempts = Attempts::new(&plan);
        let waits = Waits::new(plan.attempts.waits, story.combo);
        let held = inquiry.held;
        let asked_at = worker.tower.owners.clock.now().saturating_sub(held.as_millis() as Millis);
        Self {
            worker,
            inquiry,
            plan,
            lease,
            attempts,
            kept: Vec::new(),
            left: Vec::new(),
            beside: RefCell::default(),
            asked_at,
            came: Instant::now().checked_sub(held).unwrap_or_else(Instant::now),
            set_retries: 0,
            waits,
            resorted: false,
            story,
            bill,
            denied: None,
            unpaid: None,
            thoughtless: OnceCell::new(),
        }
    }

    /// The set once more, as it is ordered now.
    pub(super) fn again(&mut self, Picked { mut plan, lease }: Picked) {
        self.attempts.anew(&plan);
        self.kept.clear();
        self.story.excluded = std::mem::take(&mut plan.excluded);
        self.story.unfit = std::mem::take(&mut plan.unfit);
        self.plan = plan;
        self.lease = lease;
    }

    /// Tries the targets; `None`: nothing is left to try.
    pub(super) async fn set(&mut self) -> Option<Outcome> {
        let mut next = self.attempts.first();
        let outcome = loop {
            next = match next {
                Next::Try { target, wait_ms, .. } => {
                    if wait_ms > 0 {
                        self.pause(Duration::from_millis(wait_ms)).await;
                    }
                    match self.attempt(target).await {
                        Ok(reply) => break Some(Outcome::Upstream(reply)),
                        Err(next) => next,
                    }
                }
                Next::Queue(targets) => match Box::pin(self.queue(&targets)).await {
                    Ok((target, permit)) => match self.send(target, permit).await {
                        Ok(reply) => break Some(Outcome::Upstream(reply)),
                        Err(next) => next,
                    },
                    Err(next) => next,
                },
                Next::Stop(failure) => break Some(self.as_it_failed(failure)),
                Next::Exhausted => break None,
                Next::TooMany => break Some(Outcome::Ours(Trouble::TooManyAttempts)),
            };
        };
        self.story.attempts = self.attempts.dispatched();
        outcome
    }

    /// A pause is time in which nobody works: it is not our overhead.
    pub(super) async fn pause(&mut self, wait: Duration) {
        tokio::time::sleep(wait).await;
        self.story.waited += wait;
    }

    async fn attempt(&mut self, index: usize) -> Result<Reply, Next> {
        let target = self.plan.targets[index].clone();
        let berths = match self.berths(&target).await {
            Ok(berths) => berths,
            Err(refusal) => return Err(self.refused(index, refusal)),
        };
        let others = self.attempts.others_left(index);
        let owners = &self.worker.tower.owners;
        let acquired = match !others && self.follows() {
            true => owners.acquire_behind(&target).await,
            false => owners.acquire(&target, others).await,
        };
        self.lease = None;
        match acquired {
            Ok(mut permit) => {
                permit.keep(berths);
                self.send(index, permit).await
            }
            Err(refusal) => Err(self.refused(index, refusal)),
        }
    }

    /// It has failed or sat out a rest: it follows those who try the connection first (FC-108).
    pub(super) fn follows(&self) -> bool {
        self.waits.has_waited() || self.attempts.dispatched() > 0
    }

    /// An owner said no.
    pub(super) fn refused(&mut self, index: usize, refusal: Refusal) -> Next {
        self.story.excluded.push(Excluded::refused(&self.plan.targets[index], refusal));
        self.attempts.refused(index, refusal)
    }

    async fn send(&mut self, index: usize, mut permit: Permit) -> Result<Reply, Next> {
        let target = self.plan.targets[index].clone();
        let others = self.attempts.others_left(index);
        if !self.may_dispatch() {
            return Err(Next::TooMany);
        }
        self.fence(index, &mut permit)?;
        let mut lane = Lane { index, target, permit, started: Instant::now() };
        self.enter(index, &lane.target, lane.started);
        if let Some(delay) = self.hedge_delay(index) {
            // Boxed: what most requests never do must not make the way of all of them large.
            return Box::pin(self.race(lane, delay)).await;
        }
        match self.execute(&lane.target, &mut lane.permit, others).await {
            Ok(answer) => Ok(self.succeeded(lane, answer)),
            Err(fault) => Err(self.failed(lane, fault, false).await),
        }
    }

    /// Whether the request that it is a part of may send another one (routing 7.8).
    pub(super) fn may_dispatch(&self) -> bool {
        self.inquiry.part.as_ref().is_none_or(Part::may_dispatch)
    }

    /// What the combo says of this target's provider, else of all (routing 1.4).
    pub(super) fn settings_of(&self, target: &Planned) -> &AttemptSettings {
        self.plan.own.attempts(&target.provider, &self.plan.attempts)
    }

    /// After how long the next target runs beside this one; `None`: never.
    fn hedge_delay(&self, index: usize) -> Option<Duration> {
        let own = self.settings_of(&self.plan.targets[index]);
        let delay = own.hedge_delay_ms.map(Duration::from_millis)?;
        self.attempts.hedge(index).map(|_| delay)
    }

    /// An attempt has given a good answer.
    pub(super) fn succeeded(&mut self, lane: Lane, (answer, committed): (Head, Committed)) -> Reply {
        let Lane { target, mut permit, started, .. } = lane;
        let took = started.elapsed();
        self.story.waited += took;
        self.story.terminal = None;
        self.story.tried.push(Tried::good(&target, (self.came, started), answer.status));
        self.record(&target, Some(took), false);
        self.worker.tower.metrics.attempt(&target, "success");
        permit.settle(Verdict::Success, true, !self.story.combo);
        self.hand_over(&target);
        self.reply(answer, committed, permit, &target)
    }

    /// Rules 7.6.4: whatever it has waited for, a request goes only while its lease stands; one without
    /// a lease goes nowhere that is leased by now.
    fn fence(&mut self, index: usize, permit: &mut Permit) -> Result<(), Next> {
        let denied = permit.fence(&self.worker.tower.owners, self.inquiry.fence());
        denied.map_err(|denied| self.kept_back(index, denied))
    }

    /// Its lease is over; without one, the account is another's.
    fn kept_back(&mut self, index: usize, denied: Denied) -> Next {
        if self.inquiry.lease.is_none() {
            return self.refused(index, leased(&denied));
        }
        self.denied = Some(denied);
        Next::Exhausted
    }

    /// The router remembers how a combo's models and, if it weighs them, the accounts fare.
    fn record(&self, target: &Planned, took: Option<Duration>, failed: bool) {
        if !self.plan.timed {
            return;
        }
        self.worker.tower.owners.router.mailbox.post(Record {
            combo: self.plan.combo.clone(),
            place: target.place.clone(),
            first: self.plan.targets.first().and_then(|first| first.place.clone()),
            provider: target.provider.clone(),
            connection: target.connection.clone(),
            model: target.model.clone(),
            first_byte_ms: took.map(|took| took.as_millis() as u32),
            failed,
            news: self.news(),
        });
    }

    /// An attempt has failed; what comes next. `settled`: another one beside it has the last word, so
    /// it is not tried again.
    pub(super) async fn failed(&mut self, lane: Lane, fault: Fault, settled: bool) -> Next {
        let Lane { index, ref target, mut permit, started } = lane;
        self.story.waited += started.elapsed();
        let now = self.worker.tower.owners.clock.now();
        let tower = &self.worker.tower;
        let known = Known {
            gates: &tower.gates,
            token_expires_at: self.token_end(target),
            request: &self.inquiry.body,
        };
        let verdict = tower.judging.load().judge(&fault.signal, target, &known, now);
        self.worker.tower.metrics.attempt(target, verdict.label());
        self.story.tried.push(Tried::bad(target, (self.came, started), (fault.ended(), &verdict)));
        // What is nobody's fault says nothing of the target.
        if let Some(failed) = is_failed(&verdict) {
            self.record(target, None, failed);
        }
        let mut failure = match &verdict {
            Verdict::Failure(failure) => failure.clone(),
            // Nobody's fault: the permit returns, and the next target may do better.
            Verdict::Success | Verdict::Neutral => {
                drop(permit);
                return match fault.denied {
                    Some(denied) => self.kept_back(index, denied),
                    None => self.refused(index, fault.refusal.unwrap_or(UNAVAILABLE)),
                };
            }
        };
        self.degrade(target, &fault.signal, &mut failure);
        // A dead refresh token is a 401 that nobody needs to be asked for.
        let answered = matches!(fault.signal.end, End::Status(_) | End::InStream(_) | End::CredentialDead);
        if let Some(hint) = failure.hint {
            self.waits.heard(hint.wait_ms, now);
        }
        let failed = Failed { target: index, failure: failure.clone(), answered };
        // No other target has any time left.
        let over = fault.lack == Some(Lack::Time(Limit::Total));
        self.kept.push((fault.answer, fault.lack));
        let settled = settled || permit.is_probe() || self.locks(target, &failure);
        let next = {
            let mut rng = self.worker.dice.borrow_mut();
            self.attempts.failed(failed, settled, &mut actors::router::seeded(&mut rng))
        };
        // A failure that is followed by a retry of the same target is not settled (decision 9c).
        if !over && matches!(next, Next::Try { retry: true, .. }) {
            permit.stumble(&failure);
            return next;
        }
        let counts = self.attempts.counts(index, permit.is_probe());
        permit.settle(verdict, counts, !self.story.combo);
        permit.close(&self.worker.tower.owners, &failure).await;
        match over {
            true => Next::Stop(self.attempts.failures().len() - 1),
            false => next,
        }
    }

    /// The operator wants the model locked for it, so nobody tries it again in place (routing 7.6).
    fn locks(&self, target: &Planned, failure: &Failure) -> bool {
        let plan = self.worker.tower.plan.load();
        let Some(numbers) = plan.connections.get(&target.connection) else { return false };
        let case = LockCase { provider: &target.provider, model: &target.model, use_hints: false };
        lock_for(failure, &case, &numbers.lockout).is_some_and(|(_, order)| order.by_list)
    }

    /// When the target's credential is known to expire.
    fn token_end(&self, target: &Planned) -> Option<Millis> {
        let endpoints = self.worker.tower.endpoints.load();
        endpoints.get(&target.connection)?.session.as_ref()?.view().times.expires_at
    }

    fn reply(&self, head: Head, committed: Committed, permit: Permit, target: &Planned) -> Reply {
        self.has_made(target, &committed);
        let mut meter = self.meter(target, head.status);
        let (first, rest) = match committed {
            Committed::Whole(whole) => {
                meter.see(&whole);
                meter.complete();
                let body = ReplyBody::Whole(whole);
                let Head { status, headers, .. } = head;
                return Reply { status, headers, from: Chosen::of(target), body, retry_after_ms: None };
            }
            Committed::Body(first, body) => (first, Rest::Body(body)),
            Committed::Stream(first, mut source) => {
                // It may be all the text there is.
                meter.wrote(source.wrote());
                (first, Rest::Stream(source))
            }
        };
        meter.see(&first);
        let framed = matches!(rest, Rest::Stream(_));
        let resume = if framed { self.resume(&head, target, &first) } else { None };
        let Head { status, headers, key } = head;
        let way = Way {
            tower: self.worker.tower.clone(),
            from: Chosen::of(target),
            key,
            frames: framed.then(|| self.inquiry.route.dialect()),
            direct: !self.story.combo,
            meter: Some(meter),
            resume,
        };
        let body = ReplyBody::Flowing(Box::new(Relayed::new(first, rest, permit, way)));
        Reply { status, headers, from: Chosen::of(target), body, retry_after_ms: None }
    }
}

impl Chosen {
    pub(super) fn of(target: &Planned) -> Self {
        Self {
            provider: target.provider.clone(),
            connection: target.connection.clone(),
            model: target.model.clone(),
        }
    }

    /// The same model on the same account.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.connection, &self.model) == (&other.connection, &other.model)
    }
}
