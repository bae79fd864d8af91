//! From a request's story to the decision that operators read. A client that leaves before its answer
//! begins leaves a row, too (FC-131).

use std::sync::Arc;
use std::time::{Duration, Instant};

use policy::time::Millis;

use super::{Inquiry, Story, Tried, Worker};
use crate::telemetry::{Attempted, Decision};

/// The status of a request whose client has left: there was nobody to tell it.
const LEFT: u16 = 499;

/// Bytes of a model's name that are remembered: a longer one is refused, but its request has a row.
const LONGEST_NAME: usize = 512;

/// The name that a client wrote, cut if it is longer than any name may be: what is remembered of
/// strangers is bounded.
fn remembered(model: &Arc<str>) -> Arc<str> {
    match model.len() {
        0..=LONGEST_NAME => model.clone(),
        _ => format!("{}…", &model[..model.floor_char_boundary(LONGEST_NAME)]).into(),
    }
}

/// What is remembered of a request whose answer begins now, without its id, status and cost.
pub fn decision(inquiry: &Inquiry, mut story: Story, at: Millis) -> Decision {
    story.excluded.append(&mut story.unfit);
    Decision {
        at,
        model: remembered(&inquiry.model),
        key: inquiry.key.clone(),
        session: inquiry.traits.session.clone(),
        strategy: story.strategy,
        attempts: story.tried.iter().map(attempted).collect(),
        excluded: story.excluded,
        ..Decision::default()
    }
}

/// With what is known when the head goes out.
pub fn ended(
    decision: Decision,
    (id, status): (&Arc<str>, u16),
    (took, overhead): (Duration, Duration),
) -> Decision {
    Decision {
        id: id.clone(),
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
        end: tried.end.map(|end| end.code),
        wait_ms: tried.wait_ms,
    }
}

/// A client has left before its answer began: what was done for it until then.
pub(super) fn left(worker: &Worker, inquiry: &Inquiry, story: Story, came: Instant) {
    let Some(id) = &inquiry.id else { return };
    let (tower, took) = (&worker.tower, came.elapsed());
    let status = match (std::thread::panicking(), tower.closing.has_begun()) {
        (true, _) => 500,
        (_, true) => 503,
        _ => LEFT,
    };
    let waiting = story.tried.iter().filter(|tried| tried.verdict == Tried::DROPPED).map(|tried| tried.took);
    let waited = story.waited + waiting.max().unwrap_or_default();
    let asked_at = tower.owners.clock.now().saturating_sub(took.as_millis() as Millis);
    let decision = decision(inquiry, story, asked_at);
    tower.decisions.add(ended(decision, (id, status), (took, took.saturating_sub(waited))));
}
