//! `p2c`: two are drawn, the better one goes first (routing 4.6).
//!
//! Scores within 5 % are a tie: fewer requests in flight, then the dice (decision 26e).
//! A connection that has just come back keeps a draw it won only with a growing
//! probability (decision 34). One without a record has one draw in ten that it lost: nobody is
//! left without requests for good (FC-050).

use std::cmp::Ordering;

use crate::breaker::BreakerState;
use crate::dice::Dice;
use crate::strategy::{Field, Pool, Ranked, Strategy};

/// Scores closer than this share of the larger one are a tie.
const TIE: f64 = 0.05;

/// Part of the draws that an unknown one has though it lost them.
const TRIED: f64 = 0.1;

/// The better of two drawn at random.
pub struct P2c;

impl Strategy for P2c {
    fn name(&self) -> &'static str {
        "p2c"
    }

    fn doc_short(&self) -> &'static str {
        "the better of two drawn at random"
    }

    fn doc_long(&self) -> &'static str {
        "Two targets are drawn; the one with the better record of answers and first-byte times \
         goes first. Scores within 5 % are a tie, decided by fewer requests in flight, then by \
         the dice. One that has no record yet keeps a tenth of the draws that it loses. The \
         others keep their declared order."
    }

    fn example(&self) -> &'static str {
        r#"name = "fast"
strategy = "p2c"
targets = [{ model = "openai/gpt-5" }, { model = "azure/gpt-5" }, { model = "other/gpt-5" }]"#
    }

    fn rank(&self, field: &Field<'_>, dice: &mut dyn Dice) -> Ranked {
        let (pool, count) = (field.pool, field.pool.count());
        if count <= 1 {
            return Ranked::of((0..count).collect());
        }
        let first = dice.below(count);
        let second = dice.below(count - 1);
        let second = if second >= first { second + 1 } else { second };
        let second_wins = second_is_better(pool, first, second, dice);
        let (won, lost) = if second_wins { (second, first) } else { (first, second) };
        let kept = pool.keeps_draw(won);
        let able = pool.breaker(lost) != BreakerState::Open;
        let gives_away = able && (kept < 1.0 && dice.unit() >= kept || is_tried(pool, (won, lost), dice));
        let winner = if gives_away { lost } else { won };
        let mut order = Vec::with_capacity(count);
        order.push(winner);
        order.extend((0..count).filter(|index| *index != winner));
        Ranked::of(order)
    }

    fn keeps_first(&self) -> bool {
        false
    }
}

fn second_is_better(pool: &dyn Pool, first: usize, second: usize, dice: &mut dyn Dice) -> bool {
    let (a, b) = (score(pool, first), score(pool, second));
    let open = a == f64::NEG_INFINITY || b == f64::NEG_INFINITY;
    if open || (a - b).abs() > TIE * a.abs().max(b.abs()) {
        return b > a;
    }
    match pool.in_flight(first).cmp(&pool.in_flight(second)) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => dice.below(2) == 1,
    }
}

/// One that nothing is known of loses to whoever has answered once, and then nothing would ever
/// be known of it: now and then it has the draw that it lost.
fn is_tried(pool: &dyn Pool, (won, lost): (usize, usize), dice: &mut dyn Dice) -> bool {
    pool.metrics(lost).is_none() && pool.metrics(won).is_some() && dice.unit() >= 1.0 - TRIED
}

/// Higher is better; an open breaker is minus infinity.
fn score(pool: &dyn Pool, index: usize) -> f64 {
    let breaker = pool.breaker(index);
    if breaker == BreakerState::Open {
        return f64::NEG_INFINITY;
    }
    let metrics = pool.metrics(index);
    let rate = metrics.map_or(0.5, |metrics| metrics.success_rate);
    let mean = metrics.and_then(|metrics| metrics.mean_ms).filter(|mean| *mean > 0.0);
    let speed = mean.map_or(0.25, |mean| 1.0 / (mean + 10.0).log10());
    let caution = if breaker == BreakerState::HalfOpen { 0.25 } else { 0.0 };
    rate + speed - caution
}

#[cfg(test)]
mod tests {
    use super::{P2c, score};
    use crate::breaker::BreakerState;
    use crate::dice::Scripted;
    use crate::strategy::Metrics;
    use crate::strategy::table::{Facts, Table};

