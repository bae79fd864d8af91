//! How the combo of a request fared, told once when its answer begins or it has failed (routing 14).

use std::sync::Arc;

use policy::plan::tracked;

use super::{Inquiry, Outcome, Served, Tower, Tried, Trouble};
use crate::telemetry::{Over, Try};

impl Tower {
    /// Counts a request for its combo, if it has one that is counted. That nobody could be asked is a
    /// failure of the combo's, too.
    pub fn fared(&self, served: &Served, inquiry: &Inquiry) {
        let Some((combo, strategy)) = self.tracked(served, inquiry) else { return };
        let at = self.owners.clock.now();
        let good = match &served.outcome {
            Outcome::Upstream(reply) => (200..300).contains(&reply.status),
            Outcome::Ours(_) => false,
        };
        let took_ms = u32::try_from(at.saturating_sub(served.asked_at)).unwrap_or(u32::MAX);
        // Parts of one answer do not stand in for each other.
        let fell_back = !served.story.fan && served.story.tried.len() > 1;
        let over = Over { strategy, good, took_ms, fell_back, at };
        self.combos.count(&combo, over, served.story.tried.iter().map(tried));
    }

    /// The combo that it counts for, and its strategy. Without a plan it is known by its name alone.
    fn tracked(&self, served: &Served, inquiry: &Inquiry) -> Option<(Arc<str>, &'static str)> {
        match (&served.story.counted, &served.outcome) {
            (Some(combo), _) => Some((combo.clone(), served.story.strategy)),
            (None, Outcome::Ours(Trouble::NoPlan(_))) => tracked(&self.plan.load().catalogue, &inquiry.model),
            (None, _) => None,
        }
    }
}

fn tried(tried: &Tried) -> Try<'_> {
    let good = match tried.verdict {
        "success" => Some(true),
        "neutral" | Tried::DROPPED => None,
        _ => Some(false),
    };
    Try {
        target: (&tried.target.provider, &tried.target.model),
        good,
        took_ms: u32::try_from(tried.took.as_millis()).unwrap_or(u32::MAX),
    }
}
