//! Sizes in about as few bits as their entropy.
//!
//! Articles of one file differ in size by what their coding adds to bytes that look random, so their sizes lie
//! around a middle as a normal distribution does. What a size is above a low bound is cut in two: its lowest
//! bits, which are random, and the rest, which is one of 64 symbols with a code of fixed lengths.
//!
//! The codes stand at the end of the body, from its last byte backwards. So they are read without knowing where
//! the ids end, and before them.

use super::CodecError;
use super::bits::{BitWriter, MOST_BITS, Reader, put_varint, unzigzag, zigzag};
use super::column::{Column, cost16};

/// Symbols of a code.
const SYMBOLS: usize = 64;
/// Bits of the longest code.
const LONGEST: u32 = 11;
/// Most bits that are stored as they are.
const MOST_RAW: u8 = 20;
/// Fewer sizes are not looked at: their range tells as much as their deviation.
const LEAST: usize = 16;
/// What a digit of a segment is longer than its entropy, in sixteenths of a bit: its lane has whole bits.
const ROUNDING: u64 = 4;
/// What a size costs at the least scale, in sixteenths of a bit: a normal distribution of deviation d has the entropy
/// log2(d) + 2.05, and the codes are 0.05 longer. Other distributions cost the same by a code for normal ones.
const COST: u64 = 69;
/// Sizes of which the middle and the usual distance from it are taken.
const SAMPLE: usize = 15;

/// Lengths of the codes of a normal distribution around the border of symbols 31 and 32, whose deviation is 64/14
/// symbols times 1, 2^¼, 2^½, 2^¾. They are part of the format.
///
/// Made by the package-merge algorithm (Larmore and Hirschberg, 1990); a hundredth of the probability is that of an
/// even distribution, and the middle may be a symbol off.
const LENGTHS: [[u8; SYMBOLS]; 4] = [
    [
        11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 10, 9, 8, 7, 7, 6,
        5, 5, 5, 4, 4, 4, 4, 4, 3, 4, 4, 4, 4, 4, 5, 5, 6, 7, 7, 8, 9, 10, 11, 11, 11, 11, 11, 11,
        11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11,
    ],
    [
        11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 10, 10, 9, 8, 7, 7, 6, 6, 6, 5,
        5, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 6, 6, 6, 7, 7, 8, 9, 9, 10, 11, 11, 11, 11,
        11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11,
    ],
    [
        11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 10, 10, 9, 9, 8, 8, 7, 7, 7, 6, 6, 5, 5, 5,
        5, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 11,
        11, 11, 11, 11, 11, 11, 11, 11, 11,
    ],
    [
        11, 11, 11, 11, 11, 11, 11, 11, 10, 10, 9, 9, 9, 8, 8, 8, 7, 7, 7, 6, 6, 6, 5, 5, 5, 5, 5,
        5, 5, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10,
        11, 11, 11, 11, 11, 11, 11, 11,
    ],
];

/// A code, the first bit lowest, and its length.
#[derive(Clone, Copy, Debug)]
struct Code {
    bits: u16,
    len: u8,
}

/// What the next bits say.
#[derive(Clone, Copy, Debug)]
struct Found {
    symbol: u8,
    len: u8,
}

/// The codes of each deviation: shorter ones first, those of one length by symbol.
static CODES: [[Code; SYMBOLS]; 4] = {
    let mut all = [[Code { bits: 0, len: 0 }; SYMBOLS]; 4];
    let mut number = 0;
    while number < 4 {
        let mut next = 0u16;
        let mut len = 1;
        while len <= LONGEST {
            let mut symbol = 0;
            while symbol < SYMBOLS {
                if LENGTHS[number][symbol] as u32 == len {
                    all[number][symbol] = Code {
                        bits: next.reverse_bits() >> (16 - len),
                        len: len as u8,
                    };
                    next += 1;
                }
                symbol += 1;
            }
            next <<= 1;
            len += 1;
        }
        number += 1;
    }
    all
};

