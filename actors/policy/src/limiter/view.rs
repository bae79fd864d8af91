//! A limiter as people see it.

use serde::Serialize;

use super::{Learnt, Limiter};
use crate::time::Millis;

/// One limiter at one instant. Absent numbers: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimiterView {
    /// Starts left before the next refill.
    pub reservoir: Option<u64>,
    /// What that refill sets.
    pub refill: Option<u64>,
    /// From one refill to the next, ms.
    pub refill_every_ms: Option<Millis>,
    /// From one start to the next, ms.
    pub min_time_ms: Millis,
    /// Running now.
    pub running: u32,
    /// Running at most.
    pub parallel: Option<u32>,
    /// End of a stated wait, epoch ms.
    pub paused_until: Option<Millis>,
    /// The gap that headers taught.
    pub learnt: Option<Learnt>,
}

impl Limiter {
    /// As it is at `now`. Of two reservoirs the one that runs dry first is shown.
    pub fn view(&self, now: Millis) -> LimiterView {
        let mut then = *self;
        then.settle(now);
        let shown = [then.told, then.own].into_iter().flatten().min_by_key(|it| it.left());
        let parallel = then.settings.parallel;
        LimiterView {
            reservoir: then.paused_until.map(|_| 0).or(shown.map(|it| it.left())),
            refill: shown.map(|it| it.size()),
            refill_every_ms: shown.map(|it| it.every_ms()),
            min_time_ms: then.min_time_ms(),
            running: then.running,
            parallel: (parallel > 0).then_some(parallel),
            paused_until: then.paused_until,
            learnt: then.learnt,
        }
    }
}
