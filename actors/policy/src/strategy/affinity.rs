//! Which target a prompt cache is likely to be at: a rank that key and target have for each other
//! (routing 3.7).
//!
//! Rendezvous hashing: every process ranks alike without a table, and when a target goes, only
//! the keys that were at it move.

use std::cmp::Reverse;

use sha2::{Digest, Sha256};

use crate::strategy::Pool;

/// Sorts entries by their rank for the key, the highest first; equal ones stay as they are.
pub(super) fn sort(order: &mut [usize], pool: &dyn Pool, key: &str) {
    order.sort_by_cached_key(|entry| Reverse(rank(pool, *entry, key)));
}

/// The first 128 bits of SHA-256 over key, NUL and who it is.
fn rank(pool: &dyn Pool, entry: usize, key: &str) -> u128 {
    let hash = Sha256::new().chain_update(key).chain_update([0]);
    let hash = match pool.connection(entry) {
        Some(connection) => hash.chain_update("connection:").chain_update(connection.as_str()),
        None => hash.chain_update("execution:").chain_update(pool.key(entry)),
    };
    hash.finalize().iter().take(16).fold(0, |rank, byte| (rank << 8) | u128::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::{rank, sort};
    use crate::strategy::table::{Facts, Table};

    #[test]
    fn the_ranks_are_those_of_row_60() {
        let row = |id: &str| Facts { connection: Some(id.into()), ..Facts::default() };
        let table = Table::of(["c1", "c2", "c3"].map(row).to_vec());
        let heads = [0, 1, 2].map(|entry| rank(&table, entry, "k1") >> 112);
        assert_eq!(heads, [0x0025, 0x9ddd, 0x35ed]);
    }

    /// When one goes, the keys of the others stay where they were.
    #[test]
    fn only_the_keys_of_the_one_that_goes_move() {
        let all = Table::of(["a", "b", "c", "d"].map(Facts::named).to_vec());
        let mut homes = [0; 4];
        for key in (0..1000).map(|n| n.to_string()) {
            let (mut order, mut without) = (vec![0, 1, 2, 3], vec![0, 1, 3]);
            sort(&mut order, &all, &key);
            sort(&mut without, &all, &key);
            homes[order[0]] += 1;
            order.retain(|entry| *entry != 2);
            assert_eq!(order, without);
        }
        assert!(homes.iter().all(|home| (200..300).contains(home)), "{homes:?}");
    }
}
