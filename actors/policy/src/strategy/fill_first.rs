//! `fill-first`: the declared order; the first target takes all it can (routing 4.5).

use crate::dice::Dice;
use crate::strategy::{Field, Ranked, Strategy};

/// The first one until it is full.
pub struct FillFirst;

impl Strategy for FillFirst {
    fn name(&self) -> &'static str {
        "fill-first"
    }

    fn doc_short(&self) -> &'static str {
        "the declared order; the first one takes all it can"
    }

    fn doc_long(&self) -> &'static str {
        "Targets are asked as they are written; the first one has all requests until it is full \
         or rests. Unlike with `priority`, a session that is tied to a later target stays there."
    }

    fn example(&self) -> &'static str {
        r#"name = "prepaid-first"
strategy = "fill-first"
targets = [{ model = "prepaid/gpt-5" }, { model = "openai/gpt-5" }]"#
    }

    fn rank(&self, field: &Field<'_>, _: &mut dyn Dice) -> Ranked {
        Ranked::of((0..field.pool.count()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::FillFirst;
    use crate::dice::Scripted;
    use crate::strategy::table::{Facts, Table};

    /// Routing 16 #21: B serves while A is full, and A again as soon as it has room. The gate
    /// says so, not the order.
    #[test]
    fn row_21() {
        let mut table = Table::of(["A", "B"].map(Facts::named).to_vec());
        assert_eq!(table.take(&FillFirst, &mut Scripted::default()), ["A", "B"]);
        table.hear(&FillFirst, 1, false, true);
        assert_eq!(table.take(&FillFirst, &mut Scripted::default()), ["A", "B"]);
    }
}
