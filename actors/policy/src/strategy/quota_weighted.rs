//! `quota-weighted`: a draw among accounts by what their quota is worth, over who is busy
//! (routing 4.13).
//!
//! A burst of picks comes before anybody has answered. The first target counts as in flight from
//! the pick on, so that each pick of the burst sees those before it.

use super::quota::{score, sort_after};
use crate::breaker::BreakerState;
use crate::change::{Exclusion, Refusal};
use crate::dice::Dice;
use crate::reading::AccountReading;
use crate::strategy::{Field, Grain, QuotaWindow, Ranked, Strategy, Tail};

/// Accounts by a draw.
pub struct QuotaWeighted;

impl Strategy for QuotaWeighted {
    fn name(&self) -> &'static str {
        "quota-weighted"
    }

    fn doc_short(&self) -> &'static str {
        "a draw among accounts, by their quota and over how busy they are"
    }

    fn doc_long(&self) -> &'static str {
        "Accounts are drawn with the score of `reset-aware`, divided by one more than the requests \
         they have in flight. Accounts with nothing left are left out. Those at or below \
         `quota_weighted_floor_percent`, or not heard of for 15 minutes, are drawn only when there \
         is no other; 0 turns the floor off. The others follow by score."
    }

    fn example(&self) -> &'static str {
        r#"name = "shares"
strategy = "quota-weighted"
targets = [{ model = "claude/claude-sonnet-5" }]"#
    }

    fn grain(&self) -> Grain {
        Grain::Accounts
    }

    fn reads_quota(&self) -> bool {
        true
    }

    fn reserves(&self) -> bool {
        true
    }

    fn rank(&self, field: &Field<'_>, dice: &mut dyn Dice) -> Ranked {
        let Sorted { scores, mut full, mut low, unable, left_out } = Sorted::of(field);
        let drawn = if full.is_empty() { &mut low } else { &mut full };
        let winner = draw(drawn, &scores, field, dice).map(|place| drawn.remove(place));
        let first = winner.unwrap_or_default();
        let mut order = Vec::with_capacity(field.pool.count());
        order.extend(winner);
        let tail = sort_after(first, &mut full, &scores);
        let tail = if winner.is_some() { tail.map(Tail::after_one) } else { tail };
        // They are few, and hardly ever come to be asked.
        if let Some(tail) = sort_after(first, &mut low, &scores) {
            tail.settle(&mut low);
        }
        order.extend(full.into_iter().chain(low).chain(unable));
        Ranked { scores, left_out, tail, ..Ranked::of(order) }
    }
}

/// Accounts by what may be done with them, each list in declared order.
struct Sorted {
    scores: Vec<f64>,
    /// Drawn from.
    full: Vec<usize>,
    /// Drawn from when there is no other.
    low: Vec<usize>,
    /// Their gates say why not.
    unable: Vec<usize>,
    /// Nothing is left.
    left_out: Vec<(usize, Refusal)>,
}

impl Sorted {
    fn of(field: &Field<'_>) -> Self {
        let (pool, settings, now) = (field.pool, &field.settings.quota, field.now);
        let readings = pool.readings();
        let scores = readings.iter().map(|reading| score(*reading, settings, now)).collect();
        let (able, unable) = pool.able();
        let full = Vec::with_capacity(able.len());
        let mut sorted = Self { scores, full, low: Vec::new(), unable, left_out: Vec::new() };
        let (count, all_closed) = (sorted.unable.len(), pool.all_closed());
        for index in able {
            let reading = readings[index];
            let left = reading.map_or(100.0, |reading| percent_left(reading, now));
            let stale =
                reading.is_some_and(|read| now.saturating_sub(read.seen_at) > settings.stale_after_ms);
            if !all_closed && pool.breaker(index) == BreakerState::Open {
                sorted.unable.push(index);
            } else if left <= 0.0 {
                sorted.left_out.push((index, spent(reading)));
            } else if stale || (settings.floor_percent > 0.0 && left <= settings.floor_percent) {
                sorted.low.push(index);
            } else {
                sorted.full.push(index);
            }
        }
        if sorted.unable.len() > count {
            sorted.unable.sort_unstable();
        }
        sorted
    }
}

/// Routing 4.13b.
fn percent_left(reading: &AccountReading, now: u64) -> f64 {
    if reading.is_limited(now) {
        return 0.0;
    }
    100.0 * reading.left(&QuotaWindow::ALL, now).unwrap_or(1.0)
}

/// It comes back when what is used up has started anew.
fn spent(reading: Option<&AccountReading>) -> Refusal {
    let end = |reading: &AccountReading| {
        let spent = reading.windows().map(|(_, read)| read).chain(reading.overall);
        let ends = spent.filter(|read| read.used >= 1.0).map(|read| read.ends_at(reading.seen_at));
        ends.max().or(reading.limit_reached.then(|| reading.limit_ends_at()))
    };
    Refusal { why: Exclusion::QuotaExhausted, retry_at: reading.and_then(end) }
}

