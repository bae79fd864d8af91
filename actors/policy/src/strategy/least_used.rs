//! `least-used`: who was asked the fewest times goes first (routing 4.8, decision 26).
//!
//! The pick counts, so that a burst is spread before anybody has answered. One that comes new,
//! or back after a rest, catches up a few requests and not all that it has missed: it would have
//! every request for a while.

use std::sync::Arc;

use crate::dice::Dice;
use crate::ids::ById;
use crate::strategy::{Field, Note, Ranked, Strategy, Tail, sort};

/// Requests in a row that one far behind the others can catch up.
const MOST_BEHIND: u64 = 10;

/// The least asked.
pub struct LeastUsed;

impl Strategy for LeastUsed {
    fn name(&self) -> &'static str {
        "least-used"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["usage"]
    }

    fn doc_short(&self) -> &'static str {
        "fewest requests so far"
    }

    fn doc_long(&self) -> &'static str {
        "The target that this combo has asked the fewest times goes first, and so on; answers \
         and failures count alike, since the start of the process. Equal ones take turns. One \
         that joins late is at most ten requests behind the others from then on."
    }

    fn example(&self) -> &'static str {
        r#"name = "spread"
strategy = "least-used"
targets = [{ model = "openai/gpt-5" }, { model = "azure/gpt-5" }]"#
    }

    fn rank(&self, field: &Field<'_>, _: &mut dyn Dice) -> Ranked {
        let count = field.pool.count();
        let used = |entry: usize| uses(&field.state.uses, field.pool.key(entry));
        let start = field.state.cursor.checked_rem(count as u64).unwrap_or(0) as usize;
        // Equal ones keep the order they are in here, so the start decides between them.
        let mut order: Vec<usize> = (start..count).chain(0..start).collect();
        let uses: Vec<u64> = (0..count).map(used).collect();
        let tail = sort::front(&mut order, |entry| uses[entry]);
        let mut ranked = Ranked { tail, ..Ranked::of(order) };
        ranked.notes.push(Note::Cursor(field.state.cursor.wrapping_add(1)));
        let floor = uses.iter().max().copied().unwrap_or(0).saturating_sub(MOST_BEHIND);
        let able = |all: &[usize]| all.iter().copied().find(|entry| field.pool.eligible(*entry));
        let sorted = ranked.tail.as_ref().map_or(count, Tail::start);
        let asked = able(&ranked.order[..sorted]).or_else(|| {
            ranked.settle();
            able(&ranked.order)
        });
        if let Some(entry) = asked.filter(|entry| uses[*entry] < floor) {
            ranked.notes.push(Note::Uses(field.pool.key(entry).into(), floor));
        }
        ranked
    }

    fn keeps_first(&self) -> bool {
        false
    }

    fn yields_to_cache(&self) -> bool {
        true
    }
}

fn uses(all: &ById<Arc<str>, u64>, key: &str) -> u64 {
    all.get(key).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::LeastUsed;
    use crate::dice::Scripted;
    use crate::strategy::table::{Facts, Table};

    fn table(uses: &[(&str, u64)]) -> Table {
        let mut table = Table::of(uses.iter().map(|(key, _)| Facts::named(key)).collect());
        let known = uses.iter().filter(|(_, count)| *count > 0);
        table.state.uses = known.map(|(key, count)| ((*key).into(), *count)).collect();
        table
    }

    fn take(table: &mut Table) -> String {
        table.take(&LeastUsed, &mut Scripted::default()).join(" ")
    }

    fn firsts(table: &mut Table, count: usize) -> String {
        (0..count).map(|_| take(table).remove(0)).collect()
    }

    #[test]
    fn row_29() {
        assert_eq!(take(&mut table(&[("A", 5), ("B", 2), ("C", 0)])), "C B A");
    }

    #[test]
    fn row_30() {
        assert_eq!(take(&mut table(&[("m@c1", 9), ("m@c2", 4)])), "m@c2 m@c1");
        assert_eq!(take(&mut table(&[("A", 0), ("B", 0), ("C", 0)])), "A B C");
    }

    /// Decision 26; nobody has answered, and still all have their part (FC-050).
    #[test]
    fn ties_take_turns_in_a_burst() {
        let mut table = table(&[("A", 7), ("B", 7), ("C", 7), ("D", 7)]);
        let mut all: Vec<char> = firsts(&mut table, 400).chars().collect();
        all.sort_unstable();
        assert_eq!(all.chunk_by(|a, b| a == b).map(<[char]>::len).collect::<Vec<_>>(), [100; 4]);
        table.state.cursor = 1;
        assert_eq!(take(&mut table), "B C D A");
    }

    #[test]
    fn who_stood_in_counts_too() {
        let mut table = table(&[("A", 0), ("B", 0)]);
        assert_eq!(take(&mut table), "A B");
        table.hear(&LeastUsed, 0, true, false);
        table.hear(&LeastUsed, 1, false, true);
        assert_eq!((table.state.uses["A"], table.state.uses["B"]), (1, 1));
    }

    #[test]
    fn who_comes_late_catches_up_ten_requests_and_no_more() {
        let mut table = table(&[("A", 1000), ("B", 1000), ("C", 0)]);
        assert_eq!(firsts(&mut table, 10), "C".repeat(10));
        assert_eq!((table.state.uses["C"], table.state.uses["A"]), (1000, 1000));
    }

    /// Who rests stays behind without an end, but it is not the one that is asked.
    #[test]
    fn one_that_is_out_is_not_lifted() {
        let mut table = table(&[("A", 1000), ("B", 995), ("C", 0)]);
        table.rows[2].eligible = false;
        assert_eq!(take(&mut table), "C B A");
        assert_eq!(table.state.uses.get("C"), None);
        assert_eq!(table.state.uses["B"], 996);
    }
}
