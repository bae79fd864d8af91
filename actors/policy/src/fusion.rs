//! `fusion`: when a panel has said enough, and what follows (routing 6.1).
//!
//! The machine is told how each member ended and asked, at any instant, whether to wait on. It
//! knows no clock: whoever reads it late gets the same answer as whoever woke in time.

#[cfg(test)]
mod tests;

use std::fmt;

use crate::strategy::FusionSettings;
use crate::time::Millis;

/// How a member ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With a text.
    Answered,
    /// Without.
    Missed(Miss),
}

/// Why there is no answer of a member (routing 6.1e).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss {
    /// The others were enough and it was too slow.
    StragglerDropped,
    /// The panel's time was over.
    Timeout,
    /// It could not be asked.
    Threw,
    /// It answered with an error.
    Status(u16),
    /// Its answer had no text.
    EmptyContent,
    /// Its answer was none of its dialect.
    Unparseable,
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StragglerDropped => f.write_str("straggler_dropped"),
            Self::Timeout => f.write_str("timeout"),
            Self::Threw => f.write_str("threw"),
            Self::Status(status) => write!(f, "status_{status}"),
            Self::EmptyContent => f.write_str("empty_content"),
            Self::Unparseable => f.write_str("unparseable"),
        }
    }
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collect {
    /// Wait for a member, at most until this instant, epoch ms.
    Wait(Millis),
    /// It is over; members that have not ended are dropped.
    Done,
}

/// What follows the panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// The judge gets the answers of these members.
    Judge(Vec<usize>),
    /// This member is asked again, with the client's own request (routing 6.1f).
    Alone(usize),
    /// Nobody has answered; why, by member.
    Nobody(Vec<Miss>),
}

/// What to do with a request before anybody is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// There is nobody to ask: 400.
    Empty,
    /// The only member, with the client's own request.
    Only,
    /// The judge alone, with the client's own request: tools are no panel's business (6.1b).
    JudgeAlone,
    /// The panel.
    Panel,
}

/// How a request is served; `members`: those who could be asked for words; `plain`: it brings no tools
/// and wants a model's words. A combo of one member has that one as its judge.
pub fn opening(members: usize, plain: bool) -> Opening {
    match (members, plain) {
        (_, false) => Opening::JudgeAlone,
        (0, true) => Opening::Empty,
        (1, true) => Opening::Only,
        (_, true) => Opening::Panel,
    }
}

/// A panel at work.
#[derive(Clone, Debug)]
pub struct Panel {
    ended: Vec<Option<Ended>>,
    /// How many answers are enough.
    enough: usize,
    grace_ms: Millis,
    /// When it is over, whoever has answered.
    ends_at: Millis,
    /// When enough had answered.
    enough_at: Option<Millis>,
    judged: bool,
}

impl Panel {
    /// All members are asked now.
    pub fn new(settings: &FusionSettings, members: usize, now: Millis) -> Self {
        Self {
            ended: vec![None; members],
            enough: settings.min_panel.clamp(1, members.max(1)),
            grace_ms: settings.straggler_grace_ms,
            ends_at: now.saturating_add(settings.panel_hard_timeout_ms),
            enough_at: None,
            judged: settings.judge.is_some(),
        }
    }

    /// A member has ended. What comes after its time does not count.
    pub fn ended(&mut self, member: usize, ended: Ended, now: Millis) {
        if now >= self.until() {
            return;
        }
        self.ended[member] = Some(ended);
        let answered = self.answered().count();
        if answered >= self.enough && self.enough_at.is_none() {
            self.enough_at = Some(now);
        }
    }

    /// Whether to wait on.
    pub fn next(&self, now: Millis) -> Collect {
        let until = self.until();
        match self.ended.iter().all(Option::is_some) || now >= until {
            true => Collect::Done,
            false => Collect::Wait(until),
        }
    }

    /// Why a member that has not ended is dropped.
    pub fn miss(&self, member: usize) -> Option<Miss> {
        match self.ended[member] {
            Some(Ended::Answered) => None,
            Some(Ended::Missed(miss)) => Some(miss),
            None if self.until() < self.ends_at => Some(Miss::StragglerDropped),
            None => Some(Miss::Timeout),
        }
    }

    /// What follows.
    pub fn then(&self) -> Then {
        let answered: Vec<usize> = self.answered().collect();
        match answered[..] {
            [] => Then::Nobody((0..self.ended.len()).filter_map(|member| self.miss(member)).collect()),
            [survivor] if !self.judged => Then::Alone(survivor),
            _ => Then::Judge(answered),
        }
    }

    fn answered(&self) -> impl Iterator<Item = usize> {
        let answered = |ended: &Option<Ended>| *ended == Some(Ended::Answered);
        self.ended.iter().enumerate().filter(move |(_, ended)| answered(ended)).map(|(member, _)| member)
    }

    fn until(&self) -> Millis {
        let grace_ends = self.enough_at.map(|at| at.saturating_add(self.grace_ms));
        grace_ends.map_or(self.ends_at, |at| at.min(self.ends_at))
    }
}
