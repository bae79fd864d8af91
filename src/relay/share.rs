//! What a request tells the router of accounts that keys share (flow 2.15, 2.18), of quotas, and of
//! who made which response (FC-101).

use actors::router::answers::Made;
use actors::router::share::{Gauged, News};
use policy::change::Exclusion;
use policy::ids::ProviderId;
use policy::plan::Planned;
use policy::reading;
use policy::verdict::Kind;

use super::cascade::Run;
use super::commit::Committed;
use crate::formats::response;
use crate::upstream::{Answer, Route, finder};

impl Run<'_> {
    /// Who asked, in which session, and who was charged for it.
    pub(super) fn news(&self) -> News {
        let session = self.inquiry.traits.session.clone().filter(|_| self.inquiry.lease.is_none());
        let news = News { session, asked_at: self.asked_at, ..News::default() };
        match self.plan.shared {
            true => News { key: self.inquiry.key.clone(), charged: self.plan.charged.clone(), ..news },
            false => news,
        }
    }

    /// Passes on what an answer says of the account's quota, where anybody wants to know.
    pub(super) fn overhear(&self, target: &Planned, answer: &Answer) {
        if !self.plan.reads_quota {
            return;
        }
        if let Some(reading) = reading::read(&finder(&answer.headers), self.worker.tower.owners.clock.now()) {
            let gauged = Gauged { connection: target.connection.clone(), reading };
            self.worker.tower.owners.router.mailbox.post(gauged);
        }
    }

    /// Passes on whose response an answer is: before any of it goes to the client, who may go on from
    /// it at once.
    pub(super) fn has_made(&self, target: &Planned, committed: &Committed) {
        if self.inquiry.route != Route::Responses {
            return;
        }
        let (first, framed) = match committed {
            Committed::Whole(first) => (first, self.inquiry.stream),
            Committed::Body(first, _) => (first, false),
            Committed::Stream(first, _) => (first, true),
        };
        if let Some(response) = response::made(first, framed) {
            let (provider, connection) = (target.provider.clone(), target.connection.clone());
            self.worker.tower.owners.router.mailbox.post(Made { response, provider, connection });
        }
    }

    /// The provider whose share is used up.
    pub(super) fn whose_share(&self) -> Option<(ProviderId, Option<Kind>)> {
        let share = |reason| reason == Exclusion::QuotaShareExceeded;
        let excluded = self.story.excluded.iter().find(|excluded| share(excluded.reason))?;
        Some((excluded.provider.clone(), None))
    }
}
