//! What the outcome of an attempt means beside the connection's rest: to its provider, to the
//! locks of its models, and to the time that combos leave it out (core 2.5). That time lies
//! beside the actor, so that a successor goes on with it; it is never stored.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use policy::breaker::Outcome;
use policy::time::Millis;
use policy::verdict::{BreakerMark, Verdict};
use policy::window::{Mark, RetryEntry};

use super::{Connection, Settle};
use crate::provider::Record;
use crate::router::family::Decay;

impl Connection {
    /// What was said to a credential that was replaced meanwhile is not said to the new one
    /// (decision 3c). A failure of the provider is one whoever asked.
    pub(super) fn is_of_another_credential(&self, settle: &Settle) -> bool {
        let Verdict::Failure(failure) = &settle.verdict else { return false };
        settle.sent_at < self.credential_at && !matches!(failure.breaker, BreakerMark::Counts(_))
    }

    /// Takes how an attempt ended.
    pub(super) fn mark(&self, verdict: &Verdict, now: Millis) {
        let breaker = self.provider.view.load().state_at(now);
        self.change_retry(|entry| entry.record(Mark::of(verdict), breaker, now), now);
    }

    /// Changes the entry and tells if the board must know.
    pub(super) fn change_retry(
        &self,
        with: impl FnOnce(&mut RetryEntry) -> Option<&'static str>,
        now: Millis,
    ) {
        let before = **self.shared.retry.load();
        let mut entry = before;
        let why = with(&mut entry);
        if entry != before {
            self.shared.retry.store(Arc::new(entry));
        }
        if let Some(why) = why {
            let label = self.cooldown.view().label(now);
            self.note(label, label, why, now);
        }
    }

    pub(super) fn tell_provider(&self, settle: &Settle) {
        let outcome = Outcome::of(&settle.verdict, settle.counts);
        let probes = settle.grant.is_some_and(|grant| grant.probe);
        let news = match outcome {
            Outcome::Success => probes || !self.provider.view.load().is_clean(),
            Outcome::Failure(_) => true,
            Outcome::Reachable | Outcome::Neutral => probes,
        };
        let mark = Mark::of(&settle.verdict);
        if news || self.provider.window.load().minds(mark) {
            self.provider.mailbox.post(Record { grant: settle.grant, outcome, mark });
        }
    }

    pub(super) fn tell_lockouts(&self, settle: &Settle) {
        if matches!(settle.verdict, Verdict::Success) && self.shared.lockouts.load(Ordering::Relaxed) > 0 {
            let (connection, model) = (self.shared.id.clone(), settle.model.clone());
            self.links.router.mailbox.post(Decay { connection, model, direct: settle.direct });
        }
    }
}
