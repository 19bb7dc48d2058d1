//! Texts that many articles share, stored once.

use xxhash_rust::xxh3::xxh3_64;

const EMPTY: u32 = u32::MAX;

/// Numbers texts; equal texts have equal numbers. Number 0 is the empty text.
#[derive(Debug)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    slots: Vec<u32>,
}

impl Texts {
    pub(super) fn new() -> Self {
        let mut texts = Self {
            bytes: Vec::new(),
            ends: Vec::new(),
            slots: vec![EMPTY; 64],
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
        let mask = self.slots.len() - 1;
        let mut slot = xxh3_64(text) as usize & mask;
        while self.slots[slot] != EMPTY {
            if self.get(self.slots[slot]) == text {
                return self.slots[slot];
            }
            slot = (slot + 1) & mask;
        }
        let number = self.ends.len() as u32;
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        self.slots[slot] = number;
        if self.ends.len() * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let mut slots = vec![EMPTY; self.slots.len() * 2];
        let mask = slots.len() - 1;
        for number in 0..self.ends.len() as u32 {
            let mut slot = xxh3_64(self.get(number)) as usize & mask;
            while slots[slot] != EMPTY {
                slot = (slot + 1) & mask;
            }
            slots[slot] = number;
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
    fn every_key_is_found_again() {
        let mut map = KeyMap::new();
        for key in 0..5000u64 {
            map.insert(key << 40, key as u32);
        }
        assert!((0..5000).all(|key| map.get(key << 40) == Some(key as u32)));
        assert_eq!(map.get(1), None);
    }
}