/// The symbol of each value of the next [`LONGEST`] bits. Every value has one.
static SYMBOLS_OF: [[Found; 1 << LONGEST]; 4] = {
    let mut all = [[Found { symbol: 0, len: 0 }; 1 << LONGEST]; 4];
    let mut number = 0;
    while number < 4 {
        let mut symbol = 0;
        while symbol < SYMBOLS {
            let Code { bits, len } = CODES[number][symbol];
            let mut value = bits as usize;
            while value < 1 << LONGEST {
                all[number][value] = Found {
                    symbol: symbol as u8,
                    len,
                };
                value += 1 << len;
            }
            symbol += 1;
        }
        number += 1;
    }
    all
};

/// How sizes lie around a middle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bell {
    /// The deviation in quarters of an octave: the number of a code, and four times the bits that are stored as
    /// they are.
    scale: u8,
    /// The lowest size that has a symbol, and sizes that have none.
    frame: Column,
}

impl Bell {
    /// How to store sizes so, when that is cheaper than as a column.
    pub(super) fn plan(sizes: &[i64]) -> Option<Self> {
        if sizes.len() < LEAST {
            return None;
        }
        let (middle, usual) = middle_of(sizes);
        if usual == 0 || usual > 1 << MOST_RAW {
            return None;
        }
        // Eight deviations; the usual distance is two thirds of one.
        let most = 12 * usual;
        let (mut near, mut sum, mut squares) = (0u64, 0i64, 0u64);
        let (mut least, mut greatest) = (most, -most);
        for size in sizes {
            let distance = size - middle;
            let is_near = distance.abs() <= most;
            let distance = if is_near { distance } else { 0 };
            near += u64::from(is_near);
            sum += distance;
            squares += (distance * distance).cast_unsigned();
            least = least.min(distance);
            greatest = greatest.max(distance);
        }
        let near_wide = u128::from(near.max(1));
        let square_of_sum = u128::from(sum.unsigned_abs()).pow(2);
        let variance = (u128::from(squares) * near_wide).saturating_sub(square_of_sum) * 256
            / (near_wide * near_wide);
        let scale = scale_of(u64::try_from(variance).unwrap_or(u64::MAX))?;
        let raw = scale / 4;
        // On a grid, so that files of one upload have the same bound.
        let mean = middle + sum.div_euclid(near.max(1).cast_signed());
        let grid = 2i64 << raw;
        let half = ((SYMBOLS as u64 / 2) << raw).cast_signed();
        let low = (mean - half + grid / 2).div_euclid(grid) * grid;
        let radix = (SYMBOLS as u64) << raw;
        let inside = low..low.saturating_add_unsigned(radix);
        let all_inside = near == sizes.len() as u64
            && inside.contains(&(middle + least))
            && inside.contains(&(middle + greatest));
        // Nothing is to be listed then.
        let seen = if all_inside { &[] } else { sizes };
        let frame = Column::framed(seen, low, radix);
        let count = sizes.len() as u64;
        let listed = |some: u64| some * Column::LISTED_COST;
        let as_bell = (COST + u64::from(scale) * 4) * count + listed(frame.listed_len() as u64);
        let each = cost16(greatest.abs_diff(least)) + ROUNDING;
        let as_column = each * count + listed(count - near);
        (as_bell < as_column).then_some(Self { scale, frame })
    }

