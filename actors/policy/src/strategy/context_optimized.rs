//! `context-optimized`: the largest context window first (routing 4.17).

use crate::dice::Dice;
use crate::strategy::{Field, Ranked, Strategy, sort};

/// The largest window.
pub struct ContextOptimized;

impl Strategy for ContextOptimized {
    fn name(&self) -> &'static str {
        "context-optimized"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["context"]
    }

    fn doc_short(&self) -> &'static str {
        "the largest context window"
    }

    fn doc_long(&self) -> &'static str {
        "The target whose model takes the longest context goes first, by the windows that are \
         configured. A model whose window is unknown goes last; equal ones keep their declared \
         order."
    }

    fn example(&self) -> &'static str {
        r#"name = "long"
strategy = "context-optimized"
targets = [{ model = "openai/gpt-5" }, { model = "google/gemini-pro" }]"#
    }

    fn rank(&self, field: &Field<'_>, _: &mut dyn Dice) -> Ranked {
        let window = |entry| field.pool.facts(entry).and_then(|facts| facts.context_window);
        let mut order: Vec<usize> = (0..field.pool.count()).collect();
        let tail = sort::front(&mut order, |entry| !window(entry).unwrap_or(0));
        Ranked { tail, ..Ranked::of(order) }
    }
}

#[cfg(test)]
mod tests {
    use super::ContextOptimized;
    use crate::catalogue::ModelEntry;
    use crate::dice::Scripted;
    use crate::strategy::table::{Facts, Table};

    fn take(windows: [Option<u64>; 3]) -> String {
        let row = |context_window| Facts {
            facts: Some(ModelEntry { context_window, ..ModelEntry::default() }),
            ..Facts::default()
        };
        Table::of(windows.map(row).to_vec()).take(&ContextOptimized, &mut Scripted::default()).concat()
    }

    #[test]
    fn row_59() {
        assert_eq!(take([Some(128_000), Some(1_000_000), None]), "BAC");
    }

    #[test]
    fn row_59b() {
        assert_eq!(take([Some(200_000), Some(200_000), Some(1_000_000)]), "CAB");
        assert_eq!(take([None; 3]), "ABC");
    }
}
