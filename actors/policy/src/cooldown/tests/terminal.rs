//! Rows F of core 3.11 about terminal states, stalls and refusals; decisions 3c and 12a.

use super::super::{Cooldown, CooldownSettings, CooldownSnapshot, TerminalState};
use super::{T0, at_level, clean, failing, hinted, left, plain, send};
use crate::change::{Exclusion, Refusal};
use crate::ids::Class::{self, Apikey, Oauth};
use crate::time::Millis;
use crate::verdict::{Case, CooldownRule, End, Failure, Reason, Signal, TerminalRule, Verdict, judge};

use TerminalState::{Banned, CreditsExhausted, Expired};

fn banning() -> Verdict {
    failing(403, |failure| failure.terminal = Some(TerminalRule::Banned))
}

fn unpaid() -> Verdict {
    failing(402, |failure| failure.terminal = Some(TerminalRule::CreditsExhausted))
}

fn refused() -> Verdict {
    failing(401, |failure| failure.terminal = Some(TerminalRule::ExpiredIfConfirmed))
}

fn dead() -> Verdict {
    failing(401, |failure| failure.terminal = Some(TerminalRule::Expired))
}

fn state(cooldown: &Cooldown) -> Option<TerminalState> {
    cooldown.view().terminal.map(|terminal| terminal.state)
}

/// A connection in a terminal state.
fn ended(verdict: &Verdict) -> Cooldown {
    let mut cooldown = clean(Apikey);
    send(&mut cooldown, verdict, T0).expect("it ends");
    assert!(state(&cooldown).is_some());
    cooldown
}

#[test]
fn core_3_9_1_a_terminal_connection_refuses_for_good() {
    for (verdict, state, why) in [
        (banning(), Banned, Exclusion::Banned),
        (dead(), Expired, Exclusion::Expired),
        (unpaid(), CreditsExhausted, Exclusion::CreditsExhausted),
    ] {
        let mut cooldown = clean(Apikey);
        let change = send(&mut cooldown, &verdict, T0).expect("it ends");
        assert_eq!((change.from.as_str(), change.to.as_str()), ("ready", state.as_str()));
        let view = cooldown.view();
        let terminal = view.terminal.expect("terminal");
        assert_eq!((terminal.state, terminal.at), (state, T0));
        assert_eq!(terminal.reason, view.last_error.map(|error| error.reason));
        let never = Refusal { why, retry_at: None };
        assert_eq!(cooldown.admit(false, T0 + 31_536_000_000), Err(never), "a year later");
        assert!(!why.is_timer() && why.as_str() == state.as_str());
    }
}

#[test]
fn f5_a_terminal_connection_takes_no_write() {
    let mut banned = clean(Apikey);
    let parallel = [(); 4].map(|()| banned.admit(false, T0).expect("clean"));
    banned.record(parallel[0], &banning(), T0, T0 + 1);
    let before = banned.snapshot();
    for (trial, verdict) in parallel[1..].iter().zip([plain(429), unpaid(), hinted(503, "60")]) {
        assert_eq!(banned.record(*trial, &verdict, T0, T0 + 2), None, "F5");
    }
    assert_eq!(banned.cool(60_000, T0 + 3), None, "core 8.5");
    let Verdict::Failure(failure) = plain(503) else { panic!("a failure") };
    assert_eq!(banned.record_check(&failure, T0 + 3), None, "P3 stands before P8");
    assert_eq!(banned.lift(T0 + 3), None, "core 5.7.4: listed, never cleared there");
    assert_eq!(banned.snapshot(), before, "F5");
}

#[test]
fn f6_f7_a_stall_cools_only_if_the_operator_wants_it() {
    let stall = judge(&Signal::new(End::StallAfterCommit, None), &Case::of(Apikey));
    let settings = CooldownSettings::for_class(Apikey);
    let mut off = at_level(settings, 3);
    send(&mut off, &stall, T0);
    let view = off.view();
    assert_eq!((view.until, view.level), (None, 3), "F6");
    assert_eq!(view.last_error.map(|last| last.reason), Some(Reason::ServerError), "F6");
    let mut on = at_level(CooldownSettings { stall_cools: true, ..settings }, 3);
    send(&mut on, &stall, T0);
    assert_eq!((left(&on, T0), on.view().level), (Some(24_000), 4), "F7");
}

