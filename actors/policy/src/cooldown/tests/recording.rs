//! Rows F of core 3.11: what is recorded, and decisions 3a, 11, 12a.

use super::super::{Cooldown, CooldownSettings, CooldownSnapshot, Trial};
use super::{T0, at_level, clean, failing, hinted, left, plain, send};
use crate::change::{Exclusion, Refusal};
use crate::ids::Class;
use crate::time::Millis;
use crate::verdict::{Case, End, Reason, Signal, TerminalRule, Verdict, judge};
use Class::{Apikey, Oauth};
use serde::Deserialize;
use serde::de::value::{Error as TextError, MapDeserializer};

#[test]
fn f2_a_failure_inside_a_cooldown_writes_nothing() {
    let snapshot = CooldownSnapshot {
        until: Some(T0 + 10_000),
        level: 2,
        episode_at: Some(T0 - 2_000),
        episode_step: 1,
        failed_at: Some(T0 - 2_000),
        ..CooldownSnapshot::default()
    };
    let mut cooldown = Cooldown::restore(snapshot, CooldownSettings::for_class(Apikey), T0);
    let before = cooldown.view();
    let old = Trial { generation: 0, lone: false };
    assert_eq!(cooldown.record(old, &plain(429), T0 - 5_000, T0), None, "F2");
    assert_eq!(cooldown.view(), before, "F2");
    assert_eq!(left(&cooldown, T0), Some(10_000), "F2");
}

#[test]
fn f3_after_it_the_next_step() {
    let snapshot = CooldownSnapshot { until: Some(T0 - 1), level: 2, ..CooldownSnapshot::default() };
    let mut cooldown = Cooldown::restore(snapshot, CooldownSettings::for_class(Apikey), T0);
    send(&mut cooldown, &plain(429), T0);
    assert_eq!((left(&cooldown, T0), cooldown.view().level), (Some(12_000), 3), "F3");
}

#[test]
fn f4_parallel_failures_cost_one_step() {
    let mut cooldown = clean(Apikey);
    let trials = [(); 3].map(|()| cooldown.admit(true, T0).expect("clean"));
    cooldown.record(trials[0], &plain(503), T0, T0).expect("F4");
    assert_eq!(cooldown.record(trials[1], &plain(503), T0, T0), None, "F4");
    assert_eq!((left(&cooldown, T0), cooldown.view().level), (Some(3_000), 1), "F4");
    // A third that outlives the cooldown repeats its step, it does not take the next.
    cooldown.record(trials[2], &plain(503), T0, T0 + 5_000).expect("cools again");
    assert_eq!((left(&cooldown, T0 + 5_000), cooldown.view().level), (Some(3_000), 1), "core 8.3");
    let mut cooldown = at_level(CooldownSettings::for_class(Apikey), 2);
    let trials = [(); 2].map(|()| cooldown.admit(true, T0).expect("no cooldown"));
    cooldown.record(trials[0], &plain(503), T0, T0);
    cooldown.record(trials[1], &plain(503), T0, T0 + 20_000);
    assert_eq!((left(&cooldown, T0 + 20_000), cooldown.view().level), (Some(12_000), 3), "core 8.3");
}

#[test]
fn fc_020_the_latest_deadline_of_an_episode_stays() {
    // (how the first failed, how the others did, deadline): decision 3.
    let burst = |first: &Verdict, second: &Verdict, received: Millis| {
        let mut cooldown = clean(Apikey);
        let trials = [(); 2].map(|()| cooldown.admit(true, T0).expect("clean"));
        cooldown.record(trials[0], first, T0, T0);
        cooldown.record(trials[1], second, T0, received);
        let view = cooldown.view();
        (view.until.map(|until| until - T0), view.level, view.last_error.map(|last| last.status))
    };
    let (short, long) = (hinted(429, "1"), hinted(429, "30"));
    assert_eq!(burst(&short, &long, T0 + 500), (Some(30_500), 0, Some(429)), "stated: from its receipt");
    assert_eq!(burst(&short, &plain(503), T0 + 500), (Some(3_000), 0, Some(429)), "computed: from the start");
    assert_eq!(burst(&long, &short, T0 + 500), (Some(30_000), 0, Some(429)), "never shortened");
    assert_eq!(burst(&plain(503), &short, T0 + 500), (Some(3_000), 1, Some(503)), "level and reason stay");
}

