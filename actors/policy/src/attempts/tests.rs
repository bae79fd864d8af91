mod ends;
mod kept;
mod own;
mod room;

use super::{AttemptSettings, Attempts, Failed, LastAnswer, MAX_DISPATCHES, Next};
use crate::breaker::Grant;
use crate::change::{Exclusion, Refusal};
use crate::dice::Scripted;
use crate::hint::{Hint, HintSource};
use crate::ids::Class;
use crate::plan::{Forced, Plan, Planned, empty};
use crate::verdict::{Case, End, Failure, RuleId, RuleMatch, RuleScope, Signal, Transport, Verdict, judge};

/// Targets written as `provider@connection`, a `!` in front pins; the same provider in a row is one step.
fn plan(combo: bool, targets: &[&str]) -> Plan {
    let mut step = 0;
    let mut rows: Vec<Planned> = Vec::new();
    for text in targets {
        let pinned = text.starts_with('!');
        let (provider, connection) = text.trim_start_matches('!').split_once('@').unwrap();
        if rows.last().is_some_and(|last| last.provider.as_str() != provider || pinned) {
            step += 1;
        }
        rows.push(Planned {
            provider: provider.into(),
            class: Class::Apikey,
            connection: connection.into(),
            model: "m".into(),
            step,
            pinned,
            only_on_quota: false,
            place: None,
            grant: Some(Grant { generation: 0, probe: false }),
            forced: Forced::Not,
        });
    }
    let attempts = if combo { AttemptSettings::default() } else { AttemptSettings::direct() };
    let strategy = if combo { "priority" } else { "single" };
    let mut plan = empty(combo.then(|| "c".into()), strategy, attempts, step + 1);
    (plan.targets, plan.timed) = (rows, combo);
    plan
}

fn failure_of(end: End, hint_ms: Option<u64>) -> Failure {
    let hint = hint_ms.map(|wait| Hint::new(wait, HintSource::Header));
    match judge(&Signal::new(end, hint), &Case::of(Class::Apikey)) {
        Verdict::Failure(failure) => failure,
        other => panic!("{end:?} is {other:?}"),
    }
}

/// A 400 whose text sends the request on (decision 8).
fn content(text: &str) -> Failure {
    let signal = Signal { text: text.to_owned(), ..Signal::new(End::Status(400), None) };
    match judge(&signal, &Case::of(Class::Apikey)) {
        Verdict::Failure(failure) => failure,
        other => panic!("{text} is {other:?}"),
    }
}

struct Loop {
    attempts: Attempts,
    next: Next,
}

impl Loop {
    fn over(plan: &Plan) -> Self {
        let attempts = Attempts::new(plan);
        let next = attempts.first();
        Self { attempts, next }
    }

    fn fails(&mut self, end: End) -> &mut Self {
        self.fails_with(end, None, false)
    }

    fn fails_with(&mut self, end: End, hint_ms: Option<u64>, probe: bool) -> &mut Self {
        let Next::Try { target, .. } = self.next else { panic!("nothing to try: {:?}", self.next) };
        self.attempts.dispatch(target);
        let answered = matches!(end, End::Status(_));
        let failed = Failed { target, failure: failure_of(end, hint_ms), answered };
        self.next = self.attempts.failed(failed, probe, &mut Scripted::default());
        self
    }

    fn says(&mut self, text: &str) -> &mut Self {
        self.fails_by(content(text))
    }

    fn fails_by(&mut self, failure: Failure) -> &mut Self {
        let Next::Try { target, .. } = self.next else { panic!("nothing to try: {:?}", self.next) };
        self.attempts.dispatch(target);
        let failed = Failed { target, failure, answered: true };
        self.next = self.attempts.failed(failed, false, &mut Scripted::default());
        self
    }

    fn tries(&self) -> (usize, u64, bool) {
        match self.next.clone() {
            Next::Try { target, wait_ms, retry } => (target, wait_ms, retry),
            other => panic!("{other:?}"),
        }
    }
}

const S503: End = End::Status(503);

/// Routing 16 #73 by decision 26a: A, then B at once.
#[test]
fn row_73_fails_over_before_it_retries() {
    let mut run = Loop::over(&plan(true, &["a@1", "b@1"]));
    assert_eq!(run.tries(), (0, 0, false));
    assert_eq!(run.fails(S503).tries(), (1, 0, false));
    assert_eq!(run.fails(S503).tries(), (1, 2_000, true));
    assert_eq!(run.fails(S503).next, Next::Exhausted);
}

