use super::{Auto, AutoRouter, AutoSettings, BudgetFallback, Pack, Rest, Taste, Weights};
use crate::breaker::BreakerState;
use crate::catalogue::ModelEntry;
use crate::change::Exclusion;
use crate::dice::Scripted;
use crate::reading::{AccountReading, WindowReading};
use crate::strategy::table::{Facts, Table};
use crate::strategy::{Metrics, Note, Ranked, Spread};
use crate::time::{MINUTE, Millis};

const NOW: Millis = 1_768_500_000_000;

fn candidate(left: f64, cost: f64, p95_ms: f64, deviation_ms: f64) -> Facts {
    let overall = Some(WindowReading { used: 1.0 - left / 100.0, resets_at: None });
    Facts {
        reading: Some(AccountReading { overall, seen_at: NOW, ..AccountReading::default() }),
        facts: priced(cost),
        spread: Some(Spread { p95_ms, deviation_ms: Some(deviation_ms), samples: 100 }),
        ..Facts::default()
    }
}

fn priced(cost: f64) -> Option<ModelEntry> {
    Some(ModelEntry { input_price: Some(cost), output_price: Some(cost), ..ModelEntry::default() })
}

fn good() -> Facts {
    candidate(100.0, 2.0, 1_000.0, 100.0)
}

/// Routing 16 #50, #51, #52.
fn pool() -> Table {
    let shaky = Facts { breaker: BreakerState::HalfOpen, ..good() };
    of(vec![good(), candidate(40.0, 10.0, 2_000.0, 200.0), shaky])
}

/// Nothing is tried for curiosity unless a test says so.
fn of(rows: Vec<Facts>) -> Table {
    let mut table = Table { now: NOW, ..Table::of(rows) };
    table.settings.auto.exploration_rate = 0.0;
    table
}

fn rank(table: &Table, numbers: &[f64]) -> Ranked {
    table.rank(&Auto, &mut Scripted::new(numbers))
}

fn take(table: &mut Table, numbers: &[f64]) -> String {
    table.take(&Auto, &mut Scripted::new(numbers)).concat()
}

fn rounded(scores: &[f64]) -> Vec<f64> {
    scores.iter().map(|score| (score * 1e5).round() / 1e5).collect()
}

#[test]
fn rows_50_to_52() {
    let ranked = rank(&pool(), &[]);
    assert_eq!(rounded(&ranked.scores), [0.69254, 0.41153, 0.61229]);
    assert_eq!(ranked.order, [0, 2, 1]);
    assert_eq!(ranked.notes, [], "one alone takes no turns");
}

#[test]
fn row_53() {
    let mut two = of(vec![good(), good()]);
    two.settings.auto.exploration_rate = 0.05;
    let turns = [0; 3].map(|_| take(&mut two, &[0.05, 0.99]));
    assert_eq!(turns, ["AB", "BA", "AB"]);
    assert_eq!(take(&mut two, &[0.049, 1.0]), "BA", "curious: any of them");
    assert_eq!(two.state.cursor, 3, "curiosity is nobody's turn");
}

#[test]
fn row_54() {
    let mut two = of(vec![candidate(100.0, 10.0, 1_000.0, 100.0), candidate(40.0, 0.5, 1_900.0, 190.0)]);
    two.settings.auto.weights = Some(Weights::of([("latency_inv", 1.0)]));
    assert_eq!(rank(&two, &[]).order, [0, 1]);
    two.settings.auto.budget_cap_usd = Some(0.001);
    assert_eq!(rank(&two, &[]).order, [1, 0], "the dear one stays as a fallback");
    two.request.input_tokens = Some(100);
    assert_eq!(rank(&two, &[]).order, [0, 1], "a small request is cheap enough");
    two.request.wish.budget_usd = Some(0.000_1);
    assert_eq!(rank(&two, &[]).order, [1, 0], "the header beats the combo");
}

