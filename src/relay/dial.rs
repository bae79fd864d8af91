//! One attempt, from its dispatch to the commit of its answer, each step within its limit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actors::permit::Permit;
use bytes::Bytes;
use policy::change::{Exclusion, Refusal};
use policy::limiter::RateHeaders;
use policy::plan::Planned;
use policy::stream::{Limit, StreamLimits};
use policy::time::Millis;
use policy::verdict::{End, Transport};

use super::cascade::Run;
use super::commit::{Allowed, Committed, Unfit, next, whole};
use super::fault::Fault;
use super::send::Hit;
use super::source::{Bounds, Source};
use crate::formats::{redact, sight, sse};
use crate::settings::{Secret, StreamSettings};
use crate::upstream::oauth::Pass;
use crate::upstream::{
    Answer, AnswerBody, Endpoint, HeaderMap, HeaderName, HeaderValue, StreamTimeouts, finder, is_event_stream,
};

/// Limit to the head of a stream, unless the combo sets one (decision 9).
const STREAM_LIMIT: Duration = Duration::from_secs(120);

/// The head of a good answer, its body being read elsewhere.
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) key: Key,
}

/// One attempt, as it is sent; the same again when it is opened again (flow 6.5).
pub(super) struct Opening<'a> {
    pub(super) endpoint: Arc<Endpoint>,
    target: &'a Planned,
    pub(super) timeouts: StreamTimeouts,
    /// To the head.
    pub(super) limit: Duration,
    /// It holds for the first content, too.
    pub(super) holds_on: bool,
    /// When the attempt was dispatched, epoch ms.
    sent_at: Millis,
}

impl Opening<'_> {
    /// Whom it is sent to.
    pub(super) fn target(&self) -> &Planned {
        self.target
    }

    /// The configured limit to the first content, ms; `None`: another one holds, which is exact.
    pub(super) fn first_content_ms(&self) -> Option<Millis> {
        (!self.holds_on).then_some(self.timeouts.first_content.as_millis() as Millis)
    }
}

/// A good head, and what comes behind it.
pub(super) enum Opened {
    /// Events.
    Stream(Head, Box<Source>),
    /// Bytes; the first ones, if they were looked at.
    Other(Head, Option<Bytes>, Box<AnswerBody>),
}

impl Opened {
    /// Events; `first`: they were found under another label, and begin so.
    fn events(head: Head, source: Source, first: Option<Bytes>) -> Self {
        let (head, source) = match first {
            Some(first) => relabelled(head, source, first),
            None => (head, Box::new(source)),
        };
        Self::Stream(head, source)
    }
}

/// Events that were found under another label.
fn relabelled(mut head: Head, mut source: Source, first: Bytes) -> (Head, Box<Source>) {
    let kind = HeaderValue::from_static("text/event-stream");
    head.headers.insert(HeaderName::from_static("content-type"), kind);
    source.feed(first);
    (head, Box::new(source))
}

/// What an attempt was sent with: an upstream may repeat it.
pub(super) struct Key {
    endpoint: Arc<Endpoint>,
    pass: Option<Arc<Pass>>,
}

impl Key {
    /// Where it was sent.
    pub(super) fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    /// The credential that must not be shown.
    pub(super) fn secret(&self) -> Option<&Secret> {
        self.pass.as_ref().map(|pass| &pass.secret).or(self.endpoint.credential.as_ref())
    }
}

