//! What is done to an order once its strategy has made it: a prompt goes where it is likely to be
//! cached (routing 3.7, 3.8, decision 23). Sessions are `plan`'s: pins are kept by provider.
//!
//! Entries are only moved. Who cannot be asked is left out later; so nothing here makes a
//! request fail that would have been served.

use crate::strategy::{Field, Ranked, Strategy, affinity};

/// Orders by where the prompt is likely to be cached; whether it did. A first choice that a
/// session or the strategy has made stays first (routing 3.8).
pub fn cache(ranked: &mut Ranked, field: &Field<'_>, rule: &dyn Strategy, stuck: bool) -> bool {
    let yields = rule.yields_to_cache() && ranked.order.len() > 1;
    let Some(key) = field.request.cache_key.as_ref().filter(|_| yields) else { return false };
    ranked.settle();
    let kept = usize::from(stuck || rule.keeps_first());
    affinity::sort(&mut ranked.order[kept..], field.pool, key);
    true
}

#[cfg(test)]
mod tests {
    use super::cache;
    use crate::strategy::table::{Facts, Table};
    use crate::strategy::{
        CostOptimized, LeastUsed, P2c, Random, Ranked, RoundRobin, STRATEGIES, Strategy, Weighted,
    };

    fn on(key: &str, connection: &str) -> Facts {
        Facts { connection: Some(connection.into()), ..Facts::named(key) }
    }

    fn cached(table: &Table, rule: &dyn Strategy, stuck: bool) -> String {
        let mut ranked = Ranked::of((0..table.rows.len()).collect());
        cache(&mut ranked, &table.field(), rule, stuck);
        table.names(&ranked.order)
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