#[test]
fn f8_disabled_cooling_records_only() {
    let settings = CooldownSettings { disable_cooling: true, ..CooldownSettings::for_class(Apikey) };
    let mut cooldown = at_level(settings, 1);
    let parallel = cooldown.admit(true, T0).expect("never cools");
    let change = send(&mut cooldown, &plain(503), T0).expect("F8");
    assert_eq!((change.from.as_str(), change.to.as_str()), ("ready", "ready"), "F8");
    assert_eq!((cooldown.view().until, cooldown.view().level), (None, 2), "F8");
    cooldown.record(parallel, &plain(503), T0, T0);
    assert_eq!(cooldown.view().level, 2, "core 8.3");
}

/// A 401 that a refreshed token may cure: never terminal (S3).
fn refreshable() -> Verdict {
    failing(401, |failure| failure.terminal = None)
}

#[test]
fn f12_the_ladder_of_401s() {
    let mut cooldown = clean(Oauth);
    let mut now = T0;
    for cooldown_ms in [5_000, 10_000, 20_000, 40_000, 80_000, 120_000, 120_000] {
        send(&mut cooldown, &refreshable(), now);
        assert_eq!(left(&cooldown, now), Some(cooldown_ms), "F12");
        now += cooldown_ms;
    }
    send(&mut cooldown, &plain(200), now);
    send(&mut cooldown, &refreshable(), now + 1);
    assert_eq!(left(&cooldown, now + 1), Some(5_000), "a success ends it");
}

#[test]
fn decision_12a_what_makes_a_row_of_401s() {
    // (sent, received) of the second 401, ms after the first; which step it takes.
    let rows = [
        ("after its cooldown", 3_000, 3_500, 6_000),
        ("parallel, received late", 2_999, 3_500, 3_000),
        ("within 120 s of the end", 122_000, 123_000, 6_000),
        ("too late for a row", 122_000, 123_001, 3_000),
    ];
    for (row, sent, received, cooldown_ms) in rows {
        let mut cooldown = clean(Apikey);
        let trial = cooldown.admit(true, T0).expect("clean");
        cooldown.record(trial, &refreshable(), T0, T0);
        cooldown.record(trial, &refreshable(), T0 + sent, T0 + received);
        assert_eq!(left(&cooldown, T0 + received), Some(cooldown_ms), "{row}");
    }
}

#[test]
fn decision_12a_a_stated_wait_beats_the_ladder() {
    let mut cooldown = clean(Apikey);
    send(&mut cooldown, &hinted(401, "3600"), T0);
    assert_eq!((left(&cooldown, T0), cooldown.view().level), (Some(3_600_000), 0), "decision 2");
}

#[test]
fn f19_a_success_wipes_the_slate() {
    let mut cooldown = at_level(CooldownSettings::for_class(Apikey), 3);
    send(&mut cooldown, &plain(503), T0);
    let change = send(&mut cooldown, &plain(200), T0 + 24_000).expect("F19");
    assert_eq!((change.from.as_str(), change.why.as_str()), ("ready", "recovery"), "F19");
    let view = cooldown.view();
    assert_eq!((view.level, view.until, view.last_error, view.episode_at), (0, None, None, None), "F19");
    assert!(view.is_clean(), "F19");
    assert_eq!((view.cooled_for_ms, view.ended_at), (24_000, Some(T0 + 24_000)), "for the slow start");
    assert_eq!(send(&mut cooldown, &plain(200), T0 + 24_001), None, "skipped if already clean");
}

#[test]
fn an_old_success_ends_no_younger_cooldown() {
    let mut cooldown = clean(Apikey);
    let trials = [(); 3].map(|()| cooldown.admit(true, T0).expect("clean"));
    cooldown.record(trials[0], &hinted(429, "60"), T0, T0 + 100);
    let before = cooldown.view();
    assert_eq!(cooldown.record(trials[1], &plain(200), T0, T0 + 200), None, "while it runs");
    assert_eq!(cooldown.record(trials[2], &plain(200), T0, T0 + 70_000), None, "and after it");
    assert_eq!(cooldown.view(), before);
    let knows_better = cooldown.record(trials[2], &plain(200), T0 + 101, T0 + 300);
    assert_eq!(knows_better.expect("FC-020: newer").to, "ready");
    assert_eq!(cooldown.view().ended_at, Some(T0 + 300));
}

