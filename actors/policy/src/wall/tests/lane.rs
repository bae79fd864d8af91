//! Rules 9.5: the lane. W is a 429 with an offer, whose window resets at T0+3600 s.

use super::super::{Act, Asked, End, Lane, Offer, SLOW_HEADER, Signs, SlowStatus, Tag, Waits, remaining};
use super::{T0, at, signs};
use crate::dice::Scripted;
use crate::time::{DAY, Millis};

fn wall() -> Signs {
    signs(&[("status", "rejected"), ("slow-offer", "treatment"), ("reset", &at(T0 + 3_600_000))])
}

fn active() -> Lane {
    let mut lane = Lane::default();
    assert!(lane.accept(&wall(), T0));
    lane
}

/// A slow request's answer, at T0+10 s unless said otherwise.
struct Heard<'a> {
    status: u16,
    signs: &'a Signs,
    remaining_ms: Option<Millis>,
    now: Millis,
    waits: Waits,
    roll: f64,
}

fn heard<'a>(status: u16, signs: &'a Signs) -> Heard<'a> {
    Heard { status, signs, remaining_ms: None, now: T0 + 10_000, waits: Waits::default(), roll: 0.5 }
}

impl Heard<'_> {
    fn judged(mut self, lane: &mut Lane) -> Act {
        let Self { status, signs, remaining_ms, now, .. } = self;
        let asked = Asked { slow: true, status, signs, remaining_ms, now };
        lane.judge(&asked, &mut self.waits, &mut Scripted::new(&[self.roll]))
    }
}

fn slow(word: &str) -> Signs {
    signs(&[("slow-status", word)])
}

#[test]
fn l1_a_wall_with_an_offer_is_accepted() {
    let mut lane = Lane::default();
    assert!(!lane.is_active(T0));
    assert!(wall().is_wall(429) && lane.accept(&wall(), T0));
    assert!(lane.is_active(T0));
    assert_eq!(SLOW_HEADER, ("anthropic-usage-limit", "slow"));
}

#[test]
fn l3_a_plain_429_is_no_wall() {
    assert!(!Signs::default().is_wall(429));
    // An offer without the status is none (decision 30).
    assert!(!signs(&[("slow-offer", "treatment")]).is_wall(429));
    assert!(!wall().is_wall(200));
}

#[test]
fn l4_the_control_group_is_not_asked() {
    let control = signs(&[("status", "rejected"), ("slow-offer", "control"), ("reset", &at(T0 + 3_600_000))]);
    assert_eq!(control.offer, Some(Offer::Control));
    assert!(!Lane::default().accept(&control, T0));
}

#[test]
fn l5_a_window_that_resets_now_is_no_reason() {
    for (header, offset, accepted) in [("reset", 0, false), ("reset", 1_000, true), ("5h-reset", 1_000, true)]
    {
        let signs = signs(&[("status", "rejected"), ("slow-offer", "treatment"), (header, &at(T0 + offset))]);
        assert_eq!(Lane::default().accept(&signs, T0), accepted, "{header} {offset}");
    }
    let undated = signs(&[("status", "rejected"), ("slow-offer", "treatment")]);
    assert!(!Lane::default().accept(&undated, T0));
}

#[test]
fn l6_a_lane_is_over_a_minute_after_its_reset() {
    let mut lane = active();
    assert!(lane.is_active(T0 + 3_659_999));
    assert!(!lane.is_active(T0 + 3_660_000));
    assert!(!lane.is_active(T0), "over is over");
}

#[test]
fn l7_to_l9_the_wait_is_the_said_one_within_bounds_and_jitter() {
    let rows = [
        ("L7", None, 0.5, 20_000),
        ("L7 low", None, 0.0, 14_000),
        ("L7 high", None, 0.999_999, 26_000),
        ("L8", Some("1"), 0.5, 5_000),
        ("L9", Some("9999"), 0.5, 600_000),
        ("blank", Some(" "), 0.5, 20_000),
        ("negative", Some("-3"), 0.5, 20_000),
        ("no number", Some("soon"), 0.5, 20_000),
    ];
    for (name, said, roll, wait) in rows {
        let mut headers = vec![("slow-status", "slot_busy")];
        headers.extend(said.map(|said| ("slow-retry-after", said)));
        let busy = signs(&headers);
        let act = Heard { roll, ..heard(429, &busy) }.judged(&mut active());
        assert_eq!(act, Act::Retry(wait, Tag::SlotBusy), "{name}");
    }
}

