//! What is done to every order, whatever its strategy: a session stays where it was, a prompt
//! goes where it is cached (routing 3.2-3.4, 3.7, 3.8, decision 23).
//!
//! Both only move entries. Who cannot be asked is left out later; so nothing here makes a
//! request fail that would have been served.

use sha2::{Digest, Sha256};

use crate::ids::ConnectionId;
use crate::strategy::{Field, Pool, Strategy, affinity};
use crate::time::Millis;

/// A session leaves an account that has used so much of its quota: 0.15 are left (routing 3.3).
const TOO_MUCH: f64 = 0.85;

/// Key of a session: the first 16 hexadecimal digits of the hash of its first user text, whose
/// parts count as one text (routing 3.2).
pub fn text_key<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let hash = parts.into_iter().fold(Sha256::new(), Digest::chain_update);
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Moves the entry that is tied to a session's connection to the front; whether it stands there
/// now. What cannot be told of its quota does not break the tie (routing 3.3).
pub fn session(order: &mut [usize], field: &Field<'_>, rule: &dyn Strategy, bound: &ConnectionId) -> bool {
    let pool = field.pool;
    if !rule.yields_to_session(field.request) {
        return false;
    }
    let Some(place) = order.iter().position(|entry| pool.connection(*entry) == Some(bound)) else {
        return false;
    };
    let entry = order[place];
    if used(pool, entry, field.now).is_some_and(|used| used >= TOO_MUCH) || !pool.eligible(entry) {
        return false;
    }
    order[..=place].rotate_right(1);
    true
}

/// The part of its account's quota that is used, 0 to 1; `None`: unknown. A window that has
/// started anew since it was read says nothing.
fn used(pool: &dyn Pool, entry: usize, now: Millis) -> Option<f64> {
    let reading = pool.reading(entry)?;
    if reading.limit_reached {
        return Some(1.0);
    }
    let windows = [reading.session, reading.weekly].into_iter().flatten();
    let current = windows.filter(|window| window.resets_at.is_none_or(|reset| reset > now));
    current.map(|window| window.used).reduce(f64::max)
}

/// Orders by where the prompt is likely to be cached; whether it did. A first choice that a
/// session or the strategy has made stays first (routing 3.8).
pub fn cache(order: &mut [usize], field: &Field<'_>, rule: &dyn Strategy, stuck: bool) -> bool {
    let Some(key) = field.request.cache_key.as_ref().filter(|_| rule.yields_to_cache() && order.len() > 1)
    else {
        return false;
    };
    let kept = usize::from(stuck || rule.keeps_first());
    affinity::sort(&mut order[kept..], field.pool, key);
    true
}

#[cfg(test)]
mod tests {
    use super::{cache, session, text_key};
    use crate::dice::Scripted;
    use crate::reading::{AccountReading, WindowReading};
    use crate::strategy::table::{Facts, Table};
    use crate::strategy::{
        CostOptimized, FillFirst, LeastUsed, P2c, Priority, Random, RoundRobin, STRATEGIES, Strategy,
        Weighted,
    };

    fn on(key: &str, connection: &str) -> Facts {
        Facts { connection: Some(connection.into()), ..Facts::named(key) }
    }

    fn four() -> Table {
        Table::of(vec![on("A", "c1"), on("B", "c2"), on("C", "c3"), on("D", "c4")])
    }

    fn read(session: f64) -> Option<AccountReading> {
        let session = Some(WindowReading { used: session, resets_at: Some(1000) });
        Some(AccountReading { session, ..AccountReading::default() })
    }

    /// The names after the session's stage, and whether it is stuck.
    fn bound(table: &Table, rule: &dyn Strategy, connection: &str) -> (String, bool) {
        let mut order = table.rank(rule, &mut Scripted::default()).order;
        let stuck = session(&mut order, &table.field(), rule, &connection.into());
        (table.names(&order), stuck)
    }

    fn cached(table: &Table, rule: &dyn Strategy, stuck: bool) -> String {
        let mut order: Vec<usize> = (0..table.rows.len()).collect();
        cache(&mut order, &table.field(), rule, stuck);
        table.names(&order)
    }

    #[test]
    fn row_22() {
        let mut table = Table::of(vec![on("A", "c1"), on("B", "c2")]);
        table.rows[1].reading = read(0.5);
        assert_eq!(bound(&table, &FillFirst, "c2"), ("BA".into(), true));
        assert_eq!(bound(&table, &Priority, "c2"), ("AB".into(), false));
    }

