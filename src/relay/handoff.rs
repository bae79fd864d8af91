//! A conversation goes on with another account (routing 4.4): the summary is written in the
//! background, by a request of its own, and put before what the next account is sent.
//!
//! Its words are the user's. They are sealed before they leave this room and no log has them.

use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use actors::router::handoffs::{BeginHandoff, EndHandoff};
use bytes::Bytes;
use policy::catalogue::Step;
use policy::handoff::{Handoff, HandoffKey, Summary, TIME_LIMIT_MS};
use policy::ids::ConnectionId;
use policy::plan::{Planned, Who};
use policy::reading::AccountReading;

use super::cascade::Run;
use super::fan::hear;
use super::part::Part;
use super::{Inquiry, Worker};
use crate::formats::body::peek;
use crate::formats::fan::{prompted, summary};

/// Seals texts that are kept.
pub trait Sealing: Send + Sync {
    /// Seals a text for the record `id`; `None`: there is no key.
    fn seal(&self, id: &str, plain: &str) -> Option<String>;
    /// Opens it again.
    fn open(&self, id: &str, sealed: &str) -> Option<String>;
}

/// What is written, and for whom.
struct Writing {
    key: HandoffKey,
    from: ConnectionId,
    reading: Option<AccountReading>,
    inquiry: Inquiry,
}

impl Run<'_> {
    /// An account has served a turn: if it is about to run out, the talk is summed up for the next.
    pub(super) fn hand_over(&self, target: &Planned) {
        let Some(relay) = &self.plan.relay else { return };
        let now = self.worker.tower.owners.clock.now();
        // A part is no turn of a conversation, and a summary would ask for the next one.
        if self.inquiry.part.is_some() || !relay.is_due(&target.provider, &target.connection, now) {
            return;
        }
        let who = match &relay.settings.model {
            Some(name) => Who::Named(name.clone()),
            None => Who::Step(Step::new(target.provider.clone(), target.model.clone()).into()),
        };
        let Some(inquiry) = asking(self.inquiry, who, relay.settings.max_messages) else { return };
        let (key, from) = (relay.key.clone(), target.connection.clone());
        let reading = relay.reading(&target.connection).cloned();
        actix_rt::spawn(write(self.worker.clone(), Writing { key, from, reading, inquiry }));
    }

    /// The body with the summary that another account has left; `None`: there is none for this one.
    pub(super) fn handed(&self, target: &Planned) -> Option<(Bytes, Range<usize>)> {
        let relay = self.plan.relay.as_ref().filter(|_| self.inquiry.part.is_none())?;
        let now = self.worker.tower.owners.clock.now();
        let handoff = relay.handoff.as_ref().filter(|handoff| handoff.is_for(&target.connection, now))?;
        let dialect = self.inquiry.route.answers()?;
        let text = self.worker.tower.sealing.open(&relay.key.record(), &handoff.sealed)?;
        let body = prompted(dialect, self.body().0, &text)?;
        let span = peek(&body, false).ok()?.span;
        Some((body, span))
    }
}

fn asking(turn: &Inquiry, who: Who, most: usize) -> Option<Inquiry> {
    let body = summary(turn.route.answers()?, &turn.body, most)?;
    let mut part = Part::of(turn)?;
    let model = who.name();
    if let Who::Step(step) = who {
        part.step = Some(step);
    }
    let span = peek(&body, false).ok()?.span;
    Some(Inquiry {
        id: None,
        route: turn.route,
        model,
        span,
        stream: false,
        tools: 0,
        body,
        headers: turn.headers.clone(),
        allowed: turn.allowed.clone(),
        preferred: turn.preferred.clone(),
        key: turn.key.clone(),
        held: Duration::ZERO,
        confined: turn.confined,
        limited: false,
        // It is no turn of the session: it ties it to nobody.
        traits: std::sync::Arc::default(),
        lease: turn.lease.clone(),
        part: Some(part),
    })
}

async fn write(worker: Rc<Worker>, writing: Writing) {
    let Writing { key, from, reading, inquiry } = writing;
    let tower = &worker.tower;
    let router = &tower.owners.router.mailbox;
    if !router.ask(BeginHandoff(key.clone())).await.unwrap_or(false) {
        return;
    }
    let limit = Duration::from_millis(TIME_LIMIT_MS);
    let said = tokio::time::timeout(limit, hear(&worker, Some(&inquiry))).await;
    let summary = said.ok().and_then(|said| Summary::read(said.text()?));
    let sealed = summary.and_then(|summary| tower.sealing.seal(&key.record(), &summary.text()));
    let now = tower.owners.clock.now();
    let handoff = sealed.map(|sealed| Handoff::new(from.clone(), sealed, reading.as_ref(), now));
    let made = handoff.is_some();
    tracing::debug!(combo = %key.combo, %from, made, "a conversation was summed up for its next account");
    router.post(EndHandoff { key, handoff });
}
