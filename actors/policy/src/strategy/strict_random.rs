//! `strict-random`: a shuffled deck; everybody is drawn once before anybody again (routing 4.14).
//!
//! One that cannot be asked is passed over, as a card that was drawn: the next card has the
//! request, not whoever the shuffle of the fallbacks puts first.

use crate::dice::{Dice, shuffle};
use crate::strategy::{Deck, Field, Note, Pool, Ranked, Strategy};

/// A deck of cards.
pub struct StrictRandom;

impl Strategy for StrictRandom {
    fn name(&self) -> &'static str {
        "strict-random"
    }

    fn doc_short(&self) -> &'static str {
        "a shuffled deck: everybody once before anybody again"
    }

    fn doc_long(&self) -> &'static str {
        "Targets are drawn like cards: each begins one request before any begins a second one, \
         in an order that is shuffled anew each time round. No target begins two requests in a \
         row. The others step in, shuffled. The deck is made anew when targets come or go."
    }

    fn example(&self) -> &'static str {
        r#"name = "fair"
strategy = "strict-random"
targets = [{ model = "openai/gpt-5" }, { model = "azure/gpt-5" }, { model = "other/gpt-5" }]"#
    }

    fn rank(&self, field: &Field<'_>, dice: &mut dyn Dice) -> Ranked {
        let pool = field.pool;
        if pool.count() <= 1 {
            return Ranked::of((0..pool.count()).collect());
        }
        let known = Some(&field.state.deck).filter(|deck| is_of(deck, pool));
        let (drawn, note) = match known.and_then(|deck| next(deck, pool)) {
            Some((drawn, left)) => (drawn, Note::Card(pool.shared_key(drawn), left)),
            None => {
                let mut deck = known.cloned().unwrap_or_else(|| fresh(pool));
                (deal(&mut deck, pool, dice), Note::Deck(deck))
            }
        };
        let mut order = Vec::with_capacity(pool.count());
        order.push(drawn);
        order.extend((0..drawn).chain(drawn + 1..pool.count()));
        shuffle(&mut order[1..], dice);
        Ranked { notes: vec![note], ..Ranked::of(order) }
    }
}

/// Whether the deck is made of these entries, in whatever order they are declared.
fn is_of(deck: &Deck, pool: &dyn Pool) -> bool {
    if deck.of.len() != pool.count() {
        return false;
    }
    pool.is_of(&deck.of) || {
        let mut known: Vec<&str> = deck.of.iter().map(AsRef::as_ref).collect();
        let mut keys: Vec<&str> = (0..pool.count()).map(|entry| pool.key(entry)).collect();
        known.sort_unstable();
        keys.sort_unstable();
        known == keys
    }
}

/// A deck whose first cycle is to come.
fn fresh(pool: &dyn Pool) -> Deck {
    Deck { of: (0..pool.count()).map(|entry| pool.shared_key(entry)).collect(), ..Deck::default() }
}

/// The next card that can be asked, and how many are left behind it; those before it are passed over.
fn next(deck: &Deck, pool: &dyn Pool) -> Option<(usize, usize)> {
    let cards = deck.left.iter().enumerate().rev();
    let mut able = cards.filter_map(|(place, key)| Some((pool.find(key)?, place)));
    able.find(|(entry, _)| pool.eligible(*entry))
}

/// Takes the first card of a new cycle that can be asked; where none can, the first one. It is
/// shuffled, and not begun by the card that ended the one before.
fn deal(deck: &mut Deck, pool: &dyn Pool, dice: &mut dyn Dice) -> usize {
    deck.left = deck.of.to_vec();
    shuffle(&mut deck.left, dice);
    if deck.last.as_ref() == deck.left.first() {
        let other = 1 + dice.below(deck.left.len() - 1);
        deck.left.swap(0, other);
    }
    // The next one is taken from the end.
    deck.left.reverse();
    let first = || pool.find(deck.left.last()?);
    let (drawn, left) = next(deck, pool).unwrap_or_else(|| {
        (first().expect("a deck is of these entries, and there are two at least"), deck.left.len() - 1)
    });
    deck.last = Some(deck.left[left].clone());
    deck.left.truncate(left);
    drawn
}

