//! `cost-optimized`: the cheapest first (routing 4.9, decision 24).
//!
//! Prices are those of the catalogue. Nothing is guessed: what has no price stands behind what
//! has one.

use crate::catalogue::ModelEntry;
use crate::dice::Dice;
use crate::request::Traits;
use crate::strategy::{Field, Ranked, Strategy, sort};

/// Tokens that a price is for.
const PRICED: f64 = 1_000_000.0;

/// The cheapest.
pub struct CostOptimized;

impl Strategy for CostOptimized {
    fn name(&self) -> &'static str {
        "cost-optimized"
    }

    fn doc_short(&self) -> &'static str {
        "the lowest price"
    }

    fn doc_long(&self) -> &'static str {
        "The cheapest target goes first, by the prices that are configured for its model. A \
         request that says how much it lets the model write is priced as a whole, input and \
         output; any other is compared by the price of input alone. A model without a price goes \
         last; equal ones keep their declared order."
    }

    fn example(&self) -> &'static str {
        r#"name = "cheap"
strategy = "cost-optimized"
targets = [{ model = "openai/gpt-5" }, { model = "other/gpt-5" }]"#
    }

    fn rank(&self, field: &Field<'_>, _: &mut dyn Dice) -> Ranked {
        let pool = field.pool;
        let cost = |entry: usize| {
            let facts = pool.facts(entry);
            let input = facts.and_then(|facts| price(facts.input_price));
            let whole = facts.and_then(|facts| of_request(facts, field.request));
            (whole.unwrap_or(f64::INFINITY), input.unwrap_or(f64::INFINITY))
        };
        let costs: Vec<(f64, f64)> = (0..pool.count()).map(cost).collect();
        let mut order: Vec<usize> = (0..costs.len()).collect();
        // Where no request can be priced all are equal so far, and input decides.
        let key = |entry: usize| {
            let (whole, input) = costs[entry];
            (sort::ascending(whole), sort::ascending(input))
        };
        let tail = sort::front_by_two(&mut order, key);
        Ranked { tail, ..Ranked::of(order) }
    }
}

fn price(stated: Option<f64>) -> Option<f64> {
    stated.filter(|price| price.is_finite() && *price >= 0.0)
}

/// What the request may cost, USD; `None` where its output, or a price, is unknown.
fn of_request(facts: &ModelEntry, request: &Traits) -> Option<f64> {
    let (input, output) = (request.input_tokens?, request.max_output?);
    let output = facts.max_output.map_or(output, |most| most.min(output));
    let cost = input as f64 * price(facts.input_price)? + output as f64 * price(facts.output_price)?;
    Some(cost / PRICED)
}

#[cfg(test)]
mod tests {
    use super::CostOptimized;
    use crate::catalogue::ModelEntry;
    use crate::dice::Scripted;
    use crate::strategy::table::{Facts, Table};

    fn priced(input: Option<f64>, output: Option<f64>) -> Facts {
        let facts = ModelEntry { input_price: input, output_price: output, ..ModelEntry::default() };
        Facts { facts: Some(facts), ..Facts::default() }
    }

    fn take(table: &mut Table) -> String {
        table.take(&CostOptimized, &mut Scripted::default()).concat()
    }

    #[test]
    fn row_31() {
        let inputs = [Some(3.0), Some(0.5), None, Some(0.5)];
        let mut table = Table::of(inputs.map(|input| priced(input, None)).to_vec());
        assert_eq!(take(&mut table), "BDAC");
        table.rows[2].facts = None;
        assert_eq!(take(&mut table), "BDAC");
    }

    fn row_32_table() -> Table {
        Table::of(vec![priced(Some(1.0), Some(100.0)), priced(Some(2.0), Some(2.0))])
    }

    #[test]
    fn row_32() {
        assert_eq!(take(&mut row_32_table()), "AB");
    }

    /// Decision 24: 1000 tokens in and 100 out cost 0.011 and 0.0022; 1 out 0.0011 and 0.002002.
    #[test]
    fn a_request_with_a_known_output_is_priced_as_a_whole() {
        let mut table = row_32_table();
        (table.request.input_tokens, table.request.max_output) = (Some(1000), Some(100));
        assert_eq!(take(&mut table), "BA");
        table.request.max_output = Some(1);
        assert_eq!(take(&mut table), "AB");
    }

    /// A model says no more than it can: 10 of A cost 1, a thousand of B 2.
    #[test]
    fn a_model_is_not_charged_for_what_it_cannot_say() {
        let mut table = row_32_table();
        (table.request.input_tokens, table.request.max_output) = (Some(0), Some(1000));
        table.rows[0].facts.as_mut().unwrap().max_output = Some(10);
        assert_eq!(take(&mut table), "AB");
    }

    #[test]
    fn without_a_price_of_output_input_decides() {
        let mut table = Table::of([3.0, 0.5].map(|input| priced(Some(input), None)).to_vec());
        (table.request.input_tokens, table.request.max_output) = (Some(1000), Some(100));
        assert_eq!(take(&mut table), "BA");
    }

    #[test]
    fn nonsense_is_no_price() {
        let inputs = [f64::NAN, -1.0, f64::INFINITY, 9.0];
        let mut table = Table::of(inputs.map(|input| priced(Some(input), None)).to_vec());
        assert_eq!(take(&mut table), "DABC");
    }
}
