//! Opening a stream again that broke right after its beginning (flow 6.5).
//!
//! Most streams that break do so in their first moments. While the opening bytes are still here
//! and the client has none of them, the same request can be sent to the same account again, and
//! nobody notices. So, where the operator wants it, the opening is held a little longer than
//! decision 18 does anyway: 750 ms from the first meaningful frame on, or 64 KiB.
//!
//! A stream whose marker came is complete, whatever happens afterwards. One that is lost for good
//! gives what it holds and says that it was cut (decision 20).

#[cfg(test)]
mod tests;

use crate::time::Millis;
use crate::verdict::{End, Transport};

/// How long the opening is held (flow 6.4), ms.
pub const HOLD_MS: Millis = 750;
/// How much of it is held (flow 6.4), bytes.
pub const HOLD_BYTES: usize = 65_536;
/// How often one request is opened again (flow 6.4).
pub const MAX_REOPENS: u32 = 4;

/// How a stream stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Its body ended as a body should.
    Over,
    /// It ended otherwise.
    Broke(End),
    /// `Pace` found it too slow (flow 6.5.25).
    TooSlow,
}

impl Stop {
    /// The same request may fare better on the same account (flow 6.5.24). Not when a limit of
    /// ours was reached before any content, nor when the answer was empty: those go to the next
    /// target (flow 6.2.6, decision 18). Never when the client left.
    pub fn is_retryable(self) -> bool {
        match self {
            Self::Over | Self::TooSlow => true,
            Self::Broke(end) => is_retryable(end),
        }
    }
}

fn is_retryable(end: End) -> bool {
    match end {
        End::NoFirstByte | End::CutAfterCommit | End::StallAfterCommit => true,
        End::Transport(transport) => match transport {
            Transport::Refused
            | Transport::Dns
            | Transport::ConnectTimeout
            | Transport::Reset
            | Transport::Truncated => true,
            Transport::Tls | Transport::BadAnswer | Transport::ProxyUnreachable => false,
        },
        End::Status(_)
        | End::InStream(_)
        | End::EarlyEof
        | End::SendInterrupted
        | End::StallBeforeCommit
        | End::Empty
        | End::CredentialDead
        | End::ClientGone
        | End::Local => false,
    }
}

/// What becomes of the bytes that are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Step {
    /// They stay here.
    Hold,
    /// They go out, and so does all that follows.
    Release,
    /// The same request is sent to the same account again. They stay here until that has an
    /// answer: `reopened`, or `refused`.
    Reopen,
    /// They go out, and the answer is complete.
    Finish,
    /// They go out, and the client is told that the answer was cut (decision 20).
    Fail,
    /// They are dropped: the client left.
    Drop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The client has nothing yet; since when something is held.
    Holding(Option<Millis>),
    /// The client has a part.
    Released,
    /// Waits for a new stream.
    Reopening,
    /// It ended, one way or another.
    Over,
    /// The client left.
    Gone,
}

/// What one client's stream may still do about a failure. Told of chunks from the first meaningful
/// frame on; what decision 18 held until then belongs to the first. A new stream that stops before
/// its first meaningful frame has held nothing, and counts like any other.
#[derive(Clone, Debug)]
pub struct Recovery {
    enabled: bool,
    state: State,
    held_bytes: usize,
    marked: bool,
    reopens: u32,
}

impl Recovery {
    /// Nothing came yet. Switched off, it holds nothing and opens nothing again.
    pub fn new(enabled: bool) -> Self {
        Self { enabled, state: State::Holding(None), held_bytes: 0, marked: false, reopens: 0 }
    }

    /// How often the request was opened again.
    pub fn reopens(&self) -> u32 {
        self.reopens
    }

    /// When what is held goes out by itself, epoch ms.
    pub fn deadline(&self) -> Option<Millis> {
        match self.state {
            State::Holding(Some(since)) => Some(since.saturating_add(HOLD_MS)),
            _ => None,
        }
    }

    /// A chunk came.
    pub fn chunk(&mut self, bytes: usize, now: Millis) -> Step {
        if let State::Holding(since) = self.state {
            self.state = State::Holding(since.or(Some(now)));
            self.held_bytes = self.held_bytes.saturating_add(bytes);
        }
        self.tick(now)
    }

    /// The answer's end came among the chunks: a marker of its dialect, also one that tells of a
    /// failure. That is an answer, and it is told as it is. Said before its `chunk`, which is then
    /// not held: nothing can go wrong with it any more.
    pub fn marked(&mut self) {
        self.marked = true;
    }

    /// What the time says; asked at `deadline`.
    pub fn tick(&mut self, now: Millis) -> Step {
        match self.state {
            State::Holding(_) if self.enabled && !self.has_held_enough(now) => Step::Hold,
            State::Holding(_) | State::Released => {
                self.state = State::Released;
                Step::Release
            }
            State::Reopening => Step::Hold,
            State::Over | State::Gone => Step::Drop,
        }
    }

    /// The stream stopped. An end after the hold is over comes too late for another try, even if
    /// nobody has asked `tick` yet.
    pub fn stopped(&mut self, stop: Stop, now: Millis) -> Step {
        if stop == Stop::Broke(End::ClientGone) {
            return self.cancelled();
        }
        if self.state == State::Reopening {
            return self.refused();
        }
        match self.tick(now) {
            Step::Drop => Step::Drop,
            _ if self.marked => self.over(Step::Finish),
            Step::Hold if stop.is_retryable() && self.reopens < MAX_REOPENS => {
                self.state = State::Reopening;
                self.reopens += 1;
                Step::Reopen
            }
            _ => self.over(Step::Fail),
        }
    }

    /// The new stream is here: what is held of the old one is dropped (flow 6.5.21).
    pub fn reopened(&mut self) {
        if self.state == State::Reopening {
            *self = Self { reopens: self.reopens, ..Self::new(self.enabled) };
        }
    }

    /// There is no new stream (flow 6.5.23).
    pub fn refused(&mut self) -> Step {
        match self.state {
            State::Reopening => self.over(Step::Fail),
            _ => Step::Drop,
        }
    }

    /// The client left: nothing is sent anywhere any more (flow 6.9.46).
    pub fn cancelled(&mut self) -> Step {
        self.state = State::Gone;
        Step::Drop
    }

    fn over(&mut self, step: Step) -> Step {
        self.state = State::Over;
        step
    }

    fn has_held_enough(&self, now: Millis) -> bool {
        self.marked
            || self.held_bytes >= HOLD_BYTES
            || self.deadline().is_some_and(|deadline| deadline <= now)
    }
}
