//! Routing 6.2 and rows 69, 70.

use super::{Ended, Next};
use crate::attempts::AttemptSettings;

/// A line of which all steps have as many retries.
struct Line(super::Line, AttemptSettings);

impl Line {
    fn ended(&mut self, ended: Ended) -> Next {
        self.0.ended(ended, &self.1)
    }
}

fn line(max_retries: u32) -> Line {
    Line(super::Line::default(), AttemptSettings { max_retries, ..AttemptSettings::default() })
}

fn ask(step: usize, wait_ms: u64) -> Next {
    Next::Ask { step, wait_ms }
}

#[test]
fn row_69() {
    let mut line = line(1);
    assert_eq!(line.ended(Ended::Text), ask(1, 0));
    assert_eq!(line.ended(Ended::Failed(429, None)), ask(1, 2_000));
    assert_eq!(line.ended(Ended::Text), ask(2, 0));
}

#[test]
fn row_70() {
    for (ended, status) in [(Ended::Failed(401, None), 401), (Ended::NoText, 502)] {
        assert_eq!(line(5).ended(ended), Next::Stop(status));
    }
}

#[test]
fn routing_6_2_d_each_step_has_its_own_retries_and_no_more() {
    let mut line = line(1);
    assert_eq!(line.ended(Ended::Failed(503, None)), ask(0, 2_000));
    assert_eq!(line.ended(Ended::Text), ask(1, 0));
    assert_eq!(line.ended(Ended::Failed(503, None)), ask(1, 2_000));
    assert_eq!(line.ended(Ended::Failed(504, None)), Next::Stop(504));
}

/// Status, asked again, told.
#[test]
fn routing_6_2_d_what_passes_is_asked_again() {
    for (status, again, told) in [
        (429, true, 429),
        (502, true, 502),
        (503, true, 503),
        (504, true, 504),
        (400, false, 400),
        (401, false, 401),
        (408, false, 408),
        (500, false, 500),
        (529, false, 529),
        (302, false, 502),
        (600, false, 502),
    ] {
        let expected = if again { ask(0, 2_000) } else { Next::Stop(told) };
        assert_eq!(line(1).ended(Ended::Failed(status, None)), expected, "{status}");
        assert_eq!(line(0).ended(Ended::Failed(status, None)), Next::Stop(told), "{status}");
    }
}

/// The wait that was told, the pause that is made.
#[test]
fn decision_26_a_a_stated_wait_takes_the_place_of_the_pause() {
    for (told, expected) in [
        (Some(300), ask(0, 350)),
        (Some(10_000), ask(0, 10_050)),
        (Some(10_001), Next::Stop(429)),
        (None, ask(0, 2_000)),
    ] {
        assert_eq!(line(1).ended(Ended::Failed(429, told)), expected, "{told:?}");
    }
}

/// Routing 1.4: a step is asked again as often as is said of its provider.
#[test]
fn routing_1_4_each_step_has_the_numbers_of_its_provider() {
    let settings =
        |max_retries| AttemptSettings { max_retries, retry_delay_ms: 7, ..AttemptSettings::default() };
    let mut line = super::Line::default();
    let failed = Ended::Failed(503, None);
    assert_eq!(line.ended(failed, &settings(1)), ask(0, 7));
    assert_eq!(line.ended(Ended::Text, &settings(1)), ask(1, 0));
    assert_eq!(line.ended(failed, &settings(0)), Next::Stop(503));
}
