//! Tables by id, which every pick looks into for each target.
//!
//! Ids are the operator's words and few, so nobody can choose them to collide: a hash that takes a
//! fifth of the time of the standard one is enough. What clients name (sessions, responses) stays
//! with that one.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table by id.
pub type ById<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

/// The fraction of the golden ratio, odd: each bit of a word moves half of the product's.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Eight bytes at a time: both halves of a wide product, so that all bits of a word reach all bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quick(u64);

impl Quick {
    fn add(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ FACTOR) * u128::from(FACTOR);
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
}

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // Its length tells a rest from one that ends in zeros.
        self.add(u64::from_le_bytes(last) ^ ((bytes.len() as u64) << 56));
    }

    /// The end of a text: its length is in it already.
    fn write_u8(&mut self, _: u8) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::{BuildHasher, BuildHasherDefault};

    use super::Quick;

    fn hash(text: &str) -> u64 {
        BuildHasherDefault::<Quick>::default().hash_one(text)
    }

    /// Low bits choose a place, the seven highest tell its neighbours apart.
    #[test]
    fn ids_that_are_alike_are_spread() {
        let ids: Vec<String> = (0..4096).map(|n| format!("connection-number-{n}")).collect();
        let hashes: Vec<u64> = ids.iter().map(|id| hash(id)).collect();
        assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), 4096);
        let places: HashSet<u64> = hashes.iter().map(|hash| hash % 4096).collect();
        // Of so many throws 63 % of the places are met.
        assert!(places.len() > 2_400, "{}", places.len());
        assert_eq!(hashes.iter().map(|hash| hash >> 57).collect::<HashSet<_>>().len(), 128);
    }

    #[test]
    fn texts_that_end_in_zeros_differ() {
        let all: HashSet<u64> = ["", "\0", "\0\0", "a", "a\0", "aaaaaaaa", "aaaaaaaa\0"].map(hash).into();
        assert_eq!(all.len(), 7);
    }
}
