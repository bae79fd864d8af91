//! Where an answer stands: not begun, flowing, over; and whether its end is what it seems
//! (decisions 18, 20, 21; flow 6.11; FC-003, FC-028, FC-085).

use super::{Ending, Finish, Kind, Sight};

/// Most bytes that are held back for the first meaningful frame (decision 18).
pub const HELD_MOST: usize = 64 * 1024;

/// What becomes of a frame, or of the end of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It belongs to the answer.
    Pass,
    /// The client gets a comment in its place.
    Comment,
    /// The upstream says that it failed.
    Fails,
    /// The answer is complete with it.
    Completes,
    /// The answer is over and holds nothing that anybody can use.
    Empty,
    /// The body has ended before the answer did.
    Truncated,
}

/// What has been seen of one answer.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The answer is over only when its end marker says so; else a finish reason will do.
    needs_marker: bool,
    begun: bool,
    output: bool,
    tools: bool,
    finish: Option<Finish>,
    /// Choices that were seen, and those that have stopped.
    choices: u32,
    stopped: u32,
}

impl Progress {
    /// Nothing seen. `needs_marker`: the dialect ends every complete answer with an event of its own.
    pub fn new(needs_marker: bool) -> Self {
        Self { needs_marker, begun: false, output: false, tools: false, finish: None, choices: 0, stopped: 0 }
    }

    /// The client gets this answer and no other.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// From now on it does, though nothing meaningful came: too much is held (decision 18).
    pub fn begin(&mut self) {
        self.begun = true;
    }

    /// The model has given something that its reader can use.
    pub fn has_output(&self) -> bool {
        self.output
    }

    /// It has called a tool, or begun to.
    pub fn has_tools(&self) -> bool {
        self.tools
    }

    /// Why the model stopped, if it did.
    pub fn finish(&self) -> Option<Finish> {
        self.finish
    }

    /// A frame came.
    pub fn saw(&mut self, sight: &Sight) -> Fate {
        match (sight.kind, sight.end) {
            (Kind::Error, _) | (_, Some(Ending::Failed)) => return Fate::Fails,
            (Kind::KeepAlive, None) => return Fate::Comment,
            _ => {}
        }
        self.begun |= sight.is_meaningful();
        self.output |= sight.is_output();
        self.tools |= sight.kind == Kind::Tool;
        self.finish = sight.finish.or(self.finish);
        self.choices |= sight.choices;
        self.stopped |= sight.stopped;
        match sight.end {
            // It is what it is, and says so itself.
            Some(Ending::Incomplete) => self.completes(),
            Some(_) => self.ends(),
            None => Fate::Pass,
        }
    }

    /// The body has ended as HTTP wants it. Where several answers were asked for, one that has not
    /// stopped is cut, whatever became of the others.
    pub fn closed(&mut self) -> Fate {
        let stopped = self.finish.is_some() && self.choices & !self.stopped == 0;
        match (stopped && !self.needs_marker, self.begun) {
            (true, _) => self.ends(),
            (false, true) => Fate::Truncated,
            (false, false) => Fate::Empty,
        }
    }

    /// Nothing but reasoning is nothing (decision 21), unless the model says why there is no more
    /// (FC-085): its tokens were used up, a filter, or whatever a vendor thinks of.
    fn ends(&mut self) -> Fate {
        match self.output || self.finish.is_some_and(|finish| finish != Finish::Stop) {
            true => self.completes(),
            false => Fate::Empty,
        }
    }

    fn completes(&mut self) -> Fate {
        self.begun = true;
        Fate::Completes
    }
}

#[cfg(test)]
mod tests {
    use super::{Fate, Progress};
    use crate::stream::{Ending, Finish, Kind, Sight};

    const TEXT: Sight = Sight { text: 2, ..frame(Kind::Output) };
    const ROLE: Sight = frame(Kind::Lifecycle);
    const THOUGHT: Sight = frame(Kind::Reasoning { readable: true });
    const DONE: Sight = Sight { end: Some(Ending::Complete), ..ROLE };
    const INCOMPLETE: Sight = Sight { end: Some(Ending::Incomplete), ..ROLE };
    const FAILED: Sight = Sight { end: Some(Ending::Failed), ..ROLE };

    const fn frame(kind: Kind) -> Sight {
        Sight { kind, text: 0, usage: false, finish: None, choices: 0, stopped: 0, end: None }
    }

    const fn finish(why: Finish) -> Sight {
        Sight { finish: Some(why), ..ROLE }
    }

    /// The fate of the last of these frames, or of the end of the body if `closed`.
    fn fate(needs_marker: bool, frames: &[Sight], closed: bool) -> (Fate, bool) {
        let mut progress = Progress::new(needs_marker);
        let mut fate = Fate::Pass;
        for sight in frames {
            fate = progress.saw(sight);
        }
        if closed {
            fate = progress.closed();
        }
        (fate, progress.has_begun())
    }

