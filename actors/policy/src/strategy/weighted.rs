//! `weighted`: one draw by weight, the others behind it (routing 4.2).
//!
//! Only who can be asked is drawn, so the share of one that is out goes to the others by their
//! weights. Behind the draw those that are out keep their place: the plan says of each why.

use crate::dice::Dice;
use crate::strategy::{ComboState, Field, Grain, News, Note, Pool, Ranked, Strategy, StrategySettings, run};

/// A draw by weight.
pub struct Weighted;

impl Strategy for Weighted {
    fn name(&self) -> &'static str {
        "weighted"
    }

    fn doc_short(&self) -> &'static str {
        "a draw by weight among those that can be asked"
    }

    fn doc_long(&self) -> &'static str {
        "One target is drawn for each request, with the chance that its weight gives it among \
         those that can be asked now. The others follow, the heaviest first. A target without a \
         weight is never drawn while another has one; it still steps in when those have failed. \
         Where none has a weight, all have the same chance."
    }

    fn example(&self) -> &'static str {
        r#"name = "mostly-mine"
strategy = "weighted"
targets = [{ model = "own/llama", weight = 70 }, { model = "openai/gpt-5", weight = 30 }]"#
    }

    fn grain(&self) -> Grain {
        Grain::Units
    }

    fn rank(&self, field: &Field<'_>, dice: &mut dyn Dice) -> Ranked {
        let pool = field.pool;
        let length = run::length(field.settings.rotation.sticky_weighted_limit);
        let mut order: Vec<usize> = (0..pool.count()).collect();
        let Some(first) = run::goes_on(field, length).or_else(|| draw(pool, dice)) else {
            return Ranked::of(order);
        };
        if field.settings.rotation.declared_fallbacks {
            order[..=first].rotate_right(1);
        } else {
            // Equal ones begin behind the drawn one: else the first would stand in for all.
            order.rotate_left(first);
            order[1..].sort_by(|a, b| pool.weight(*b).total_cmp(&pool.weight(*a)));
        }
        let notes = match length > 1 {
            true => vec![Note::Sticky(run::after(field, first, length))],
            false => Vec::new(),
        };
        Ranked { notes, ..Ranked::of(order) }
    }

    fn heard(&self, state: &mut ComboState, news: &News<'_>, settings: &StrategySettings) {
        run::heard(state, news, run::length(settings.rotation.sticky_weighted_limit));
    }
}

/// One of those that can be asked. To ask that of all costs more than the draw: only when the
/// one that is drawn cannot is a second one drawn among those that can. Each has the same chance
/// as if it had been drawn among them at once.
fn draw(pool: &dyn Pool, dice: &mut dyn Dice) -> Option<usize> {
    let all: Vec<usize> = (0..pool.count()).collect();
    let drawn = throw(pool, &all, dice)?;
    if pool.eligible(drawn) {
        return Some(drawn);
    }
    let able: Vec<usize> = all.into_iter().filter(|entry| pool.eligible(*entry)).collect();
    throw(pool, &able, dice)
}

/// Routing 4.2b and 17.3.
fn throw(pool: &dyn Pool, entries: &[usize], dice: &mut dyn Dice) -> Option<usize> {
    let weights = entries.iter().map(|entry| (*entry, pool.weight(*entry)));
    let weights: Vec<(usize, f64)> = weights.filter(|(_, weight)| *weight > 0.0).collect();
    if weights.is_empty() {
        return (!entries.is_empty()).then(|| entries[dice.below(entries.len())]);
    }
    let thrown = dice.unit() * weights.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut sum = 0.0;
    let reaches = |(_, weight): &&(usize, f64)| {
        sum += weight;
        sum >= thrown
    };
    // The sum may end a hair below the total.
    weights.iter().find(reaches).or(weights.last()).map(|(entry, _)| *entry)
}

#[cfg(test)]
mod tests {
    use super::Weighted;
    use crate::dice::Scripted;
    use crate::strategy::Sticky;
    use crate::strategy::table::{Facts, Table};

    fn table(weights: &[f64]) -> Table {
        Table::of(weights.iter().map(|weight| Facts { weight: *weight, ..Facts::default() }).collect())
    }

    fn take(table: &mut Table, numbers: &[f64]) -> String {
        table.take(&Weighted, &mut Scripted::new(numbers)).concat()
    }

    #[test]
    fn row_5() {
        for (thrown, drawn) in [(0.69, "A"), (0.71, "B"), (0.95, "C")] {
            assert!(take(&mut table(&[70.0, 20.0, 10.0]), &[thrown]).starts_with(drawn), "{thrown}");
        }
    }

