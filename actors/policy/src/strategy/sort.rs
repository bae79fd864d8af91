//! Orders of many entries by a number of each (design "Budgets").
//!
//! A sort that looks the numbers of two entries up for each comparison costs more than all else in a
//! pick among a thousand. Here a number becomes a whole one that compares alike, and it carries its
//! place and its entry along: what is sorted is a list of plain numbers.

/// So many go first in their order before anything else is sorted: a plan has room for fewer.
pub(super) const FRONT: usize = 48;

/// What is sorted: a key, the place that decides between equal ones, the entry.
trait Keyed: Copy + Ord {
    fn entry(self) -> usize;
}

impl Keyed for u128 {
    fn entry(self) -> usize {
        self as u32 as usize
    }
}

impl Keyed for (u128, u64) {
    fn entry(self) -> usize {
        self.1 as u32 as usize
    }
}

/// Place and entry in one; no combo has more entries than 32 bits count.
fn placed(place: usize, entry: usize) -> u64 {
    (place as u64) << 32 | entry as u64
}

/// Lists of what is sorted, by one number or by two.
#[derive(Clone, Debug, PartialEq)]
enum Keys {
    One(Vec<u128>),
    Two(Vec<(u128, u64)>),
}

/// The end of an order that is not sorted yet: most plans are full before they come to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tail {
    /// Of the whole order; the first of them are sorted.
    keys: Keys,
    /// Where it begins in the order.
    start: usize,
}

impl Tail {
    /// How many of the order are sorted.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// The same tail of an order that begins with one more entry.
    pub(super) fn after_one(self) -> Self {
        Self { start: self.start + 1, ..self }
    }

    /// Sorts it, in its order.
    pub(crate) fn settle(self, order: &mut [usize]) {
        let order = &mut order[self.start..];
        match self.keys {
            Keys::One(mut keys) => sort(&mut keys[FRONT..], order),
            Keys::Two(mut keys) => sort(&mut keys[FRONT..], order),
        }
    }
}

fn sort<K: Keyed>(keys: &mut [K], order: &mut [usize]) {
    keys.sort_unstable();
    order.iter_mut().zip(keys).for_each(|(entry, key)| *entry = key.entry());
}

/// Whether there is a tail.
fn sort_front<K: Keyed>(keys: &mut [K], order: &mut [usize]) -> bool {
    if keys.is_sorted() {
        return false;
    }
    if keys.len() <= 2 * FRONT {
        sort(keys, order);
        return false;
    }
    keys.select_nth_unstable(FRONT);
    sort(&mut keys[..FRONT], order);
    let rest = order[FRONT..].iter_mut().zip(&keys[FRONT..]);
    rest.for_each(|(entry, key)| *entry = key.entry());
    true
}

/// Sorts entries by a key, the smallest first; equal ones stay as they are. Of many only the first
/// are sorted, and the rest is the tail.
pub(super) fn front(order: &mut [usize], key: impl Fn(usize) -> u64) -> Option<Tail> {
    let keyed =
        |(place, entry): (usize, &usize)| u128::from(key(*entry)) << 64 | u128::from(placed(place, *entry));
    let mut keys: Vec<u128> = order.iter().enumerate().map(keyed).collect();
    sort_front(&mut keys, order).then_some(Tail { keys: Keys::One(keys), start: FRONT })
}

/// The same by two numbers, of which the first says more.
pub(super) fn front_by_two(order: &mut [usize], key: impl Fn(usize) -> (u64, u64)) -> Option<Tail> {
    let keyed = |(place, entry): (usize, &usize)| {
        let (first, second) = key(*entry);
        (u128::from(first) << 64 | u128::from(second), placed(place, *entry))
    };
    let mut keys: Vec<(u128, u64)> = order.iter().enumerate().map(keyed).collect();
    sort_front(&mut keys, order).then_some(Tail { keys: Keys::Two(keys), start: FRONT })
}

/// All of them.
pub(super) fn by(order: &mut [usize], key: impl Fn(usize) -> u64) {
    let keyed =
        |(place, entry): (usize, &usize)| u128::from(key(*entry)) << 64 | u128::from(placed(place, *entry));
    let mut keys: Vec<u128> = order.iter().enumerate().map(keyed).collect();
    if !keys.is_sorted() {
        sort(&mut keys, order);
    }
}

/// A number as a whole one that compares as `f64::total_cmp` does.
pub(super) fn ascending(number: f64) -> u64 {
    let bits = number.to_bits();
    // Of two negative numbers the one with more bits is the smaller one.
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The same the other way round.
pub(super) fn descending(number: f64) -> u64 {
    !ascending(number)
}

#[cfg(test)]
mod tests {
    use super::{FRONT, ascending, by, descending, front, front_by_two};

    const ALL: [f64; 10] =
        [f64::NEG_INFINITY, -2.0, -1.0, -f64::MIN_POSITIVE, -0.0, 0.0, 1e-300, 1.0, f64::INFINITY, f64::NAN];

    #[test]
    fn whole_numbers_compare_as_the_numbers_do() {
        for one in ALL.into_iter().chain([-f64::NAN]) {
            for other in ALL.into_iter().chain([-f64::NAN]) {
                let expected = one.total_cmp(&other);
                assert_eq!(ascending(one).cmp(&ascending(other)), expected, "{one} {other}");
                assert_eq!(descending(other).cmp(&descending(one)), expected, "{one} {other}");
            }
        }
    }

    /// As the standard sort does, whatever order they come in; the tail waits.
    #[test]
    fn equal_ones_stay_as_they_are() {
        let scores: Vec<f64> = (0..500).map(|n| f64::from(n * 37 % 11)).collect();
        let second = |entry: usize| (entry * 7 % 5) as u64;
        let declared: Vec<usize> = (0..500).collect();
        let turned: Vec<usize> = (200..500).chain(0..200).rev().collect();
        for start in [declared, turned] {
            let mut expected = start.clone();
            expected.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
            let mut order = start.clone();
            by(&mut order, |entry| descending(scores[entry]));
            assert_eq!(order, expected);
            let mut order = start.clone();
            let tail = front(&mut order, |entry| descending(scores[entry])).unwrap();
            assert_eq!(order[..FRONT], expected[..FRONT]);
            tail.settle(&mut order);
            assert_eq!(order, expected);
            let mut order = start.clone();
            expected.clone_from(&start);
            expected.sort_by_key(|entry| (descending(scores[*entry]), second(*entry)));
            let tail = front_by_two(&mut order, |entry| (descending(scores[entry]), second(entry))).unwrap();
            assert_eq!(order[..FRONT], expected[..FRONT]);
            tail.settle(&mut order);
            assert_eq!(order, expected);
        }
        let mut order = vec![2, 0, 1];
        assert_eq!(front(&mut order, |entry| [5, 3, 3][entry]), None, "few are sorted at once");
        assert_eq!(order, [2, 1, 0]);
    }

    /// Those behind an entry that was put before all others, and before those that were put last.
    #[test]
    fn a_tail_is_sorted_where_it_stands() {
        let mut order: Vec<usize> = (1..400).rev().collect();
        let tail = front(&mut order, |entry| entry as u64).unwrap().after_one();
        order.insert(0, 0);
        order.push(400);
        tail.settle(&mut order);
        assert_eq!(order, (0..=400).collect::<Vec<_>>());
    }
}
