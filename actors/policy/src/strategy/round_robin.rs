//! `round-robin`: everybody in turn (routing 8).
//!
//! The turn is taken when it is picked. What is heard later never puts the cursor back, because
//! others took their turns meanwhile: an entry that was asked out of turn, in the place of one
//! that failed, gives its next turn away instead (routing 8.8, FC-050).

use crate::dice::Dice;
use crate::strategy::{ComboState, Field, News, Note, Ranked, Strategy, StrategySettings, run};

/// Everybody in turn.
pub struct RoundRobin;

impl Strategy for RoundRobin {
    fn name(&self) -> &'static str {
        "round-robin"
    }

    fn doc_short(&self) -> &'static str {
        "turns: everybody once, then again from the top"
    }

    fn doc_long(&self) -> &'static str {
        "Each request begins with the target after the one that the request before began with. \
         A target that cannot be asked is passed over and costs nobody a turn; one that served \
         in the place of another gives its next turn away. Turns may be several requests long."
    }

    fn example(&self) -> &'static str {
        r#"name = "even"
strategy = "round-robin"
targets = [{ model = "openai/gpt-5" }, { model = "azure/gpt-5" }, { model = "other/gpt-5" }]"#
    }

    fn rank(&self, field: &Field<'_>, _: &mut dyn Dice) -> Ranked {
        let count = field.pool.count();
        let length = run::length(field.settings.rotation.sticky_round_robin_limit);
        let going_on = run::goes_on(field, length);
        let start =
            going_on.unwrap_or_else(|| field.state.cursor.checked_rem(count as u64).unwrap_or(0) as usize);
        let circle = |start: usize| (start..count).chain(0..start.min(count));
        let (turn, paid) = match going_on {
            Some(entry) => (Some(entry), Vec::new()),
            None => whose_turn(field, circle(start)),
        };
        let mut ranked = Ranked::of(circle(turn.unwrap_or(start)).collect());
        let Some(turn) = turn else { return ranked };
        ranked.notes.extend(paid.into_iter().map(|entry| Note::Paid(field.pool.key(entry).into())));
        ranked.notes.push(Note::Cursor(turn as u64 + 1));
        if length > 1 {
            ranked.notes.push(Note::Sticky(run::after(field, turn, length)));
        }
        ranked
    }

    fn heard(&self, state: &mut ComboState, news: &News<'_>, settings: &StrategySettings) {
        let length = run::length(settings.rotation.sticky_round_robin_limit);
        if length > 1 {
            if run::heard(state, news, length) {
                state.cursor = news.entry as u64 + 1;
            }
        } else if !news.first {
            pay(state, news);
        }
    }

    fn keeps_first(&self) -> bool {
        false
    }

    fn yields_to_cache(&self) -> bool {
        true
    }
}

/// The first that can be asked and owes no turn, and those that gave theirs away for it. Where
/// all owe, nobody does: the first has it.
fn whose_turn(field: &Field<'_>, circle: impl Iterator<Item = usize>) -> (Option<usize>, Vec<usize>) {
    let mut paid = Vec::new();
    for entry in circle.filter(|entry| field.pool.eligible(*entry)) {
        if !field.state.owing.contains(field.pool.key(entry)) {
            return (Some(entry), paid);
        }
        paid.push(entry);
    }
    (paid.first().copied(), paid)
}

