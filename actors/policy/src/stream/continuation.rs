//! Going on with an answer that broke in the middle (flow 6.6), where the operator wants it.
//!
//! What the client has is never sent again. The model is shown what it said so far and asked for
//! the rest, and only what is provably the rest goes out: the new text must begin with the end of
//! the old one. Whatever cannot be shown to the model as text (a tool call, a picture, data of no
//! known shape) forbids it. An answer that cannot be completed is told as cut (decision 20).

#[cfg(test)]
mod tests;

use super::{Ending, Finish, Kind, Sight};
use crate::catalogue::Dialect;

/// How often one answer is gone on with (flow 6.4).
pub const MAX_CONTINUATIONS: u32 = 4;
/// Shortest repetition that shows where the new text goes on, characters.
pub const MIN_OVERLAP: usize = 8;
/// Longest repetition that is looked for, characters.
pub const SEAM: usize = 512;

/// What one stream has said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Text of the model.
    pub text: bool,
    /// It thought.
    pub reasoning: bool,
    /// It began a tool call.
    pub tool: bool,
    /// Something that is none of these, or an error.
    pub other: bool,
    /// The last reason it gave for stopping.
    pub finish: Option<Finish>,
    /// Its end marker.
    pub end: Option<Ending>,
}

impl Tally {
    /// Adds one frame.
    pub fn saw(&mut self, sight: &Sight) {
        match sight.kind {
            Kind::Output if sight.text > 0 => self.text = true,
            Kind::Reasoning { .. } => self.reasoning = true,
            Kind::Tool => self.tool = true,
            Kind::Output | Kind::Opaque | Kind::Error => self.other = true,
            Kind::Idle | Kind::KeepAlive | Kind::Lifecycle => {}
        }
        // Texts of several answers cannot be told apart any more.
        self.other |= sight.choices > 1;
        self.finish = sight.finish.or(self.finish);
        self.end = sight.end.or(self.end);
    }

    /// Every end marker is terminal, and so is every reason to stop, but that for tools: it ends a
    /// call, not the stream (flow 6.6.33).
    pub fn is_terminal(&self) -> bool {
        self.end.is_some() || self.finish.is_some_and(|why| why != Finish::Tools)
    }

    /// It came to its end, and that was not a failure.
    pub fn is_finished(&self) -> bool {
        self.is_terminal() && self.end != Some(Ending::Failed)
    }
}

/// What the model is asked (flow 6.6.29).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// The client's turns, and one of the model with the text sent so far.
    WithText,
    /// The client's turns alone: it only thought.
    Unchanged,
}

/// What happens after a continuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It came to its end, and so does the answer, as it says.
    Finish,
    /// `begin` says whether there is another one.
    Again,
    /// The answer is told as cut (decision 20).
    Fail,
}

/// What a continuation adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined<'a> {
    /// What goes to the client; may be empty.
    pub suffix: &'a str,
    /// What happens then.
    pub then: Then,
}

/// One client's answer, and what may be done when it breaks.
///
/// Asked before an end marker goes out: a model that thought, said `stop` and gave no text is
/// asked again, and behind a marker nothing can follow.
#[derive(Clone, Copy, Debug)]
pub struct Continuation {
    /// Switched on, and in a format whose text can be put together (flow 6.6.27).
    possible: bool,
    sent: Tally,
    done: u32,
}

impl Continuation {
    /// Nothing was sent yet. `dialect`: the one the upstream speaks.
    pub fn new(enabled: bool, dialect: Dialect) -> Self {
        let possible = enabled && matches!(dialect, Dialect::Openai | Dialect::Responses);
        Self { possible, sent: Tally::default(), done: 0 }
    }

    /// A frame of the answer that goes to the client.
    pub fn saw(&mut self, sight: &Sight) {
        self.sent.saw(sight);
    }

    /// All of the answer that has gone to the client.
    pub fn has_sent(&mut self, sent: Tally) {
        self.sent = sent;
    }

    /// Whether the answer may be gone on with (flow 6.6.27, 28).
    pub fn may_go_on(&self) -> bool {
        let sent = &self.sent;
        let broke_off = sent.text && !sent.is_terminal();
        let only_thought = !sent.text
            && sent.reasoning
            && sent.finish == Some(Finish::Stop)
            && matches!(sent.end, None | Some(Ending::Complete));
        self.possible
            && self.done < MAX_CONTINUATIONS
            && !sent.tool
            && !sent.other
            && (broke_off || only_thought)
    }

    /// Begins a continuation: says what to ask, and counts it, whatever becomes of it.
    pub fn begin(&mut self) -> Option<Turns> {
        if !self.may_go_on() {
            return None;
        }
        self.done += 1;
        Some(if self.sent.text { Turns::WithText } else { Turns::Unchanged })
    }

    /// Joins a continuation, read to its end, to the text sent so far (flow 6.6.30, 31).
    pub fn join<'a>(&mut self, sent: &str, more: &'a str, tally: &Tally) -> Joined<'a> {
        let (suffix, fails) = match seam(sent, more) {
            // A model that has nothing to add will not have it the next time (flow 6.6.28).
            Seam::Nothing => ("", true),
            // What cannot be handed on is not left out in silence.
            _ if tally.tool || tally.other => ("", true),
            Seam::Restart => return Joined { suffix: "", then: self.again() },
            Seam::Suffix(suffix) => (suffix, false),
        };
        if !suffix.is_empty() {
            // The reason it gave for stopping before was not the end of it.
            self.sent = Tally { text: true, finish: None, end: None, ..self.sent };
        }
        let then = match (fails, tally.is_finished()) {
            (true, _) => Then::Fail,
            (false, true) => Then::Finish,
            (false, false) => self.again(),
        };
        Joined { suffix, then }
    }

    fn again(&self) -> Then {
        if self.may_go_on() { Then::Again } else { Then::Fail }
    }
}

/// How a continuation fits the text before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seam<'a> {
    /// This is new.
    Suffix(&'a str),
    /// It holds no text.
    Nothing,
    /// It repeats too little of the end to be its continuation: the model began anew.
    Restart,
}

/// Cuts off the longest beginning of `more`, up to 512 characters, that repeats the end of `sent`
/// (flow 6.6.30).
pub fn seam<'a>(sent: &str, more: &'a str) -> Seam<'a> {
    if more.is_empty() {
        return Seam::Nothing;
    }
    if sent.is_empty() {
        return Seam::Suffix(more);
    }
    let ends = more.char_indices().map(|(at, char)| at + char.len_utf8()).take(SEAM);
    let repeated = ends.enumerate().filter(|(_, end)| sent.ends_with(&more[..*end])).last();
    match repeated {
        Some((index, end)) if index + 1 >= MIN_OVERLAP => Seam::Suffix(&more[end..]),
        _ => Seam::Restart,
    }
}
