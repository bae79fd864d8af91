//! What a request did at one target, as it is told to people.

use std::time::{Duration, Instant};

use policy::plan::Planned;
use policy::verdict::{Told, Verdict};

use super::Chosen;

/// One attempt.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Whom it went to.
    pub target: Chosen,
    /// When it left, since the request came.
    pub started: Duration,
    /// How long until it was judged: for a good one that is when its answer began.
    pub took: Duration,
    /// The status it stands for.
    pub status: Option<u16>,
    /// What was concluded, as in metrics.
    pub verdict: &'static str,
    /// Why it failed.
    pub reason: Option<&'static str>,
    /// How it failed, where no status of the upstream tells.
    pub end: Option<Told>,
    /// The wait that was stated, ms.
    pub wait_ms: Option<u64>,
}

impl Tried {
    pub(super) fn good(target: &Planned, since: (Instant, Instant), status: u16) -> Self {
        let (status, verdict) = (Some(status), "success");
        Self { status, verdict, ..Self::new(target, since) }
    }

    pub(super) fn bad(
        target: &Planned,
        since: (Instant, Instant),
        (end, verdict): (Option<Told>, &Verdict),
    ) -> Self {
        let mut tried = Self { verdict: verdict.label(), end, ..Self::new(target, since) };
        if let Verdict::Failure(failure) = verdict {
            tried.status = Some(failure.status);
            tried.reason = Some(failure.reason.as_str());
            tried.wait_ms = failure.hint.map(|hint| hint.wait_ms);
        }
        tried
    }

    /// The verdict of one whose end nobody waited for.
    pub(super) const DROPPED: &str = "dropped";

    /// Nobody waited for its end.
    pub(super) fn dropped(target: Chosen, since: (Instant, Instant)) -> Self {
        let (verdict, reason) = (Self::DROPPED, Some(Self::DROPPED));
        Self { verdict, reason, ..Self::to(target, since) }
    }

    fn new(target: &Planned, since: (Instant, Instant)) -> Self {
        Self::to(Chosen::of(target), since)
    }

    fn to(target: Chosen, (came, left): (Instant, Instant)) -> Self {
        Self {
            target,
            started: left.duration_since(came),
            took: left.elapsed(),
            status: None,
            verdict: "",
            reason: None,
            end: None,
            wait_ms: None,
        }
    }
}
