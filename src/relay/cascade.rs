//! The attempt loop, obeyed: acquire, dial, commit, settle, and on to what `policy` says.

use std::time::{Duration, Instant};

use actors::permit::Permit;
use actors::router::pick::{Picked, Served as Record};
use actors::router::share::Lease;
use policy::attempts::{Attempts, Failed, LastAnswer, Next};
use policy::blocked::{Blocked, blocked};
use policy::change::{Exclusion, Refusal};
use policy::cooldown_wait::Waits;
use policy::latency::is_failed;
use policy::limiter::RateHeaders;
use policy::plan::{Excluded, Plan, Planned};
use policy::time::Millis;
use policy::verdict::{End, Verdict};

use super::commit::{Committed, commit};
use super::fault::{Fault, Kept};
use super::judging::Known;
use super::meter::Bill;
use super::send::{Shot, send};
use super::stream::Way;
use super::{Chosen, Inquiry, Outcome, Relayed, Reply, ReplyBody, Story, Trouble, Worker};
use crate::formats::body::splice;
use crate::formats::redact;
use crate::upstream::{Answer, Endpoint, HeaderMap};

/// Limit to the first bytes of a stream, unless the combo sets one (decision 9).
const STREAM_LIMIT: Duration = Duration::from_secs(120);

/// There is no way to send.
const UNAVAILABLE: Refusal = Refusal { why: Exclusion::Unavailable, retry_at: None };

/// One request on its way through the targets of a plan.
pub(super) struct Run<'a> {
    pub(super) worker: &'a Worker,
    pub(super) inquiry: &'a Inquiry,
    pub(super) plan: Plan,
    /// Counts on the first target until an owner has answered.
    pub(super) lease: Option<Lease>,
    pub(super) attempts: Attempts,
    kept: Vec<Option<Kept>>,
    pub(super) waits: Waits,
    pub(super) story: Story,
    pub(super) bill: Bill<'a>,
}

impl<'a> Run<'a> {
    pub(super) fn new(worker: &'a Worker, inquiry: &'a Inquiry, picked: Picked, bill: Bill<'a>) -> Self {
        let Picked { mut plan, lease } = picked;
        let story = Story {
            strategy: plan.strategy,
            combo: plan.combo.is_some(),
            pool_size: plan.pool_size,
            excluded: std::mem::take(&mut plan.excluded),
            ..Story::default()
        };
        let attempts = Attempts::new(&plan);
        let waits = Waits::new(plan.attempts.waits, story.combo);
        Self { worker, inquiry, plan, lease, attempts, kept: Vec::new(), waits, story, bill }
    }