/// The place in `list` of the one that was drawn (routing 4.13e).
fn draw(list: &[usize], scores: &[f64], field: &Field<'_>, dice: &mut dyn Dice) -> Option<usize> {
    if list.len() <= 1 {
        return (!list.is_empty()).then_some(0);
    }
    let weight = |index: &usize| scores[*index].max(0.0) / (1.0 + f64::from(field.pool.in_flight(*index)));
    let weights: Vec<f64> = list.iter().map(weight).collect();
    let sum: f64 = weights.iter().sum();
    if sum <= 0.0 {
        return Some(dice.below(list.len()));
    }
    let (thrown, mut running) = (dice.unit() * sum, 0.0);
    let drawn = weights.iter().position(|weight| {
        running += weight;
        *weight > 0.0 && running > thrown
    });
    // Rounding may leave the sum a hair below what was thrown.
    drawn.or_else(|| weights.iter().rposition(|weight| *weight > 0.0))
}

#[cfg(test)]
mod tests {
    use super::QuotaWeighted;
    use crate::change::{Exclusion, Refusal};
    use crate::dice::Scripted;
    use crate::reading::{AccountReading, UNTIMED_MS};
    use crate::strategy::quota::tests::{NOW, first, limited, second, seen, table, untimed, window};
    use crate::strategy::table::Table;
    use crate::strategy::{Ranked, Strategy};
    use crate::time::{HOUR, MINUTE};

    /// A .36, B .58, C has reached its limit.
    fn abc() -> Table {
        table(vec![Some(first()), Some(second()), Some(limited())])
    }

    fn rank(table: &Table, rand: f64) -> Ranked {
        table.rank(&QuotaWeighted, &mut Scripted::new(&[rand]))
    }

    #[test]
    fn row_43() {
        let ranked = rank(&abc(), 0.3);
        assert_eq!(ranked.order, [0, 1]);
        let until = NOW + UNTIMED_MS;
        let spent = Refusal { why: Exclusion::QuotaExhausted, retry_at: Some(until) };
        assert_eq!(ranked.left_out, [(2, spent)]);
        assert_eq!(rank(&abc(), 0.5).order, [1, 0]);
    }

    /// The pick itself counts (`reserves`): the router holds the lease.
    #[test]
    fn row_44() {
        let mut busy = abc();
        busy.rows[0].in_flight = 1;
        assert_eq!(rank(&busy, 0.3).order, [1, 0]);
        assert_eq!(rank(&busy, 0.23).order, [0, 1]);
        assert!(QuotaWeighted.reserves());
    }

    #[test]
    fn row_45() {
        let left = |percent: f64| {
            let session = untimed(1.0 - percent / 100.0);
            Some(AccountReading { session, ..seen() })
        };
        let mut two = table(vec![left(0.8), left(50.0)]);
        for rand in [0.0, 0.5, 0.999] {
            assert_eq!(rank(&two, rand).order, [1, 0]);
        }
        two.settings.quota.floor_percent = 0.0;
        assert_eq!(rank(&two, 0.0).order, [0, 1], "no floor");
    }

    /// Nothing left, or not to be asked for a debt: nobody is drawn, and each is told.
    #[test]
    fn row_46() {
        let used_up = Some(AccountReading { weekly: window(1.0, HOUR), ..seen() });
        let ranked = rank(&table(vec![used_up, Some(limited())]), 0.0);
        assert_eq!(ranked.order, Vec::<usize>::new());
        let ends: Vec<_> = ranked.left_out.iter().map(|(_, refusal)| refusal.retry_at).collect();
        assert_eq!(ends, [Some(NOW + HOUR), Some(NOW + UNTIMED_MS)]);
        let mut unpaid = table(vec![None, Some(first())]);
        unpaid.rows[0].eligible = false;
        assert_eq!(rank(&unpaid, 0.0).order, [1, 0], "its gate says why");
    }

    #[test]
    fn one_not_heard_of_for_long_is_drawn_last() {
        let old = AccountReading { seen_at: NOW - 15 * MINUTE - 1, ..first() };
        assert_eq!(rank(&table(vec![Some(old.clone()), Some(first())]), 0.0).order, [1, 0]);
        let recent = AccountReading { seen_at: NOW - 15 * MINUTE, ..old };
        assert_eq!(rank(&table(vec![Some(recent), Some(first())]), 0.0).order, [0, 1]);
        assert_eq!(rank(&table(vec![None, Some(first())]), 0.0).order, [0, 1], "never heard of is not stale");
    }

    /// FC-050: who serves for the one that fails is not always the same.
    #[test]
    fn equal_ones_follow_the_winner_in_a_circle() {
        let four = table(vec![None, None, None, None]);
        let orders = [0.1, 0.3, 0.6, 0.9].map(|rand| rank(&four, rand).order);
        assert_eq!(orders, [[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]]);
    }

    #[test]
    fn a_draw_never_falls_on_nothing() {
        assert_eq!(rank(&abc(), 0.999_999_999).order, [1, 0]);
        assert_eq!(rank(&table(vec![]), 0.5).order, Vec::<usize>::new());
    }
}
