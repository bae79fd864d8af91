//! `pipeline`: which step comes next (routing 6.2).
//!
//! A step is asked as any request for its model is; here is only what its end means for the next
//! one. Nothing goes on after a step that failed.

#[cfg(test)]
mod tests;

use crate::attempts::{AttemptSettings, LONGEST_STATED_WAIT_MS};
use crate::time::Millis;

/// Added to a wait that was told: whoever comes right at its end comes too soon (routing 7.17), ms.
const MARGIN_MS: Millis = 50;

/// How a step that is not the last has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With a text.
    Text,
    /// With an answer that holds none, or none of its dialect.
    NoText,
    /// With this status; and the wait that was told with it, ms.
    Failed(u16, Option<Millis>),
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask this step, after a pause of so many ms.
    Ask {
        /// Its index.
        step: usize,
        /// Pause before it, ms.
        wait_ms: Millis,
    },
    /// End with this status.
    Stop(u16),
}

/// A pipeline at work.
#[derive(Clone, Debug, Default)]
pub struct Line {
    step: usize,
    retries: u32,
}

impl Line {
    /// The current step, which is not the last, has ended; `settings`: what is said of its provider, else
    /// of all (routing 1.4).
    pub fn ended(&mut self, ended: Ended, settings: &AttemptSettings) -> Next {
        match ended {
            Ended::Text => {
                self.step += 1;
                self.retries = 0;
                Next::Ask { step: self.step, wait_ms: 0 }
            }
            Ended::NoText => Next::Stop(502),
            Ended::Failed(status, wait_ms) => match pause(wait_ms, settings) {
                Some(wait_ms) if passes(status) && self.retries < settings.max_retries => {
                    self.retries += 1;
                    Next::Ask { step: self.step, wait_ms }
                }
                _ => Next::Stop(told(status)),
            },
        }
    }
}

/// The pause before the same step: a wait that was told takes the place of the configured one, and
/// a long one means that it is not asked again (decision 26a).
fn pause(told_ms: Option<Millis>, settings: &AttemptSettings) -> Option<Millis> {
    match told_ms {
        None => Some(settings.retry_delay_ms),
        Some(wait_ms) => (wait_ms <= LONGEST_STATED_WAIT_MS).then_some(wait_ms + MARGIN_MS),
    }
}

/// Routing 6.2d: what may be over in a moment.
fn passes(status: u16) -> bool {
    matches!(status, 429 | 502..=504)
}

/// The status that the client gets for a step's.
fn told(status: u16) -> u16 {
    if (400..600).contains(&status) { status } else { 502 }
}
