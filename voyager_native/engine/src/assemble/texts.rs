//! Texts that many articles share, stored once, or a few times.

use xxhash_rust::xxh3::xxh3_64;

const EMPTY: u32 = u32::MAX;

/// A hash of a short text that costs a multiplication for 16 bytes; for nothing that is stored.
#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "a call would cost as much as the work"
)]
pub(super) fn quick_hash(text: &[u8]) -> u64 {
    // Of the digits of pi.
    const KEYS: [u64; 8] = [
        0x243f_6a88_85a3_08d3,
        0x1319_8a2e_0370_7344,
        0xa409_3822_299f_31d0,
        0x082e_fa98_ec4e_6c89,
        0x4528_21e6_38d0_1377,
        0xbe54_66cf_34e9_0c6c,
        0xc0ac_29b7_c97c_50dd,
        0x3f84_d5b5_b547_0917,
    ];
    const FIXED: usize = 64;
    let fold = |left: u64, right: u64| {
        let product = u128::from(left) * u128::from(right);
        (product as u64) ^ (product >> 64) as u64
    };
    let (Some(first), Some(last)) = (text.first_chunk::<32>(), text.last_chunk::<32>()) else {
        return xxh3_64(text);
    };
    let words = |bytes: &[u8; 32], keys: usize| {
        let word = |at: usize| {
            let bytes = bytes[8 * at..].first_chunk();
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes)) ^ KEYS[keys + at]
        };
        fold(word(0), word(1)) ^ fold(word(2), word(3)).rotate_left(29)
    };
    // The two overlap in texts of less than 64 bytes.
    let length = (text.len() as u64).wrapping_mul(KEYS[0]);
    let hash = fold(words(first, 0) ^ KEYS[1], words(last, 4) ^ length);
    if text.len() > FIXED {
        return hash ^ xxh3_64(text);
    }
    hash
}

/// Numbers texts most of which are new, or were met not long ago: a text that was not gets another number.
///
/// Number 0 is the empty text.
#[derive(Debug)]
pub(super) struct Recent {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Hashes and numbers by hash.
    last: Vec<(u32, u32)>,
}

impl Recent {
    /// Texts that are found again: few enough for the cache of a processor.
    const KEPT: usize = 1 << 14;

    pub(super) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            ends: vec![0],
            last: vec![(0, 0); Self::KEPT],
        }
    }

    /// The text with this number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &[u8] {
        let index = number as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }

    /// Whether two numbers are of one text.
    #[inline]
    pub(super) fn are_equal(&self, left: u32, right: u32) -> bool {
        left == right || self.get(left) == self.get(right)
    }

    /// The number of a text.
    pub(super) fn number(&mut self, text: &[u8]) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let hash = quick_hash(text);
        let tag = (hash >> 32) as u32;
        let slot = hash as usize % Self::KEPT;
        let (found, number) = self.last[slot];
        if found == tag && self.get(number) == text {
            return number;
        }
        let number = self.ends.len() as u32;
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        self.last[slot] = (tag, number);
        number
    }
}

/// Numbers texts; equal texts have equal numbers. Number 0 is the empty text.
#[derive(Debug)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Hashes and numbers: few texts are looked at that are not the one looked for.
    slots: Vec<(u32, u32)>,
}

impl Texts {
    pub(super) fn new() -> Self {
        let mut texts = Self {
            bytes: Vec::new(),
            ends: Vec::new(),
            slots: vec![(0, EMPTY); 64],
        };
        texts.number(b"");
        texts
    }

    /// The text with this number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &[u8] {
        let index = number as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }

    /// The number of a text; a text that was not met before gets the next one.
    pub(super) fn number(&mut self, text: &[u8]) -> u32 {
        let hash = xxh3_64(text) as u32;
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot].1 != EMPTY {
            let (found, number) = self.slots[slot];
            if found == hash && self.get(number) == text {
                return number;
            }
            slot = (slot + 1) & mask;
        }
        let number = self.ends.len() as u32;
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        self.slots[slot] = (hash, number);
        if self.ends.len() * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let mut slots = vec![(0, EMPTY); self.slots.len() * 2];
        let mask = slots.len() - 1;
        for &(hash, number) in self.slots.iter().filter(|slot| slot.1 != EMPTY) {
            let mut slot = hash as usize & mask;
            while slots[slot].1 != EMPTY {
                slot = (slot + 1) & mask;
            }
            slots[slot] = (hash, number);
        }
        self.slots = slots;
    }
}

