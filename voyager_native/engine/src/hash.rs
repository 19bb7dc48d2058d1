//! Hashes of untrusted texts, for tables in memory.
//!
//! Whoever knows how a table hashes makes thousands of texts that fall into one place of it, and every look at
//! them takes as long as they are many. So these have keys that are drawn in every process: nothing that is
//! stored or handed out may depend on them.

use std::array;
use std::hash::{BuildHasher, Hasher, RandomState};

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Keys that nobody who sends texts knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secret([u64; 8]);

/// The upper and the lower half of a product, which depend on all bits of both numbers.
#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "a call would cost as much as the work"
)]
const fn fold(left: u64, right: u64) -> u64 {
    let product = left as u128 * right as u128;
    (product as u64) ^ (product >> 64) as u64
}

impl Secret {
    /// New keys, from what the standard library draws from the system.
    pub(crate) fn new() -> Self {
        let drawn = RandomState::new();
        Self(array::from_fn(|at| drawn.hash_one(at)))
    }

    /// The same keys in every process, for tables in which nothing takes longer for texts that fall into one place.
    pub(crate) const fn known() -> Self {
        // Digits of pi.
        Self([
            0x243f_6a88_85a3_08d3,
            0x1319_8a2e_0370_7344,
            0xa409_3822_299f_31d0,
            0x082e_fa98_ec4e_6c89,
            0x4528_21e6_38d0_1377,
            0xbe54_66cf_34e9_0c6c,
            0xc0ac_29b7_c97c_50dd,
            0x3f84_d5b5_b547_0917,
        ])
    }

    /// The hash of a text, which costs a multiplication for 16 bytes of most.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "a call would cost as much as the work"
    )]
    pub(crate) fn of(&self, text: &[u8]) -> u64 {
        const FIXED: usize = 64;
        let keys = &self.0;
        let pair = |bytes: &[u8; 16], some: usize| {
            let word = |at: usize| {
                let bytes = bytes[8 * at..].first_chunk();
                bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes)) ^ keys[some + at]
            };
            fold(word(0), word(1))
        };
        let length = (text.len() as u64).wrapping_mul(keys[0] | 1);
        // First and last bytes overlap where a text is not twice as long.
        let hash = match (text.first_chunk::<32>(), text.last_chunk::<32>()) {
            (Some(first), Some(last)) => {
                let words = |bytes: &[u8; 32], some: usize| match bytes.as_chunks().0 {
                    [left, right] => pair(left, some) ^ pair(right, some + 2).rotate_left(29),
                    _ => 0,
                };
                fold(words(first, 0) ^ keys[1], words(last, 4) ^ length)
            }
            _ => match (text.first_chunk(), text.last_chunk()) {
                (Some(first), Some(last)) => fold(pair(first, 2) ^ keys[1], pair(last, 6) ^ length),
                _ => return xxh3_64_with_seed(text, keys[0]),
            },
        };
        if text.len() > FIXED {
            return hash ^ xxh3_64_with_seed(text, keys[0]);
        }
        hash
    }

    /// The hash of a number that is a hash already, but one that anybody can work out.
    ///
    /// Two products: with one, numbers at equal distances fall together for one key in some.
    #[inline]
    pub(crate) const fn of_number(&self, number: u64) -> u64 {
        let once = fold(number ^ self.0[0], self.0[1] | 1);
        fold(once ^ self.0[2], self.0[3] | 1)
    }
}

/// Hashes the keys of a map of the standard library that are one text each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Seeded {
    type Hasher = OfText;

    #[inline]
    fn build_hasher(&self) -> OfText {
        OfText(self.0)
    }
}

/// The hash of one text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfText(u64);

impl Hasher for OfText {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    #[inline]
    fn write_usize(&mut self, _: usize) {
        // The length before a list of bytes, and there is one in a key.
    }

    #[inline]
    fn write_u8(&mut self, _: u8) {
        // Ends a string, and nothing comes after it.
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn hashes_tell_texts_apart() {
        let secret = Secret::new();
        let text: Vec<u8> = (0..200).collect();
        let mut seen = HashSet::new();
        for len in 0..text.len() {
            assert!(seen.insert(secret.of(&text[..len])));
            for at in 0..len {
                let mut other = text[..len].to_vec();
                other[at] ^= 0x80;
                assert!(seen.insert(secret.of(&other)), "{len} {at}");
            }
        }
    }

    #[test]
    fn every_process_and_every_table_hashes_in_its_own_way() {
        let (left, right) = (Secret::new(), Secret::new());
        for len in [0, 5, 40, 64, 100] {
            let text = vec![b'x'; len];
            assert_eq!(left.of(&text), left.of(&text));
            assert_ne!(left.of(&text), right.of(&text), "{len}");
        }
        assert_ne!(left.of_number(7), right.of_number(7));
        let (left, right) = (Seeded::default(), Seeded::default());
        assert_ne!(left.hash_one("a"), right.hash_one("a"));
        assert_eq!(left.hash_one("a"), left.hash_one("a"));
        assert_ne!(left.hash_one("a"), left.hash_one("b"));
    }
}
