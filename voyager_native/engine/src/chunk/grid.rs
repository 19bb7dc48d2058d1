//! The characters of a message-id at fixed positions, many at once.
//!
//! Most alphabets are stretches of digits, of capitals and of small letters. Then the rank of a character is its
//! code less an offset of its stretch, which the compiler does for sixteen characters at a time.

use super::CodecError;
use super::alphabet::NO_RANK;
use super::pieces::Family;

/// Positions that a grid has room for.
pub(super) const CELLS: usize = 256;
/// Positions are worked on in steps of this many.
pub(super) const STEP: usize = 32;

/// An alphabet that consists of up to three stretches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretches {
    /// Codes of rank 0 of digits, capitals, small letters.
    offsets: [u8; 3],
    /// Ranks at which capitals and small letters begin.
    begins: [u8; 2],
}

impl Stretches {
    /// The stretches of sorted symbols, if they are stretches.
    fn of(symbols: &[u8]) -> Option<Self> {
        let digits = symbols
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let rest = &symbols[digits..];
        let capitals = rest
            .iter()
            .take_while(|byte| byte.is_ascii_uppercase())
            .count();
        let small = &rest[capitals..];
        let is_stretch = |part: &[u8]| part.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let all_small = small.iter().all(u8::is_ascii_lowercase);
        if !all_small
            || ![&symbols[..digits], &rest[..capitals], small]
                .into_iter()
                .all(is_stretch)
        {
            return None;
        }
        let first = |part: &[u8]| part.first().copied().unwrap_or(0);
        let capitals_at = digits as u8;
        let small_at = (digits + capitals) as u8;
        Some(Self {
            offsets: [
                first(symbols),
                first(rest).wrapping_sub(capitals_at),
                first(small).wrapping_sub(small_at),
            ],
            begins: [capitals_at, small_at],
        })
    }
}

/// The fixed positions of the ids of one family.
#[derive(Debug)]
pub(super) struct Grid<'a> {
    /// Number of positions, rounded up to whole steps.
    width: usize,
    /// Offsets of digits; what has to be changed in them for capitals; and in those for small letters.
    digits: [u8; CELLS],
    to_capitals: [u8; CELLS],
    to_small: [u8; CELLS],
    capitals_at: [u8; CELLS],
    small_at: [u8; CELLS],
    /// Greatest rank at each position.
    most: [u8; CELLS],
    /// 0 where ranks come from a table, and where no position is.
    is_plain: [u8; CELLS],
    /// All ones where characters vary.
    varies: [u8; CELLS],
    /// Positions whose alphabet is no stretches: with its ranks and symbols.
    odd: Vec<(u8, &'a [u8; 256], &'a [u8])>,
    /// Varying positions and the sizes of their alphabets.
    spots: Vec<(u8, u16)>,
}

/// The radix by which characters of an alphabet are coded.
///
/// Where next to nothing is lost (62 letters and digits: 0.05 bits) a power of two, which needs no division.
const fn radix_for(symbols: usize) -> u16 {
    let power = symbols.next_power_of_two();
    if symbols * 1036 >= power * 1000 { power as u16 } else { symbols as u16 }
}

/// All ones or all zeros.
#[inline]
const fn mask(is_set: bool) -> u8 {
    (is_set as u8).wrapping_neg()
}

