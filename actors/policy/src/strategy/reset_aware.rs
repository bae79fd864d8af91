//! `reset-aware`: what is left of an account's quota, and what its next reset would waste
//! (routing 4.10).

use super::quota::{in_turns, score};
use crate::dice::Dice;
use crate::strategy::{Field, Grain, Ranked, Strategy, sort};

/// Accounts by their quota score.
pub struct ResetAware;

impl Strategy for ResetAware {
    fn name(&self) -> &'static str {
        "reset-aware"
    }

    fn doc_short(&self) -> &'static str {
        "accounts by what is left of their quota and how soon the rest would be lost"
    }

    fn doc_long(&self) -> &'static str {
        "Each account gets a score from its five-hour, weekly and monthly use: what is left counts, \
         and a reset that is near speaks for an account whose quota would start anew anyway. Scores \
         within `reset_aware_tie_band_percent` of the best take turns. An account that has said \
         nothing scores 0.5; one that has reached its limit goes last."
    }

    fn example(&self) -> &'static str {
        r#"name = "plans"
strategy = "reset-aware"
targets = [{ model = "claude/claude-sonnet-5" }]"#
    }

    fn grain(&self) -> Grain {
        Grain::Accounts
    }

    fn reads_quota(&self) -> bool {
        true
    }

    fn rank(&self, field: &Field<'_>, _: &mut dyn Dice) -> Ranked {
        let (pool, settings) = (field.pool, &field.settings.quota);
        let scores: Vec<f64> =
            pool.readings().into_iter().map(|reading| score(reading, settings, field.now)).collect();
        let band = settings.tie_band_percent.max(0.0) / 100.0;
        let alike =
            |first: usize, other: usize| scores[first].is_finite() && scores[first] - scores[other] <= band;
        let ranked =
            in_turns(pool.able(), |index| sort::descending(scores[index]), alike, field.state.cursor);
        Ranked { scores, ..ranked }
    }

    fn keeps_first(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::ResetAware;
    use crate::dice::Scripted;
    use crate::reading::AccountReading;
    use crate::strategy::quota::tests::{first, limited, second, seen, table, untimed};

    fn take(readings: Vec<Option<AccountReading>>) -> Vec<String> {
        table(readings).take(&ResetAware, &mut Scripted::default())
    }

    #[test]
    fn row_33() {
        assert_eq!(take(vec![Some(first()), Some(second())]), ["B", "A"]);
    }

    /// The one that has reached its limit is kept, last.
    #[test]
    fn row_34() {
        assert_eq!(take(vec![Some(limited()), Some(first()), None]), ["C", "B", "A"]);
    }

    #[test]
    fn row_35() {
        let of = |session: f64, weekly: f64| {
            Some(AccountReading { session: untimed(1.0 - session), weekly: untimed(1.0 - weekly), ..seen() })
        };
        // .34 + .06125 session - .08125 weekly
        let mut two = table(vec![of(0.02 / 0.06125, 0.0), of(0.0, 0.01 / 0.08125)]);
        two.settings.quota.guard_percent = 0.0;
        let scores = two.rank(&ResetAware, &mut Scripted::default()).scores;
        assert_eq!(scores.map_round(), [0.36, 0.33]);
        let turns = [0, 1, 2].map(|_| two.take(&ResetAware, &mut Scripted::default()).concat());
        assert_eq!(turns, ["AB", "BA", "AB"]);
        assert_eq!(two.state.cursor, 3);
        two.settings.quota.tie_band_percent = 2.0;
        assert_eq!(two.take(&ResetAware, &mut Scripted::default()).concat(), "AB");
        assert_eq!(two.state.cursor, 3, "no tie, no turn");
    }

    /// Routing 4.21: a turn never falls on an account that could not serve, whose neighbour would
    /// serve twice.
    #[test]
    fn turns_are_taken_by_those_that_could_serve() {
        let mut three = table(vec![None, None, None]);
        three.rows[1].eligible = false;
        let turns = [0, 1, 2].map(|_| three.take(&ResetAware, &mut Scripted::default()).concat());
        assert_eq!(turns, ["ACB", "CAB", "ACB"]);
    }

    trait Rounded {
        fn map_round(self) -> Vec<f64>;
    }

    impl Rounded for Vec<f64> {
        fn map_round(self) -> Vec<f64> {
            self.into_iter().map(|score| (score * 1e9).round() / 1e9).collect()
        }
    }
}
