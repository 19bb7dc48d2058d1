//! Codes the segments of one family: digits in lanes, then characters of varying length.

use std::sync::Arc;

use super::CodecError;
use super::alphabet::NO_RANK;
use super::bits::{BitReader, BitWriter};
use super::column::{Column, Listed};
use super::decimal;
use super::grid::{CELLS, Grid};
use super::lanes::{Lanes, width_of};
use super::layout::{BATCH, Scratch};
use super::pieces::{Family, LONGEST_ID, Piece};
use super::rows::{Joined, Kernel};
use super::segments::Segment;
use super::transpose::ROWS;
use super::wide;

/// With fewer rows columns are not worth it.
const LEAST_FOR_COLUMNS: usize = 6;

/// A column of numbers while its rows are coded in order.
#[derive(Debug)]
pub(super) struct Progress<'a> {
    column: &'a Column,
    listed: Listed<'a>,
    before: i64,
}

impl<'a> Progress<'a> {
    pub(super) fn of(column: &'a Column) -> Self {
        Self {
            column,
            listed: column.listed(),
            before: column.start.unwrap_or(0),
        }
    }

    /// Writes the digits of a number and returns how many they are.
    #[inline]
    pub(super) fn split(&mut self, value: i64, digits: &mut [u32]) -> usize {
        if self.column.start.is_none() {
            return self.column.split(value, digits);
        }
        let before = std::mem::replace(&mut self.before, value);
        self.column.split(value.wrapping_sub(before), digits)
    }

    /// The number of row `row` from its digits, and how many they are.
    #[inline]
    pub(super) fn join(&mut self, row: u32, digits: &[u32]) -> (i64, usize) {
        let (value, used) = self.column.join(digits);
        let mut value = self.listed.at(row).unwrap_or(value);
        if self.column.start.is_some() {
            value = value.wrapping_add(self.before);
            self.before = value;
        }
        (value, used)
    }
}

/// What decoded segments are given to, one after the other.
pub(super) trait Sink {
    /// More bytes of the id of the current segment.
    fn push(&mut self, bytes: &[u8]);

    /// The size of the current segment, which ends with it.
    fn end(&mut self, size: i64);
}

/// Codes segments of one family, in order.
#[derive(Debug)]
pub(super) struct Coder<'a> {
    family: &'a Family,
    sizes: &'a Column,
    pub(super) characters: Characters<'a>,
    lanes: Arc<Lanes>,
    /// Digits of sizes, numbers and lengths of each row of a batch.
    wide: Vec<u32>,
    wide_len: usize,
    columns: Vec<Progress<'a>>,
    /// Stretches of varying length of the current id: alphabet, start, end.
    stretches: Vec<(u8, usize, usize)>,
    row: u32,
}

/// How characters become digits.
#[derive(Debug)]
pub(super) enum Characters<'a> {
    /// Row by row.
    Rows(Grid<'a>),
    /// Column by column, which is for decoding: [`super::checked`] encodes so.
    Columns {
        kernel: Arc<Kernel>,
        template: Vec<u8>,
    },
}

impl<'a> Coder<'a> {
    /// A coder of the segments of one family, row by row.
    pub(super) fn by_rows(family: &'a Family, sizes: &'a Column, scratch: &mut Scratch) -> Self {
        Self::new(family, sizes, 0, 1, scratch)
    }

    /// A decoder of the segments of one family of a record of `count` segments and `families` families.
    pub(super) fn new(
        family: &'a Family,
        sizes: &'a Column,
        count: usize,
        families: usize,
        scratch: &mut Scratch,
    ) -> Self {
        let layout = scratch.layout(family, sizes);
        let is_fixed = |piece: &Piece| !matches!(piece, Piece::Variable { .. });
        let in_columns =
            count >= LEAST_FOR_COLUMNS * families && family.pieces.iter().all(is_fixed);
        let kernel = in_columns.then(|| layout.kernel(family)).flatten();
        let wide_len = layout.wide_len();
        let lanes = Arc::clone(&layout.lanes);
        let characters = match kernel {
            Some(kernel) => Characters::Columns {
                kernel,
                template: family
                    .fixed()
                    .flat_map(|fixed| fixed.template.iter().copied())
                    .collect(),
            },
            None => Characters::Rows(Grid::of(family)),
        };
        Self {
            family,
            sizes,
            lanes,
            characters,
            wide: vec![0; wide_len * ROWS],
            wide_len,
            columns: family.columns().map(Progress::of).collect(),
            stretches: Vec::new(),
            row: 0,
        }
    }

