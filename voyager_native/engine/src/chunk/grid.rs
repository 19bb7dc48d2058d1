//! The characters of a message-id at fixed positions, many at once.
//!
//! Most alphabets are stretches of digits, of capitals and of small letters. Then the rank of a character is its
//! code less an offset of its stretch, which the compiler does for sixteen characters at a time.

use super::CodecError;
use super::alphabet::{ALPHABETS, NO_RANK};
use super::pieces::Family;

/// Positions that a grid has room for.
pub(super) const CELLS: usize = 256;
/// Positions are worked on in steps of this many.
pub(super) const STEP: usize = 32;

/// An alphabet that consists of up to three stretches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretches {
    /// Codes of rank 0 of digits, capitals, small letters.
    offsets: [u8; 3],
    /// Ranks at which capitals and small letters begin.
    pub(super) begins: [u8; 2],
}

/// The stretches of the fixed alphabets.
static FIXED: [Option<Stretches>; ALPHABETS.len()] = {
    let mut all = [None; ALPHABETS.len()];
    let mut number = 0;
    while number < all.len() {
        all[number] = Stretches::of(ALPHABETS[number]);
        number += 1;
    }
    all
};

/// The stretches of an alphabet by its number and symbols, if it consists of some.
pub(super) fn stretches_of(alphabet: u8, symbols: &[u8]) -> Option<Stretches> {
    match FIXED.get(usize::from(alphabet)) {
        Some(stretches) => *stretches,
        None => Stretches::of(symbols),
    }
}

impl Stretches {
    /// The offset of digits; what has to be changed in it for capitals; and in that for small letters.
    #[inline]
    pub(super) const fn steps(self) -> [u8; 3] {
        let [digits, capitals, small] = self.offsets;
        [digits, digits ^ capitals, capitals ^ small]
    }

    /// The stretches of sorted symbols, if they are stretches.
    const fn of(symbols: &[u8]) -> Option<Self> {
        let mut offsets = [0; 3];
        let mut counts = [0u8; 3];
        let mut rank = 0;
        while rank < symbols.len() {
            let byte = symbols[rank];
            let kind = match byte {
                b'0'..=b'9' => 0,
                b'A'..=b'Z' => 1,
                b'a'..=b'z' => 2,
                _ => return None,
            };
            let offset = byte.wrapping_sub(rank as u8);
            if counts[kind] == 0 {
                offsets[kind] = offset;
            } else if offsets[kind] != offset {
                return None;
            }
            counts[kind] += 1;
            rank += 1;
        }
        Some(Self {
            offsets,
            begins: [counts[0], counts[0] + counts[1]],
        })
    }
}

/// Number of the planes of a grid.
const PLANES: usize = 8;

/// What is known of each position, each kind of knowledge in a plane of its own.
#[derive(Debug)]
struct Planes<'a> {
    /// Offsets of digits; what has to be changed in them for capitals; and in those for small letters.
    digits: &'a [u8],
    to_capitals: &'a [u8],
    to_small: &'a [u8],
    /// Ranks at which capitals and small letters begin.
    capitals_at: &'a [u8],
    small_at: &'a [u8],
    /// Greatest rank.
    most: &'a [u8],
    /// 0 where ranks come from a table, and where no position is.
    is_plain: &'a [u8],
    /// All ones where characters vary.
    varies: &'a [u8],
}

/// The fixed positions of the ids of one family.
#[derive(Debug)]
pub(super) struct Grid<'a> {
    /// Number of positions, rounded up to whole steps.
    width: usize,
    planes: Vec<u8>,
    /// Positions whose alphabet is no stretches: with its ranks and symbols.
    odd: Vec<(u8, &'a [u8; 256], &'a [u8])>,
}

/// The radix by which characters of an alphabet are coded.
///
/// Where next to nothing is lost (62 letters and digits: 0.05 bits) a power of two, which needs no division.
pub(super) const fn radix_for(symbols: usize) -> u16 {
    let power = symbols.next_power_of_two();
    if symbols * 1036 >= power * 1000 {
        power as u16
    } else {
        symbols as u16
    }
}

/// The radices of the fixed alphabets.
static RADICES: [u16; ALPHABETS.len()] = {
    let mut all = [0; ALPHABETS.len()];
    let mut number = 0;
    while number < all.len() {
        all[number] = radix_for(ALPHABETS[number].len());
        number += 1;
    }
    all
};

