//! `lkgp`: the last known good provider first (routing 4.16).

use crate::dice::Dice;
use crate::strategy::{ComboState, Field, LastGood, News, Note, Ranked, Strategy, StrategySettings};

/// Who served last.
pub struct Lkgp;

impl Strategy for Lkgp {
    fn name(&self) -> &'static str {
        "lkgp"
    }

    fn doc_short(&self) -> &'static str {
        "the one that served last"
    }

    fn doc_long(&self) -> &'static str {
        "The target that served the request before goes first, the others follow in declared \
         order. It is remembered by provider and connection, across restarts, until another one \
         serves or it cannot be asked."
    }

    fn example(&self) -> &'static str {
        r#"name = "steady"
strategy = "lkgp"
targets = [{ model = "openai/gpt-5" }, { model = "azure/gpt-5" }]"#
    }

    fn rank(&self, field: &Field<'_>, _: &mut dyn Dice) -> Ranked {
        let mut order: Vec<usize> = (0..field.pool.count()).collect();
        let Some(last) = &field.state.last_good else { return Ranked::of(order) };
        let of_provider = |entry: &usize| *field.pool.provider(*entry) == last.provider;
        let of_account =
            |entry: &usize| of_provider(entry) && field.pool.connection(*entry) == last.connection.as_ref();
        let found =
            order.iter().copied().find(of_account).or_else(|| order.iter().copied().find(of_provider));
        let Some(entry) = found else { return Ranked::of(order) };
        if !field.pool.eligible(entry) {
            return Ranked { notes: vec![Note::ForgetLastGood], ..Ranked::of(order) };
        }
        order[..=entry].rotate_right(1);
        Ranked::of(order)
    }

    fn heard(&self, state: &mut ComboState, news: &News<'_>, _: &StrategySettings) {
        if news.good {
            let (provider, connection) = (news.provider.clone(), Some(news.connection.clone()));
            state.last_good = Some(LastGood { provider, connection });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lkgp;
    use crate::dice::Scripted;
    use crate::strategy::LastGood;
    use crate::strategy::table::{Facts, Table};

    /// P1@c1, P2@c8, P2@c9, after an answer of this provider and connection.
    fn table(last: Option<(&str, &str)>) -> Table {
        let row = |(provider, connection): (&str, &str)| Facts {
            provider: provider.into(),
            connection: Some(connection.into()),
            ..Facts::named(&format!("{provider}@{connection}"))
        };
        let mut table = Table::of([("P1", "c1"), ("P2", "c8"), ("P2", "c9")].map(row).to_vec());
        table.state.last_good = last.map(|(provider, connection)| LastGood {
            provider: provider.into(),
            connection: Some(connection.into()),
        });
        table
    }

    fn take(table: &mut Table) -> String {
        table.take(&Lkgp, &mut Scripted::default()).join(",")
    }

    #[test]
    fn row_57() {
        assert_eq!(take(&mut table(Some(("P2", "c9")))), "P2@c9,P1@c1,P2@c8");
    }

    #[test]
    fn row_58() {
        assert_eq!(take(&mut table(Some(("P2", "c7")))), "P2@c8,P1@c1,P2@c9");
        assert_eq!(take(&mut table(None)), "P1@c1,P2@c8,P2@c9");
        assert_eq!(take(&mut table(Some(("P3", "c1")))), "P1@c1,P2@c8,P2@c9");
    }

    #[test]
    fn an_answer_is_remembered_and_a_failure_is_not() {
        let mut table = table(None);
        table.hear(&Lkgp, 0, true, false);
        assert_eq!(table.state.last_good, None);
        table.hear(&Lkgp, 1, false, true);
        assert_eq!(take(&mut table), "P2@c8,P1@c1,P2@c9");
        table.hear(&Lkgp, 1, true, false);
        assert_eq!(take(&mut table), "P2@c8,P1@c1,P2@c9");
    }

    #[test]
    fn one_that_cannot_be_asked_is_forgotten() {
        let mut table = table(Some(("P2", "c9")));
        table.rows[2].eligible = false;
        assert_eq!(take(&mut table), "P1@c1,P2@c8,P2@c9");
        assert_eq!(table.state.last_good, None);
    }

    /// A step that is tied to no account is found by its provider.
    #[test]
    fn an_account_of_a_step_without_one_leads_to_the_step() {
        let mut table = Table::of(["A", "B"].map(Facts::named).to_vec());
        table.hear(&Lkgp, 1, false, true);
        assert_eq!(take(&mut table), "B,A");
    }
}
