//! How the combo of a request fared, told once when its answer begins or it has failed (routing 14).

use super::{Outcome, Served, Tower, Tried};
use crate::telemetry::{Over, Try};

impl Tower {
    /// Counts a request for its combo, if it has one that is counted.
    pub fn fared(&self, served: &Served) {
        let Some(combo) = &served.story.counted else { return };
        // What nobody was asked for says nothing of it, whichever strategy it has.
        if served.story.attempts == 0 {
            return;
        }
        let at = self.owners.clock.now();
        let good = match &served.outcome {
            Outcome::Upstream(reply) => (200..300).contains(&reply.status),
            Outcome::Ours(_) => false,
        };
        let took_ms = u32::try_from(at.saturating_sub(served.asked_at)).unwrap_or(u32::MAX);
        // Parts of one answer do not stand in for each other.
        let fell_back = !served.story.fan && served.story.tried.len() > 1;
        let over = Over { strategy: served.story.strategy, good, took_ms, fell_back, at };
        self.combos.count(combo, over, served.story.tried.iter().map(tried));
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
