//! From a request's story to the decision that operators read.

use std::sync::Arc;
use std::time::Duration;

use policy::time::Millis;

use crate::relay::{Inquiry, Story, Tried};
use crate::telemetry::{Attempted, Decision};

/// What is remembered of a request whose answer begins now, without its id, status and cost.
pub(super) fn decision(inquiry: &Inquiry, story: Story, at: Millis) -> Decision {
    Decision {
        at,
        model: inquiry.model.clone(),
        key: inquiry.key.clone(),
        session: inquiry.traits.session.clone(),
        strategy: story.strategy,
        attempts: story.tried.iter().map(attempted).collect(),
        excluded: story.excluded,
        ..Decision::default()
    }
}

/// With what is known when the head goes out.
pub(super) fn ended(
    decision: Decision,
    (id, status): (&str, u16),
    (took, overhead): (Duration, Duration),
) -> Decision {
    Decision {
        id: Arc::from(id),
        status,
        duration_ms: took.as_millis() as Millis,
        overhead_us: overhead.as_micros() as u64,
        ..decision
    }
}

fn attempted(tried: &Tried) -> Attempted {
    let took = tried.took.as_millis() as Millis;
    Attempted {
        provider: tried.target.provider.clone(),
        model: tried.target.model.clone(),
        connection: tried.target.connection.clone(),
        started_ms: tried.started.as_millis() as Millis,
        first_byte_ms: tried.reason.is_none().then_some(took),
        duration_ms: took,
        status: tried.status,
        verdict: tried.verdict,
        reason: tried.reason,
        wait_ms: tried.wait_ms,
    }
}
