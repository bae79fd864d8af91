//! Orders of many entries by a number of each (design "Budgets").
//!
//! A sort that looks the numbers of two entries up for each comparison costs more than all else in a
//! pick among a thousand. Here a number becomes a whole one that compares alike, and it carries its
//! place and its entry along: what is sorted is a list of plain numbers.

/// Sorts entries by a key, the smallest first; equal ones stay as they are.
pub(super) fn by(order: &mut [usize], key: impl Fn(usize) -> u64) {
    if order.len() < 2 {
        return;
    }
    let pack = |(place, entry): (usize, &usize)| pack(key(*entry), place, *entry);
    let mut keyed: Vec<u128> = order.iter().enumerate().map(pack).collect();
    keyed.sort_unstable();
    order.iter_mut().zip(keyed).for_each(|(entry, keyed)| *entry = keyed as u32 as usize);
}

/// Sorts entries, the highest score first; equal ones stay as they are.
pub(super) fn best_first(order: &mut [usize], scores: &[f64]) {
    by(order, |entry| descending(scores[entry]));
}

/// One number that compares by key, then by place; no combo has more entries than 32 bits count.
fn pack(key: u64, place: usize, entry: usize) -> u128 {
    u128::from(key) << 64 | (place as u128) << 32 | entry as u128
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
    use super::{ascending, best_first, by, descending};

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

    /// As the standard sort does, whatever order they come in.
    #[test]
    fn equal_ones_stay_as_they_are() {
        let scores: Vec<f64> = (0..500).map(|n| f64::from(n * 37 % 11)).collect();
        let declared: Vec<usize> = (0..500).collect();
        let turned: Vec<usize> = (200..500).chain(0..200).rev().collect();
        for start in [declared, turned] {
            let (mut expected, mut order) = (start.clone(), start);
            expected.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
            best_first(&mut order, &scores);
            assert_eq!(order, expected);
        }
        let mut order = vec![2, 0, 1];
        by(&mut order, |entry| [5, 3, 3][entry]);
        assert_eq!(order, [2, 1, 0]);
    }
}
