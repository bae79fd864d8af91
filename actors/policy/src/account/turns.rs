//! Accounts in turn: `round-robin`, `least-used`, and the cards of `strict-random`
//! (routing 11.8, 4.14).

use std::cmp::Ordering;
use std::sync::Arc;

use super::Account;
use crate::dice::Dice;
use crate::ids::ConnectionId;
use crate::strategy::Deck;

/// The account that was used last stays until its run is over; else the one that was used longest
/// ago, calm ones first. The account of a run that cannot be asked is not here, so its run is over.
pub(super) fn round_robin(accounts: &[Account], limit: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..accounts.len()).collect();
    order.sort_by(|one, other| {
        let (one, other) = (&accounts[*one], &accounts[*other]);
        one.level.cmp(&other.level).then_with(|| longest_ago(one, other))
    });
    let is_on = |index: &usize| (1..limit.max(1)).contains(&accounts[*index].usage.consecutive);
    if let Some(place) = order.iter().position(is_on) {
        order[..=place].rotate_right(1);
    }
    order
}

/// Who was used longest ago goes first.
pub(super) fn least_used(accounts: &[Account]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..accounts.len()).collect();
    order.sort_by(|one, other| longest_ago(&accounts[*one], &accounts[*other]));
    order
}

/// Never used, then the oldest use; picks of one millisecond by their number.
fn longest_ago(one: &Account, other: &Account) -> Ordering {
    let key =
        |account: &Account| (account.usage.last_at, account.usage.turn, account.priority.unwrap_or(999));
    key(one).cmp(&key(other))
}

/// Any order, each as likely (routing 0.3).
pub(super) fn shuffled(count: usize, dice: &mut dyn Dice) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, dice.below(last + 1));
    }
    order
}

/// Takes a card for one of these accounts: each is first once before any is again. One that rests
/// is passed over and keeps its card; one that the deck does not know makes it new.
pub fn draw(ids: &[&ConnectionId], deck: &Deck, dice: &mut dyn Dice) -> (Vec<usize>, Deck) {
    let mut order = shuffled(ids.len(), dice);
    let mut deck = deck.clone();
    let is_known = |id: &&ConnectionId| deck.of.iter().any(|known| **known == *id.as_str());
    if !ids.iter().all(is_known) {
        deck = Deck { of: ids.iter().map(|id| Arc::from(id.as_str())).collect(), ..Deck::default() };
    }
    let place = |card: &Arc<str>| ids.iter().position(|id| id.as_str() == &**card);
    if !deck.left.iter().any(|card| place(card).is_some()) {
        deal(&mut deck, ids, dice);
    }
    let Some(next) = deck.left.iter().rposition(|card| place(card).is_some()) else { return (order, deck) };
    let card = deck.left.remove(next);
    if let Some(first) = place(&card) {
        order.retain(|index| *index != first);
        order.insert(0, first);
    }
    deck.last = Some(card);
    (order, deck)
}