#[cfg(test)]
mod tests {
    use super::StrictRandom;
    use crate::dice::{Dice, Scripted};
    use crate::strategy::table::{Facts, Table};

    fn table(names: &str) -> Table {
        Table::of(names.chars().map(|name| Facts::named(&name.to_string())).collect())
    }

    fn first(table: &mut Table, dice: &mut dyn Dice) -> String {
        table.take(&StrictRandom, dice).remove(0)
    }

    /// Dice that go round, so that no shuffle is like the one before.
    struct Wheel(usize);

    impl Dice for Wheel {
        fn unit(&mut self) -> f64 {
            0.0
        }

        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0 * 7 + 3;
            self.0 %= 1009;
            self.0 % bound
        }
    }

    /// The shuffle throws 2 and 0 (b,a,c), the fallbacks behind each card throw one 0.
    #[test]
    fn row_47() {
        let mut table = table("abc");
        let mut dice = Scripted::new(&[2.0, 0.0, 0.0, 0.0, 0.0]);
        let cycle: String = (0..3).map(|_| first(&mut table, &mut dice)).collect();
        assert_eq!(cycle, "bac");
        // c,b,a is shuffled; c ended the cycle before, so it changes places with b.
        let mut dice = Scripted::new(&[0.0, 1.0, 0.0, 0.0]);
        assert_eq!(first(&mut table, &mut dice), "b");
    }

    #[test]
    fn row_48() {
        let mut table = table("ab");
        let picks: String = (0..20).map(|_| first(&mut table, &mut Wheel(1))).collect();
        let other = if picks.starts_with('a') { "ab" } else { "ba" };
        assert_eq!(picks, other.repeat(10));
    }

    #[test]
    fn row_49() {
        let mut table = table("ab");
        let last = first(&mut table, &mut Scripted::new(&[1.0]));
        assert_eq!(last, "a");
        table.rows.push(Facts::named("c"));
        assert_eq!(first(&mut table, &mut Scripted::new(&[2.0, 1.0])), "a", "no boundary is kept");
        assert_eq!(table.state.deck.left.len(), 2);
    }

    /// Each once in each cycle, none twice in a row.
    #[test]
    fn no_card_comes_twice_before_all_have_come() {
        let (mut table, mut dice) = (table("abcde"), Wheel(1));
        let picks: Vec<String> = (0..500).map(|_| first(&mut table, &mut dice)).collect();
        for cycle in picks.chunks(5) {
            let mut sorted = cycle.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted.concat(), "abcde");
        }
        assert!(picks.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(picks.chunks(5).any(|cycle| cycle != &picks[..5]), "each cycle is shuffled anew");
    }

    /// FC-050: three share what the fourth cannot take.
    #[test]
    fn fc_050_one_that_is_out_is_passed_over() {
        let (mut table, mut dice) = (table("abcd"), Wheel(1));
        table.rows[1].eligible = false;
        let mut picks: Vec<String> = (0..300).map(|_| first(&mut table, &mut dice)).collect();
        picks.sort_unstable();
        assert_eq!(picks.concat(), ["a", "c", "d"].map(|key| key.repeat(100)).concat());
    }

    #[test]
    fn another_declared_order_is_the_same_deck() {
        let mut table = table("abc");
        let before = first(&mut table, &mut Wheel(1));
        table.rows.reverse();
        let mut rest = [before, first(&mut table, &mut Wheel(1)), first(&mut table, &mut Wheel(1))];
        rest.sort_unstable();
        assert_eq!(rest.concat(), "abc");
    }

    #[test]
    fn where_nobody_can_be_asked_a_card_is_drawn_all_the_same() {
        let mut table = table("ab");
        table.rows.iter_mut().for_each(|row| row.eligible = false);
        assert_eq!(table.take(&StrictRandom, &mut Wheel(1)).len(), 2);
    }

    #[test]
    fn one_needs_no_deck() {
        let mut table = table("a");
        assert_eq!(first(&mut table, &mut Scripted::default()), "a");
        assert_eq!(table.state.deck.of.len(), 0);
    }
}
