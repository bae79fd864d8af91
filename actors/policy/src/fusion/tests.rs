//! Routing 6.1 and rows 66 to 68, at exact instants.

use super::{Collect, Ended, Miss, Opening, Panel, Then, opening};
use crate::strategy::FusionSettings;

fn settings() -> FusionSettings {
    FusionSettings::default()
}

fn named() -> FusionSettings {
    FusionSettings { judge: Some("a/judge".into()), ..settings() }
}

#[test]
fn row_66() {
    let mut panel = Panel::new(&settings(), 3, 0);
    assert_eq!(panel.next(0), Collect::Wait(90_000));
    panel.ended(0, Ended::Answered, 1_000);
    assert_eq!(panel.next(1_000), Collect::Wait(90_000));
    panel.ended(1, Ended::Answered, 2_000);
    assert_eq!(panel.next(2_000), Collect::Wait(10_000));
    assert_eq!(panel.next(9_999), Collect::Wait(10_000));
    assert_eq!(panel.next(10_000), Collect::Done);
    assert_eq!(panel.then(), Then::Judge(vec![0, 1]));
    assert_eq!(panel.miss(2), Some(Miss::StragglerDropped));
}

#[test]
fn row_66_an_answer_after_the_grace_is_not_a_source() {
    let mut panel = Panel::new(&settings(), 3, 0);
    panel.ended(0, Ended::Answered, 1_000);
    panel.ended(2, Ended::Answered, 2_000);
    panel.ended(1, Ended::Answered, 10_000);
    assert_eq!(panel.then(), Then::Judge(vec![0, 2]));
}

#[test]
fn row_67() {
    for (settings, expected) in [(settings(), Then::Alone(1)), (named(), Then::Judge(vec![1]))] {
        let mut panel = Panel::new(&settings, 3, 0);
        panel.ended(0, Ended::Missed(Miss::Status(503)), 10);
        panel.ended(2, Ended::Missed(Miss::EmptyContent), 20);
        assert_eq!(panel.next(20), Collect::Wait(90_000));
        panel.ended(1, Ended::Answered, 30);
        assert_eq!(panel.next(30), Collect::Done);
        assert_eq!(panel.then(), expected);
    }
}

/// Members, no tools, what is done: 6.1a, b; row 68.
#[test]
fn row_68() {
    for (members, plain, expected) in [
        (3, false, Opening::JudgeAlone),
        (3, true, Opening::Panel),
        (2, true, Opening::Panel),
        (1, true, Opening::Only),
        (1, false, Opening::JudgeAlone),
        (0, true, Opening::Empty),
        (0, false, Opening::JudgeAlone),
    ] {
        assert_eq!(opening(members, plain), expected, "{members} {plain}");
    }
}

#[test]
fn routing_6_1_d_the_panel_ends_in_time_whoever_has_answered() {
    let mut panel = Panel::new(&settings(), 3, 5_000);
    panel.ended(0, Ended::Answered, 94_000);
    assert_eq!(panel.next(94_999), Collect::Wait(95_000));
    assert_eq!(panel.next(95_000), Collect::Done);
    assert_eq!((panel.miss(0), panel.miss(1)), (None, Some(Miss::Timeout)));
    // The grace never goes beyond it.
    let mut panel = Panel::new(&settings(), 3, 5_000);
    panel.ended(0, Ended::Answered, 94_000);
    panel.ended(1, Ended::Answered, 94_500);
    assert_eq!(panel.next(94_999), Collect::Wait(95_000));
    assert_eq!(panel.miss(2), Some(Miss::Timeout));
}

/// Routing 17.5: the smallest panel is 1, the largest all of it.
#[test]
fn routing_17_5_enough_is_within_one_and_all() {
    for (min_panel, answers, waits_until) in [(0, 1, 8_010), (1, 1, 8_010), (2, 1, 90_000), (9, 2, 90_000)] {
        let settings = FusionSettings { min_panel, ..settings() };
        let mut panel = Panel::new(&settings, 3, 0);
        for member in 0..answers {
            panel.ended(member, Ended::Answered, 10);
        }
        assert_eq!(panel.next(10), Collect::Wait(waits_until), "{min_panel}");
    }
}

#[test]
fn routing_6_1_f_a_panel_without_an_answer_says_why_of_each() {
    let mut panel = Panel::new(&settings(), 4, 0);
    panel.ended(0, Ended::Missed(Miss::Status(429)), 1);
    panel.ended(1, Ended::Missed(Miss::Unparseable), 2);
    panel.ended(3, Ended::Missed(Miss::Threw), 3);
    let Then::Nobody(misses) = panel.then() else { panic!("{:?}", panel.then()) };
    let codes: Vec<String> = misses.iter().map(Miss::to_string).collect();
    assert_eq!(codes, ["status_429", "unparseable", "timeout", "threw"]);
    assert_eq!(Miss::StragglerDropped.to_string(), "straggler_dropped");
    assert_eq!(Miss::EmptyContent.to_string(), "empty_content");
}