    #[test]
    fn nothing_begins_an_answer_but_a_meaningful_frame() {
        use Kind::{Idle, KeepAlive, Lifecycle, Opaque, Output, Reasoning, Tool};
        for (kind, begins) in [
            (Idle, false),
            (KeepAlive, false),
            (Lifecycle, false),
            (Reasoning { readable: false }, false),
            (Reasoning { readable: true }, true),
            (Tool, true),
            (Output, true),
            (Opaque, true),
        ] {
            assert_eq!(fate(true, &[frame(kind)], false).1, begins, "{kind:?}");
        }
    }

    /// FC-001, FC-002: an error before it is a failed attempt, after it a failed answer.
    #[test]
    fn fc_002_an_error_fails_wherever_it_stands() {
        for (frames, begun) in [
            (vec![frame(Kind::Error)], false),
            (vec![ROLE, frame(Kind::Idle), frame(Kind::Error)], false),
            (vec![ROLE, FAILED], false),
            (vec![TEXT, frame(Kind::Error)], true),
            (vec![TEXT, FAILED], true),
        ] {
            assert_eq!(fate(true, &frames, false), (Fate::Fails, begun), "{frames:?}");
        }
    }

    /// FC-003, FC-028, FC-083, FC-085, E124, E125 and decision 21, where a marker ends an answer.
    #[test]
    fn an_end_is_what_came_before_it() {
        use Fate::{Completes, Empty, Truncated};
        let rows = [
            (vec![TEXT, DONE], false, Completes),
            (vec![TEXT, finish(Finish::Stop)], true, Truncated),
            (vec![TEXT], true, Truncated),
            (vec![THOUGHT], true, Truncated),
            (vec![], true, Empty),
            (vec![ROLE, finish(Finish::Stop)], true, Empty),
            (vec![DONE], false, Empty),
            (vec![ROLE, finish(Finish::Stop), DONE], false, Empty),
            (vec![ROLE, finish(Finish::Length), DONE], false, Completes),
            (vec![ROLE, finish(Finish::Filter), DONE], false, Completes),
            (vec![ROLE, finish(Finish::Tools), DONE], false, Completes),
            (vec![ROLE, finish(Finish::Other), DONE], false, Completes),
            (vec![THOUGHT, finish(Finish::Stop), DONE], false, Empty),
            (vec![THOUGHT, finish(Finish::Length), DONE], false, Completes),
            (vec![THOUGHT, frame(Kind::Tool), DONE], false, Completes),
            (vec![ROLE, INCOMPLETE], false, Completes),
        ];
        for (frames, closed, expected) in rows {
            assert_eq!(fate(true, &frames, closed).0, expected, "{frames:?}");
        }
    }

    /// A chat answer may end with its finish reason alone; `[DONE]` without one will do, too (FC-083).
    #[test]
    fn where_no_marker_is_needed_a_finish_reason_ends_an_answer() {
        use Fate::{Completes, Empty, Truncated};
        for (frames, expected) in [
            (vec![TEXT, finish(Finish::Stop)], Completes),
            (vec![TEXT, finish(Finish::Tools)], Completes),
            (vec![ROLE, finish(Finish::Length)], Completes),
            (vec![ROLE, finish(Finish::Stop)], Empty),
            (vec![TEXT], Truncated),
            (vec![ROLE], Empty),
        ] {
            assert_eq!(fate(false, &frames, true).0, expected, "{frames:?}");
        }
        assert_eq!(fate(false, &[TEXT, DONE], false).0, Completes);
    }

    /// FC-003: each of several answers has its own end.
    #[test]
    fn fc_003_a_choice_that_has_not_stopped_is_cut() {
        let says = |choices| Sight { choices, ..TEXT };
        let stops = |stopped| Sight { choices: stopped, stopped, ..finish(Finish::Stop) };
        for (frames, expected) in [
            (vec![says(1), says(2), stops(2)], Fate::Truncated),
            (vec![says(1), says(2), stops(1)], Fate::Truncated),
            (vec![says(1), says(2), stops(2), stops(1)], Fate::Completes),
            (vec![says(3), stops(3)], Fate::Completes),
            (vec![says(1), stops(1), says(1)], Fate::Completes),
        ] {
            assert_eq!(fate(false, &frames, true).0, expected, "{frames:?}");
        }
        assert_eq!(fate(false, &[says(1), says(2), stops(2), DONE], false).0, Fate::Completes);
    }

    #[test]
    fn what_completes_has_begun() {
        assert!(fate(true, &[ROLE, INCOMPLETE], false).1);
        assert!(fate(false, &[finish(Finish::Length)], true).1);
        assert!(!fate(true, &[DONE], false).1);
        let mut held = Progress::new(true);
        held.begin();
        assert_eq!(held.closed(), Fate::Truncated);
    }

    #[test]
    fn a_typed_keep_alive_reaches_the_client_as_a_comment() {
        assert_eq!(fate(true, &[frame(Kind::KeepAlive)], false), (Fate::Comment, false));
    }
}