#[test]
fn f9_a_ban_holds_with_cooling_disabled() {
    let settings = CooldownSettings { disable_cooling: true, ..CooldownSettings::for_class(Apikey) };
    let mut cooldown = Cooldown::new(settings);
    send(&mut cooldown, &banning(), T0);
    assert_eq!(state(&cooldown), Some(Banned), "F9");
    // The same for a credential that is refused twice, one after the other.
    let mut cooldown = Cooldown::new(settings);
    let parallel = cooldown.admit(false, T0).expect("clean");
    send(&mut cooldown, &refused(), T0);
    cooldown.record(parallel, &refused(), T0, T0);
    assert_eq!(state(&cooldown), None, "parallel ones are one");
    send(&mut cooldown, &refused(), T0 + 1);
    assert_eq!(state(&cooldown), Some(Expired));
}

#[test]
fn f22_p5_a_ban_is_written_during_a_cooldown() {
    let mut cooldown = clean(Apikey);
    let trials = [(); 2].map(|()| cooldown.admit(false, T0).expect("clean"));
    cooldown.record(trials[0], &hinted(429, "60"), T0, T0);
    let change = cooldown.record(trials[1], &banning(), T0, T0 + 5).expect("F22");
    assert_eq!((change.from.as_str(), change.to.as_str()), ("cooling", "banned"), "F22");
    // An order that arrives in the other turn ends the same.
    let mut cooldown = clean(Apikey);
    let trials = [(); 2].map(|()| cooldown.admit(false, T0).expect("clean"));
    cooldown.record(trials[0], &banning(), T0, T0);
    assert_eq!(cooldown.record(trials[1], &hinted(429, "60"), T0, T0 + 5), None);
    assert_eq!((state(&cooldown), cooldown.view().until), (Some(Banned), None));
}

#[test]
fn f17_an_unpaid_account_is_out_of_credit_at_once() {
    assert_eq!(state(&ended(&unpaid())), Some(CreditsExhausted), "F17");
}

#[test]
fn f10_f11_decision_12a_a_credential_is_refused_twice_before_it_is_expired() {
    // F10 (a token that is not yet over) and S3 texts come without a terminal rule: the ladder.
    for (class, ladder_ms) in [(Apikey, 3_000), (Oauth, 5_000)] {
        let mut cooldown = clean(class);
        let change = send(&mut cooldown, &refused(), T0).expect("F11");
        assert_eq!((change.to.as_str(), left(&cooldown, T0)), ("cooling", Some(ladder_ms)), "F11");
        assert_eq!(cooldown.view().level, 1, "E34");
        let change = send(&mut cooldown, &refused(), T0 + ladder_ms).expect("confirmed");
        assert_eq!((change.to.as_str(), state(&cooldown)), ("expired", Some(Expired)));
    }
}

#[test]
fn decision_12a_what_confirms_a_refused_credential() {
    // (between them, sent and received after the first 401, confirmed)
    let nothing: &[(u16, Millis)] = &[];
    type Row<'a> = (&'a str, &'a [(u16, Millis)], Millis, Millis, bool);
    let rows: [Row<'_>; 6] = [
        ("after its cooldown", nothing, 3_000, 3_100, true),
        ("parallel", nothing, 0, 10, false),
        ("sent before its cooldown ended", nothing, 2_999, 500_000, false),
        ("a day later, nothing between", nothing, 86_400_000, 86_400_100, true),
        ("a success between", &[(200, 4_000)], 5_000, 5_100, false),
        ("another failure between", &[(503, 4_000)], 60_000, 60_100, true),
    ];
    for (row, between, sent, received, confirmed) in rows {
        let mut cooldown = clean(Apikey);
        let trial = cooldown.admit(false, T0).expect("clean");
        cooldown.record(trial, &refused(), T0, T0);
        for (status, at) in between {
            cooldown.record(trial, &plain(*status), T0 + at, T0 + at);
        }
        cooldown.record(trial, &refused(), T0 + sent, T0 + received);
        assert_eq!(state(&cooldown).is_some(), confirmed, "{row}");
    }
}

#[test]
fn decision_12a_the_first_refusal_survives_a_restart() {
    let mut cooldown = clean(Apikey);
    send(&mut cooldown, &refused(), T0);
    let settings = CooldownSettings::for_class(Apikey);
    let mut cooldown = Cooldown::restore(cooldown.snapshot(), settings, T0 + 3_000);
    send(&mut cooldown, &refused(), T0 + 3_000);
    assert_eq!(state(&cooldown), Some(Expired));
    let mut cooldown = Cooldown::restore(cooldown.snapshot(), settings, T0 + 4_000);
    assert_eq!(state(&cooldown), Some(Expired), "decision 11, FC-060 D");
    assert!(cooldown.admit(false, T0 + 4_000).is_err());
}