/// Who was asked out of turn pays with the next one, at once where that is its own.
fn pay(state: &mut ComboState, news: &News<'_>) {
    if state.cursor.checked_rem(news.of as u64) == Some(news.entry as u64) {
        state.cursor = news.entry as u64 + 1;
    } else {
        state.owing.insert(news.key.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::RoundRobin;
    use crate::dice::Scripted;
    use crate::strategy::Sticky;
    use crate::strategy::table::{Facts, Table};

    fn table(names: &str, limit: u32) -> Table {
        let mut table = Table::of(names.chars().map(|name| Facts::named(&name.to_string())).collect());
        table.settings.rotation.sticky_round_robin_limit = limit;
        table
    }

    fn take(table: &mut Table) -> String {
        table.take(&RoundRobin, &mut Scripted::default()).concat()
    }

    fn on_a_run_of(table: &mut Table, key: &str, count: u32) {
        table.state.sticky = Some(Sticky { key: key.into(), count });
    }

    #[test]
    fn row_12() {
        let mut table = table("ABC", 1);
        assert_eq!(take(&mut table), "ABC");
        table.hear(&RoundRobin, 0, true, true);
        assert_eq!(table.state.cursor, 1);
    }

    #[test]
    fn row_13() {
        let mut table = table("ABC", 1);
        assert_eq!(take(&mut table), "ABC");
        table.hear(&RoundRobin, 0, true, false);
        table.hear(&RoundRobin, 1, false, true);
        assert_eq!(table.state.cursor, 2);
        assert_eq!(take(&mut table), "CAB");
    }

    /// Routing 8.8 further down the circle: A and B failed, C served, so the next begins with A.
    #[test]
    fn all_that_were_asked_have_had_their_turn() {
        let mut table = table("ABC", 1);
        take(&mut table);
        table.hear(&RoundRobin, 0, true, false);
        table.hear(&RoundRobin, 1, false, false);
        table.hear(&RoundRobin, 2, false, true);
        assert_eq!((table.state.cursor, take(&mut table).as_str()), (3, "ABC"));
    }

    #[test]
    fn row_14() {
        let mut table = table("ABC", 1);
        table.state.cursor = 5;
        assert_eq!(take(&mut table), "CAB");
    }

    #[test]
    fn row_15() {
        let mut table = table("ABC", 3);
        on_a_run_of(&mut table, "A", 2);
        assert_eq!(take(&mut table), "ABC");
        table.hear(&RoundRobin, 0, true, true);
        assert_eq!((table.state.cursor, table.state.sticky.clone()), (1, None));
        assert_eq!(take(&mut table), "BCA");
    }

    /// A stands behind: it is left out of the plan anyway.
    #[test]
    fn row_16() {
        let mut table = table("ABC", 3);
        on_a_run_of(&mut table, "A", 2);
        table.rows[0].eligible = false;
        assert_eq!(take(&mut table), "BCA");
        table.hear(&RoundRobin, 1, true, true);
        assert_eq!(table.state.sticky, Some(Sticky { key: "B".into(), count: 1 }));
    }

    #[test]
    fn a_run_is_as_long_as_it_is_set() {
        let mut table = table("AB", 2);
        let firsts: String = (0..8).map(|_| take(&mut table).remove(0)).collect();
        assert_eq!(firsts, "AABBAABB");
    }

    #[test]
    fn a_run_passes_to_who_served_in_its_place() {
        let mut table = table("ABC", 3);
        take(&mut table);
        table.hear(&RoundRobin, 0, true, false);
        table.hear(&RoundRobin, 2, false, true);
        assert_eq!(table.state.sticky, Some(Sticky { key: "C".into(), count: 1 }));
        let firsts: String = (0..3).map(|_| take(&mut table).remove(0)).collect();
        assert_eq!(firsts, "CCA");
    }

    /// Late answers of a burst leave the run alone that is on by then.
    #[test]
    fn late_answers_do_not_begin_a_run_again() {
        let mut table = table("AB", 2);
        for _ in 0..3 {
            take(&mut table);
        }
        table.hear(&RoundRobin, 0, true, true);
        table.hear(&RoundRobin, 0, true, false);
        table.hear(&RoundRobin, 0, false, true);
        assert_eq!(table.state.sticky, Some(Sticky { key: "B".into(), count: 1 }));
        assert_eq!(take(&mut table), "BA");
    }

    /// FC-050: B and D were asked in A's place while B and C had their turns. Those stay theirs;
    /// B and D each give one away.
    #[test]
    fn fc_050_who_stood_in_gives_its_next_turn_away() {
        let mut table = table("ABCD", 1);
        for first in ["A", "B", "C"] {
            assert!(take(&mut table).starts_with(first));
        }
        table.hear(&RoundRobin, 0, true, false);
        table.hear(&RoundRobin, 1, false, true);
        table.hear(&RoundRobin, 3, false, true);
        assert_eq!(table.state.cursor, 4, "D has paid at once: it was next");
        assert_eq!(take(&mut table), "ABCD");
        assert_eq!(take(&mut table), "CDAB", "B pays");
        assert!(table.state.owing.is_empty());
        assert!(take(&mut table).starts_with('D'));
    }

    /// FC-050: the turn of one that is out falls to each of the others alike, not to the next.
    #[test]
    fn fc_050_one_that_is_out_leaves_no_double_turn() {
        let mut table = table("ABCD", 1);
        table.rows[1].eligible = false;
        let firsts: String = (0..9).map(|_| take(&mut table).remove(0)).collect();
        assert_eq!(firsts, "ACDACDACD");
    }

    #[test]
    fn where_all_owe_a_turn_nobody_does() {
        let mut table = table("AB", 1);
        table.state.owing = ["A", "B"].map(Into::into).into();
        assert_eq!(take(&mut table), "AB");
        assert!(table.state.owing.is_empty());
    }

    #[test]
    fn nobody_to_ask_uses_no_turn() {
        let mut table = table("AB", 1);
        table.rows.iter_mut().for_each(|row| row.eligible = false);
        table.state.cursor = 1;
        assert_eq!((take(&mut table).as_str(), table.state.cursor), ("BA", 1));
        assert_eq!(take(&mut self::table("", 1)), "");
    }
}