/// Routing 16 #73 as the guide has it, when an operator asks for it.
#[test]
fn a_combo_may_retry_before_it_fails_over() {
    let mut plan = plan(true, &["a@1", "b@1"]);
    plan.attempts.failover_before_retry = false;
    let mut run = Loop::over(&plan);
    assert_eq!(run.fails(S503).tries(), (0, 2_000, true));
    assert_eq!(run.fails(S503).tries(), (1, 0, false));
}

/// Decision 26a: a stated wait of up to 10 s takes the delay's place, a longer one means no retry.
#[test]
fn a_stated_wait_replaces_the_retry_delay() {
    let one = plan(true, &["a@1"]);
    assert_eq!(Loop::over(&one).fails_with(S503, Some(10_000), false).tries(), (0, 10_000, true));
    assert_eq!(Loop::over(&one).fails_with(S503, Some(10_001), false).next, Next::Exhausted);
    assert_eq!(Loop::over(&one).fails_with(End::Status(429), Some(1_000), false).tries(), (0, 1_000, true));
}

/// Decision 9c: without a combo every connection is tried once and none twice.
#[test]
fn a_single_target_tries_each_account_once() {
    let mut run = Loop::over(&plan(false, &["a@1", "a@2", "a@3"]));
    for target in 0..3 {
        assert_eq!(run.tries(), (target, 0, false));
        run.fails(End::Status(429));
    }
    assert_eq!(run.next, Next::Exhausted);
}

/// A failing provider puts its other accounts behind the other targets; a failing account does not.
#[test]
fn a_provider_failure_defers_its_other_accounts() {
    let combo = plan(true, &["a@1", "a@2", "b@1"]);
    let mut run = Loop::over(&combo);
    assert_eq!(run.fails(S503).tries().0, 2);
    assert_eq!(run.fails(S503).tries(), (1, 0, false));
    let mut run = Loop::over(&combo);
    assert_eq!(run.fails(End::Status(401)).tries().0, 1);
}

/// Routing 16 #77: [P1@c1, P1@c2, P2], P1@c1 answers 401.
#[test]
fn row_77_a_refused_account_leaves_its_sibling() {
    let mut run = Loop::over(&plan(true, &["!a@1", "!a@2", "b@1"]));
    assert_eq!(run.fails(End::Status(401)).tries().0, 1);
    // The same account pinned again is not asked twice (routing 7.2 gate 4).
    let mut run = Loop::over(&plan(true, &["!a@1", "!a@1", "b@1"]));
    assert_eq!(run.fails(End::Status(401)).tries().0, 2);
}

/// Rules 3.11.4 (K7): what bars one model leaves the account's other models in the request.
#[test]
fn k7_a_refusal_of_one_model_leaves_its_account() {
    let same_account = plan(true, &["!a@1", "!a@1", "b@1"]);
    let refusal = failure_of(End::Status(403), None);
    let scope = RuleScope::Model;
    let ruled = RuleMatch { id: RuleId::Operator(0), scope, honoured: true };
    let overloaded = failure_of(End::Status(529), None);
    for (row, failure, next) in [
        ("by status", refusal.clone(), 2),
        ("by a rule of a model", Failure { rule: Some(ruled), ..refusal.clone() }, 1),
        ("by a label", Failure { rule: Some(RuleMatch { honoured: false, ..ruled }), ..refusal }, 2),
        ("overloaded, as 503", Failure { status: 503, ..overloaded }, 1),
    ] {
        let mut run = Loop::over(&same_account);
        assert_eq!(run.fails_by(failure).tries().0, next, "{row}");
    }
}

/// Decision 8: the content of a 400 is the client's affair.
#[test]
fn a_bad_request_stops_with_its_own_answer() {
    for status in [400, 413, 415, 422] {
        let mut run = Loop::over(&plan(true, &["a@1", "b@1"]));
        assert_eq!(run.fails(End::Status(status)).next, Next::Stop(0), "{status}");
    }
}