    #[test]
    fn row_6() {
        assert_eq!(take(&mut table(&[70.0, 20.0, 10.0]), &[0.95]), "CAB");
    }

    #[test]
    fn row_7() {
        assert_eq!(take(&mut table(&[0.0, 50.0]), &[0.0]), "BA");
    }

    #[test]
    fn row_8() {
        assert_eq!(take(&mut table(&[0.0, 0.0, 0.0]), &[2.0]), "CAB");
    }

    /// A stands behind and is left out of the plan.
    #[test]
    fn row_9() {
        for thrown in [0.0, 0.5, 0.99] {
            let mut table = table(&[90.0, 10.0]);
            table.rows[0].eligible = false;
            assert_eq!(take(&mut table, &[thrown, thrown]), "BA");
        }
    }

    /// Of 100 throws each of the others has as many as if A were not there: A's 60 are thrown
    /// again.
    #[test]
    fn the_share_of_one_that_is_out_goes_to_the_others_by_weight() {
        let mut counts = [0, 0];
        for (first, second) in (0..100).flat_map(|first| (0..100).map(move |second| (first, second))) {
            let mut table = table(&[60.0, 30.0, 10.0]);
            table.rows[0].eligible = false;
            let throws = [first, second].map(|throw| (f64::from(throw) + 0.5) / 100.0);
            counts[usize::from(take(&mut table, &throws).starts_with('C'))] += 1;
        }
        assert_eq!(counts, [7500, 2500]);
    }

    #[test]
    fn row_10() {
        let mut table = table(&[1.0, 1.0, 1.0]);
        table.settings.rotation.sticky_weighted_limit = 3;
        for numbers in [&[0.5][..], &[], &[]] {
            assert!(take(&mut table, numbers).starts_with('B'), "drawn once, then kept");
            table.hear(&Weighted, 1, true, true);
        }
        assert_eq!(table.state.sticky, None);
        assert!(take(&mut table, &[0.9]).starts_with('C'), "a draw again");
    }

    #[test]
    fn row_11() {
        let mut table = table(&[1.0, 1.0, 1.0]);
        table.settings.rotation.sticky_weighted_limit = 3;
        table.state.sticky = Some(Sticky { key: "B".into(), count: 2 });
        table.rows[1].eligible = false;
        assert_eq!(take(&mut table, &[0.6, 0.6]), "CAB", "B is drawn first and cannot be asked");
        assert_eq!(table.state.sticky, Some(Sticky { key: "C".into(), count: 1 }));
    }

    /// Routing 4.2d: success by another step restarts the count at 1 for that step.
    #[test]
    fn a_run_passes_to_who_served_in_its_place() {
        let mut table = table(&[1.0, 1.0]);
        table.settings.rotation.sticky_weighted_limit = 3;
        assert_eq!(take(&mut table, &[0.0]), "AB");
        table.hear(&Weighted, 0, true, false);
        table.hear(&Weighted, 1, false, true);
        assert_eq!(table.state.sticky, Some(Sticky { key: "B".into(), count: 1 }));
        assert_eq!(take(&mut table, &[0.0]), "BA");
    }

    /// Decision 26: D stands in for C and not always A.
    #[test]
    fn equal_ones_stand_in_by_turns() {
        let orders = [0.0, 1.0, 2.0, 3.0].map(|thrown| take(&mut table(&[0.0; 4]), &[thrown]));
        assert_eq!(orders, ["ABCD", "BCDA", "CDAB", "DABC"]);
        assert_eq!(take(&mut table(&[1.0, 1.0, 5.0, 1.0]), &[0.1875]), "BCDA");
    }

    /// Routing 4.2c: tiers keep their order behind the draw.
    #[test]
    fn tiers_keep_their_order() {
        let mut table = table(&[10.0, 20.0, 70.0, 0.0]);
        table.settings.rotation.declared_fallbacks = true;
        assert_eq!(take(&mut table, &[0.95]), "CABD");
    }

    #[test]
    fn without_a_run_nothing_is_remembered() {
        let mut table = table(&[1.0, 1.0]);
        take(&mut table, &[0.0]);
        table.hear(&Weighted, 1, false, true);
        assert_eq!(table.state.sticky, None);
    }

    /// Each keeps its place: the plan tells why nobody is asked (decision 26d).
    #[test]
    fn nobody_to_draw_is_told_all_the_same() {
        let mut table = table(&[1.0, 2.0]);
        table.rows.iter_mut().for_each(|row| row.eligible = false);
        assert_eq!(take(&mut table, &[]), "AB");
        assert_eq!(take(&mut self::table(&[]), &[]), "");
    }
}