    fn candidate(rate: f64, mean: f64) -> Facts {
        let metrics = Metrics { success_rate: rate, mean_ms: Some(mean) };
        Facts { metrics: Some(metrics), ..Facts::default() }
    }

    fn unknown() -> Facts {
        Facts::default()
    }

    /// A 90 %/990 ms, B 95 %/9990 ms, C unknown (routing 16 #23).
    fn abc() -> Vec<Facts> {
        vec![candidate(0.9, 990.0), candidate(0.95, 9990.0), unknown()]
    }

    fn rank(candidates: &[Facts], numbers: &[f64]) -> Vec<usize> {
        Table::of(candidates.to_vec()).rank(&P2c, &mut Scripted::new(numbers)).order
    }

    #[test]
    fn the_scores_are_those_of_the_table() {
        let table = Table::of(abc());
        let scores: Vec<f64> = (0..3).map(|n| (score(&table, n) * 1000.0).round() / 1000.0).collect();
        assert_eq!(scores, [1.233, 1.2, 0.75]);
    }

    /// #23 by decision 26e: 1.233 and 1.200 are within 5 %, so the dice decide.
    #[test]
    fn row_23() {
        assert_eq!(rank(&abc(), &[1.0, 0.0, 1.0]), [0, 1, 2]);
        assert_eq!(rank(&abc(), &[1.0, 0.0, 0.0]), [1, 0, 2]);
        let mut busy = abc();
        busy[1].in_flight = 3;
        assert_eq!(rank(&busy, &[1.0, 0.0, 0.0]), [0, 1, 2]);
    }

    #[test]
    fn row_24() {
        assert_eq!(rank(&abc(), &[2.0, 1.0]), [1, 0, 2]);
    }

    #[test]
    fn row_25() {
        let mut open = abc();
        open[0].breaker = BreakerState::Open;
        assert_eq!(rank(&open, &[0.0, 0.0]), [1, 0, 2]);
        open[1].breaker = BreakerState::Open;
        assert_eq!(rank(&open, &[0.0, 0.0]), [0, 1, 2]);
        assert_eq!(rank(&open, &[1.0, 0.0]), [1, 0, 2]);
    }

    /// #26 by decision 26e: 1.25 and 1.233 are a tie; with fewer in flight D wins it.
    #[test]
    fn row_26() {
        let mut two = vec![candidate(0.9, 990.0), candidate(1.0, 90.0)];
        two[1].breaker = BreakerState::HalfOpen;
        let table = Table::of(two.clone());
        assert_eq!((score(&table, 1) * 1000.0).round() / 1000.0, 1.25);
        two[0].in_flight = 1;
        assert_eq!(rank(&two, &[0.0, 0.0]), [1, 0]);
    }

    /// Decision 34: with probability 0.1 kept, a throw of 0.09 keeps the draw, 0.1 gives it away.
    #[test]
    fn a_connection_in_slow_start_gives_draws_away() {
        let mut two = vec![candidate(1.0, 10.0), candidate(0.5, 10.0)];
        two[0].keeps_draw = 0.1;
        assert_eq!(rank(&two, &[0.0, 0.0, 0.09]), [0, 1]);
        assert_eq!(rank(&two, &[0.0, 0.0, 0.1]), [1, 0]);
    }

    /// FC-050: C has a draw in ten that it lost, until something is known of it.
    #[test]
    fn fc_050_an_unknown_one_is_tried() {
        assert_eq!(rank(&abc(), &[2.0, 1.0, 0.89]), [1, 0, 2]);
        assert_eq!(rank(&abc(), &[2.0, 1.0, 0.9]), [2, 0, 1]);
        let mut open = abc();
        open[2].breaker = BreakerState::Open;
        assert_eq!(rank(&open, &[2.0, 1.0, 0.9]), [1, 0, 2]);
        let mut known = abc();
        known[2] = candidate(0.0, 1.0);
        assert_eq!(rank(&known, &[2.0, 1.0, 0.9]), [1, 0, 2]);
    }

    #[test]
    fn one_or_none_is_left_alone() {
        assert_eq!(rank(&[], &[]), Vec::<usize>::new());
        assert_eq!(rank(&[unknown()], &[]), [0]);
    }
}