/// Core 3.2.6: no other account of the provider is asked for a model that it does not serve.
#[test]
fn a_model_that_a_provider_does_not_serve_skips_its_accounts() {
    let missing = "model m does not exist";
    let mut combo = plan(true, &["a@1", "a@2", "b@1", "!a@3"]);
    let mut run = Loop::over(&combo);
    assert_eq!(run.says(missing).tries(), (2, 0, false));
    assert_eq!(run.fails(S503).tries(), (2, 2_000, true), "a@3 is the same model there");
    // Another model of that provider is another question.
    combo.targets[3].model = "other".into();
    let mut run = Loop::over(&combo);
    assert_eq!(run.says(missing).tries(), (2, 0, false));
    assert_eq!(run.fails(S503).tries(), (3, 0, false));
    // One that is only unavailable may be served to the next account.
    let mut run = Loop::over(&combo);
    assert_eq!(run.says("model is unavailable").tries(), (1, 0, false));
}

/// Decision 9b: every target moved on for a 400: the first such answer.
#[test]
fn when_all_moved_on_for_a_400_the_first_answer_is_the_last_word() {
    let mut run = Loop::over(&plan(true, &["a@1", "b@1", "c@1"]));
    for text in ["prompt is too long", "model m does not exist", "parameter is illegal"] {
        run.says(text);
    }
    assert_eq!((run.next, run.attempts.last_answer()), (Next::Exhausted, LastAnswer::Upstream(0)));
    let mut run = Loop::over(&plan(true, &["a@1", "b@1"]));
    run.says("prompt is too long").fails(End::Status(404));
    assert_eq!(run.attempts.last_answer(), LastAnswer::Upstream(1), "alike, but not all for a 400");
    let mut run = Loop::over(&plan(true, &["a@1", "b@1"]));
    run.says("prompt is too long").fails(End::Status(503));
    assert_eq!(run.attempts.last_answer(), LastAnswer::Ours(502), "mixed");
}

/// Routing 7.3: each row's "next target", and decision 26a's retry of the last one.
#[test]
fn table_of_routing_7_3() {
    let rows = [
        (End::Status(401), false),
        (End::Status(402), false),
        (End::Status(403), false),
        (End::Status(404), false),
        (End::Status(409), false),
        (End::Status(408), true),
        (End::Status(429), true),
        (End::Status(500), true),
        (End::Status(502), true),
        (End::Status(503), true),
        (End::Status(504), true),
        (End::Status(524), false),
        (End::NoFirstByte, false),
        (End::Empty, false),
        (End::SendInterrupted, false),
        (End::Transport(Transport::Refused), true),
        (End::Transport(Transport::Reset), true),
    ];
    for (end, retried) in rows {
        let mut run = Loop::over(&plan(true, &["a@1", "b@1"]));
        assert_eq!(run.fails(end).tries(), (1, 0, false), "{end:?}");
        run.fails(end);
        let again = matches!(run.next, Next::Try { target: 1, retry: true, .. });
        assert_eq!(again, retried, "{end:?}");
    }
}

/// Decision 12c: 529 is tried once more in place, after 0.5 to 1 s, when nothing else is left.
#[test]
fn an_overloaded_model_is_asked_once_more() {
    let overloaded = End::Status(529);
    let mut run = Loop::over(&plan(false, &["a@1"]));
    assert_eq!(run.fails(overloaded).tries(), (0, 500, true));
    assert_eq!(run.fails(overloaded).next, Next::Exhausted);
    let mut run = Loop::over(&plan(false, &["a@1", "a@2"]));
    assert_eq!(run.fails(overloaded).tries(), (1, 0, false));
}

/// A probe is settled at once: it is never the attempt that a retry makes good.
#[test]
fn a_probe_is_never_retried_in_place() {
    let mut run = Loop::over(&plan(true, &["a@1"]));
    assert_eq!(run.fails_with(S503, None, true).next, Next::Exhausted);
}

/// Routing 7.12.
#[test]
fn the_fallback_delay_follows_only_502_to_504() {
    let mut combo = plan(true, &["a@1", "b@1"]);
    combo.attempts.fallback_delay_ms = 700;
    assert_eq!(Loop::over(&combo).fails(S503).tries(), (1, 700, false));
    assert_eq!(Loop::over(&combo).fails(End::Status(500)).tries(), (1, 0, false));
}