    fn codes(&self) -> &'static [Code; SYMBOLS] {
        &CODES[usize::from(self.scale % 4)]
    }

    /// Bits that are stored as they are.
    fn raw(&self) -> u32 {
        u32::from(self.scale / 4)
    }

    /// The distance from the lowest size; that of the middle for a size that is listed.
    #[inline]
    fn distance(&self, size: i64) -> usize {
        self.frame
            .inside(size)
            .unwrap_or((SYMBOLS as u64 / 2) << self.raw()) as usize
    }

    /// Appends the codes of sizes.
    pub(super) fn put(&self, sizes: &[i64], writer: &mut BitWriter) {
        let (codes, raw) = (self.codes(), self.raw());
        let mask = (1 << raw) - 1;
        writer.reserve(sizes.len() as u64 * u64::from(LONGEST + raw));
        for some in sizes.chunks(self.together()) {
            let (mut word, mut filled) = (0, 0);
            for size in some {
                let distance = self.distance(*size);
                let Code { bits, len } = codes[distance >> raw & (SYMBOLS - 1)];
                word |= (u64::from(bits) | ((distance & mask) as u64) << len) << filled;
                filled += u32::from(len) + raw;
            }
            writer.put(word, filled);
        }
    }

    /// Sizes that one word surely has room for.
    fn together(&self) -> usize {
        (MOST_BITS / (LONGEST + self.raw())) as usize
    }

    /// The first `count` sizes of a body, in order.
    ///
    /// # Errors
    /// [`CodecError::Truncated`] when bits are missing.
    pub(super) fn take(
        &self,
        count: usize,
        body: &[u8],
        sizes: &mut Vec<i64>,
    ) -> Result<(), CodecError> {
        let symbols = &SYMBOLS_OF[usize::from(self.scale % 4)];
        let raw = self.raw();
        let mask = (1u64 << raw) - 1;
        let low = self.frame.low();
        let bits = body.len() as u64 * 8;
        let mut at = 0u64;
        sizes.clear();
        sizes.resize(count, 0);
        for some in sizes.chunks_mut(self.together()) {
            let end = body.len().saturating_sub((at / 8) as usize);
            let mut word = match body[..end].last_chunk() {
                Some(eight) => u64::from_be_bytes(*eight),
                None => body[..end]
                    .iter()
                    .fold(0, |word, byte| word << 8 | u64::from(*byte)),
            } >> (at % 8);
            for size in some {
                let found = symbols[(word & ((1 << LONGEST) - 1)) as usize];
                let distance = u64::from(found.symbol) << raw | (word >> found.len & mask);
                let len = u32::from(found.len) + raw;
                word >>= len;
                at += u64::from(len);
                *size = low.wrapping_add_unsigned(distance);
            }
            if at > bits {
                return Err(CodecError::Truncated);
            }
        }
        self.frame.put_listed(sizes);
        Ok(())
    }

    /// Appends the description.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.scale);
        put_varint(out, zigzag(self.frame.low() >> (self.raw() + 1)));
        self.frame.write_listed(out);
    }

    /// Reads what [`Self::write`] wrote for `rows` sizes.
    ///
    /// # Errors
    /// [`CodecError`] when the bytes describe no such sizes.
    pub(super) fn read(reader: &mut Reader<'_>, rows: usize) -> Result<Self, CodecError> {
        let scale = reader.byte()?;
        let raw = scale / 4;
        if raw > MOST_RAW {
            return Err(CodecError::Malformed("a deviation beyond its bound"));
        }
        let low = unzigzag(reader.varint()?).wrapping_shl(u32::from(raw) + 1);
        let frame = Column::read_listed(reader, rows, low, (SYMBOLS as u64) << raw)?;
        Ok(Self { scale, frame })
    }
}

/// The middle of sizes, and the usual distance from it: of some of them.
fn middle_of(sizes: &[i64]) -> (i64, i64) {
    let mut some = [0; SAMPLE];
    for (place, value) in some.iter_mut().enumerate() {
        *value = sizes[place * (sizes.len() - 1) / SAMPLE];
    }
    some.sort_unstable();
    let middle = some[SAMPLE / 2];
    for value in &mut some {
        *value = value.abs_diff(middle).cast_signed();
    }
    some.sort_unstable();
    (middle, some[SAMPLE / 2])
}

