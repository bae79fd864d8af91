//! A line of calls: first in, first out, with a depth and deadlines (flow 4.10, 4.11, 4.13).

use std::collections::VecDeque;

use super::{FREE, T0};
use crate::limiter::{Limiter, LimiterSettings, Pace, pause_refuses};
use crate::time::Millis;

/// How a call left the line, and when; instants count from T0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Started(Millis),
    /// Its time in line is over.
    TimedOut(Millis),
    /// The line was full.
    TurnedAway(Millis),
    /// A pause ends too late for it.
    Paused(Millis),
    /// Nothing happens any more and it still waits.
    Waits,
}

/// A call at an instant after T0 that runs for so long.
type Call = (Millis, Millis);

/// Sends calls through the limiter; they stand in the order of their instants.
pub(super) fn send(limiter: &mut Limiter, calls: &[Call]) -> Vec<Left> {
    let mut line = Line { limiter, calls, left: vec![Left::Waits; calls.len()], queue: VecDeque::new() };
    let (mut ends, mut next): (Vec<Millis>, usize) = (Vec::new(), 0);
    let mut now = calls[0].0;
    loop {
        ends.retain(|end| {
            *end > now || {
                line.limiter.finish(T0 + now);
                false
            }
        });
        while calls.get(next).is_some_and(|call| call.0 <= now) {
            line.enter(next, now);
            line.scan(now, &mut ends);
            next += 1;
        }
        let wake = line.scan(now, &mut ends);
        line.time_out(now);
        let arrival = calls.get(next).map(|call| call.0);
        let deadlines = line.queue.iter().map(|at| line.deadline(*at));
        let Some(then) = ends.iter().copied().chain(arrival).chain(wake).chain(deadlines).min() else {
            return line.left;
        };
        assert!(then > now, "time goes on");
        now = then;
    }
}

struct Line<'a> {
    limiter: &'a mut Limiter,
    calls: &'a [Call],
    left: Vec<Left>,
    queue: VecDeque<usize>,
}

impl Line<'_> {
    fn deadline(&self, call: usize) -> Millis {
        self.calls[call].0 + self.limiter.settings().max_wait_ms
    }

    fn enter(&mut self, call: usize, now: Millis) {
        let depth = self.limiter.settings().max_depth as usize;
        let pause = self.limiter.paused_until(T0 + now);
        if pause_refuses(pause, T0 + self.deadline(call)) {
            self.left[call] = Left::Paused(now);
        } else if depth > 0 && self.queue.len() >= depth {
            self.left[call] = Left::TurnedAway(now);
        } else {
            self.queue.push_back(call);
        }
    }

    /// Starts what may start; says when to look again.
    fn scan(&mut self, now: Millis, ends: &mut Vec<Millis>) -> Option<Millis> {
        while let Some(call) = self.queue.front().copied() {
            match self.limiter.pace(T0 + now) {
                Pace::Go => self.limiter.start(T0 + now),
                Pace::Until(at) => return Some(at - T0),
                Pace::Busy => return None,
            }
            self.left[call] = Left::Started(now);
            ends.push(now + self.calls[call].1);
            self.queue.pop_front();
        }
        None
    }

    fn time_out(&mut self, now: Millis) {
        for call in std::mem::take(&mut self.queue) {
            if self.deadline(call) <= now {
                self.left[call] = Left::TimedOut(now);
            } else {
                self.queue.push_back(call);
            }
        }
    }
}

fn through(settings: LimiterSettings, calls: &[Call]) -> Vec<Left> {
    send(&mut Limiter::new(settings, T0), calls)
}

#[test]
fn row_e59() {
    let settings = LimiterSettings { rpm: 60, min_time_ms: 350, parallel: 6, ..FREE };
    let starts = [0, 350, 700, 1_050, 1_400, 1_750, 10_000].map(Left::Started);
    assert_eq!(through(settings, &[(0, 10_000); 7]), starts);
}

#[test]
fn row_e60() {
    let settings = LimiterSettings { rpm: 2, ..FREE };
    let left = [Left::Started(0), Left::Started(0), Left::TimedOut(30_000)];
    assert_eq!(through(settings, &[(0, 1); 3]), left);
}

#[test]
fn row_e61() {
    let settings = LimiterSettings { rpm: 2, max_wait_ms: 90_000, ..FREE };
    assert_eq!(through(settings, &[(0, 1); 3]), [0, 0, 60_000].map(Left::Started));
}

/// The line's half of it; that call 1 is left alone is the gate's.
#[test]
fn row_e62() {
    let settings = LimiterSettings { parallel: 1, ..FREE };
    let left = [Left::Started(0), Left::TimedOut(30_000), Left::Started(45_000)];
    assert_eq!(through(settings, &[(0, 45_000), (0, 1), (40_000, 1)]), left);
}

#[test]
fn row_e63() {
    let settings = LimiterSettings { parallel: 1, max_depth: 2, ..FREE };
    let left = [Left::Started(0), Left::Started(10), Left::Started(20), Left::TurnedAway(0)];
    assert_eq!(through(settings, &[(0, 10); 4]), left);
}

#[test]
fn row_e64() {
    let settings = LimiterSettings { parallel: 1, ..FREE };
    assert_eq!(through(settings, &[(0, 10); 4]), [0, 10, 20, 30].map(Left::Started));
}

/// Decision 15a.
#[test]
fn built_in_numbers_hold_nobody_back() {
    assert!(through(FREE, &[(0, 10_000); 500]).iter().all(|left| *left == Left::Started(0)));
}

/// Flow 4.9: the clock runs from the limiter's creation, not from the first call.
#[test]
fn the_refill_clock_starts_with_the_limiter() {
    let settings = LimiterSettings { rpm: 2, ..FREE };
    let calls = [(50_000, 1), (50_000, 1), (50_001, 1), (60_000, 1), (60_001, 1)];
    let starts = [50_000, 50_000, 60_000, 60_000].map(Left::Started);
    let left = through(settings, &calls);
    assert_eq!(left[..4], starts);
    assert_eq!(left[4], Left::TimedOut(90_001), "the next minute begins at 120 000");
}

/// Flow 4.9: five quiet minutes are worth one.
#[test]
fn a_reservoir_is_set_and_does_not_accumulate() {
    let settings = LimiterSettings { rpm: 2, ..FREE };
    let left = through(settings, &[(300_001, 1); 3]);
    assert_eq!(left, [Left::Started(300_001), Left::Started(300_001), Left::TimedOut(330_001)]);
}

/// Of two things that hold a call back the later counts.
#[test]
fn the_gap_goes_on_over_a_refill() {
    let settings = LimiterSettings { rpm: 1, min_time_ms: 70_000, max_wait_ms: 600_000, ..FREE };
    assert_eq!(through(settings, &[(0, 1); 3]), [0, 70_000, 140_000].map(Left::Started));
}
