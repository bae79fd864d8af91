//! `headroom`: the account with the most quota left goes first (routing 4.12, decision 26).

use super::quota::in_turns;
use crate::dice::Dice;
use crate::reading::AccountReading;
use crate::strategy::{Field, Grain, QuotaWindow, Ranked, Strategy, sort};

/// Accounts by what is left.
pub struct Headroom;

/// The windows that count.
const WINDOWS: [QuotaWindow; 2] = [QuotaWindow::Session, QuotaWindow::Weekly];

impl Strategy for Headroom {
    fn name(&self) -> &'static str {
        "headroom"
    }

    fn doc_short(&self) -> &'static str {
        "the account with the most quota left goes first"
    }

    fn doc_long(&self) -> &'static str {
        "Headroom is what is left of the fuller of an account's five-hour and weekly windows. An \
         account that has said nothing, or whose windows have started anew, has all of it. Those \
         with the same headroom take turns."
    }

    fn example(&self) -> &'static str {
        r#"name = "roomy"
strategy = "headroom"
targets = [{ model = "claude/claude-sonnet-5" }]"#
    }

    fn grain(&self) -> Grain {
        Grain::Accounts
    }

    fn reads_quota(&self) -> bool {
        true
    }

    fn rank(&self, field: &Field<'_>, _: &mut dyn Dice) -> Ranked {
        let pool = field.pool;
        let left = |reading: Option<&AccountReading>| reading?.left(&WINDOWS, field.now);
        let scores: Vec<f64> = pool.readings().into_iter().map(|read| left(read).unwrap_or(1.0)).collect();
        let alike = |first: usize, other: usize| scores[first] == scores[other];
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
    use super::Headroom;
    use crate::dice::Scripted;
    use crate::reading::AccountReading;
    use crate::strategy::quota::tests::{seen, table, untimed, window};
    use crate::time::HOUR;

    fn uses(session: f64, weekly: f64) -> Option<AccountReading> {
        Some(AccountReading { session: untimed(session), weekly: untimed(weekly), ..seen() })
    }

    #[test]
    fn row_41() {
        let mut three = table(vec![uses(0.6, 0.2), uses(0.1, 0.3), None]);
        let ranked = three.rank(&Headroom, &mut Scripted::default());
        assert_eq!(ranked.scores, [0.4, 0.7, 1.0]);
        assert_eq!(three.take(&Headroom, &mut Scripted::default()), ["C", "B", "A"]);
    }

    /// #42 by decision 26: equal ones take turns.
    #[test]
    fn row_42() {
        let mut two = table(vec![uses(0.5, 0.5), uses(0.5, 0.1)]);
        let turns = [0, 1, 2].map(|_| two.take(&Headroom, &mut Scripted::default()).concat());
        assert_eq!(turns, ["AB", "BA", "AB"]);
    }

    #[test]
    fn a_window_that_has_started_anew_is_all_left() {
        let mut two = table(vec![
            Some(AccountReading { session: untimed(0.3), ..seen() }),
            Some(AccountReading { session: window(0.9, HOUR), ..seen() }),
        ]);
        assert_eq!(two.take(&Headroom, &mut Scripted::default()), ["A", "B"]);
        two.now += HOUR;
        two.rows[0].reading.as_mut().unwrap().seen_at += HOUR;
        assert_eq!(two.take(&Headroom, &mut Scripted::default()), ["B", "A"]);
    }
}