#[test]
fn l10_l11_a_wait_in_vain_ends_the_lane_and_cools_off() {
    let busy = signs(&[("slow-status", "slot_busy"), ("slow-max-wait", "30")]);
    let mut lane = active();
    let now = T0 + 60_000;
    let waits = Waits { since: Some(T0), attempts: 3 };
    let early = Heard { now: now - 1, waits, ..heard(429, &busy) }.judged(&mut lane);
    assert_eq!(early, Act::Retry(1, Tag::SlotBusy), "not above what is left of the longest wait");
    assert_eq!(Heard { now, waits, ..heard(429, &busy) }.judged(&mut lane), Act::Ended(End::MaxWait));
    assert!(!lane.is_active(now));
    assert!(!lane.accept(&wall(), now + 599_999));
    assert!(lane.accept(&wall(), now + 600_000));
}

#[test]
fn l12_the_wait_stays_within_the_time_of_the_request() {
    let busy = slow("slot_busy");
    for (name, elapsed, act) in [
        ("L12", 590_000, Act::Retry(5_000, Tag::SlotBusy)),
        ("L12a", 595_000, Act::Ended(End::MaxWait)),
        ("L12b", 300_000, Act::Retry(20_000, Tag::SlotBusy)),
    ] {
        let mut lane = active();
        let waits = Waits { since: Some(T0), attempts: 1 };
        let remaining_ms = remaining(Some(600_000), elapsed);
        let now = T0 + elapsed;
        assert_eq!(Heard { remaining_ms, waits, now, ..heard(429, &busy) }.judged(&mut lane), act, "{name}");
        assert_eq!(lane.accept(&wall(), now), act != Act::Ended(End::MaxWait), "{name}");
    }
    assert_eq!(remaining(None, 1), None);
}

#[test]
fn l13_no_room_is_waited_for_unless_the_lane_says_no() {
    let mut lane = active();
    assert_eq!(heard(529, &Signs::default()).judged(&mut lane), Act::Retry(20_000, Tag::CapacityBusy));
    for (word, waits) in [
        ("active", true),
        ("not_needed", true),
        ("slot_busy", true),
        ("a new word", true),
        ("weekly_limit", false),
        ("budget_exhausted", false),
        ("off", false),
        ("ineligible", false),
    ] {
        let act = heard(529, &slow(word)).judged(&mut lane);
        let expected = if waits { Act::Retry(20_000, Tag::CapacityBusy) } else { Act::Pass };
        assert_eq!(act, expected, "{word} (decision 30)");
    }
}

#[test]
fn l14_a_spent_budget_is_remembered_for_eight_days_at_most() {
    let far = at(T0 + 30 * DAY);
    let spent = signs(&[("slow-status", "budget_exhausted"), ("slow-budget-reset", &far)]);
    let mut lane = active();
    assert_eq!(Heard { now: T0, ..heard(429, &spent) }.judged(&mut lane), Act::Ended(End::Budget));
    let later =
        |now| signs(&[("status", "rejected"), ("slow-offer", "treatment"), ("reset", &at(now + 3_600_000))]);
    assert!(!lane.accept(&later(T0), T0 + 8 * DAY - 1));
    assert!(lane.accept(&later(T0 + 8 * DAY), T0 + 8 * DAY));
    let week = at(T0 + 2 * DAY);
    let spent = signs(&[("slow-status", "budget_exhausted"), ("7d-reset", &week)]);
    assert_eq!(Heard { now: T0, ..heard(429, &spent) }.judged(&mut lane), Act::Ended(End::Budget));
    assert_eq!(lane.view(T0).refused_until, Some(T0 + 2 * DAY), "the week's reset where none is said");
}

