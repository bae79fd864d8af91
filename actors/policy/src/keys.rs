//! What a client key may do, and how much of it (routing 10.5).
//!
//! Rules and counts are values; whoever owns the counts asks with `now`. A request is counted only
//! when nothing stands against it, so that a client that keeps asking does not lengthen its wait.

mod budget;
mod rate;
mod reach;
mod schedule;
mod sessions;
#[cfg(test)]
mod tests;

pub use budget::{Budget, BudgetWindow, Spent};
pub use rate::Rate;
pub use reach::{Asked, Fallen, Reach, Standing};
pub use schedule::{DAY_MIN, Schedule};
pub use sessions::SESSION_MS;

use crate::time::Millis;
use rate::Log;
use sessions::Sessions;

/// How much a key may do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Requests by window.
    pub rates: Vec<Rate>,
    /// Money by window of the calendar.
    pub budgets: Vec<Budget>,
    /// Sessions at once; 0: no limit.
    pub max_sessions: u32,
}

impl Limits {
    /// Nothing has to be counted.
    pub fn is_empty(&self) -> bool {
        self.rates.is_empty() && self.budgets.is_empty() && self.max_sessions == 0
    }
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Requests of a window.
    Rate,
    /// Money of a window.
    Budget,
    /// Sessions at once.
    Sessions,
}

/// A request that a key may not make now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The limit.
    pub over: Over,
    /// From when on it would be let through, if nothing else happens, ms.
    pub wait_ms: Millis,
}

/// What a key has done of late.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// By length of the window: a limit that is changed finds what was counted for it.
    logs: Vec<(Millis, Log)>,
    sessions: Sessions,
}

impl Counts {
    /// Lets a request through and counts it, or says what is in its way for longest.
    pub fn admit(
        &mut self,
        limits: &Limits,
        spent: Option<&Spent>,
        session: Option<&str>,
        now: Millis,
    ) -> Result<(), Denial> {
        self.would_admit(limits, spent, session, now)?;
        for rate in &limits.rates {
            self.log(rate).count(*rate, now);
        }
        if limits.max_sessions > 0 {
            self.sessions.note(session, now);
        }
        Ok(())
    }

    /// The same of a request that nobody makes: it is not counted.
    pub fn would_admit(
        &mut self,
        limits: &Limits,
        spent: Option<&Spent>,
        session: Option<&str>,
        now: Millis,
    ) -> Result<(), Denial> {
        let budget =
            spent.and_then(|spent| spent.wait(&limits.budgets, now)).map(|wait| (Over::Budget, wait));
        let rate = limits.rates.iter().filter_map(|rate| self.log(rate).wait(*rate, now)).max();
        let rate = rate.map(|wait| (Over::Rate, wait));
        let sessions = self.sessions.wait(session, limits.max_sessions, now);
        let sessions = sessions.map(|wait| (Over::Sessions, wait));
        let longest = [budget, rate, sessions].into_iter().flatten().max_by_key(|it| it.1);
        longest.map_or(Ok(()), |(over, wait_ms)| Err(Denial { over, wait_ms }))
    }

    fn log(&mut self, rate: &Rate) -> &mut Log {
        let at = self.logs.iter().position(|(window, _)| *window == rate.window_ms).unwrap_or_else(|| {
            self.logs.push((rate.window_ms, Log::default()));
            self.logs.len() - 1
        });
        &mut self.logs[at].1
    }
}
