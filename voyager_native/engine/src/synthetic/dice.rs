//! Seeded random numbers: the same seed gives the same overview on every machine.

pub(super) const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
pub(super) const HEX: &[u8] = b"0123456789abcdef";
pub(super) const UPPER_HEX: &[u8] = b"0123456789ABCDEF";
pub(super) const WORD: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
pub(super) const TOKEN: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$&";

/// xoshiro256** (Blackman and Vigna), seeded by splitmix64.
#[derive(Debug)]
pub(super) struct Dice {
    state: [u64; 4],
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        let mut at = seed;
        let state = std::array::from_fn(|_| {
            at = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (at ^ (at >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        });
        Self { state }
    }

    fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.next() as u32) * u64::from(bound)) >> 32) as u32
    }

    /// A number from `low` to `high`, both inclusive.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// True once in `times`.
    pub(super) fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    /// A number from 0 up to 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with this probability.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A normal number of mean 0 and deviation 1.
    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (self.unit() + 1e-12).ln()).sqrt();
        radius * (self.unit() * std::f64::consts::TAU).cos()
    }

    /// One of some.
    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }

    /// The index of one of some, by weight.
    pub(super) fn weighted(&mut self, weights: &[f64]) -> usize {
        let mut left = self.unit() * weights.iter().sum::<f64>();
        for (index, weight) in weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                return index;
            }
        }
        weights.len() - 1
    }

    /// Characters of an alphabet.
    pub(super) fn text(&mut self, alphabet: &[u8], len: u32) -> String {
        (0..len).map(|_| char::from(self.pick(alphabet))).collect()
    }

    /// A version 4 UUID without dashes.
    pub(super) fn uuid(&mut self, hex: &[u8]) -> String {
        let mut digits: Vec<u8> = (0..32).map(|_| self.pick(hex)).collect();
        digits[12] = b'4';
        digits[16] = hex[8 + self.below(4) as usize];
        digits.into_iter().map(char::from).collect()
    }
}