#[test]
fn row_55() {
    let mut two = of(vec![candidate(100.0, 10.0, 1_000.0, 100.0), candidate(100.0, 20.0, 1_000.0, 100.0)]);
    two.settings.auto.budget_cap_usd = Some(0.001);
    assert_eq!(rank(&two, &[]).order, [0, 1], "the cheapest");
    two.request.wish.budget_fallback = Some("hard".into());
    let ranked = rank(&two, &[]);
    assert_eq!(ranked.order, Vec::<usize>::new());
    let out: Vec<_> = ranked.left_out.iter().map(|(index, refusal)| (*index, refusal.why)).collect();
    assert_eq!(out, [(0, Exclusion::OverBudget), (1, Exclusion::OverBudget)]);
    two.request.wish.budget_usd = Some(0.015);
    let ranked = rank(&two, &[]);
    assert_eq!((ranked.order, ranked.left_out.len()), (vec![0], 1), "nor is it a fallback");
}

/// Routing 5.7.
#[test]
fn row_56() {
    let stored = AutoSettings { mode_pack: Pack::find("cost-saver"), ..AutoSettings::default() };
    let pack = |name: &str| Pack::find(name).unwrap().weights();
    let rows = [
        (None, pack("cost-saver")),
        (Some("turbo"), pack("cost-saver")),
        (Some("fast"), pack("ship-fast")),
        (Some("Quality"), pack("quality-first")),
        (Some("reliable"), pack("reliability-first")),
        (Some("offline"), pack("offline-friendly")),
        (Some("cheap"), pack("cost-saver")),
        (Some("chaos-mode"), pack("chaos-mode")),
        (Some("balanced"), Weights::default()),
    ];
    for (mode, expected) in rows {
        assert_eq!(stored.weights(mode), expected, "{mode:?}");
    }
    let own = Weights::of([("quota", 1.0)]);
    let stated = AutoSettings { weights: Some(own), ..AutoSettings::default() };
    assert_eq!((stated.weights(None), stated.weights(Some("default"))), (own, own));
    assert_eq!(BudgetFallback::find(" Block "), Some(BudgetFallback::Strict));
    assert_eq!(BudgetFallback::find("cheapest-viable"), Some(BudgetFallback::Cheapest));
    assert_eq!(BudgetFallback::find("never"), None);
}

/// FC-050: who serves for the one that fails is not always the same.
#[test]
fn equal_ones_follow_the_choice_in_a_circle() {
    let mut three = of(vec![good(), good(), good()]);
    assert_eq!([0; 4].map(|_| take(&mut three, &[])), ["ABC", "BCA", "CAB", "ABC"]);
}

/// Weights that make the score of A to E .50, .50, .48, .45, .42: quota alone, as percent left.
fn near() -> Table {
    let rows = [50.0, 50.0, 48.0, 45.0, 42.0].map(|left| candidate(left, 1.0, 1_000.0, 100.0));
    let mut table = of(rows.to_vec());
    table.settings.auto.weights = Some(Weights::of([("quota", 1.0)]));
    table
}

/// Routing 5.8: .45, .35 and .2 of the draws; A and B take turns in the top.
#[test]
fn tiers_are_drawn_when_all_are_nearly_alike() {
    let first = |table: &Table, rand| rank(table, &[rand]).order[0];
    let table = near();
    assert_eq!([0.0, 0.449, 0.45, 0.799, 0.8, 0.999].map(|rand| first(&table, rand)), [0, 0, 2, 2, 3, 3]);
    let turned = Table { state: crate::strategy::ComboState { cursor: 1, ..table.state.clone() }, ..table };
    assert_eq!([0.0, 0.8].map(|rand| first(&turned, rand)), [1, 4]);
    assert_eq!(rank(&turned, &[0.0]).order, [1, 0, 2, 3, 4]);
    assert_eq!(rank(&turned, &[0.0]).notes, [Note::Cursor(2)]);
    let mut coding = near();
    coding.settings.auto.taste = Taste::of_name("auto/coding");
    assert_eq!([0.599, 0.6, 0.85].map(|rand| first(&coding, rand)), [0, 2, 3]);
}

