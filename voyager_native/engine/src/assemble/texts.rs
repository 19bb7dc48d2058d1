//! Texts that many articles share, stored once, or a few times.

use crate::hash::Secret;
use crate::tables::{ByteStore, Stored};

const EMPTY: u32 = u32::MAX;

/// Texts in buffers that do not move as more come, and where each is. Number 0 is the empty text.
#[derive(Debug)]
struct Numbered {
    texts: ByteStore,
    places: Vec<Stored>,
}

impl Numbered {
    fn new() -> Self {
        Self {
            texts: ByteStore::default(),
            places: vec![Stored::default()],
        }
    }

    #[inline]
    fn get(&self, number: u32) -> &[u8] {
        self.texts.get(self.places[number as usize])
    }

    fn push(&mut self, text: &[u8]) -> u32 {
        let number = self.places.len() as u32;
        self.places.push(self.texts.push(text));
        number
    }

    /// Bytes that the texts take.
    #[inline]
    const fn size(&self) -> usize {
        self.texts.size() + self.places.len() * size_of::<Stored>()
    }
}

/// Numbers texts most of which are new, or were met not long ago: a text that was not gets another number.
///
/// Number 0 is the empty text. Where a span ends depends on how many texts there are, so they are hashed alike in every
/// process; texts that fall together displace each other, and looking for one takes no longer.
#[derive(Debug)]
pub(super) struct Recent {
    numbered: Numbered,
    secret: Secret,
    /// Hashes and numbers by hash.
    last: Vec<(u32, u32)>,
}

impl Recent {
    /// Texts that are found again: few enough for the cache of a processor.
    const KEPT: usize = 1 << 14;

    pub(super) fn new() -> Self {
        Self {
            numbered: Numbered::new(),
            secret: Secret::known(),
            last: vec![(0, 0); Self::KEPT],
        }
    }

    /// Bytes that the texts take.
    #[inline]
    pub(super) const fn size(&self) -> usize {
        self.numbered.size()
    }

    /// The text with this number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &[u8] {
        self.numbered.get(number)
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
        let hash = self.secret.of(text);
        let tag = (hash >> 32) as u32;
        let slot = hash as usize % Self::KEPT;
        let (found, number) = self.last[slot];
        if found == tag && self.get(number) == text {
            return number;
        }
        let number = self.numbered.push(text);
        self.last[slot] = (tag, number);
        number
    }
}

/// Numbers texts; equal texts have equal numbers. Number 0 is the empty text.
#[derive(Debug)]
pub(super) struct Texts {
    numbered: Numbered,
    secret: Secret,
    /// Hashes and numbers: few texts are looked at that are not the one looked for.
    slots: Vec<(u32, u32)>,
}

impl Texts {
    pub(super) fn new() -> Self {
        Self {
            numbered: Numbered::new(),
            secret: Secret::new(),
            slots: vec![(0, EMPTY); 64],
        }
    }

    /// Bytes that the texts take.
    pub(super) const fn size(&self) -> usize {
        self.numbered.size()
    }

    /// The text with this number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &[u8] {
        self.numbered.get(number)
    }

    /// The number of a text; a text that was not met before gets the next one.
    pub(super) fn number(&mut self, text: &[u8]) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let hash = self.secret.of(text) as u32;
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot].1 != EMPTY {
            let (found, number) = self.slots[slot];
            if found == hash && self.get(number) == text {
                return number;
            }
            slot = (slot + 1) & mask;
        }
        let number = self.numbered.push(text);
        self.slots[slot] = (hash, number);
        if self.numbered.places.len() * 2 > self.slots.len() {
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

/// Finds entries by the 64-bit keys that they have.
#[derive(Debug)]
pub(super) struct KeyMap {
    /// Hashes of keys, and entries: the keys themselves stand in these.
    slots: Vec<(u32, u32)>,
    len: usize,
    secret: Secret,
}

impl KeyMap {
    pub(super) fn new() -> Self {
        Self {
            slots: vec![(0, EMPTY); 1 << 10],
            len: 0,
            secret: Secret::new(),
        }
    }

    fn hash(&self, key: u64) -> u32 {
        self.secret.of_number(key) as u32
    }

    /// The entry of a key; `key_of` tells the key of one.
    #[inline]
    pub(super) fn get(&self, key: u64, key_of: impl Fn(u32) -> u64) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let hash = self.hash(key);
        let mut slot = hash as usize & mask;
        loop {
            let (found, entry) = self.slots[slot];
            if entry == EMPTY {
                return None;
            }
            if found == hash && key_of(entry) == key {
                return Some(entry);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// All entries.
    pub(super) fn entries(&self) -> Vec<u32> {
        let used = self.slots.iter().filter(|slot| slot.1 != EMPTY);
        used.map(|slot| slot.1).collect()
    }

    /// Adds an entry whose key is not there.
    pub(super) fn insert(&mut self, key: u64, entry: u32) {
        if (self.len + 1) * 2 > self.slots.len() {
            let more = vec![(0, EMPTY); self.slots.len() * 2];
            for (hash, entry) in std::mem::replace(&mut self.slots, more) {
                if entry != EMPTY {
                    self.put(hash, entry);
                }
            }
        }
        self.put(self.hash(key), entry);
        self.len += 1;
    }

    fn put(&mut self, hash: u32, entry: u32) {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot].1 != EMPTY {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = (hash, entry);
    }
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
    fn every_key_is_found_again() {
        let mut map = KeyMap::new();
        for key in 0..5000u64 {
            map.insert(key << 40, key as u32);
        }
        let get = |key| map.get(key, |entry| u64::from(entry) << 40);
        assert!((0..5000).all(|key| get(key << 40) == Some(key as u32)));
        assert_eq!(get(1), None);
    }

    /// Looks beyond the first one that all keys of a map take together.
    fn looks(map: &KeyMap) -> usize {
        let mask = map.slots.len() - 1;
        let used = map
            .slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| slot.1 != EMPTY);
        used.map(|(at, slot)| at.wrapping_sub(slot.0 as usize) & mask)
            .sum()
    }

    #[test]
    fn keys_that_are_alike_in_some_bits_are_found_at_once() {
        const KEYS: u64 = 5000;
        // Every map draws keys of its own, so that a weakness of some shows at last.
        for shift in [0, 12, 24, 40, 51].repeat(40) {
            let mut map = KeyMap::new();
            for key in 0..KEYS {
                map.insert(key << shift, key as u32);
            }
            assert!(looks(&map) < 4 * KEYS as usize, "{shift}: {}", looks(&map));
        }
    }

    #[test]
    fn texts_of_which_known_hashes_are_alike_are_found_at_once() {
        const TEXTS: usize = 400;
        // What anybody can look for who knows the hash.
        let alike = (0u64..)
            .map(|value| format!("alt.binaries.{value}").into_bytes())
            .filter(|text| xxhash_rust::xxh3::xxh3_64(text).is_multiple_of(1024));
        let mut texts = Texts::new();
        for text in alike.take(TEXTS) {
            texts.number(&text);
        }
        let mask = texts.slots.len() - 1;
        let used = texts
            .slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| slot.1 != EMPTY);
        let looks: usize = used
            .map(|(at, slot)| at.wrapping_sub(slot.0 as usize) & mask)
            .sum();
        assert!(looks < 4 * TEXTS, "{looks}");
    }
}