/// A new round; whoever ended the one before does not begin it.
fn deal(deck: &mut Deck, ids: &[&ConnectionId], dice: &mut dyn Dice) {
    let cards: Vec<Arc<str>> = ids.iter().map(|id| Arc::from(id.as_str())).collect();
    // The next card is the last one.
    deck.left = shuffled(cards.len(), dice).into_iter().rev().map(|index| cards[index].clone()).collect();
    let last = deck.left.len().saturating_sub(1);
    if last > 0 && deck.last.as_ref() == deck.left.last() {
        let other = dice.below(last);
        deck.left.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use super::draw;
    use crate::account::{Account, AccountSettings, AccountStrategy, Usage, order};
    use crate::dice::{Dice, Scripted};
    use crate::ids::ConnectionId;
    use crate::strategy::Deck;

    const HOUR: u64 = 3_600_000;

    fn account(consecutive: u32, hour: Option<u64>, level: u32) -> Account {
        let usage = Usage { consecutive, last_at: hour.map(|hour| hour * HOUR), turn: 0 };
        Account { usage, level, priority: Some(1), ..Account::default() }
    }

    fn by(strategy: AccountStrategy, accounts: &[Account], numbers: &[f64]) -> Vec<usize> {
        let settings = AccountSettings { strategy, sticky_limit: 3, ..AccountSettings::default() };
        order(accounts, settings, 11 * HOUR, &mut Scripted::new(numbers))
    }

    /// A has had its turns; C has never been asked, and stays from then on. When C is out of the
    /// request, B.
    #[test]
    fn row_87() {
        let (a, b) = (account(3, Some(10), 0), account(0, Some(9), 0));
        let rr = |accounts: &[Account]| by(AccountStrategy::RoundRobin, accounts, &[]);
        assert_eq!(rr(&[a, b, account(0, None, 0)]), [2, 1, 0]);
        let a = account(0, Some(10), 0);
        assert_eq!(rr(&[a, b, account(1, Some(11), 0)]), [2, 1, 0], "it stays; then the oldest use");
        assert_eq!(rr(&[a, b, account(2, Some(11), 0)]), [2, 1, 0]);
        assert_eq!(rr(&[a, b, account(3, Some(11), 0)]), [1, 0, 2], "its turns are over");
        assert_eq!(rr(&[a, b]), [1, 0], "C is out");
    }

    #[test]
    fn row_88() {
        let accounts = [account(3, Some(10), 0), account(0, Some(8), 2)];
        assert_eq!(by(AccountStrategy::RoundRobin, &accounts, &[]), [0, 1]);
    }

    #[test]
    fn least_used_is_who_was_used_longest_ago() {
        let never = |priority| Account { priority: Some(priority), ..account(0, None, 0) };
        let accounts = [account(1, Some(10), 0), never(2), account(0, Some(9), 0), never(1)];
        assert_eq!(by(AccountStrategy::LeastUsed, &accounts, &[]), [3, 1, 2, 0]);
        let at_once = |turn| {
            let mut account = account(0, Some(9), 0);
            account.usage.turn = turn;
            account
        };
        let accounts = [at_once(3), at_once(1), at_once(2)];
        assert_eq!(by(AccountStrategy::LeastUsed, &accounts, &[]), [1, 2, 0], "in one millisecond");
        assert_eq!(by(AccountStrategy::RoundRobin, &accounts, &[]), [1, 2, 0]);
    }

    /// Routing 0.3, as row 27 throws it.
    #[test]
    fn random_is_a_shuffle() {
        let accounts = [account(0, None, 0); 4];
        assert_eq!(by(AccountStrategy::Random, &accounts, &[0.0, 1.0, 1.0]), [3, 2, 1, 0]);
    }

    /// Dice that go round, so that no shuffle is like the one before.
    struct Round(usize);

    impl Dice for Round {
        fn unit(&mut self) -> f64 {
            0.0
        }

        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(31).wrapping_add(7);
            self.0 % bound.max(1)
        }
    }

    fn draws(ids: &[&ConnectionId], deck: &mut Deck, count: usize, dice: &mut dyn Dice) -> Vec<String> {
        let one = |_| {
            let (order, next) = draw(ids, deck, dice);
            *deck = next;
            assert_eq!(order.len(), ids.len());
            ids[order[0]].to_string()
        };
        (0..count).map(one).collect()
    }

    /// Routing 4.14: in each round everybody once, and nobody twice in a row.
    #[test]
    fn a_deck_gives_everybody_a_turn() {
        let ids: Vec<ConnectionId> = ["a", "b", "c", "d"].map(Into::into).to_vec();
        let ids: Vec<&ConnectionId> = ids.iter().collect();
        let (mut deck, mut dice) = (Deck::default(), Round(1));
        let drawn = draws(&ids, &mut deck, 400, &mut dice);
        for round in drawn.chunks(4) {
            let mut round = round.to_vec();
            round.sort();
            assert_eq!(round, ["a", "b", "c", "d"]);
        }
        assert!(drawn.windows(2).all(|pair| pair[0] != pair[1]), "{drawn:?}");
    }

    /// Who rests keeps its card, and who is new makes a new deck.
    #[test]
    fn a_rest_does_not_shuffle_the_deck() {
        let ids: Vec<ConnectionId> = ["a", "b", "c"].map(Into::into).to_vec();
        let [a, b, c] = [&ids[0], &ids[1], &ids[2]];
        let (mut deck, mut dice) = (Deck::default(), Round(5));
        let first = draws(&[a, b, c], &mut deck, 1, &mut dice).remove(0);
        let others: Vec<&ConnectionId> = ids.iter().filter(|id| id.as_str() != first).collect();
        let second = draws(&[others[0]], &mut deck, 1, &mut dice).remove(0);
        assert_eq!(second, others[0].as_str());
        let third = draws(&[a, b, c], &mut deck, 1, &mut dice).remove(0);
        assert_eq!(third, others[1].as_str(), "its card was still there");
        let d = ConnectionId::from("d");
        draws(&[a, &d], &mut deck, 1, &mut dice);
        assert_eq!(deck.of.len(), 2);
    }

    #[test]
    fn one_account_needs_no_deck() {
        let id = ConnectionId::from("a");
        let mut deck = Deck::default();
        assert_eq!(draws(&[&id], &mut deck, 3, &mut Scripted::default()), ["a", "a", "a"]);
        assert_eq!(draw(&[], &Deck::default(), &mut Scripted::default()).0, Vec::<usize>::new());
    }
}
