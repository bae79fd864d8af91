//! `random`: a full shuffle for each request (routing 4.7).

use crate::dice::{Dice, shuffle};
use crate::strategy::{Field, Ranked, Strategy};

/// A shuffle.
pub struct Random;

impl Strategy for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn doc_short(&self) -> &'static str {
        "a shuffle for each request"
    }

    fn doc_long(&self) -> &'static str {
        "All targets are shuffled for each request, those that step in too. Over many requests \
         each begins equally many; for exact shares take `round-robin` or `strict-random`."
    }

    fn example(&self) -> &'static str {
        r#"name = "any"
strategy = "random"
targets = [{ model = "openai/gpt-5" }, { model = "azure/gpt-5" }]"#
    }

    fn rank(&self, field: &Field<'_>, dice: &mut dyn Dice) -> Ranked {
        let mut order: Vec<usize> = (0..field.pool.count()).collect();
        shuffle(&mut order, dice);
        Ranked::of(order)
    }

    fn keeps_first(&self) -> bool {
        false
    }

    fn yields_to_cache(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Random;
    use crate::dice::Scripted;
    use crate::strategy::table::{Facts, Table};

    #[test]
    fn row_27() {
        let mut table = Table::of(["A", "B", "C", "D"].map(Facts::named).to_vec());
        let mut dice = Scripted::new(&[0.0, 1.0, 1.0]);
        assert_eq!(table.take(&Random, &mut dice), ["D", "C", "B", "A"]);
    }

    #[test]
    fn one_or_none_needs_no_dice() {
        assert_eq!(Table::default().take(&Random, &mut Scripted::default()), Vec::<String>::new());
        assert_eq!(Table::of(vec![Facts::default()]).take(&Random, &mut Scripted::new(&[9.0])), ["A"]);
    }
}