/// The scale of a variance in 256ths; none where it is too great.
fn scale_of(variance: u64) -> Option<u8> {
    /// Variances between the first three scales: that of the first times the roots of 2^½ and 2^(3/2).
    const BETWEEN: [u64; 2] = [6362, 8997];
    let octaves = (variance / BETWEEN[0]).checked_ilog2();
    let scale = octaves.map_or(0, |octaves| {
        1 + 2 * octaves + u32::from(variance >> octaves >= BETWEEN[1])
    });
    u8::try_from(scale)
        .ok()
        .filter(|scale| scale / 4 <= MOST_RAW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_value_has_one_symbol() {
        for (codes, symbols) in CODES.iter().zip(&SYMBOLS_OF) {
            let room: u32 = codes
                .iter()
                .map(|code| 1 << (LONGEST - u32::from(code.len)))
                .sum();
            assert_eq!(room, 1 << LONGEST);
            for (symbol, code) in codes.iter().enumerate() {
                let found = symbols[usize::from(code.bits)];
                assert_eq!((usize::from(found.symbol), found.len), (symbol, code.len));
            }
            assert!(symbols.iter().all(|found| found.len > 0));
        }
    }

    /// Sums of twelve numbers: nearly normal.
    fn sizes(count: usize, middle: i64, step: u64, seed: u64) -> Vec<i64> {
        let mut state = seed | 1;
        let mut below = |bound: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 20) % bound
        };
        (0..count)
            .map(|_| middle + (0..12).map(|_| below(step)).sum::<u64>().cast_signed())
            .collect()
    }

    fn round_trip(bell: &Bell, sizes: &[i64], before: &[u8]) -> usize {
        let mut header = Vec::new();
        bell.write(&mut header);
        let mut reader = Reader::new(&header);
        let read = Bell::read(&mut reader, sizes.len()).expect("a written bell is readable");
        assert_eq!(&read, bell);
        assert!(reader.rest().is_empty());
        let mut writer = BitWriter::default();
        bell.put(sizes, &mut writer);
        let len = writer.finish().len();
        let mut body = before.to_vec();
        body.extend(writer.finish().iter().rev());
        let mut back = Vec::new();
        assert_eq!(read.take(sizes.len(), &body, &mut back), Ok(()));
        assert_eq!(back, sizes);
        let mut some = Vec::new();
        assert_eq!(read.take(sizes.len() / 2, &body, &mut some), Ok(()));
        assert_eq!(some, sizes[..sizes.len() / 2]);
        len
    }

    #[test]
    fn sizes_take_little_more_than_their_entropy() {
        for (step, count) in [
            (107u64, 137),
            (107, 2000),
            (30, 300),
            (12, 500),
            (5000, 400),
        ] {
            let deviation = 12f64.sqrt() * (step as f64 / 12f64.sqrt());
            let entropy = deviation.log2() + 2.047;
            let mut bits = 0;
            for seed in 1..20 {
                let sizes = sizes(count, 740_000, step, seed);
                let bell = Bell::plan(&sizes).expect("normal sizes have a bell");
                bits += round_trip(&bell, &sizes, b"ids") * 8;
            }
            let each = bits as f64 / 19.0 / count as f64;
            assert!(each < entropy + 0.12, "{step}: {each} against {entropy}");
        }
    }

    #[test]
    fn sizes_far_from_the_others_are_listed() {
        let mut all = sizes(137, 740_000, 107, 3);
        (all[0], all[70], all[136]) = (0, i64::from(u32::MAX), 200_000);
        let bell = Bell::plan(&all).expect("normal sizes have a bell");
        assert_eq!(bell.frame.listed_len(), 3);
        round_trip(&bell, &all, b"");
    }

    #[test]
    fn files_of_one_upload_have_one_description() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 1..40 {
            let bell = Bell::plan(&sizes(137, 740_000, 107, seed)).expect("a bell");
            let mut header = Vec::new();
            bell.write(&mut header);
            seen.insert(header);
        }
        assert!(seen.len() <= 10, "{seen:?}");
    }

    #[test]
    fn sizes_in_a_range_have_no_bell() {
        assert_eq!(Bell::plan(&[5; 100]), None);
        assert_eq!(
            Bell::plan(&(0..200).map(|row| row * 7 % 200).collect::<Vec<_>>()),
            None
        );
        assert_eq!(Bell::plan(&sizes(15, 740_000, 107, 1)), None);
    }

    proptest! {
        #[test]
        fn any_sizes_come_back(
            some in prop::collection::vec(any::<u32>(), 16..60),
            near in prop::collection::vec(700_000u32..700_900, 0..200),
        ) {
            let all: Vec<i64> = some.iter().chain(&near).map(|size| i64::from(*size)).collect();
            if let Some(bell) = Bell::plan(&all) {
                round_trip(&bell, &all, b"x");
            }
        }

        #[test]
        fn damaged_sizes_are_errors_or_sizes(
            header in prop::collection::vec(any::<u8>(), 0..12),
            body in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            if let Ok(bell) = Bell::read(&mut Reader::new(&header), 30) {
                let _: Result<(), CodecError> = bell.take(30, &body, &mut Vec::new());
            }
        }
    }
}
