//! What a failed attempt teaches about what a provider takes (rules 8.2), and whether it was about
//! money (rules 8.3).

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use policy::plan::Planned;
use policy::tools::{Caps, is_native, limit_of};
use policy::verdict::{End, Failure, Signal, Then};
use policy::{emergency, ids::ProviderId, time::Millis};

use super::cascade::Run;
use crate::formats::body::splice;
use crate::formats::edit::with_fewer_tools;

/// How many tools providers take, as they have said. A restart forgets it: the next refusal says it
/// again.
#[derive(Debug, Default)]
pub struct ToolCaps(Mutex<Caps>);

impl ToolCaps {
    fn cap(&self, provider: &ProviderId, now: Millis) -> usize {
        self.caps().cap(provider, now)
    }

    fn learn(&self, provider: &ProviderId, limit: usize, now: Millis) -> bool {
        self.caps().learn(provider, limit, now)
    }

    fn caps(&self) -> MutexGuard<'_, Caps> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Run<'_> {
    /// The body as a target gets it: what its combos make of it, its own name of the model, and no
    /// more tools than its provider takes (rules 8.2.5).
    pub(super) fn body_for(&self, target: &Planned) -> Vec<Bytes> {
        let handed = self.handed(target);
        let (body, span) = handed.as_ref().map_or(self.body(), |(body, span)| (body, span));
        let reshaped = self.reshaped(target, body, span);
        let (body, span) = reshaped.as_ref().map_or((body, span), |(body, span)| (body, span));
        let model = target.model.as_str();
        if self.inquiry.tools == 0 {
            return splice(body, span, model);
        }
        let now = self.worker.tower.owners.clock.now();
        let cap = self.worker.tower.tool_caps.cap(&target.provider, now);
        if self.inquiry.tools <= cap || self.is_native() {
            return splice(body, span, model);
        }
        let Some((fewer, span)) = with_fewer_tools(body, span, cap) else {
            return splice(body, span, model);
        };
        let (tools, provider) = (self.inquiry.tools, &target.provider);
        tracing::warn!(%provider, tools, cap, "more tools than the provider takes: the first ones are sent");
        splice(&fewer, &span, model)
    }

    fn is_native(&self) -> bool {
        let agent = self.inquiry.headers.iter().find(|(name, _)| name == "user-agent");
        agent.and_then(|(_, value)| value.to_str().ok()).is_some_and(is_native)
    }

    /// Looks at a failure once more. A refusal for the number of tools is kept in mind; the request
    /// itself goes on only where a combo has another target: it is not sent again as it was (8.2.6).
    pub(super) fn degrade(&mut self, target: &Planned, signal: &Signal, failure: &mut Failure) {
        let (End::Status(status) | End::InStream(status)) = signal.end else {
            self.unpaid = None;
            return;
        };
        let judging = self.worker.tower.judging.load();
        let own = judging.emergency.as_ref().filter(|last| last.provider != target.provider);
        self.unpaid = own.filter(|_| emergency::is_about_money(status, &signal.text)).cloned();
        // Who sent fewer has no part in it, whatever the answer says or repeats of theirs.
        let Some(limit) = limit_of(status, &signal.text).filter(|limit| self.inquiry.tools > *limit) else {
            return;
        };
        let now = self.worker.tower.owners.clock.now();
        if self.worker.tower.tool_caps.learn(&target.provider, limit, now) {
            tracing::warn!(provider = %target.provider, limit, "it takes so many tools and no more, for a day");
        }
        if self.story.combo && failure.then == Then::Stop {
            failure.then = Then::Next;
        }
    }
}