#[test]
fn core_3_7_2_a_success_ends_no_younger_terminal_state() {
    let mut cooldown = clean(Apikey);
    let trials = [(); 2].map(|()| cooldown.admit(false, T0).expect("clean"));
    cooldown.record(trials[0], &banning(), T0, T0 + 100);
    assert_eq!(cooldown.record(trials[1], &plain(200), T0, T0 + 200), None);
    assert_eq!(cooldown.record(trials[1], &plain(200), T0 + 100, T0 + 200), None, "in the same ms");
    assert_eq!(state(&cooldown), Some(Banned));
    let change = cooldown.record(trials[1], &plain(200), T0 + 101, T0 + 300).expect("it is alive");
    assert_eq!((change.from.as_str(), change.to.as_str()), ("banned", "ready"));
}

#[test]
fn f20_f21_an_expired_credential_is_refreshed_three_times_at_most() {
    let mut cooldown = ended(&dead());
    assert!(cooldown.retry_due(T0), "none yet: allowed now");
    let mut at = T0;
    for (retries, pause_ms) in [(1, 600_000), (2, 1_200_000)] {
        assert_eq!(cooldown.retried(false, at).expect("told").why, "refresh-failed");
        let terminal = cooldown.view().terminal.expect("still");
        assert_eq!((terminal.retries, terminal.retried_at), (retries, Some(at)));
        let due = [pause_ms - 1, pause_ms].map(|wait| cooldown.retry_due(at + wait));
        assert_eq!(due, [false, true], "F20");
        at += pause_ms;
    }
    cooldown.retried(false, at);
    assert!(!cooldown.retry_due(Millis::MAX), "F21");
    let mut cooldown = ended(&dead());
    assert_eq!(cooldown.retried(true, T0 + 1).expect("back").to, "ready");
    assert!(cooldown.view().is_clean());
    assert_eq!(cooldown.retried(true, T0 + 2), None);
    for verdict in [banning(), unpaid()] {
        let mut cooldown = ended(&verdict);
        assert!(!cooldown.retry_due(Millis::MAX), "core 3.9.8");
        assert_eq!(cooldown.retried(true, T0 + 1), None, "core 3.9.8");
    }
}

#[test]
fn a_passing_test_disproves_every_terminal_state() {
    for verdict in [banning(), dead(), unpaid()] {
        let mut cooldown = ended(&verdict);
        let change = cooldown.test_passed(T0 + 9).expect("disproved");
        assert_eq!((change.to.as_str(), change.why.as_str()), ("ready", "connection-test"));
        assert!(cooldown.view().is_clean());
    }
    let mut cooldown = clean(Apikey);
    assert_eq!(cooldown.test_passed(T0), None, "clean");
    send(&mut cooldown, &refused(), T0);
    assert!(cooldown.test_passed(T0 + 1).is_some(), "the auth cooldown too");
    send(&mut cooldown, &hinted(429, "60"), T0 + 2);
    assert_eq!(cooldown.test_passed(T0 + 3), None, "FC-060: it says nothing about a rate limit");
    assert_eq!(left(&cooldown, T0 + 3), Some(59_999));
}

/// What a check or a lock only told is in `last_error`; why the account rests is another matter.
#[test]
fn fc_060_a_failure_that_is_only_told_does_not_change_why_it_rests() {
    let Verdict::Failure(refusal) = refused() else { panic!("a failure") };
    let mut cooldown = clean(Apikey);
    send(&mut cooldown, &hinted(429, "432000"), T0);
    cooldown.record_check(&refusal, T0 + 1).expect("told");
    assert_eq!(cooldown.view().last_error.map(|error| error.reason), Some(Reason::AuthError));
    assert_eq!(cooldown.test_passed(T0 + 2), None);
    assert_eq!(cooldown.credential_changed(T0 + 3), None);
    assert_eq!(left(&cooldown, T0 + 3), Some(431_999_997));
    // Nor does the first failure, once a later one has moved the end.
    let mut cooldown = clean(Apikey);
    let trials = [(); 2].map(|()| cooldown.admit(false, T0).expect("no rest runs"));
    cooldown.record(trials[0], &refused(), T0, T0);
    cooldown.record(trials[1], &hinted(429, "432000"), T0, T0 + 1);
    cooldown.test_passed(T0 + 2).expect("the refusal is disproved");
    assert_eq!(left(&cooldown, T0 + 2), Some(431_999_999), "the rest stays");
    send(&mut cooldown, &refused(), T0 + 432_000_001);
    assert_eq!(state(&cooldown), None, "the next refusal is the first one again");
}

/// An operator's rest says nothing of a credential.
#[test]
fn a_passing_test_ends_no_rest_that_an_operator_ordered() {
    let mut cooldown = clean(Apikey);
    send(&mut cooldown, &refused(), T0);
    cooldown.cool(3_600_000, T0 + 1).expect("ordered");
    cooldown.test_passed(T0 + 2);
    assert_eq!(left(&cooldown, T0 + 2), Some(3_599_999));
}