    #[test]
    fn row_28() {
        let mut table = four();
        table.rows[3].reading = read(0.5);
        for thrown in 0..4 {
            let mut order = table.rank(&Random, &mut Scripted::new(&[f64::from(thrown)])).order;
            assert!(session(&mut order, &table.field(), &Random, &"c4".into()));
            assert_eq!(order[0], 3);
        }
    }

    #[test]
    fn row_64() {
        assert_eq!(text_key(["hello"]), "2cf24dba5fb0a30e");
        assert_eq!(text_key(["hel", "lo"]), "2cf24dba5fb0a30e");
    }

    #[test]
    fn row_65() {
        let mut table = four();
        for (use_now, stays) in [(0.86, false), (0.85, false), (0.84, true)] {
            table.rows[1].reading = read(use_now);
            assert_eq!(bound(&table, &FillFirst, "c2").1, stays, "{use_now}");
        }
        table.rows[1].reading = read(0.86);
        table.now = 1000;
        assert!(bound(&table, &FillFirst, "c2").1, "that window is over");
    }

    /// Routing 3.3: the fuller of the two windows counts, and a stated limit always.
    #[test]
    fn the_week_counts_too() {
        let mut table = four();
        let mut reading = read(0.1).unwrap();
        reading.weekly = Some(WindowReading { used: 0.9, resets_at: None });
        table.rows[1].reading = Some(reading.clone());
        assert!(!bound(&table, &FillFirst, "c2").1);
        table.rows[1].reading = Some(AccountReading { limit_reached: true, ..AccountReading::default() });
        assert!(!bound(&table, &FillFirst, "c2").1);
    }

    #[test]
    fn a_session_is_tied_to_nobody_that_is_out_or_gone() {
        let mut table = four();
        assert!(bound(&table, &FillFirst, "c2").1);
        assert_eq!(bound(&table, &FillFirst, "c9"), ("ABCD".into(), false));
        table.rows[1].eligible = false;
        assert_eq!(bound(&table, &FillFirst, "c2"), ("ABCD".into(), false));
    }

    #[test]
    fn the_order_of_cache_optimized_is_a_tie_itself() {
        let mut table = Table::of(vec![on("A", "c1"), on("B", "c2"), on("C", "c3")]);
        assert!(bound(&table, &crate::strategy::CacheOptimized, "c3").1);
        table.request.cache_key = Some("k1".into());
        assert_eq!(bound(&table, &crate::strategy::CacheOptimized, "c3"), ("BCA".into(), false));
    }

    /// [B@c1, A@c2] with k1, by which c2 ranks higher.
    fn row_62_table() -> Table {
        let mut table = Table::of(vec![on("B", "c1"), on("A", "c2")]);
        table.request.cache_key = Some("k1".into());
        table
    }

    /// By decision 23: the user asked for the price.
    #[test]
    fn row_62() {
        let table = row_62_table();
        assert_eq!(cached(&table, &CostOptimized, false), "BA");
        assert_eq!(cached(&table, &P2c, false), "BA");
    }

    #[test]
    fn row_63() {
        let mut table = row_62_table();
        (table.rows[0].model, table.rows[1].model) = ("x".into(), "y".into());
        assert_eq!(cached(&table, &Weighted, false), "BA");
    }

    #[test]
    fn the_stage_is_on_for_those_of_decision_23() {
        let on = STRATEGIES.iter().filter(|rule| rule.yields_to_cache()).map(|rule| rule.name());
        let on: Vec<_> = on.filter(|name| *name != "auto").collect();
        assert_eq!(on, ["round-robin", "random", "least-used"]);
        for rule in [&RoundRobin as &dyn Strategy, &Random, &LeastUsed] {
            assert_eq!(cached(&row_62_table(), rule, false), "AB", "{}", rule.name());
        }
    }

    #[test]
    fn a_session_stays_first_in_front_of_the_cache() {
        let mut table = row_62_table();
        table.rows.push(on("C", "c3"));
        assert_eq!(cached(&table, &Random, false), "ACB");
        assert_eq!(cached(&table, &Random, true), "BAC");
        table.request.cache_key = None;
        assert_eq!(cached(&table, &Random, false), "BAC");
    }
}
