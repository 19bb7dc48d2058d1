//! The sets of characters that positions of message-ids are drawn from.

/// Marks a byte that is not in an alphabet.
pub(super) const NO_RANK: u8 = u8::MAX;

/// The fixed alphabets by number; the number is part of the format.
pub(super) const ALPHABETS: [&[u8]; 13] = [
    b"0123456789",
    b"0123456789abcdef",
    b"0123456789ABCDEF",
    b"abcdefghijklmnopqrstuvwxyz",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    b"0123456789abcdefghijklmnopqrstuvwxyz",
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    b"$&0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz",
    b"!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~",
    &EVERY_BYTE,
];

/// Number of the alphabet of the decimal digits.
pub(super) const DIGITS: u8 = 0;
/// Number of the alphabet of the ASCII letters of both cases.
pub(super) const LETTERS: u8 = 7;
/// Number of the alphabet of everything printable.
pub(super) const PRINTABLE: u8 = 11;
/// Number of the alphabet of all bytes. Its rank table has no [`NO_RANK`]: 255 is the rank of 255.
pub(super) const BYTES: u8 = 12;

const EVERY_BYTE: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut value = 0;
    while value < 256 {
        bytes[value] = value as u8;
        value += 1;
    }
    bytes
};

/// Rank of every byte in every fixed alphabet, [`NO_RANK`] when it is not in it.
pub(super) static RANKS: [[u8; 256]; ALPHABETS.len()] = {
    let mut tables = [[NO_RANK; 256]; ALPHABETS.len()];
    let mut number = 0;
    while number < ALPHABETS.len() {
        tables[number] = ranks_of(ALPHABETS[number]);
        number += 1;
    }
    tables
};

/// Rank of every byte in `symbols`.
pub(super) const fn ranks_of(symbols: &[u8]) -> [u8; 256] {
    let mut table = [NO_RANK; 256];
    let mut rank = 0;
    while rank < symbols.len() {
        table[symbols[rank] as usize] = rank as u8;
        rank += 1;
    }
    table
}

/// Kinds of characters as bits, so that the kinds of a column are the union of its bytes.
pub(super) mod kind {
    pub(in super::super) const DIGIT: u8 = 1;
    pub(in super::super) const UPPER_HEX: u8 = 2;
    pub(in super::super) const UPPER: u8 = 4;
    pub(in super::super) const LOWER_HEX: u8 = 8;
    pub(in super::super) const LOWER: u8 = 16;
    pub(in super::super) const DOLLAR: u8 = 32;
    pub(in super::super) const DASH: u8 = 64;
    pub(in super::super) const OTHER: u8 = 128;
}

/// The kind of a byte. Written without tables, so that the compiler does many at once.
#[inline]
pub(super) const fn kind_of(byte: u8) -> u8 {
    let mut kinds = 0;
    kinds |= (byte.wrapping_sub(b'0') < 10) as u8;
    kinds |= ((byte.wrapping_sub(b'A') < 6) as u8) << 1;
    kinds |= ((byte.wrapping_sub(b'G') < 20) as u8) << 2;
    kinds |= ((byte.wrapping_sub(b'a') < 6) as u8) << 3;
    kinds |= ((byte.wrapping_sub(b'g') < 20) as u8) << 4;
    kinds |= ((byte == b'$' || byte == b'&') as u8) << 5;
    kinds |= ((byte == b'-' || byte == b'_') as u8) << 6;
    kinds | (((kinds == 0) as u8) << 7)
}

/// Number of the smallest fixed alphabet for every union of kinds; [`PRINTABLE`] where a byte outside it may be.
pub(super) static SMALLEST: [u8; 256] = {
    let mut table = [PRINTABLE; 256];
    let mut kinds = 0;
    while kinds < 256 {
        table[kinds] = smallest(kinds as u8);
        kinds += 1;
    }
    table
};

const fn smallest(kinds: u8) -> u8 {
    use kind::{DASH, DIGIT, DOLLAR, LOWER, LOWER_HEX, OTHER, UPPER, UPPER_HEX};
    if kinds & OTHER != 0 || kinds & (DOLLAR | DASH) == DOLLAR | DASH {
        PRINTABLE
    } else if kinds & DOLLAR != 0 {
        9
    } else if kinds & DASH != 0 {
        10
    } else {
        match (
            kinds & DIGIT != 0,
            kinds & (UPPER_HEX | UPPER) != 0,
            kinds & (LOWER_HEX | LOWER) != 0,
        ) {
            (_, false, false) => DIGITS,
            (true, false, true) if kinds & LOWER == 0 => 1,
            (true, true, false) if kinds & UPPER == 0 => 2,
            (false, false, true) => 3,
            (false, true, false) => 4,
            (true, false, true) => 5,
            (true, true, false) => 6,
            (false, true, true) => LETTERS,
            (true, true, true) => 8,
        }
    }
}

/// Entropy of one character in sixteenths of a bit, by alphabet size; rounded up.
pub(super) static COST16: [u64; 257] = {
    let mut costs = [0; 257];
    let mut radix = 1;
    while radix < costs.len() {
        costs[radix] = cost16(radix as u128);
        radix += 1;
    }
    costs
};

/// The same by the kinds of the characters.
pub(super) static COST16_OF_KINDS: [u64; 256] = {
    let mut costs = [0; 256];
    let mut kinds = 0;
    while kinds < 256 {
        costs[kinds] = COST16[ALPHABETS[SMALLEST[kinds] as usize].len()];
        kinds += 1;
    }
    costs
};

/// The length of `radix` to the sixteenth in bits; no floating point, which may differ between machines.
const fn cost16(radix: u128) -> u64 {
    let mut bits = 0;
    let mut power = 1u128;
    let mut step = 0;
    while step < 16 {
        power *= radix;
        while power > 1 << 64 {
            power >>= 1;
            bits += 1;
        }
        step += 1;
    }
    bits + (128 - (power - 1).leading_zeros()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alphabet_is_sorted_and_ranks_point_back() {
        for (number, symbols) in ALPHABETS.iter().enumerate() {
            assert!(symbols.is_sorted_by(|left, right| left < right));
            for (rank, symbol) in symbols.iter().enumerate() {
                assert_eq!(RANKS[number][*symbol as usize] as usize, rank);
            }
        }
    }

    #[test]
    fn the_smallest_alphabet_holds_every_byte_of_its_kinds() {
        for left in 33..=126u8 {
            for right in 33..=126u8 {
                let number = SMALLEST[(kind_of(left) | kind_of(right)) as usize] as usize;
                assert_ne!(RANKS[number][left as usize], NO_RANK, "{left} {right}");
                assert_ne!(RANKS[number][right as usize], NO_RANK, "{left} {right}");
            }
        }
    }

    #[test]
    fn cost_is_sixteen_times_the_logarithm() {
        for (radix, cost) in [(1, 0), (2, 16), (16, 64), (256, 128)] {
            assert_eq!(COST16[radix], cost);
        }
        assert_eq!(COST16[62], 96);
        assert_eq!(COST16[26], 76);
    }
}
