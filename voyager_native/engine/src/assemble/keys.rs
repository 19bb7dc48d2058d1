//! Identities of files.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::subject::Span32;

/// Computes the keys of files of one owner group.
#[derive(Debug)]
pub(super) struct Keys {
    group: u64,
    scratch: Vec<u8>,
}

impl Keys {
    pub(super) fn new(group: &str) -> Self {
        Self {
            group: xxh3_64(group.as_bytes()),
            scratch: Vec::new(),
        }
    }

    /// The key of the file of a subject: of what stands outside `cuts`, the number of parts and the owner group.
    ///
    /// Cuts ascend; empty ones count for nothing.
    #[inline]
    pub(super) fn of(&mut self, subject: &[u8], cuts: &[Span32], total: u32) -> u64 {
        let seed = self.group ^ u64::from(total).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut used = cuts.iter().filter(|cut| !cut.is_empty());
        if let (Some(cut), None) = (used.next(), used.next())
            && cut.end as usize == subject.len()
        {
            // Most subjects end with their only counter.
            return xxh3_64_with_seed(&subject[..cut.start as usize], seed);
        }
        self.scratch.clear();
        let mut from = 0;
        for cut in cuts.iter().filter(|cut| !cut.is_empty()) {
            let start = (cut.start as usize).max(from);
            self.scratch
                .extend_from_slice(subject.get(from..start).unwrap_or_default());
            from = (cut.end as usize).max(from);
        }
        let rest = subject.get(from..).unwrap_or_default();
        if self.scratch.is_empty() {
            return xxh3_64_with_seed(rest, seed);
        }
        self.scratch.extend_from_slice(rest);
        xxh3_64_with_seed(&self.scratch, seed)
    }
}

/// The key of a file of one segment that was named without counters; `base` is the key of that name.
pub(super) fn of_single(base: u64) -> u64 {
    base ^ 0x9e37_79b9_7f4a_7c15
}

/// The key of a repost; generation 0 is the file itself.
pub(super) fn of_generation(base: u64, generation: u32) -> u64 {
    if generation == 0 {
        return base;
    }
    xxh3_64_with_seed(&base.to_le_bytes(), u64::from(generation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_that_of_the_rest() {
        let mut keys = Keys::new("alt.binaries.test");
        let plain = keys.of(b"a  b", &[Span32::default(); 3], 7);
        let cut = [Span32::new(2, 7), Span32::default(), Span32::new(8, 13)];
        assert_eq!(keys.of(b"a (1/7) (1/7)b", &cut, 7), plain);
        assert_ne!(keys.of(b"a  b", &[], 8), plain);
        assert_ne!(Keys::new("alt.binaries.other").of(b"a  b", &[], 7), plain);
        assert_ne!(of_generation(plain, 1), of_generation(plain, 2));
    }
}