    /// The set once more, as it is ordered now.
    pub(super) fn again(&mut self, Picked { mut plan, lease }: Picked) {
        self.attempts.anew(&plan);
        self.kept.clear();
        self.story.excluded = std::mem::take(&mut plan.excluded);
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
                Next::Queue(targets) => match self.queue(&targets).await {
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
        let others = self.attempts.others_left(index);
        let owners = &self.worker.tower.owners;
        let acquired = match !others && self.follows() {
            true => owners.acquire_behind(&target).await,
            false => owners.acquire(&target, others).await,
        };
        self.lease = None;
        match acquired {
            Ok(permit) => self.send(index, permit).await,
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
        self.attempts.dispatch(index);
        self.story.order.push(Chosen::of(&target));
        self.bill.sent(&Chosen::of(&target));
        let started = Instant::now();
        let dialled = self.execute(&target, &mut permit, others).await;
        let took = started.elapsed();
        self.story.waited += took;
        match dialled {
            Ok((answer, committed)) => {
                self.record(&target, Some(took), false);
                self.worker.tower.metrics.attempt(&target, "success");
                permit.settle(Verdict::Success, true, !self.story.combo);
                Ok(self.reply(answer, committed, permit, &target))
            }
            Err(fault) => Err(self.failed(index, &target, permit, fault).await),
        }
    }

    /// The router remembers how a combo's models and, if it weighs them, the accounts fare.
    fn record(&self, target: &Planned, took: Option<Duration>, failed: bool) {
        if !self.plan.timed {
            return;
        }
        self.worker.tower.owners.router.mailbox.post(Record {
            combo: self.plan.combo.clone(),
            provider: target.provider.clone(),
            connection: target.connection.clone(),
            model: target.model.clone(),
            first_byte_ms: took.map(|took| took.as_millis() as u32),
            failed,
            news: self.news(),
        });
    }

    async fn failed(&mut self, index: usize, target: &Planned, mut permit: Permit, fault: Fault) -> Next {
        let now = self.worker.tower.owners.clock.now();
        let tower = &self.worker.tower;
        let known = Known {
            gates: &tower.gates,
            token_expires_at: self.token_end(target),
            request: &self.inquiry.body,
        };
        let verdict = tower.judging.load().judge(&fault.signal, target, &known, now);
        self.worker.tower.metrics.attempt(target, verdict.label());
        // What is nobody's fault says nothing of the target.
        if let Some(failed) = is_failed(&verdict) {
            self.record(target, None, failed);
        }
        let failure = match &verdict {
            Verdict::Failure(failure) => failure.clone(),
            // Nobody's fault: the permit returns, and the next target may do better.
            Verdict::Success | Verdict::Neutral => {
                drop(permit);
                return self.refused(index, fault.refusal.unwrap_or(UNAVAILABLE));
            }
        };
        // A dead refresh token is a 401 that nobody needs to be asked for.
        let answered = matches!(fault.signal.end, End::Status(_) | End::CredentialDead);
        if let Some(hint) = failure.hint {
            self.waits.heard(hint.wait_ms, now);
        }
        let failed = Failed { target: index, failure: failure.clone(), answered };
        self.kept.push(fault.answer);
        let probe = permit.is_probe();
        let next = {
            let mut rng = self.worker.dice.borrow_mut();
            self.attempts.failed(failed, probe, &mut actors::router::seeded(&mut rng))
        };
        // A failure that is followed by a retry of the same target is not settled (decision 9c).
        if matches!(next, Next::Try { retry: true, .. }) {
            permit.stumble(&failure);
            return next;
        }
        let counts = self.attempts.counts(index, permit.is_probe());
        permit.settle(verdict, counts, !self.story.combo);
        permit.close(&self.worker.tower.owners, &failure).await;
        next
    }

    /// When the target's credential is known to expire.
    fn token_end(&self, target: &Planned) -> Option<Millis> {
        let endpoints = self.worker.tower.endpoints.load();
        endpoints.get(&target.connection)?.session.as_ref()?.view().times.expires_at
    }

    /// An attempt, within what a protected connection's requests may take (flow 4.12). Reaching that
    /// limit of ours aborts it and is nobody's fault.
    async fn execute(
        &self,
        target: &Planned,
        permit: &mut Permit,
        others: bool,
    ) -> Result<(Head, Committed), Fault> {
        let Some(endpoint) = self.worker.tower.endpoints.load().get(&target.connection).cloned() else {
            return Err(Fault::of(End::Local));
        };
        let attempt = self.dial(&endpoint, target, permit, others);
        let Some(limit) = endpoint.execution else { return attempt.await };
        match tokio::time::timeout(limit, attempt).await {
            Ok(dialled) => dialled,
            Err(_) => {
                let soon = self.worker.tower.owners.clock.now() + 1_000;
                Err(Fault::refused(Refusal { why: Exclusion::ExecutionTimeout, retry_at: Some(soon) }))
            }
        }
    }

    async fn dial(
        &self,
        endpoint: &Endpoint,
        target: &Planned,
        permit: &mut Permit,
        others: bool,
    ) -> Result<(Head, Committed), Fault> {
        let limit = self.limit(endpoint, permit, others);
        let asked = Instant::now();
        let body = splice(&self.inquiry.body, &self.inquiry.span, target.model.as_str());
        let shot = Shot { endpoint, route: self.inquiry.route, headers: &self.inquiry.headers, body: &body };
        let hit = send(self.worker, &shot, tokio::time::Instant::now() + limit).await;
        if let Some(identity) = self.worker.dialler.egress(endpoint) {
            permit.came_from(identity);
        }
        let hit = hit?;
        permit.was_told(self.limits(target, &hit.answer));
        self.overhear(target, &hit.answer);
        if !(200..300).contains(&hit.answer.status) {
            let now = self.worker.tower.owners.clock.now();
            let secret = hit.secret(endpoint).cloned();
            return Err(Fault::read(hit.answer, secret.as_ref(), now).await);
        }
        let mut headers = hit.answer.headers.clone();
        if let Some(secret) = hit.secret(endpoint) {
            headers.retain(|_, value| !redact::holds(value.as_bytes(), secret.expose()));
        }
        let answer = hit.answer;
        let streamed = is_event_stream(&headers);
        let head = Head { status: answer.status, headers, streamed };
        let silence = match self.inquiry.stream {
            true => limit.saturating_sub(asked.elapsed()),
            false => limit,
        };
        match commit(answer, streamed, silence).await {
            Ok(committed) => Ok((head, committed)),
            Err(end) => Err(Fault::of(end)),
        }
    }

    /// What an answer says of the provider's limits (flow 4.5).
    fn limits(&self, target: &Planned, answer: &Answer) -> Option<RateHeaders> {
        let find = |name: &str| answer.headers.get(name).map(|value| value.as_bytes());
        let now = self.worker.tower.owners.clock.now();
        RateHeaders::read(target.provider.as_str(), find, answer.status, now)
    }

    /// Decision 9; a probe is worth its lease only while another target is left (decision 5a).
    fn limit(&self, endpoint: &Endpoint, permit: &Permit, others: bool) -> Duration {
        let own = match (self.plan.attempts.target_timeout_ms, self.inquiry.stream) {
            (0, true) => STREAM_LIMIT.min(endpoint.first_byte_timeout),
            (0, false) => endpoint.first_byte_timeout,
            (set, _) => Duration::from_millis(set),
        };
        match others && permit.is_probe() {
            true => own.min(Duration::from_millis(permit.probe_lease_ms())),
            false => own,
        }
    }

    fn reply(&self, head: Head, committed: Committed, permit: Permit, target: &Planned) -> Reply {
        let mut meter = self.meter(Chosen::of(target), head.status);
        meter.see(&committed.first);
        let body = match committed.rest {
            Some(rest) => {
                let way = Way {
                    frames: head.streamed.then(|| self.inquiry.route.dialect()),
                    direct: !self.story.combo,
                    cutoff: self.worker.tower.cutoff.clone(),
                    meter: Some(meter),
                };
                ReplyBody::Flowing(Box::new(Relayed::new(committed.first, rest, permit, way)))
            }
            None => {
                meter.complete();
                ReplyBody::Whole(committed.first)
            }
        };
        let (status, headers) = (head.status, head.headers);
        Reply { status, headers, from: Chosen::of(target), body, retry_after_ms: None }
    }

    /// What to tell when nothing is left to try.
    pub(super) fn exhausted(&mut self) -> Outcome {
        if self.attempts.failures().is_empty() {
            return Outcome::Ours(self.blocked());
        }
        match self.attempts.last_answer() {
            LastAnswer::Upstream(failure) => self.as_it_failed(failure),
            LastAnswer::AuthFailed => Outcome::Ours(Trouble::UpstreamAuth),
            LastAnswer::CreditsExhausted => Outcome::Ours(Trouble::UpstreamCredits),
            LastAnswer::Ours(status) => {
                Outcome::Ours(Trouble::AllFailed { status, retry_after_ms: self.smallest_wait() })
            }
        }
    }

    fn blocked(&self) -> Trouble {
        let now = self.worker.tower.owners.clock.now();
        let why = blocked(self.story.combo, &self.story.excluded, now);
        let provider = match why {
            Blocked::CircuitOpen(_) => self.story.excluded.first().map(|excluded| {
                let handle = self.worker.tower.owners.directory.provider(&excluded.provider);
                (excluded.provider.clone(), handle.and_then(|handle| handle.view.load().last_kind))
            }),
            Blocked::QuotaShareExceeded(_) => self.whose_share(),
            _ => None,
        };
        Trouble::Blocked(why, provider)
    }

    fn smallest_wait(&self) -> Option<u64> {
        self.attempts
            .failures()
            .iter()
            .filter_map(|failed| {
                let stated = failed.failure.hint.map(|hint| hint.wait_ms);
                stated.or(failed.failure.client_wait_ms)
            })
            .min()
    }

    /// Decision 9b: the upstream's own status and body; a misstated status as it should have been
    /// (rules 2).
    fn as_it_failed(&mut self, failure: usize) -> Outcome {
        let target = self.attempts.failures()[failure].target;
        let judged = &self.attempts.failures()[failure].failure;
        let (status, restated) = (judged.status, judged.restated_from.is_some());
        let Some(kept) = self.kept[failure].take() else {
            return Outcome::Ours(Trouble::AllFailed { status, retry_after_ms: self.smallest_wait() });
        };
        Outcome::Upstream(Reply {
            status: if restated { status } else { kept.status },
            headers: kept.headers,
            from: Chosen::of(&self.plan.targets[target]),
            body: ReplyBody::Whole(kept.body),
            retry_after_ms: self.smallest_wait(),
        })
    }
}

/// The head of a good answer, its body being read elsewhere.
struct Head {
    status: u16,
    headers: HeaderMap,
    streamed: bool,
}

impl Chosen {
    fn of(target: &Planned) -> Self {
        Self {
            provider: target.provider.clone(),
            connection: target.connection.clone(),
            model: target.model.clone(),
        }
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get("content-type").and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
}
