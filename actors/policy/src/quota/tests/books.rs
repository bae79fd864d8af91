//! What keys have used, what accounts say, and what comes of both.

use std::sync::Arc;

use crate::catalogue::{Catalogue, ConnectionEntry, Dialect, ModelEntry, ProviderEntry};
use crate::ids::Class;
use crate::quota::{
    Allocation, Books, Cause, Counts, Decision, DimensionLimit, Ledger, Pool, Pools, Rule, SLOT_MS, SlotKey,
    Unit, UsageWindow, Utilisation, utilisation,
};
use crate::reading;
use crate::time::{DAY, HOUR, MINUTE, Millis};

const T0: Millis = 1_768_478_400_000;
const REQUESTS: (Unit, UsageWindow) = (Unit::Requests, UsageWindow::Session);

fn one() -> Counts {
    Counts { requests: 1, tokens: 10, usd: 0.5 }
}

fn allocation(key: &str, weight: f64, rule: Rule) -> Allocation {
    Allocation { key: key.into(), weight, rule, cap: None }
}

/// Two accounts of `a`, shared by k1 and k2 half and half.
fn pools(limits: &[(Unit, f64)]) -> Pools {
    let limit = |(unit, limit): &(Unit, f64)| DimensionLimit {
        unit: *unit,
        window: UsageWindow::Session,
        limit: *limit,
    };
    let pool = Pool {
        id: "pool".into(),
        slug: "team".into(),
        provider: "a".into(),
        members: vec!["a-1".into(), "a-2".into()],
        allocations: vec![allocation("k1", 50.0, Rule::Hard), allocation("k2", 50.0, Rule::Hard)],
        limits: limits.iter().map(limit).collect(),
    };
    Pools { pools: vec![pool], ..Pools::default() }
}

fn catalogue() -> Catalogue {
    let connection = |id: &str, models: &[&str]| {
        Arc::new(ConnectionEntry {
            id: id.into(),
            provider: "a".into(),
            priority: 1,
            usable: true,
            models: models.iter().map(|model| (*model).to_owned()).collect(),
        })
    };
    let provider = ProviderEntry {
        id: "a".into(),
        class: Class::Apikey,
        dialects: vec![Dialect::Openai],
        models: Some(["m", "vendor/n"].map(|id| (id.into(), ModelEntry::default())).into_iter().collect()),
        passthrough_models: false,
        connections: vec![connection("a-1", &["*"]), connection("a-2", &["m"]), connection("a-3", &["*"])],
    };
    Catalogue { providers: [("a".into(), provider)].into_iter().collect(), ..Catalogue::default() }
}

#[test]
fn a_slot_counts_while_any_part_of_it_lies_in_the_window() {
    let (pool, key): (Arc<str>, Arc<str>) = ("pool".into(), "k1".into());
    let mut ledger = Ledger::default();
    let recorded = ledger.record(&pool, &key, one(), T0 + 9 * MINUTE);
    assert_eq!((recorded.slot.start, recorded.counts, recorded.gone), (T0, one(), vec![]));
    ledger.record(&pool, &"k2".into(), one(), T0 + 10 * MINUTE);
    let end = T0 + SLOT_MS + 5 * HOUR;
    let at = |now| (ledger.used(&pool, &key, REQUESTS, now), ledger.used_by_all(&pool, REQUESTS, now));
    assert_eq!((at(end - 1), at(end)), ((1.0, 2.0), (0.0, 1.0)));
    assert_eq!(ledger.used(&pool, &key, (Unit::Tokens, UsageWindow::Day), end), 10.0);
    assert_eq!(ledger.used(&pool, &key, (Unit::Usd, UsageWindow::Week), end), 0.5);
}

#[test]
fn slots_older_than_a_week_are_gone_and_said_so() {
    let (pool, key): (Arc<str>, Arc<str>) = ("pool".into(), "k1".into());
    let mut ledger = Ledger::default();
    ledger.record(&pool, &key, one(), T0);
    ledger.record(&pool, &key, one(), T0 + DAY);
    let recorded = ledger.record(&pool, &key, one(), T0 + 7 * DAY + SLOT_MS);
    assert_eq!(recorded.gone, [SlotKey { pool: pool.clone(), key: key.clone(), start: T0 }]);
    assert_eq!(ledger.used(&pool, &key, (Unit::Requests, UsageWindow::Week), T0 + 7 * DAY + SLOT_MS), 2.0);
}