/// Routing 16 #78.
#[test]
fn row_78_the_31st_dispatch_is_refused() {
    let targets: Vec<String> = (0..=MAX_DISPATCHES).map(|n| format!("p{n}@c{n}")).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    let mut run = Loop::over(&plan(true, &targets));
    for _ in 0..MAX_DISPATCHES {
        run.fails(S503);
    }
    assert_eq!(run.next, Next::TooMany);
    assert_eq!(run.attempts.dispatched(), 30);
}

/// Decision 7: one request counts once on a provider's breaker; a probe always does.
#[test]
fn one_request_counts_once_on_a_provider() {
    let mut run = Loop::over(&plan(true, &["a@1", "a@2", "b@1"]));
    assert!(run.attempts.counts(0, false));
    assert!(!run.attempts.counts(1, false));
    assert!(run.attempts.counts(1, true));
    assert!(run.attempts.counts(2, false));
}

/// Routing 7.8, 7.13, decision 7: one request, however many passes.
#[test]
fn another_pass_tries_all_again_and_forgets_neither_count() {
    let targets = plan(true, &["a@1", "b@1"]);
    let mut run = Loop::over(&targets);
    run.fails(S503).fails(End::Status(429));
    assert!(run.attempts.counts(0, false));
    run.attempts.anew(&targets);
    assert_eq!((run.attempts.first(), run.attempts.dispatched()), (Loop::over(&targets).next, 2));
    assert!(run.attempts.failures().is_empty() && run.attempts.others_left(0));
    assert!(!run.attempts.counts(0, false) && run.attempts.counts(1, false));
    for _ in 2..MAX_DISPATCHES {
        run.attempts.dispatch(0);
    }
    assert!(!run.attempts.may_dispatch());
    run.attempts.anew(&targets);
    assert_eq!(run.attempts.first(), Next::TooMany);
}

#[test]
fn a_refusal_moves_on_and_is_remembered() {
    let mut run = Loop::over(&plan(true, &["a@1", "b@1"]));
    let refusal = Refusal { why: Exclusion::Draining, retry_at: None };
    assert!(run.attempts.others_left(0));
    run.next = run.attempts.refused(0, refusal);
    assert_eq!(run.tries(), (1, 0, false));
    assert!(!run.attempts.others_left(1));
    assert_eq!(run.attempts.refused(1, refusal), Next::Exhausted);
    assert_eq!(run.attempts.refusals().len(), 2);
    assert_eq!(run.attempts.dispatched(), 0);
}

/// Routing 16 #79, and decision 9b for single targets.
#[test]
fn row_79_what_the_client_gets_when_all_failed() {
    let refused = End::Transport(Transport::Refused);
    let status = End::Status;
    let rows: [(&str, bool, &[End], LastAnswer); 13] = [
        ("79 mixed", true, &[status(401), status(502)], LastAnswer::Ours(502)),
        ("79 alike", true, &[status(429), status(429)], LastAnswer::Upstream(1)),
        ("79 models", true, &[status(404), status(410)], LastAnswer::Upstream(1)),
        ("79 timeout", true, &[status(408), status(500)], LastAnswer::Ours(504)),
        ("79 provider", true, &[status(500), status(503)], LastAnswer::Upstream(1)),
        ("single", false, &[status(401), status(503)], LastAnswer::Upstream(1)),
        ("single, last silent", false, &[status(503), refused], LastAnswer::Upstream(0)),
        ("never answered", false, &[refused, refused], LastAnswer::Ours(502)),
        ("never in time", false, &[End::NoFirstByte], LastAnswer::Ours(504)),
        ("our key", false, &[status(401)], LastAnswer::AuthFailed),
        ("our credit", true, &[status(402)], LastAnswer::CreditsExhausted),
        ("forbidden passes", false, &[status(403)], LastAnswer::Upstream(0)),
        ("nothing", true, &[], LastAnswer::Ours(503)),
    ];
    for (row, combo, ends, expected) in rows {
        let targets: Vec<String> = (0..ends.len()).map(|n| format!("p{n}@c{n}")).collect();
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        let mut run = Loop::over(&plan(combo, &targets));
        for end in ends {
            run.fails(*end);
        }
        assert_eq!(run.attempts.last_answer(), expected, "{row}");
    }
}