/// Finds entries by 64-bit keys that are hashes already.
#[derive(Debug)]
pub(super) struct KeyMap {
    slots: Vec<(u64, u32)>,
    len: usize,
}

impl KeyMap {
    pub(super) fn new() -> Self {
        Self {
            slots: vec![(0, EMPTY); 1 << 10],
            len: 0,
        }
    }

    /// The value of a key.
    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut slot = key as usize & mask;
        loop {
            let (found, value) = self.slots[slot];
            if value == EMPTY {
                return None;
            }
            if found == key {
                return Some(value);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// All values.
    pub(super) fn values(&self) -> Vec<u32> {
        let used = self.slots.iter().filter(|slot| slot.1 != EMPTY);
        used.map(|slot| slot.1).collect()
    }

    /// Adds a key that is not there.
    pub(super) fn insert(&mut self, key: u64, value: u32) {
        if (self.len + 1) * 2 > self.slots.len() {
            let mut slots = vec![(0, EMPTY); self.slots.len() * 2];
            for &(key, value) in self.slots.iter().filter(|slot| slot.1 != EMPTY) {
                put(&mut slots, key, value);
            }
            self.slots = slots;
        }
        put(&mut self.slots, key, value);
        self.len += 1;
    }
}

fn put(slots: &mut [(u64, u32)], key: u64, value: u32) {
    let mask = slots.len() - 1;
    let mut slot = key as usize & mask;
    while slots[slot].1 != EMPTY {
        slot = (slot + 1) & mask;
    }
    slots[slot] = (key, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_one_number() {
        let mut texts = Texts::new();
        let numbers: Vec<u32> = (0..1000)
            .map(|value| texts.number(format!("poster {}", value % 300).as_bytes()))
            .collect();
        assert_eq!(numbers[..300], (1..=300).collect::<Vec<_>>());
        assert_eq!(numbers[300..600], numbers[..300]);
        assert_eq!(texts.get(numbers[42]), b"poster 42");
        assert_eq!(texts.number(b""), 0);
    }

    #[test]
    fn numbers_of_one_text_are_equal() {
        let mut texts = Recent::new();
        let poster = |value: usize| format!("A poster with the number {value}").into_bytes();
        let numbers: Vec<u32> = (0..100_000)
            .map(|value| texts.number(&poster(value % 40_000)))
            .collect();
        for (value, number) in numbers.iter().enumerate() {
            assert_eq!(texts.get(*number), poster(value % 40_000));
            assert!(texts.are_equal(*number, numbers[value % 40_000]));
            assert!(!texts.are_equal(*number, numbers[(value + 1) % 40_000]));
        }
        assert_eq!(texts.number(b"A poster"), texts.number(b"A poster"));
        assert_eq!((texts.number(b""), texts.get(0)), (0, &b""[..]));
    }

    #[test]
    fn hashes_tell_texts_apart() {
        let text: Vec<u8> = (0..200).collect();
        let mut seen = std::collections::HashSet::new();
        for len in 0..text.len() {
            assert!(seen.insert(quick_hash(&text[..len])));
            for at in 0..len {
                let mut other = text[..len].to_vec();
                other[at] ^= 0x80;
                assert!(seen.insert(quick_hash(&other)), "{len} {at}");
            }
        }
    }

    #[test]
    fn every_key_is_found_again() {
        let mut map = KeyMap::new();
        for key in 0..5000u64 {
            map.insert(key << 40, key as u32);
        }
        assert!((0..5000).all(|key| map.get(key << 40) == Some(key as u32)));
        assert_eq!(map.get(1), None);
    }
}