impl<'a> Grid<'a> {
    /// The grid of all fixed pieces of a family, one after the other.
    pub(super) fn of(family: &'a Family) -> Self {
        let mut grid = Self {
            width: 0,
            digits: [0; CELLS],
            to_capitals: [0; CELLS],
            to_small: [0; CELLS],
            capitals_at: [u8::MAX; CELLS],
            small_at: [u8::MAX; CELLS],
            most: [0; CELLS],
            is_plain: [0; CELLS],
            varies: [0; CELLS],
            odd: Vec::new(),
            spots: Vec::with_capacity(48),
        };
        let mut start = 0;
        let mut known: Option<(u8, Option<Stretches>)> = None;
        for fixed in family.fixed() {
            let end = start + fixed.template.len();
            // Constant characters: whatever range they are in, they are the only one of rank 0.
            grid.digits[start..end].copy_from_slice(&fixed.template);
            grid.is_plain[start..end].fill(1);
            for &(at, alphabet) in &fixed.spots {
                let at = start + usize::from(at);
                let symbols = family.symbols(alphabet);
                grid.spots.push((at as u8, radix_for(symbols.len())));
                let stretches = match known {
                    Some((before, stretches)) if before == alphabet => stretches,
                    _ => Stretches::of(symbols),
                };
                known = Some((alphabet, stretches));
                grid.most[at] = (symbols.len() - 1) as u8;
                grid.varies[at] = u8::MAX;
                let Some(Stretches { offsets, begins }) = stretches else {
                    grid.is_plain[at] = 0;
                    grid.odd.push((at as u8, family.ranks(alphabet), symbols));
                    continue;
                };
                grid.digits[at] = offsets[0];
                grid.to_capitals[at] = offsets[0] ^ offsets[1];
                grid.to_small[at] = offsets[1] ^ offsets[2];
                [grid.capitals_at[at], grid.small_at[at]] = begins;
            }
            for number in &fixed.numbers {
                // Numbers are coded apart: any character passes.
                grid.most[start + number.at..start + number.at + number.len].fill(u8::MAX);
            }
            start = end;
        }
        grid.width = start.next_multiple_of(STEP).min(CELLS);
        grid
    }

    /// Varying positions and the sizes of their alphabets, in order.
    pub(super) fn spots(&self) -> &[(u8, u16)] {
        &self.spots
    }

    /// The ranks of characters.
    ///
    /// # Errors
    /// [`CodecError::Unfaithful`] when a character is not in the alphabet of its position.
    #[inline]
    pub(super) fn ranks(
        &self,
        text: &[u8; CELLS],
        cells: &mut [u8; CELLS],
    ) -> Result<(), CodecError> {
        let mut beyond = 0;
        // Written without branches, so that the compiler does many positions at once.
        for at in 0..self.width.min(CELLS) {
            let byte = text[at];
            let offset = self.digits[at]
                ^ (self.to_capitals[at] & mask(byte > b'9'))
                ^ (self.to_small[at] & mask(byte > b'Z'));
            let rank = byte.wrapping_sub(offset);
            beyond |= u8::from(rank > self.most[at]) & self.is_plain[at];
            cells[at] = rank;
        }
        for (at, table, symbols) in &self.odd {
            let at = usize::from(*at);
            let rank = table[usize::from(text[at])];
            beyond |= u8::from(rank == NO_RANK && symbols.len() < 256);
            cells[at] = rank;
        }
        if beyond == 0 {
            Ok(())
        } else {
            Err(CodecError::Unfaithful)
        }
    }

    /// The characters of ranks.
    ///
    /// # Errors
    /// [`CodecError::Malformed`] when a rank is not below the size of its alphabet.
    #[inline]
    pub(super) fn characters(
        &self,
        cells: &[u8; CELLS],
        text: &mut [u8; CELLS],
    ) -> Result<(), CodecError> {
        let mut beyond = 0;
        for at in 0..self.width.min(CELLS) {
            let rank = cells[at] & self.varies[at];
            beyond |= u8::from(rank > self.most[at]);
            let offset = self.digits[at]
                ^ (self.to_capitals[at] & mask(rank >= self.capitals_at[at]))
                ^ (self.to_small[at] & mask(rank >= self.small_at[at]));
            text[at] = rank.wrapping_add(offset);
        }
        if beyond != 0 {
            return Err(CodecError::Malformed("a character beyond its alphabet"));
        }
        for (at, _, symbols) in &self.odd {
            let at = usize::from(*at);
            text[at] = symbols[usize::from(cells[at])];
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::alphabet::{ALPHABETS, BYTES};

    #[test]
    fn common_alphabets_are_stretches() {
        for symbols in &ALPHABETS[..9] {
            assert!(Stretches::of(symbols).is_some());
        }
        for symbols in &ALPHABETS[9..] {
            assert_eq!(Stretches::of(symbols), None);
        }
        assert!(Stretches::of(b"89ab").is_some());
        assert_eq!(Stretches::of(b"8ac"), None);
        assert_eq!(ALPHABETS[BYTES as usize].len(), 256);
    }
}