/// Appends the varying positions of all fixed pieces, one after the other: where, alphabet, radix.
pub(super) fn spots_of(family: &Family, out: &mut Vec<(u8, u8, u16)>) {
    let mut start = 0;
    for fixed in family.fixed() {
        for &(at, alphabet) in &fixed.spots {
            let radix = match RADICES.get(usize::from(alphabet)) {
                Some(radix) => *radix,
                None => radix_for(family.symbols(alphabet).len()),
            };
            out.push(((start + usize::from(at)) as u8, alphabet, radix));
        }
        start += fixed.template.len();
    }
}

/// All ones or all zeros.
#[inline]
const fn mask(is_set: bool) -> u8 {
    (is_set as u8).wrapping_neg()
}

impl<'a> Grid<'a> {
    /// The grid of all fixed pieces of a family, one after the other.
    pub(super) fn of(family: &'a Family) -> Self {
        let len: usize = family.fixed().map(|fixed| fixed.template.len()).sum();
        let width = len.next_multiple_of(STEP).min(CELLS);
        let mut planes = vec![0; PLANES * width];
        let mut odd = Vec::new();
        let mut cut = planes.chunks_exact_mut(width.max(1));
        let mut plane = || cut.next().unwrap_or_default();
        let (digits, to_capitals, to_small) = (plane(), plane(), plane());
        let (capitals_at, small_at) = (plane(), plane());
        let (most, is_plain, varies) = (plane(), plane(), plane());
        capitals_at.fill(u8::MAX);
        small_at.fill(u8::MAX);
        let mut start = 0;
        for fixed in family.fixed() {
            let end = start + fixed.template.len();
            // Constant characters: whatever range they are in, they are the only one of rank 0.
            digits[start..end].copy_from_slice(&fixed.template);
            is_plain[start..end].fill(1);
            for &(at, alphabet) in &fixed.spots {
                let at = start + usize::from(at);
                let symbols = family.symbols(alphabet);
                most[at] = (symbols.len() - 1) as u8;
                varies[at] = u8::MAX;
                let Some(stretches) = stretches_of(alphabet, symbols) else {
                    is_plain[at] = 0;
                    odd.push((at as u8, family.ranks(alphabet), symbols));
                    continue;
                };
                [digits[at], to_capitals[at], to_small[at]] = stretches.steps();
                [capitals_at[at], small_at[at]] = stretches.begins;
            }
            for number in &fixed.numbers {
                // Numbers are coded apart: any character passes.
                most[start + number.at..start + number.at + number.len].fill(u8::MAX);
            }
            start = end;
        }
        Self { width, planes, odd }
    }

    #[inline]
    fn planes(&self) -> Planes<'_> {
        let width = self.width;
        let plane = |number: usize| &self.planes[number * width..][..width];
        Planes {
            digits: plane(0),
            to_capitals: plane(1),
            to_small: plane(2),
            capitals_at: plane(3),
            small_at: plane(4),
            most: plane(5),
            is_plain: plane(6),
            varies: plane(7),
        }
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
        let planes = self.planes();
        let offsets = planes
            .digits
            .iter()
            .zip(planes.to_capitals)
            .zip(planes.to_small);
        let checks = planes.most.iter().zip(planes.is_plain);
        let rows = text.iter().zip(&mut *cells).zip(offsets).zip(checks);
        // Written without branches, so that the compiler does many positions at once.
        for (((byte, cell), ((digits, to_capitals), to_small)), (most, is_plain)) in rows {
            let offset =
                digits ^ (to_capitals & mask(*byte > b'9')) ^ (to_small & mask(*byte > b'Z'));
            let rank = byte.wrapping_sub(offset);
            beyond |= u8::from(rank > *most) & is_plain;
            *cell = rank;
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
        let planes = self.planes();
        let offsets = planes
            .digits
            .iter()
            .zip(planes.to_capitals)
            .zip(planes.to_small);
        let begins = planes.capitals_at.iter().zip(planes.small_at);
        let checks = planes.most.iter().zip(planes.varies);
        let rows = cells
            .iter()
            .zip(&mut *text)
            .zip(offsets)
            .zip(begins)
            .zip(checks);
        for row in rows {
            let ((((cell, byte), offsets), (capitals_at, small_at)), (most, varies)) = row;
            let ((digits, to_capitals), to_small) = offsets;
            let rank = cell & varies;
            beyond |= u8::from(rank > *most);
            let offset = digits
                ^ (to_capitals & mask(rank >= *capitals_at))
                ^ (to_small & mask(rank >= *small_at));
            *byte = rank.wrapping_add(offset);
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
    use crate::chunk::alphabet::BYTES;

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
