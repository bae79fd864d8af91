//! `reset-window`: the account whose window starts anew soonest is used up first (routing 4.11).

use super::quota::{in_turns, reset_in};
use crate::dice::Dice;
use crate::strategy::{Field, Grain, Ranked, Strategy};
use crate::time::Millis;

/// Accounts by their next reset.
pub struct ResetWindow;

impl Strategy for ResetWindow {
    fn name(&self) -> &'static str {
        "reset-window"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["weekly-reset", "reset-window-order"]
    }

    fn doc_short(&self) -> &'static str {
        "the account whose quota starts anew soonest goes first"
    }

    fn doc_long(&self) -> &'static str {
        "Accounts are asked in the order in which the windows of `reset_window_windows` start anew, \
         so that no quota is lost unused. Resets within `reset_window_tie_band_ms` of the soonest \
         take turns. Accounts whose reset is unknown, or that have reached their limit, keep their \
         declared order behind the others."
    }

    fn example(&self) -> &'static str {
        r#"name = "week"
strategy = "reset-window"
targets = [{ model = "claude/claude-sonnet-5" }]"#
    }

    fn grain(&self) -> Grain {
        Grain::Accounts
    }

    fn reads_quota(&self) -> bool {
        true
    }

    fn rank(&self, field: &Field<'_>, _: &mut dyn Dice) -> Ranked {
        let (pool, settings) = (field.pool, &field.settings.reset_window);
        let wait = |reading| reset_in(reading, &settings.windows, field.now).unwrap_or(Millis::MAX);
        let waits: Vec<Millis> = pool.readings().into_iter().map(wait).collect();
        let band = settings.tie_band_ms;
        let alike = |first: usize, other: usize| {
            band > 0 && waits[first] < Millis::MAX && waits[other] - waits[first] <= band
        };
        in_turns(pool.able(), |index| waits[index], alike, field.state.cursor)
    }

    fn keeps_first(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::ResetWindow;
    use crate::dice::Scripted;
    use crate::reading::{AccountReading, WindowReading};
    use crate::strategy::QuotaWindow;
    use crate::strategy::quota::tests::{NOW, limited, seen, table, window};
    use crate::strategy::table::Table;
    use crate::time::{DAY, HOUR, MINUTE, SECOND};

    fn weekly(left_ms: u64) -> Option<AccountReading> {
        Some(AccountReading { weekly: window(0.5, left_ms), ..seen() })
    }

    fn take(table: &mut Table) -> String {
        table.take(&ResetWindow, &mut Scripted::default()).concat()
    }

    #[test]
    fn row_38() {
        assert_eq!(take(&mut table(vec![weekly(3 * DAY), weekly(DAY), None])), "BAC");
    }

    #[test]
    fn row_39() {
        let mut three = table(vec![weekly(100 * SECOND), weekly(130 * SECOND), weekly(200 * SECOND)]);
        three.state.cursor = 1;
        assert_eq!(take(&mut three), "BAC");
        assert_eq!(take(&mut three), "ABC");
        three.settings.reset_window.tie_band_ms = 0;
        three.state.cursor = 1;
        assert_eq!((take(&mut three).as_str(), three.state.cursor), ("ABC", 1), "no band, no turns");
    }

    #[test]
    fn row_40() {
        let past = |ago| {
            let weekly = Some(WindowReading { used: 0.5, resets_at: Some(NOW - ago) });
            Some(AccountReading { weekly, ..seen() })
        };
        let mut two = table(vec![past(5 * MINUTE), past(3 * DAY)]);
        assert_eq!(take(&mut two), "AB");
        assert_eq!(take(&mut two), "BA", "a tie at 0 ms takes turns");
    }

    /// Routing 4.23: the configured windows, else any, else the whole account's reset.
    #[test]
    fn which_reset_counts() {
        let session = Some(AccountReading { session: window(0.1, HOUR), ..seen() });
        let whole = Some(AccountReading { overall: window(0.1, 30 * MINUTE), ..seen() });
        let both =
            Some(AccountReading { session: window(0.1, MINUTE), weekly: window(0.1, 2 * HOUR), ..seen() });
        let mut rows = table(vec![Some(limited()), both, session, whole]);
        assert_eq!(take(&mut rows), "DCBA", "30 min, 1 h, 2 h, the limit is reached");
        rows.settings.reset_window.windows = vec![QuotaWindow::Session, QuotaWindow::Weekly];
        assert_eq!(take(&mut rows), "BDCA");
        assert_eq!(take(&mut table(vec![None, None])), "AB", "unknown ones take no turns");
    }
}