#[test]
fn without_a_middle_the_better_half_of_the_rest_is_it() {
    let rows = [50.0, 43.0, 42.0, 41.0].map(|left| candidate(left, 1.0, 1_000.0, 100.0));
    let mut table = of(rows.to_vec());
    table.settings.auto.weights = Some(Weights::of([("quota", 1.0)]));
    let first = |rand| rank(&table, &[rand]).order[0];
    assert_eq!([0.44, 0.46, 0.81].map(first), [0, 1, 3]);
}

#[test]
fn a_provider_that_scores_too_low_is_left_alone_for_a_while() {
    let mut table = of(vec![candidate(100.0, 1.0, 1.0, 1.0), candidate(10.0, 1.0, 1.0, 1.0)]);
    table.settings.auto.weights = Some(Weights::of([("quota", 1.0)]));
    table.settings.auto.router = AutoRouter::Cost;
    let refresh = |table: &mut Table, left: f64| {
        for (row, left) in table.rows.iter_mut().zip([100.0, left]) {
            let reading = row.reading.as_mut().unwrap();
            reading.seen_at = table.now;
            reading.overall.as_mut().unwrap().used = 1.0 - left / 100.0;
        }
    };
    let mut spans = Vec::new();
    for _ in 0..5 {
        refresh(&mut table, 10.0);
        assert_eq!(take(&mut table, &[]), "AB");
        let rest: Rest = table.state.auto["B"];
        spans.push(rest.span_ms / MINUTE);
        table.now = rest.until - 1;
        refresh(&mut table, 100.0);
        assert_eq!(take(&mut table, &[]), "AB", "it rests however good it is");
        table.now = rest.until;
    }
    assert_eq!(spans, [5, 10, 20, 30, 30]);
    refresh(&mut table, 100.0);
    take(&mut table, &[]);
    assert!(table.state.auto.is_empty(), "the run is over");
    let mut alone = of(vec![candidate(10.0, 1.0, 1.0, 1.0)]);
    alone.settings.auto.weights = table.settings.auto.weights;
    assert_eq!(take(&mut alone, &[]), "A", "if nothing is left all are used");
}

#[test]
fn in_an_incident_nothing_is_tried_for_curiosity() {
    let open = Facts { breaker: BreakerState::Open, eligible: false, ..good() };
    let mut table = of(vec![open.clone(), good(), open]);
    table.settings.auto.exploration_rate = 1.0;
    table.settings.auto.weights = Some(Weights::of([("health", 1.0)]));
    assert_eq!(rank(&table, &[]).order, [1, 0, 2]);
    let worse = Facts { breaker: BreakerState::HalfOpen, ..good() };
    table.rows[0] = worse;
    assert_eq!(rank(&table, &[0.0, 1.0]).order[0], 0, "one of three is no incident");
}

#[test]
fn the_pool_of_candidates_comes_first_and_the_others_stay() {
    let mut table = pool();
    table.settings.auto.candidate_pool = vec!["B".into()];
    assert_eq!(rank(&table, &[]).order, [1, 0, 2]);
    table.settings.auto.candidate_pool = vec!["nobody".into()];
    assert_eq!(rank(&table, &[]).order, [0, 2, 1]);
}

/// Routing 5.10; ties take turns (decision 26).
#[test]
fn other_routers_choose_their_own_way() {
    let rate = |success_rate| Some(Metrics { success_rate, mean_ms: None });
    let mut table = of(vec![
        Facts { metrics: rate(0.5), ..candidate(100.0, 5.0, 900.0, 90.0) },
        Facts { metrics: rate(1.0), ..candidate(10.0, 1.0, 3_000.0, 300.0) },
        Facts { metrics: rate(0.99), ..candidate(90.0, 8.0, 1_100.0, 110.0) },
    ]);
    let first = |table: &mut Table, router| {
        table.settings.auto.router = router;
        rank(table, &[]).order[0]
    };
    let chosen = [AutoRouter::Score, AutoRouter::Cost, AutoRouter::Latency, AutoRouter::Sla]
        .map(|router| first(&mut table, router));
    assert_eq!(chosen, [0, 1, 2, 2]);
    table.settings.auto.sla.hard = true;
    table.settings.auto.sla.p95_ms = 5_000.0;
    table.settings.auto.sla.cost = 2.0;
    assert_eq!(first(&mut table, AutoRouter::Sla), 1, "it breaks no promise");
    let mut alike = of(vec![good(), good()]);
    alike.settings.auto.router = AutoRouter::Score;
    assert_eq!([0; 3].map(|_| take(&mut alike, &[])), ["AB", "BA", "AB"]);
}

