//! `priority`: declared order, top to bottom (routing 4.1).

use crate::dice::Dice;
use crate::request::Traits;
use crate::strategy::{Field, Ranked, Strategy};

/// The declared order.
pub struct Priority;

impl Strategy for Priority {
    fn name(&self) -> &'static str {
        "priority"
    }

    fn doc_short(&self) -> &'static str {
        "the declared order, top to bottom"
    }

    fn doc_long(&self) -> &'static str {
        "Targets are tried as they are written. The next one is asked when the one before is \
         excluded or has failed."
    }

    fn example(&self) -> &'static str {
        r#"name = "best"
strategy = "priority"
targets = [{ model = "openai/gpt-5" }, { model = "azure/gpt-5" }]"#
    }

    fn rank(&self, field: &Field<'_>, _: &mut dyn Dice) -> Ranked {
        Ranked::of((0..field.pool.count()).collect())
    }

    fn yields_to_session(&self, _: &Traits) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::Priority;
    use crate::dice::Scripted;
    use crate::strategy::table::{Facts, Table};

    /// Routing 16 #1; it remembers nothing of who served.
    #[test]
    fn row_1() {
        let mut table = Table::of(["A", "B", "C"].map(Facts::named).to_vec());
        table.hear(&Priority, 1, false, true);
        assert_eq!(table.take(&Priority, &mut Scripted::default()), ["A", "B", "C"]);
    }
}
