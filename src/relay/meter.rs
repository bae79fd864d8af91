//! Counts the tokens of an answer for the share of its key (flow 2.15). Only answers of shared
//! accounts to known keys are looked into. Whatever ends the answer, what was counted until then
//! is told.

use std::sync::Arc;

use actors::directory::RouterShared;
use actors::router::share::Used;

use super::Chosen;
use super::cascade::Run;
use crate::formats::usage::Usage;

/// The count of one answer; told when it is dropped.
pub(super) struct Meter {
    router: Arc<RouterShared>,
    key: Arc<str>,
    from: Chosen,
    usage: Usage,
}

impl Run<'_> {
    /// A meter, if anybody counts.
    pub(super) fn meter(&self, from: Chosen) -> Option<Meter> {
        let key = self.inquiry.key.clone().filter(|_| self.plan.shared)?;
        let router = self.worker.tower.owners.router.clone();
        Some(Meter { router, key, from, usage: Usage::default() })
    }
}

impl Meter {
    /// Looks at the next bytes.
    pub(super) fn see(&mut self, bytes: &[u8]) {
        self.usage.see(bytes);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let policy::usage::Tokens { input, output, .. } = self.usage.tokens();
        if input == 0 && output == 0 {
            return;
        }
        self.router.mailbox.post(Used {
            key: self.key.clone(),
            provider: self.from.provider.clone(),
            connection: self.from.connection.clone(),
            model: self.from.model.clone(),
            input,
            output,
        });
    }
}