#[test]
fn what_was_stored_is_used_up_after_a_restart_too() {
    let (pool, key): (Arc<str>, Arc<str>) = ("pool".into(), "k1".into());
    let slot = |start| SlotKey { pool: pool.clone(), key: key.clone(), start };
    let mut ledger = Ledger::default();
    assert!(ledger.restore(&slot(T0 + SLOT_MS), one(), T0 + HOUR));
    assert!(ledger.restore(&slot(T0), one(), T0 + HOUR), "in any order");
    assert!(!ledger.restore(&slot(T0 - 8 * DAY), one(), T0), "too old");
    let recorded = ledger.record(&pool, &key, one(), T0 + SLOT_MS + 1);
    assert_eq!(recorded.counts, Counts { requests: 2, tokens: 20, usd: 1.0 });
    assert_eq!(ledger.used(&pool, &key, REQUESTS, T0 + HOUR), 3.0);
    assert_eq!(ledger.used_by_all(&pool, REQUESTS, T0 + HOUR), 3.0);
    let mut gone = ledger.retain(|_| false);
    gone.sort();
    assert_eq!(gone, [slot(T0), slot(T0 + SLOT_MS)]);
    assert_eq!(ledger.used_by_all(&pool, REQUESTS, T0 + HOUR), 0.0);
}

#[test]
fn a_block_ends_when_enough_has_left_the_window() {
    let (pools, mut books) = (pools(&[(Unit::Requests, 2.0)]), Books::default());
    let key: Arc<str> = "k1".into();
    // Two accounts, 2 each: 4, of which k1 has 2.
    for minute in [0, 30] {
        assert_eq!(pools.decide(&key, &"a-1".into(), &books, T0), (Decision::Allow, None));
        pools.record((&key, &"a-1".into()), one(), &mut books, T0 + minute * MINUTE).unwrap();
    }
    let (decision, until) = pools.decide(&key, &"a-2".into(), &books, T0 + HOUR);
    assert!(matches!(decision, Decision::Block { cause: Cause::FairShare, below: 2.0, .. }), "{decision:?}");
    assert_eq!(until, Some(T0 + SLOT_MS + 5 * HOUR), "the first slot leaves");
    assert_eq!(pools.decide(&key, &"a-2".into(), &books, T0 + SLOT_MS + 5 * HOUR).0, Decision::Allow);
    assert_eq!(
        pools.decide(&"k2".into(), &"a-1".into(), &books, T0 + HOUR).0,
        Decision::Allow,
        "its own half"
    );
    assert_eq!(pools.decide(&key, &"a-3".into(), &books, T0 + HOUR).0, Decision::Allow, "no member");
    assert_eq!(pools.decide(&"k3".into(), &"a-1".into(), &books, T0 + HOUR).0, Decision::Allow, "no part");
}

#[test]
fn percent_is_what_the_accounts_say_and_unknown_allows() {
    let (pools, mut books) = (pools(&[(Unit::Percent, 100.0)]), Books::default());
    let key: Arc<str> = "k1".into();
    pools.record((&key, &"a-1".into()), one(), &mut books, T0).unwrap();
    assert_eq!(pools.decide(&key, &"a-1".into(), &books, T0).0, Decision::Allow, "nobody has said anything");
    let reading = Utilisation { window: UsageWindow::Session, used: 1.0, reset_at: Some(T0 + HOUR) };
    books.gauges.read(&"a-1".into(), reading, T0);
    // One of two accounts is full: 0.5 of the pool, all of it by k1.
    let (decision, until) = pools.decide(&key, &"a-2".into(), &books, T0);
    assert!(matches!(decision, Decision::Block { cause: Cause::FairShare, .. }), "{decision:?}");
    assert_eq!(until, Some(T0 + HOUR));
    assert_eq!(pools.decide(&"k2".into(), &"a-2".into(), &books, T0).0, Decision::Allow);
    assert!(books.gauges.is_saturated(&"a-1".into(), &"m".into(), T0));
    assert_eq!(pools.decide(&key, &"a-2".into(), &books, T0 + HOUR).0, Decision::Allow, "started anew");
    assert!(!books.gauges.is_saturated(&"a-1".into(), &"m".into(), T0 + HOUR));
}

