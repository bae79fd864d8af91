//! Decisions for a key (E35-E41).

use crate::quota::{
    Allocation, Cap, Cause, Decision, DimensionLimit, PLACEHOLDER, Pool, Reading, Rule, Unit, UsageWindow,
    decide, threshold,
};

fn limit(unit: Unit, limit: f64) -> DimensionLimit {
    DimensionLimit { unit, window: UsageWindow::Session, limit }
}

fn pool(weights: &[f64], members: usize, limits: &[DimensionLimit]) -> Pool {
    let allocation = |(index, weight): (usize, &f64)| Allocation {
        key: format!("k{index}").into(),
        weight: *weight,
        rule: Rule::Hard,
        cap: None,
    };
    Pool {
        id: "p".into(),
        slug: "g".into(),
        provider: "a".into(),
        members: (0..members).map(|number| format!("a-{number}").into()).collect(),
        allocations: weights.iter().enumerate().map(allocation).collect(),
        limits: limits.to_vec(),
    }
}

fn of(pool: &Pool, key: &str, total: f64, own: f64) -> Decision {
    decide(pool, key, &|_| Some(Reading { total, own }), 0.5)
}

fn cause(decision: Decision) -> Option<Cause> {
    match decision {
        Decision::Block { cause, .. } => Some(cause),
        Decision::Allow | Decision::Last => None,
    }
}

/// A name, unit, rule, what all and what the key have used, and what comes of it.
type Row = (&'static str, Unit, Rule, f64, f64, Result<Cause, Decision>);

#[test]
fn flow_8_2_shares() {
    let blocked = |cause| Ok::<_, Decision>(cause);
    let rows: [Row; 13] = [
        ("E35", Unit::Percent, Rule::Hard, 0.6, 60.0, blocked(Cause::FairShare)),
        ("E35, below its share", Unit::Percent, Rule::Hard, 0.6, 59.0, Err(Decision::Allow)),
        ("E36 soft", Unit::Percent, Rule::Soft, 0.6, 60.0, Err(Decision::Last)),
        ("E36 soft, below its share", Unit::Percent, Rule::Soft, 0.6, 59.0, Err(Decision::Allow)),
        ("E36 burst", Unit::Percent, Rule::Burst, 0.6, 60.0, Err(Decision::Allow)),
        ("E37", Unit::Percent, Rule::Hard, 0.4, 60.0, Err(Decision::Allow)),
        ("2.13 d, all of it", Unit::Percent, Rule::Hard, 0.4, 100.0, blocked(Cause::FairShare)),
        ("2.13 d, soft", Unit::Percent, Rule::Soft, 0.4, 60.0, Err(Decision::Last)),
        ("E38", Unit::Requests, Rule::Burst, 100.0, 0.0, blocked(Cause::GlobalSaturated)),
        ("E38 percent", Unit::Percent, Rule::Soft, 1.0, 0.0, blocked(Cause::GlobalSaturated)),
        ("decision 16, counted", Unit::Tokens, Rule::Hard, 60.0, 60.0, blocked(Cause::FairShare)),
        ("decision 16, little is used", Unit::Usd, Rule::Hard, 49.0, 60.0, Err(Decision::Allow)),
        ("at the threshold", Unit::Usd, Rule::Hard, 50.0, 60.0, blocked(Cause::FairShare)),
    ];
    for (row, unit, rule, total, own, expected) in rows {
        let mut pool = pool(&[60.0, 40.0], 1, &[limit(unit, 100.0)]);
        pool.allocations[0].rule = rule;
        let decision = of(&pool, "k0", total, own);
        match expected {
            Ok(why) => assert_eq!(cause(decision), Some(why), "{row}"),
            Err(other) => assert_eq!(decision, other, "{row}"),
        }
    }
}

#[test]
fn e39_two_accounts_are_worth_two_limits() {
    let pool = pool(&[60.0, 40.0], 2, &[limit(Unit::Requests, 100.0)]);
    assert_eq!(of(&pool, "k0", 119.0, 119.0), Decision::Allow);
    let blocked =
        Decision::Block { cause: Cause::FairShare, limit: limit(Unit::Requests, 100.0), below: 120.0 };
    assert_eq!(of(&pool, "k0", 120.0, 120.0), blocked);
}

#[test]
fn e40_without_weights_all_shares_are_equal() {
    let pool = pool(&[0.0; 3], 1, &[limit(Unit::Requests, 90.0)]);
    for key in ["k0", "k1", "k2"] {
        assert_eq!(of(&pool, key, 60.0, 29.0), Decision::Allow);
        assert!(matches!(of(&pool, key, 60.0, 30.0), Decision::Block { below: 30.0, .. }));
    }
}

#[test]
fn e41_no_limit_a_placeholder_and_an_error() {
    let with = |value: f64| pool(&[60.0, 40.0], 1, &[limit(Unit::Requests, value)]);
    for none in [0.0, -1.0] {
        assert_eq!(cause(of(&with(none), "k0", 0.0, 0.0)), Some(Cause::GlobalSaturated), "{none}");
    }
    for passed_over in [PLACEHOLDER, f64::NAN, f64::INFINITY] {
        assert_eq!(of(&with(passed_over), "k0", 1e9, 1e9), Decision::Allow, "{passed_over}");
    }
    assert_eq!(decide(&with(0.0), "k0", &|_| None, 0.5), Decision::Allow, "an error allows");
}

#[test]
fn flow_2_13_a_key_ends_at_its_own_cap_first() {
    let mut pool = pool(&[60.0, 40.0], 1, &[limit(Unit::Requests, 100.0), limit(Unit::Tokens, 100.0)]);
    pool.allocations[0].cap = Some(Cap { value: 10.0, unit: Unit::Tokens });
    pool.allocations[0].rule = Rule::Burst;
    assert_eq!(of(&pool, "k0", 9.0, 9.0), Decision::Allow);
    let decision = of(&pool, "k0", 100.0, 10.0);
    assert!(
        matches!(decision, Decision::Block { cause: Cause::GlobalSaturated, limit, .. } if limit.unit == Unit::Requests)
    );
    let decision = of(&pool, "k0", 10.0, 10.0);
    let cap = Decision::Block { cause: Cause::CapAbsolute, limit: limit(Unit::Tokens, 100.0), below: 10.0 };
    assert_eq!(decision, cap);
}

#[test]
fn flow_2_8_a_key_without_a_part_is_not_held() {
    let pool = pool(&[60.0], 1, &[limit(Unit::Requests, 0.0)]);
    assert_eq!(of(&pool, "stranger", 1.0, 1.0), Decision::Allow);
}

#[test]
fn flow_2_13_a_block_of_one_dimension_beats_a_mark_of_another() {
    let mut pool = pool(&[60.0, 40.0], 1, &[limit(Unit::Requests, 100.0), limit(Unit::Tokens, 50.0)]);
    pool.allocations[0].rule = Rule::Soft;
    assert_eq!(cause(of(&pool, "k0", 60.0, 60.0)), Some(Cause::GlobalSaturated));
}

#[test]
fn flow_2_7_an_unknown_rule_in_the_store_is_hard() {
    assert_eq!(Rule::stored("burst"), Rule::Burst);
    assert_eq!(Rule::stored("strict"), Rule::Hard);
}

#[test]
fn flow_2_13_the_threshold_of_the_environment() {
    let rows = [(None, 0.5), (Some("0.8"), 0.8), (Some(" 0 "), 0.0), (Some("2"), 0.5), (Some("x"), 0.5)];
    for (env, expected) in rows {
        assert_eq!(threshold(env), expected, "{env:?}");
    }
}