impl Run<'_> {
    /// An attempt, within what a protected connection's requests may take (flow 4.12). Reaching that
    /// limit of ours aborts it and is nobody's fault.
    pub(super) async fn execute(
        &self,
        target: &Planned,
        permit: &mut Permit,
        others: bool,
    ) -> Result<(Head, Committed), Fault> {
        let Some(endpoint) = self.worker.tower.endpoints.load().get(&target.connection).cloned() else {
            return Err(Fault::of(End::Local));
        };
        let execution = endpoint.execution;
        let attempt = self.dial(endpoint, target, permit, others);
        let Some(limit) = execution else { return attempt.await };
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
        endpoint: Arc<Endpoint>,
        target: &Planned,
        permit: &mut Permit,
        others: bool,
    ) -> Result<(Head, Committed), Fault> {
        let timeouts = *endpoint.limits(&target.model);
        let (limit, holds_on) = self.limit(&timeouts, permit, others);
        let sent_at = self.worker.tower.owners.clock.now();
        let opening = Opening { endpoint, target, timeouts, limit, holds_on, sent_at };
        let opened = match self.open(&opening, permit).await {
            Err(fault) if self.leaves_thoughts_out(&fault, target) => self.open(&opening, permit).await,
            opened => opened,
        };
        match opened? {
            Opened::Stream(head, source) => self.begin(head, source, &opening, permit).await,
            Opened::Other(head, first, body) => {
                let dialect = self.inquiry.route.dialect();
                let expected = self.plan.validation.as_deref();
                let allowed = Allowed::new(limit, timeouts.body);
                match whole((first, *body), allowed, self.inquiry.route.answers(), expected).await {
                    // A client that reads events would find none, and no error: an empty answer.
                    Ok(_) if self.wants_events() => Err(Fault::of(End::Transport(Transport::BadAnswer))),
                    Ok(committed) => Ok((head, committed)),
                    Err(Unfit::Ended(end)) => Err(Fault::of(end)),
                    Err(Unfit::Breaks(breach)) => Err(Fault::breaks(breach)),
                    Err(Unfit::Late) => Err(Fault::late(Limit::Body)),
                    // It is watched like any other, so that a cut is told as one.
                    Err(Unfit::Events(first, body)) => {
                        let bounds = self.bounds(&timeouts, None);
                        let (clock, since) = (self.worker.tower.owners.clock, (self.asked_at, sent_at));
                        let source = Source::new(*body, dialect, bounds, since, clock);
                        let (head, source) = relabelled(head, source, first);
                        self.begin(head, source, &opening, permit).await
                    }
                    Err(Unfit::Failed(said)) => {
                        let status = sight::failure(&said).status;
                        let now = self.worker.tower.owners.clock.now();
                        Err(Fault::told((&said, status), dialect, head.key.secret(), now))
                    }
                }
            }
        }
    }

    /// Sends the request, and awaits a good head.
    pub(super) async fn open(&self, opening: &Opening<'_>, permit: &mut Permit) -> Result<Opened, Fault> {
        let Opening { endpoint, target, timeouts, limit, holds_on, sent_at } = opening;
        let (clock, asked) = (self.worker.tower.owners.clock, Instant::now());
        let body = self.body_for(target);
        let route = self.inquiry.route;
        let hit = self.shoot(opening, &body).await;
        if let Some(identity) = self.worker.dialler.egress(endpoint) {
            permit.came_from(identity);
        }
        let Hit { answer, pass } = match hit {
            // The whole request's time is over: that is no word about this provider.
            Err(fault) if fault.signal.end == End::NoFirstByte && self.total_left(timeouts).is_zero() => {
                return Err(Fault::late(Limit::Total));
            }
            hit => hit?,
        };
        let key = Key { endpoint: endpoint.clone(), pass };
        permit.was_told(self.limits(target, &answer));
        self.overhear(target, &answer);
        if !(200..300).contains(&answer.status) {
            return Err(Fault::read(answer, key.secret(), clock.now()).await);
        }
        let Answer { status, mut headers, body } = answer;
        if let Some(secret) = key.secret() {
            headers.retain(|_, value| !redact::holds(value.as_bytes(), secret.expose()));
        }
        let (head, mut body) = (Head { status, headers, key }, body);
        let mut first = None;
        if !is_event_stream(&head.headers) {
            if !self.wants_events() {
                return Ok(Opened::Other(head, None, Box::new(body)));
            }
            first = next(&mut body, *limit).await.map_err(Fault::of)?;
            if !first.as_deref().is_some_and(sse::begins) {
                return Ok(Opened::Other(head, first, Box::new(body)));
            }
        }
        let left = holds_on.then(|| limit.saturating_sub(asked.elapsed()));
        let bounds = self.bounds(timeouts, left);
        let source = Source::new(body, route.dialect(), bounds, (self.asked_at, *sent_at), clock);
        Ok(Opened::events(head, source, first))
    }

    /// A stream was asked for, and of the model's words.
    fn wants_events(&self) -> bool {
        self.inquiry.stream && self.inquiry.route.answers().is_some()
    }

    /// The limits of a stream. `left`: what is left of the limit to the head, which goes on to the
    /// first content if it is the combo's or a probe's.
    pub(super) fn bounds(&self, timeouts: &StreamTimeouts, left: Option<Duration>) -> Bounds {
        let ms = |limit: Duration| limit.as_millis() as Millis;
        let limits = StreamLimits {
            first_content_ms: left.map_or(ms(timeouts.first_content), |left| ms(left).max(1)),
            content_stall_ms: ms(timeouts.content_stall),
            idle_ms: ms(timeouts.idle),
            total_ms: ms(timeouts.total),
            attempt_ms: ms(timeouts.attempt),
        };
        let streaming = self.worker.tower.streaming.load();
        let StreamSettings { heartbeat, max_event, .. } = streaming.stream;
        Bounds { limits, pace: timeouts.pace, heartbeat_ms: ms(heartbeat), max_event }
    }

    /// What an answer says of the provider's limits (flow 4.5).
    fn limits(&self, target: &Planned, answer: &Answer) -> Option<RateHeaders> {
        let now = self.worker.tower.owners.clock.now();
        RateHeaders::read(target.provider.as_str(), finder(&answer.headers), answer.status, now)
    }

    /// How long the head may take, and whether that limit holds for the first content of a stream as
    /// well (decision 9); a probe is worth its lease only while another target is left (decision 5a).
    fn limit(&self, timeouts: &StreamTimeouts, permit: &Permit, others: bool) -> (Duration, bool) {
        let set = self.settings_of(permit.target()).target_timeout_ms;
        let own = match (set, self.inquiry.stream) {
            (0, true) => self.stream_limit(timeouts),
            (0, false) => timeouts.first_byte,
            (set, _) => Duration::from_millis(set),
        };
        match others && permit.is_probe() {
            true => (own.min(Duration::from_millis(permit.probe_lease_ms())), true),
            false => (own, set > 0),
        }
    }

    /// How long the head of a stream may take: what is left of the attempt and of the whole, too.
    pub(super) fn stream_limit(&self, timeouts: &StreamTimeouts) -> Duration {
        let own = STREAM_LIMIT.min(timeouts.first_byte);
        let own = own.min(self.total_left(timeouts));
        match timeouts.attempt.is_zero() {
            true => own,
            false => own.min(timeouts.attempt),
        }
    }

    /// What is left of the time that a streamed request may take.
    pub(super) fn total_left(&self, timeouts: &StreamTimeouts) -> Duration {
        if timeouts.total.is_zero() || !self.inquiry.stream {
            return Duration::MAX;
        }
        let gone = self.worker.tower.owners.clock.now().saturating_sub(self.asked_at);
        timeouts.total.saturating_sub(Duration::from_millis(gone))
    }
}