#[test]
fn p8_a_check_is_told_and_rests_nobody() {
    let mut cooldown = at_level(CooldownSettings::for_class(Apikey), 2);
    let Verdict::Failure(failure) = banning() else { panic!("a failure") };
    let change = cooldown.record_check(&failure, T0).expect("P8");
    assert_eq!((change.from.as_str(), change.to.as_str()), ("ready", "ready"), "P8");
    let view = cooldown.view();
    assert_eq!((view.until, view.level, view.terminal), (None, 2, None), "P8");
    assert_eq!(view.last_error.map(|last| (last.status, last.at)), Some((403, T0)), "P8");
}

#[test]
fn decision_3c_another_credential_ends_what_was_about_the_old_one() {
    for verdict in [banning(), dead(), unpaid(), refused()] {
        let mut cooldown = clean(Apikey);
        send(&mut cooldown, &verdict, T0);
        assert_eq!(cooldown.credential_changed(T0 + 1).expect("void").to, "ready");
        assert!(cooldown.view().is_clean());
        assert_eq!(cooldown.credential_changed(T0 + 2), None);
    }
    let mut cooldown = clean(Apikey);
    send(&mut cooldown, &hinted(503, "60"), T0);
    assert_eq!(cooldown.credential_changed(T0 + 1), None, "not the credential's fault");
    // A streak ends even where another failure is the last one.
    let mut cooldown = clean(Apikey);
    send(&mut cooldown, &refused(), T0);
    send(&mut cooldown, &hinted(503, "60"), T0 + 3_000);
    cooldown.credential_changed(T0 + 3_001).expect("the streak");
    assert_eq!(left(&cooldown, T0 + 3_001), Some(59_999), "its rest stays");
    send(&mut cooldown, &refused(), T0 + 63_000);
    assert_eq!(state(&cooldown), None, "the new one was refused once");
}

fn rejected() -> Verdict {
    failing(403, |failure| {
        failure.reason = Reason::RequestRejected;
        failure.cooldown = CooldownRule::Rejected;
    })
}

#[test]
fn f15_refusals_without_a_model_rest_the_connection() {
    let mut cooldown = clean(Oauth);
    let mut now = T0;
    for rest_ms in [300_000, 900_000, 2_700_000, 3_600_000, 3_600_000] {
        let trials = [(); 2].map(|()| cooldown.admit(false, now).expect("no rest runs"));
        cooldown.record(trials[0], &rejected(), now, now);
        assert_eq!(cooldown.record(trials[1], &rejected(), now, now + 1), None, "one episode");
        assert_eq!((left(&cooldown, now), cooldown.view().level), (Some(rest_ms), 0), "F15");
        now += rest_ms;
    }
    assert_eq!(state(&cooldown), None, "core 3.8.1: never bans");
    // The last refusal is 24 h and a moment old.
    let late = now - 3_600_000 + 86_400_001;
    send(&mut cooldown, &rejected(), late);
    assert_eq!(left(&cooldown, late), Some(300_000), "core 3.8.2");
    send(&mut cooldown, &plain(200), late + 300_000);
    send(&mut cooldown, &rejected(), late + 300_001);
    assert_eq!(left(&cooldown, late + 300_001), Some(300_000), "a success ends the row");
}

#[test]
fn p2_d_what_concerns_no_account_is_not_written() {
    // A 404 about a file, a busy rotation gate, a request of another account: all the same here.
    let mut cooldown = at_level(CooldownSettings::for_class(Apikey), 3);
    let before = cooldown.snapshot();
    let nothing = |failure: &mut Failure| failure.cooldown = CooldownRule::Nothing;
    assert_eq!(send(&mut cooldown, &failing(404, nothing), T0), None, "P2");
    assert_eq!(cooldown.snapshot(), before, "P2");
}

#[test]
fn an_old_record_has_no_terminal_state_and_a_clock_set_back_holds_no_retry() {
    let snapshot = ended(&dead()).snapshot();
    let mut terminal = snapshot.terminal.expect("terminal");
    terminal.retries = 1;
    terminal.retried_at = Some(T0 + 3_600_000);
    let snapshot = CooldownSnapshot { terminal: Some(terminal), ..snapshot };
    let restored = Cooldown::restore(snapshot, CooldownSettings::for_class(Class::Oauth), T0);
    assert_eq!([T0 + 599_999, T0 + 600_000].map(|now| restored.retry_due(now)), [false, true], "FC-121");
    assert_eq!(CooldownSnapshot::default().terminal, None);
}