#[test]
fn l15_to_l20_answers_in_the_lane() {
    let reset = |at_ms| signs(&[("slow-status", "active"), ("5h-reset", &at(at_ms))]);
    let overage = [("slow-status", "ineligible"), ("overage-in-use", "true")];
    let rows = [
        ("L15", 429, slow("weekly_limit"), Act::Ended(End::Weekly)),
        ("L16", 200, signs(&overage), Act::Ended(End::ExtraUsage)),
        ("L17", 429, signs(&overage), Act::Ended(End::ExtraUsage)),
        ("ineligible", 429, slow("ineligible"), Act::Ended(End::Ineligible)),
        ("off", 429, slow("off"), Act::Ended(End::Off)),
        ("L18 stays", 200, reset(T0 + 3_659_000), Act::Pass),
        ("L18 ended", 200, reset(T0 + 3_660_000), Act::Ended(End::Reset)),
        ("L19", 429, signs(&[("representative-claim", "seven_day")]), Act::Ended(End::Wall)),
        ("overage", 429, signs(&[("overage-status", "rejected")]), Act::Ended(End::Wall)),
        ("L20", 429, Signs::default(), Act::Pass),
        ("weekly on a success", 200, slow("weekly_limit"), Act::Pass),
        ("another failure", 500, Signs::default(), Act::Pass),
    ];
    for (name, status, signs, act) in rows {
        let mut lane = active();
        assert_eq!(heard(status, &signs).judged(&mut lane), act, "{name}");
        assert_eq!(lane.is_active(T0 + 10_000), !matches!(act, Act::Ended(_)), "{name}");
        // Only a wait in vain cools off (5.4.13).
        assert!(lane.accept(&wall(), T0 + 10_000), "{name}");
    }
}

#[test]
fn l21_a_raced_sibling_goes_again_on_the_lane() {
    let mut lane = active();
    let mut judged = |status, signs: &Signs| {
        let asked = Asked { slow: false, status, signs, remaining_ms: None, now: T0 + 1 };
        lane.judge(&asked, &mut Waits::default(), &mut Scripted::default())
    };
    assert_eq!(judged(429, &wall()), Act::Retry(0, Tag::Raced));
    assert_eq!(judged(429, &Signs::default()), Act::Pass);
    assert_eq!(judged(429, &slow("weekly_limit")), Act::Pass, "no verdict on the lane (5.4.11)");
    assert!(lane.is_active(T0 + 1));
}

#[test]
fn l22_answers_are_counted_by_how_they_came() {
    let mut lane = active();
    for word in ["not_needed", "active", "active"] {
        assert_eq!(heard(200, &slow(word)).judged(&mut lane), Act::Pass);
    }
    assert_eq!(lane.view(T0).served, (2, 1));
    assert_eq!(lane.view(T0).active_until, Some(T0 + 3_660_000));
    assert!(lane.accept(&wall(), T0 + 20_000));
    assert_eq!(lane.view(T0).served, (0, 0), "counts begin with the lane (5.4.4)");
}

#[test]
fn l23_the_reset_of_five_hours_does_not_help_a_spent_week() {
    for (claim, may) in [(None, true), (Some("five_hour"), true), (Some("seven_day"), false)] {
        let headers: Vec<_> = claim.map(|claim| ("representative-claim", claim)).into_iter().collect();
        assert_eq!(signs(&headers).may_reset(), may, "{claim:?}");
    }
}

#[test]
fn a_wait_that_is_older_than_the_lane_begins_anew() {
    let busy = signs(&[("slow-status", "slot_busy"), ("slow-max-wait", "60")]);
    let mut lane = active();
    let waits = Waits { since: Some(T0 - 60_000), attempts: 9 };
    let act = Heard { waits, ..heard(429, &busy) }.judged(&mut lane);
    assert_eq!(act, Act::Retry(20_000, Tag::SlotBusy), "5.4.8");
}

#[test]
fn accepting_forgets_the_hints_of_the_lane_before() {
    let mut lane = active();
    let busy = signs(&[("slow-status", "slot_busy"), ("slow-retry-after", "100")]);
    assert_eq!(heard(429, &busy).judged(&mut lane), Act::Retry(100_000, Tag::SlotBusy));
    lane.end(End::Operator);
    assert!(lane.accept(&wall(), T0));
    assert_eq!(heard(429, &slow("slot_busy")).judged(&mut lane), Act::Retry(20_000, Tag::SlotBusy));
}

#[test]
fn words_and_numbers_of_the_headers() {
    let read = signs(&[
        ("slow-status", "something new"),
        ("slow-budget-utilization", "1.7"),
        ("5h-reset", "20.5"),
        ("slow-max-wait", "1e300"),
    ]);
    assert_eq!(read.slow_status, Some(SlowStatus::Unrecognised));
    assert_eq!((read.utilisation, read.reset_at), (Some(1.0), Some(20_500)));
    assert_eq!(read.max_wait_ms, Some(Millis::MAX));
    assert_eq!(signs(&[("slow-offer", "perhaps")]).offer, None);
    assert_eq!(signs(&[("reset", "NaN")]).reset_at, None);
}