#[test]
fn lkgp_stays_with_who_served_last() {
    let mut table = pool();
    for (row, connection) in table.rows.iter_mut().zip(["c1", "c2", "c3"]) {
        row.connection = Some(connection.into());
    }
    table.settings.auto.router = AutoRouter::Lkgp;
    assert_eq!(take(&mut table, &[]), "ACB", "nobody yet: the rules");
    table.hear(&Auto, 1, false, true);
    assert_eq!(take(&mut table, &[]), "BAC");
    table.hear(&Auto, 0, true, false);
    assert_eq!(take(&mut table, &[]), "BAC", "a failure is no good answer");
    for (name, router) in AutoRouter::NAMES {
        assert_eq!(AutoRouter::find(&name.to_uppercase()), Some(router));
    }
}

#[test]
fn those_that_cannot_serve_go_last_and_count_for_nothing() {
    let mut table = pool();
    table.rows[0].eligible = false;
    let ranked = rank(&table, &[]);
    assert_eq!(ranked.order, [2, 1, 0]);
    table.rows[1].eligible = false;
    table.rows[2].eligible = false;
    assert_eq!(rank(&table, &[]).order, [0, 1, 2]);
    assert_eq!(rank(&of(vec![]), &[]).order, Vec::<usize>::new());
}

/// Routing 5.4: 1 for the account whose rank for the prompt is highest (16 #60: c2 for k1).
#[test]
fn a_cached_prompt_counts_where_it_has_weight() {
    let mut table = of(["c1", "c2", "c3"].map(|id| Facts { connection: Some(id.into()), ..good() }).to_vec());
    table.settings.auto.weights = Some(Weights::of([("cache_affinity", 1.0)]));
    assert_eq!(rank(&table, &[]).scores, [0.0; 3]);
    table.request.cache_key = Some("k1".into());
    assert_eq!(rank(&table, &[]).scores, [0.0, 1.0, 0.0]);
    assert_eq!(rank(&table, &[]).order[0], 1);
}

/// Decisions 25, 27a and what else is known of an account.
#[test]
fn single_factors_say_what_is_known() {
    let score = |name: &str, facts: Facts| {
        let mut table = of(vec![facts, good()]);
        table.settings.auto.weights = Some(Weights::of([(name, 1.0)]));
        rounded(&rank(&table, &[]).scores)[0]
    };
    let rows = [
        ("reliability", Facts { reliability: Some(0.85), ..good() }, 0.85),
        ("reliability", good(), 0.5),
        ("session_availability", Facts { sessions: 3, ..good() }, 0.25),
        ("connection_density", Facts { accounts: 4, ..good() }, 0.3),
        ("connection_density", Facts { accounts: 40, ..good() }, 1.0),
        ("quota", Facts::default(), 1.0),
        ("cost_inv", Facts { facts: None, ..good() }, 0.5),
        ("latency_inv", Facts { spread: None, ..good() }, 0.0),
        ("health", Facts { breaker: BreakerState::Degraded, ..good() }, 1.0),
        ("reset_window_affinity", Facts::default(), 0.5),
        ("task_fit", Facts::default(), 0.5),
        ("cache_affinity", Facts::default(), 0.0),
    ];
    for (name, facts, expected) in rows {
        assert_eq!(score(name, facts), expected, "{name}");
    }
}