/// A name, headers without their common part, and what they say.
type Row = (&'static str, &'static [(&'static str, &'static str)], Vec<Utilisation>);

#[test]
fn headers_tell_how_much_of_a_window_is_used() {
    let rows: [Row; 4] = [
        ("none", &[], vec![]),
        (
            "both",
            &[("5h-utilization", "0.25"), ("5h-reset", "1768500000"), ("7d-utilization", "1.02")],
            vec![
                Utilisation { window: UsageWindow::Session, used: 0.25, reset_at: Some(1_768_500_000_000) },
                Utilisation { window: UsageWindow::Week, used: 1.02, reset_at: None },
            ],
        ),
        ("nonsense", &[("5h-utilization", "NaN"), ("7d-utilization", "-1")], vec![]),
        ("no number", &[("5h-utilization", "much"), ("5h-reset", "1768500000")], vec![]),
    ];
    for (row, headers, expected) in rows {
        let header = |name: &str| {
            let short = name.strip_prefix("anthropic-ratelimit-unified-")?;
            headers.iter().find(|(known, _)| *known == short).map(|(_, value)| value.as_bytes())
        };
        let reading = reading::read(&header, T0).unwrap_or_default();
        assert_eq!(utilisation(&reading), expected, "{row}");
    }
}

#[test]
fn flow_2_4_a_shared_model_is_pinned_to_each_member_that_offers_it() {
    let (pools, catalogue) = (pools(&[]), catalogue());
    let accounts = |name: &str| {
        let combo = pools.combo(name, &catalogue)?;
        assert_eq!((combo.strategy, &*combo.name), ("quota-share", name));
        let pinned = combo.steps.iter().map(|step| step.connection.as_ref().unwrap().to_string());
        Some(pinned.collect::<Vec<_>>().join(" "))
    };
    let rows = [
        ("qtSd/team/a/m", Some("a-1 a-2")),
        ("qtSd/team/a/vendor/n", Some("a-1")),
        ("qtSd/team/a/unlisted", None),
        ("qtSd/other/a/m", None),
        ("qtSd/team/b/m", None),
        ("a/m", None),
    ];
    for (name, expected) in rows {
        assert_eq!(accounts(name).as_deref(), expected, "{name}");
    }
}

#[test]
fn flow_2_3_pools_of_one_group_and_provider_offer_their_members_together_and_a_lost_one_is_left_out() {
    let (mut pools, catalogue) = (pools(&[]), catalogue());
    let more = Pool {
        id: "more".into(),
        members: vec!["a-2".into(), "gone".into(), "a-3".into()],
        ..pools.pools[0].clone()
    };
    pools.pools.push(more);
    pools.pools[0].members.truncate(1);
    let combo = pools.combo("qtSd/team/a/m", &catalogue).unwrap();
    let pinned: Vec<&str> =
        combo.steps.iter().map(|step| step.connection.as_ref().unwrap().as_str()).collect();
    assert_eq!(pinned, ["a-1", "a-2", "a-3"]);
}

#[test]
fn flow_2_6_a_limited_key_may_ask_for_its_pools_models_only() {
    let pools = pools(&[]);
    let rows = [
        ("k1", "qtSd/team/a/m", true),
        ("k1", "qtSd/other/a/m", false),
        ("k1", "qtSd/team/b/m", false),
        ("k1", "a/m", false),
        ("stranger", "qtSd/team/a/m", false),
    ];
    for (key, name, admitted) in rows {
        assert_eq!(pools.admits(key, name), admitted, "{key} {name}");
    }
}

#[test]
fn costs_are_those_of_the_configured_prices() {
    let mut pools = pools(&[]);
    pools.prices.insert("a".into(), [("m".into(), (1.25, 10.0))].into());
    assert_eq!(pools.cost((&"a".into(), &"m".into()), (2_000_000, 100_000)), 3.5);
    assert_eq!(pools.cost((&"a".into(), &"n".into()), (2_000_000, 100_000)), 0.0);
}