#[test]
fn decision_3a_a_lone_trial_after_a_cooldown() {
    let ended = T0 + 3_000;
    let recovering = Err(Refusal { why: Exclusion::Recovering, retry_at: Some(ended + 30_000) });
    let cooled = || {
        let mut cooldown = clean(Apikey);
        send(&mut cooldown, &plain(503), T0);
        cooldown
    };
    let mut cooldown = cooled();
    assert_eq!(cooldown.view().refusal(true, ended), None, "the first may ask");
    let lone = cooldown.admit(true, ended).expect("the trial");
    assert!(lone.lone);
    assert_eq!(cooldown.admit(true, ended + 1), recovering, "others have another target");
    assert_eq!(cooldown.view().refusal(false, ended + 1), None);
    let joined = cooldown.admit(false, ended + 1).expect("nowhere else to go");
    assert!(!joined.lone);
    // Judged good: everybody may come.
    cooldown.record(lone, &plain(200), ended, ended + 50).expect("recovery");
    assert!(!cooldown.admit(true, ended + 51).expect("clean").lone);
    // Or somebody who joined it was served.
    let mut cooldown = cooled();
    cooldown.admit(true, ended).expect("the trial");
    let joined = cooldown.admit(false, ended + 1).expect("nowhere else to go");
    cooldown.record(joined, &plain(200), ended + 1, ended + 50).expect("recovery");
    assert!(!cooldown.admit(true, ended + 51).expect("clean").lone);
    // Judged bad: the next cooldown, then another trial.
    let mut cooldown = cooled();
    let lone = cooldown.admit(true, ended).expect("the trial");
    cooldown.record(lone, &plain(503), ended, ended + 50);
    assert_eq!(left(&cooldown, ended + 50), Some(6_000));
    assert!(cooldown.admit(true, ended + 6_050).expect("another trial").lone);
    // Not judged: another trial at once. A lost one: when its lease is over.
    for verdict in [Verdict::Neutral, judge(&Signal::new(End::NoFirstByte, None), &Case::of(Apikey))] {
        let mut cooldown = cooled();
        let lone = cooldown.admit(true, ended).expect("the trial");
        assert_eq!(cooldown.record(lone, &verdict, ended, ended + 9).expect("told").why, "trial-returned");
        assert!(cooldown.admit(true, ended + 9).expect("another trial").lone);
        assert_eq!(cooldown.record(lone, &Verdict::Neutral, ended, ended + 10), None, "its turn is over");
    }
    let mut cooldown = cooled();
    cooldown.admit(true, ended).expect("the trial");
    assert_eq!(cooldown.admit(true, ended + 29_999), recovering);
    assert!(cooldown.admit(true, ended + 30_000).expect("another trial").lone);
    // Answered with something that cools nothing: it is back.
    let mut cooldown = cooled();
    let lone = cooldown.admit(true, ended).expect("the trial");
    assert_eq!(cooldown.record(lone, &plain(400), ended, ended + 9).expect("told").why, "trial-answered");
    assert!(!cooldown.admit(true, ended + 9).expect("open to all").lone);
}

#[test]
fn decision_11_a_restart_keeps_it() {
    let settings = CooldownSettings::for_class(Apikey);
    let mut cooldown = clean(Apikey);
    send(&mut cooldown, &plain(503), T0);
    let mut restored = Cooldown::restore(cooldown.snapshot(), settings, T0 + 1_000);
    assert_eq!(restored.view(), cooldown.view());
    let lone = restored.admit(true, T0 + 3_000).expect("the trial");
    let mut again = Cooldown::restore(restored.snapshot(), settings, T0 + 3_001);
    assert!(again.admit(true, T0 + 3_001).expect("due again").lone);
    assert_eq!(again.record(lone, &Verdict::Neutral, T0 + 3_000, T0 + 3_002), None, "of before");
    // FC-121: the clock was set back by an hour; the wait is no longer than it was.
    let back = T0 - 3_600_000;
    let restored = Cooldown::restore(cooldown.snapshot(), settings, back);
    assert_eq!(left(&restored, back), Some(3_000));
    let (stored, kept) = (cooldown.snapshot(), restored.snapshot());
    assert_eq!((kept.episode_at, kept.failed_at), (Some(back), Some(back)));
    assert_eq!(kept.generation, stored.generation + 1);
    let empty = std::iter::empty::<(&str, u32)>();
    let old = CooldownSnapshot::deserialize(MapDeserializer::<_, TextError>::new(empty));
    assert_eq!(old.expect("an old record"), CooldownSnapshot::default());
}