    /// Bits of the digits of one segment.
    pub(super) fn width(&self) -> u32 {
        self.lanes.width()
    }

    /// Rows that may be worked on together.
    fn batch(&self) -> usize {
        let is_variable = |piece: &Piece| matches!(piece, Piece::Variable { .. });
        match self.characters {
            Characters::Columns { .. } => ROWS,
            Characters::Rows(_) if self.family.pieces.iter().any(is_variable) => 1,
            Characters::Rows(_) => BATCH,
        }
    }

    /// Appends segments.
    ///
    /// # Errors
    /// [`CodecError::Unfaithful`] when an id is not of this family.
    pub(super) fn put(
        &mut self,
        segments: &[Segment<'_>],
        scratch: &mut Scratch,
        writer: &mut BitWriter,
    ) -> Result<(), CodecError> {
        let Scratch { cells, texts, .. } = scratch;
        for batch in segments.chunks(self.batch()) {
            for (place, segment) in batch.iter().enumerate() {
                self.take_apart(place, segment, &mut texts[place])?;
            }
            let Characters::Rows(grid) = &self.characters else {
                return Err(CodecError::Unfaithful);
            };
            for (text, cells) in texts.iter().zip(&mut *cells).take(batch.len()) {
                grid.ranks(text, cells)?;
            }
            let wide = self.wide.chunks(self.wide_len.max(1));
            let wide = wide.chain(std::iter::repeat(&[][..]));
            for (cells, wide) in cells.iter().zip(wide).take(batch.len()) {
                self.lanes.put(wide, cells, writer);
            }
            for (alphabet, start, end) in &self.stretches {
                let (ranks, symbols) =
                    (self.family.ranks(*alphabet), self.family.symbols(*alphabet));
                put_characters(ranks, symbols, &batch[0].id[*start..*end], writer)?;
            }
        }
        Ok(())
    }

    /// Finds the digits of a segment, and its characters at fixed positions.
    #[inline]
    fn take_apart(
        &mut self,
        place: usize,
        segment: &Segment<'_>,
        text: &mut [u8; CELLS],
    ) -> Result<(), CodecError> {
        let family = self.family;
        let id = segment.id;
        let wide = &mut self.wide[place * self.wide_len..][..self.wide_len];
        let mut at = 0;
        let mut filled = 0;
        let mut used = self.sizes.split(i64::from(segment.size), wide);
        let mut columns = self.columns.iter_mut();
        let mut lengths = family.lengths.iter();
        let row = self.row as usize;
        let mut varying = |at: usize| -> Result<&[u8], CodecError> {
            let len = lengths.next().and_then(|lengths| lengths.get(row));
            let len = *len.ok_or(CodecError::Unfaithful)? as usize;
            id.get(at..at + len).ok_or(CodecError::Unfaithful)
        };
        self.stretches.clear();
        for piece in &family.pieces {
            match piece {
                Piece::Fixed(fixed) => {
                    let bytes = id
                        .get(at..at + fixed.template.len())
                        .ok_or(CodecError::Unfaithful)?;
                    let place = text
                        .get_mut(filled..filled + bytes.len())
                        .ok_or(CodecError::Unfaithful)?;
                    decimal::copy(bytes, place);
                    for (number, column) in fixed.numbers.iter().zip(&mut columns) {
                        let value = decimal::value_of(&bytes[number.at..number.at + number.len]);
                        used += column.split(value, &mut wide[used..]);
                    }
                    at += bytes.len();
                    filled += bytes.len();
                }
                Piece::Part { base } => {
                    let mut buffer = [0; 10];
                    let number = write_decimal(segment.part.wrapping_sub(*base), &mut buffer);
                    if !id[at..].starts_with(number) {
                        return Err(CodecError::Unfaithful);
                    }
                    at += number.len();
                }
                Piece::Counted(_) => {
                    let number = varying(at)?;
                    if let Some(column) = columns.next() {
                        used += column.split(decimal::value_of(number), &mut wide[used..]);
                    }
                    at += number.len();
                }
                Piece::Variable {
                    alphabet,
                    shortest,
                    longest,
                } => {
                    let len = varying(at)?.len();
                    if longest > shortest {
                        wide[used] = (len - shortest) as u32;
                        used += 1;
                    }
                    self.stretches.push((*alphabet, at, at + len));
                    at += len;
                }
            }
        }
        self.row += 1;
        if at == id.len() {
            Ok(())
        } else {
            Err(CodecError::Unfaithful)
        }
    }

    /// Takes segments with these parts, and gives them to `sink`.
    ///
    /// # Errors
    /// [`CodecError`] when the bits are no segments of this family.
    pub(super) fn take(
        &mut self,
        parts: &[u32],
        scratch: &mut Scratch,
        reader: &mut BitReader<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), CodecError> {
        let Scratch {
            cells,
            texts,
            columns,
            ..
        } = scratch;
        if let Characters::Columns { template, .. } = &self.characters {
            columns.begin(template);
        }
        for batch in parts.chunks(self.batch()) {
            match &self.characters {
                Characters::Columns { kernel, .. } => {
                    let joined = kernel.read(batch.len(), reader)?;
                    wide::take(kernel, &joined, texts, columns)?;
                    turn(columns.digits(), &mut self.wide);
                }
                Characters::Rows(grid) => {
                    for (place, cells) in cells.iter_mut().take(batch.len()).enumerate() {
                        let wide = &mut self.wide[place * self.wide_len..][..self.wide_len];
                        self.lanes.take(wide, cells, reader)?;
                    }
                    for (text, cells) in texts.iter_mut().zip(&*cells).take(batch.len()) {
                        grid.characters(cells, text)?;
                    }
                }
            }
            for (place, part) in batch.iter().enumerate() {
                let size = self.put_together(place, *part, &mut texts[place], reader, sink)?;
                sink.end(size);
            }
        }
        Ok(())
    }

    /// Takes rows of which the words were read, at most sixteen of them, so that [`Self::put_together`] can follow.
    ///
    /// # Errors
    /// [`CodecError`] when the words are no segments of this family.
    pub(super) fn split(
        &mut self,
        joined: &Joined,
        scratch: &mut Scratch,
    ) -> Result<(), CodecError> {
        if let Characters::Columns { kernel, .. } = &self.characters {
            wide::take(kernel, joined, &mut scratch.texts, &mut scratch.columns)?;
            turn(scratch.columns.digits(), &mut self.wide);
        }
        Ok(())
    }

    /// Gives the id of a segment to `sink`, and returns its size.
    #[inline]
    pub(super) fn put_together(
        &mut self,
        place: usize,
        part: u32,
        text: &mut [u8; CELLS],
        reader: &mut BitReader<'_>,
        sink: &mut impl Sink,
    ) -> Result<i64, CodecError> {
        let family = self.family;
        let wide = &self.wide[place * self.wide_len..][..self.wide_len];
        let (size, mut used) = self.sizes.join(wide);
        let mut id_len = 0;
        let mut columns = self.columns.iter_mut();
        let mut filled = 0;
        for piece in &family.pieces {
            match piece {
                Piece::Fixed(fixed) => {
                    let bytes = &mut text[filled..filled + fixed.template.len()];
                    for (number, column) in fixed.numbers.iter().zip(&mut columns) {
                        let (value, count) = column.join(self.row, &wide[used..]);
                        used += count;
                        decimal::write_padded(
                            value,
                            &mut bytes[number.at..number.at + number.len],
                        )?;
                    }
                    sink.push(bytes);
                    id_len += bytes.len();
                    filled += bytes.len();
                }
                Piece::Part { base } => {
                    let value = part
                        .checked_sub(*base)
                        .ok_or(CodecError::Malformed("a part number below its base"))?;
                    let mut buffer = [0; 10];
                    let number = write_decimal(value, &mut buffer);
                    sink.push(number);
                    id_len += number.len();
                }
                Piece::Counted(_) => {
                    if let Some(column) = columns.next() {
                        let (value, count) = column.join(self.row, &wide[used..]);
                        used += count;
                        let value = u64::try_from(value)
                            .map_err(|_| CodecError::Malformed("a negative number"))?;
                        let number = value.to_string();
                        sink.push(number.as_bytes());
                        id_len += number.len();
                    }
                }
                Piece::Variable {
                    alphabet,
                    shortest,
                    longest,
                } => {
                    let mut len = *shortest;
                    if longest > shortest {
                        len += wide[used] as usize;
                        used += 1;
                    }
                    // All digits come before all characters, and characters come in the order of the pieces.
                    take_characters(family.symbols(*alphabet), len, reader, sink)?;
                    id_len += len;
                }
            }
            if id_len > LONGEST_ID {
                return Err(CodecError::Malformed("a message-id that is too long"));
            }
        }
        self.row += 1;
        Ok(size)
    }
}

/// Puts digits row after row.
fn turn(digits: &[[u32; ROWS]], rows: &mut [u32]) {
    for (row, rows) in rows.chunks_exact_mut(digits.len().max(1)).enumerate() {
        for (digit, digits) in rows.iter_mut().zip(digits) {
            *digit = digits[row];
        }
    }
}

/// Characters of a stretch of varying length that are coded together: so many that little is lost.
const fn group_len(radix: usize) -> usize {
    match radix {
        0..=10 => 9,
        11..=16 => 8,
        27..=64 => 5,
        65..=94 => 3,
        _ => 4,
    }
}

/// Appends characters of one alphabet.
///
/// # Errors
/// [`CodecError::Unfaithful`] when there are others.
pub(super) fn put_characters(
    ranks: &[u8; 256],
    symbols: &[u8],
    field: &[u8],
    writer: &mut BitWriter,
) -> Result<(), CodecError> {
    let radix = symbols.len();
    for group in field.chunks(group_len(radix)) {
        let mut value = 0;
        let mut product = 1;
        for byte in group {
            let rank = ranks[*byte as usize];
            if rank == NO_RANK && radix < 256 {
                return Err(CodecError::Unfaithful);
            }
            value = value * radix as u64 + u64::from(rank);
            product *= radix as u64;
        }
        writer.put(value, width_of(product));
    }
    Ok(())
}

/// Takes `len` characters of an alphabet.
///
/// # Errors
/// [`CodecError`] when bits are missing or are no characters.
pub(super) fn take_characters(
    symbols: &[u8],
    len: usize,
    reader: &mut BitReader<'_>,
    sink: &mut impl Sink,
) -> Result<(), CodecError> {
    let radix = symbols.len() as u64;
    let mut left = len;
    while left > 0 {
        let count = left.min(group_len(symbols.len()));
        let product = radix.pow(count as u32);
        let mut value = reader.take(width_of(product))?;
        if value >= product {
            return Err(CodecError::Malformed("a character beyond its alphabet"));
        }
        let mut group = [0; 16];
        for place in group[..count].iter_mut().rev() {
            *place = symbols[(value % radix) as usize];
            value /= radix;
        }
        sink.push(&group[..count]);
        left -= count;
    }
    Ok(())
}

/// The decimal digits of a number.
pub(super) fn write_decimal(value: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return &digits[at..];
        }
    }
}

#[cfg(test)]
mod tests;
