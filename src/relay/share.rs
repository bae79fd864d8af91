//! What a request tells the router of accounts that keys share (flow 2.15, 2.18).

use actors::router::share::{Gauged, News};
use policy::change::Exclusion;
use policy::ids::ProviderId;
use policy::plan::Planned;
use policy::quota::utilisation;
use policy::verdict::Kind;

use super::cascade::Run;
use crate::upstream::Answer;

impl Run<'_> {
    /// Who asked, in which session, and who was charged for it.
    pub(super) fn news(&self) -> News {
        let session = self.inquiry.traits.session.clone().filter(|_| self.inquiry.lease.is_none());
        match self.plan.shared {
            true => News { key: self.inquiry.key.clone(), charged: self.plan.charged.clone(), session },
            false => News { session, ..News::default() },
        }
    }

    /// Passes on what an answer says of the account's quota.
    pub(super) fn overhear(&self, target: &Planned, answer: &Answer) {
        if !self.plan.shared {
            return;
        }
        let readings = utilisation(|name| answer.headers.get(name)?.to_str().ok());
        if !readings.is_empty() {
            let gauged = Gauged { connection: target.connection.clone(), readings };
            self.worker.tower.owners.router.mailbox.post(gauged);
        }
    }

    /// The provider whose share is used up.
    pub(super) fn whose_share(&self) -> Option<(ProviderId, Option<Kind>)> {
        let share = |reason| reason == Exclusion::QuotaShareExceeded;
        let excluded = self.story.excluded.iter().find(|excluded| share(excluded.reason))?;
        Some((excluded.provider.clone(), None))
    }
}