#[test]
fn orders_of_an_operator() {
    let mut cooldown = clean(Apikey);
    assert_eq!(cooldown.clear(T0), None, "clean");
    let before = cooldown.admit(true, T0).expect("clean");
    assert_eq!(cooldown.cool(30_000, T0).expect("not terminal").to, "cooling");
    assert_eq!(cooldown.record(before, &plain(200), T0, T0), None, "sent before the order");
    cooldown.cool(5_000, T0 + 1);
    assert_eq!((left(&cooldown, T0 + 1), cooldown.view().level), (Some(29_999), 0), "never shortened");
    assert_eq!(cooldown.clear(T0 + 2).expect("something to clear").to, "ready");
    assert!(cooldown.view().is_clean());
    cooldown.cool(Millis::MAX, Millis::MAX - 1);
    assert_eq!(cooldown.view().until, Some(Millis::MAX), "saturates");
}

#[test]
fn new_numbers_leave_what_is_running() {
    let mut cooldown = clean(Apikey);
    send(&mut cooldown, &plain(503), T0);
    cooldown.configure(CooldownSettings { base_ms: 60_000, ..CooldownSettings::for_class(Apikey) });
    assert_eq!(left(&cooldown, T0), Some(3_000));
    send(&mut cooldown, &plain(503), T0 + 3_000);
    assert_eq!(left(&cooldown, T0 + 3_000), Some(120_000));
}

#[test]
fn core_3_1_numbers_of_the_classes() {
    let numbers = |class| {
        let s = CooldownSettings::for_class(class);
        (s.base_ms, s.use_hints, s.max_steps, s.ceiling_ms, s.trial_ms)
    };
    assert_eq!(numbers(Oauth), (5_000, true, 8, 1_800_000, 60_000));
    assert_eq!(numbers(Apikey), (3_000, true, 5, 1_800_000, 30_000));
    assert_eq!(numbers(Class::Local), (3_000, true, 5, 1_800_000, 15_000));
}

#[test]
fn rules_4_8_4_9_a_sibling_rests_as_long_and_keeps_its_level() {
    let cool = |cooldown: &mut Cooldown| cooldown.cool_with(Reason::QuotaExhausted, 3_600_000, T0);
    let mut sibling = at_level(CooldownSettings::for_class(Apikey), 2);
    assert_eq!(cool(&mut sibling).expect("4.9").why, "shared-egress");
    assert_eq!((left(&sibling, T0), sibling.view().level), (Some(3_600_000), 2), "4.9");
    let last = sibling.view().last_error.expect("4.9");
    assert_eq!((last.reason, last.status), (Reason::QuotaExhausted, 429), "4.9");
    assert_eq!(cool(&mut sibling), None, "4.12");
    // A longer rest and a shorter one are left alone.
    for wait in ["7200", "1"] {
        let mut resting = clean(Apikey);
        send(&mut resting, &hinted(503, wait), T0);
        let before = resting.snapshot();
        assert_eq!((cool(&mut resting), resting.snapshot()), (None, before), "4.8, E4");
    }
    let settings = CooldownSettings { disable_cooling: true, ..CooldownSettings::for_class(Apikey) };
    assert_eq!(cool(&mut Cooldown::new(settings)), None, "core 3.7.1");
    let mut banned = clean(Apikey);
    send(&mut banned, &failing(403, |failure| failure.terminal = Some(TerminalRule::Banned)), T0);
    assert_eq!(cool(&mut banned), None, "E3");
}
