//! Finds what the message-ids of a file have in common.

use std::ops::Range;

use super::alphabet::{
    ALPHABETS, BYTES, COST16, COST16_OF_KINDS, PRINTABLE, SMALLEST, kind, kind_of,
};
use super::coder::write_decimal;
use super::column::Column;
use super::decimal;
use super::grid::CELLS;
use super::pieces::{Family, Item, Piece};
use super::segments::Segment;
use super::survey::{Columns, Look, MARKS, Texts};

/// Describing one more item costs about this, in sixteenths of a bit.
const ITEM_COST: u64 = 16 * 16;
/// Most items, with the alphabets that are listed before them: below what can be read, by the pieces that may follow.
const MOST_ITEMS: usize = 200;

/// Work space of the search.
#[derive(Debug, Default)]
pub(super) struct Planner {
    values: Vec<i64>,
    deltas: Vec<i64>,
    sorted: Vec<i64>,
    pub(super) look: Look,
}

impl Planner {
    /// The family of all these ids, or `None` when they are not built alike.
    pub(super) fn family(&mut self, rows: &[Segment<'_>]) -> Option<Family> {
        self.of_equal_length(rows)
            .or_else(|| self.with_part_number(rows))
            .or_else(|| self.of_equal_shape(rows))
    }

    /// A family for any ids, without any knowledge of how they are built.
    pub(super) fn fallback(&mut self, rows: &[Segment<'_>]) -> Family {
        let mut family = Family::default();
        let at = |row: &Segment<'_>| row.id.iter().rposition(|byte| *byte == b'@');
        if rows.iter().all(|row| at(row).is_some()) {
            let column = |pick: fn(&[u8], usize) -> &[u8]| -> Vec<&[u8]> {
                rows.iter()
                    .map(|row| pick(row.id, at(row).unwrap_or_default()))
                    .collect()
            };
            self.push_field(&mut family, &column(|id, at| &id[..at]), None);
            family.push_fixed(vec![Item::Text { len: 1 }], b"@".to_vec());
            self.push_field(&mut family, &column(|id, at| &id[at + 1..]), None);
        } else {
            let whole: Vec<&[u8]> = rows.iter().map(|row| row.id).collect();
            self.push_field(&mut family, &whole, None);
        }
        family
    }

    fn of_equal_length(&mut self, rows: &[Segment<'_>]) -> Option<Family> {
        let first = rows.first()?.id;
        let at = first.iter().rposition(|byte| *byte == b'@');
        let alike = rows
            .iter()
            .all(|row| row.id.len() == first.len() && at.is_none_or(|at| row.id[at] == b'@'));
        alike.then(|| {
            let mut family = Family::default();
            let texts = Texts::Whole(rows);
            let columns = self.columns(&texts);
            self.push_items(&mut family, &texts, &columns, 0..first.len());
            family
        })
    }

    /// Ids that are equally long but for the part number, which stands at the same place in all.
    fn with_part_number(&mut self, rows: &[Segment<'_>]) -> Option<Family> {
        let (base, before, after) = place_of_part(rows, self.look)?;
        let texts = Texts::Around {
            rows,
            before,
            after,
        };
        let columns = self.columns(&texts);
        let mut family = Family::default();
        if before > 0 {
            self.push_items(&mut family, &texts, &columns, 0..before);
        }
        family.pieces.push(Piece::Part { base });
        if after > 0 {
            self.push_items(&mut family, &texts, &columns, before..before + after);
        }
        Some(family)
    }

    /// Ids with the same separators: the stretches between them are coded one by one.
    fn of_equal_shape(&mut self, rows: &[Segment<'_>]) -> Option<Family> {
        let first = rows.first()?.id;
        if !rows.iter().all(|row| same_shape(first, row.id)) {
            return None;
        }
        let mut family = Family::default();
        let mut rest: Vec<&[u8]> = rows.iter().map(|row| row.id).collect();
        let mut fields: Vec<&[u8]> = Vec::with_capacity(rows.len());
        let parts: Vec<u32> = rows.iter().map(|row| row.part).collect();
        loop {
            fields.clear();
            for id in &mut rest {
                let (field, tail) = id.split_at(word_len(id));
                fields.push(field);
                *id = tail;
            }
            self.push_field(&mut family, &fields, Some(&parts));
            let len = rest[0]
                .iter()
                .take_while(|byte| !byte.is_ascii_alphanumeric())
                .count();
            if len == 0 {
                return Some(family);
            }
            family.push_fixed(vec![Item::Text { len }], rest[0][..len].to_vec());
            for id in &mut rest {
                *id = &id[len..];
            }
        }
    }

    fn push_field(&mut self, family: &mut Family, fields: &[&[u8]], parts: Option<&[u32]>) {
        let shortest = fields.iter().map(|field| field.len()).min().unwrap_or(0);
        let longest = fields.iter().map(|field| field.len()).max().unwrap_or(0);
        if longest == 0 {
            return;
        }
        if shortest == longest {
            let texts = Texts::Fields(fields);
            let columns = self.columns(&texts);
            self.push_items(family, &texts, &columns, 0..longest);
            return;
        }
        if let Some(parts) = parts
            && let Some(base) = [0, 1].into_iter().find(|base| {
                fields
                    .iter()
                    .zip(parts)
                    .all(|(field, part)| plain_decimal(field) == Some(i64::from(*part) - base))
            })
        {
            family.pieces.push(Piece::Part {
                base: base.cast_unsigned() as u32,
            });
            return;
        }
        family
            .lengths
            .push(fields.iter().map(|field| field.len() as u8).collect());
        self.values.clear();
        self.values
            .extend(fields.iter().map_while(|field| plain_decimal(field)));
        let kinds = fields
            .iter()
            .flat_map(|field| field.iter())
            .fold(0, |kinds, byte| kinds | kind_of(*byte));
        let alphabet = alphabet_of(kinds, fields.iter().flat_map(|field| field.iter().copied()));
        if self.values.len() == fields.len() {
            let (column, cost) = self.column();
            let radix = ALPHABETS[alphabet as usize].len();
            let plain: u64 = fields.iter().map(|field| field.len() as u64).sum::<u64>()
                * COST16[radix]
                + fields.len() as u64 * COST16[longest - shortest + 1];
            if cost < plain {
                family.pieces.push(Piece::Counted(column));
                return;
            }
        }
        family.pieces.push(Piece::Variable {
            alphabet,
            shortest,
            longest,
        });
    }

    /// The cheaper of the frames over `self.values` and over their differences, and its cost.
    fn column(&mut self) -> (Column, u64) {
        let plain = Column::plan(&self.values, None, &mut self.sorted);
        let [first, second, ..] = self.values[..] else {
            return plain;
        };
        // The value before the first is chosen so that the first difference is no outlier. What is not all digits
        // has any values; it is found out when the ids are coded.
        let start = first.wrapping_sub(second.wrapping_sub(first));
        self.deltas.clear();
        self.deltas.push(first.wrapping_sub(start));
        let pairs = self.values.windows(2);
        self.deltas
            .extend(pairs.map(|pair| pair[1].wrapping_sub(pair[0])));
        let delta = Column::plan(&self.deltas, Some(start), &mut self.sorted);
        if delta.1 + ITEM_COST < plain.1 {
            delta
        } else {
            plain
        }
    }

    /// What is at each position of texts.
    fn columns(&self, texts: &Texts<'_>) -> Columns {
        let mut columns = Columns::of(texts, self.look);
        if texts.count() <= 3 {
            columns.mark_tokens();
        }
        columns
    }

    /// Adds the description of a stretch of texts to a family.
    fn push_items(
        &mut self,
        family: &mut Family,
        texts: &Texts<'_>,
        columns: &Columns,
        stretch: Range<usize>,
    ) {
        let mut text = [0; CELLS];
        texts.fill(&mut text, 0);
        let template = text[stretch.clone()].to_vec();
        let mut items = self.items(texts, columns, stretch.clone());
        if family.listed().count() + items.len() > MOST_ITEMS {
            items = vec![one_item(texts, stretch)];
        }
        family.push_fixed(items, template);
    }

    /// Describes a stretch of texts, position by position.
    fn items(&mut self, texts: &Texts<'_>, columns: &Columns, stretch: Range<usize>) -> Vec<Item> {
        let count = texts.count();
        let mut runs: Vec<Run> = Vec::with_capacity(stretch.len());
        let mut specials = Vec::new();
        let mut at = stretch.start;
        while at < stretch.end {
            let mut run = Run {
                what: What::Text,
                kinds: 0,
                at,
                len: 1,
            };
            if let Some((item, len)) = self.number(texts, columns, at..stretch.end, stretch.start) {
                run.what = What::Special(specials.len());
                run.len = len;
                specials.push(item);
            } else if columns.varies[at] {
                run.what = What::Varying;
                run.kinds = columns.kinds[at];
                if columns.few[at]
                    && let Some(item) = few_symbols(texts, run.kinds, at)
                {
                    run.what = What::Special(specials.len());
                    specials.push(item);
                }
            }
            at += run.len;
            push_run(&mut runs, run, count as u64, self.look);
        }
        describe(&runs, &mut specials, texts)
    }

    /// A decimal number at the start of a stretch, when storing it as a number is cheaper than digit by digit.
    fn number(
        &mut self,
        texts: &Texts<'_>,
        columns: &Columns,
        stretch: Range<usize>,
        first: usize,
    ) -> Option<(Item, usize)> {
        let kinds = &columns.kinds;
        let bounded = |at: usize| kinds[at] & MARKS != 0;
        let at = stretch.start;
        let count = texts.count();
        if count < 4 || kinds[at] != kind::DIGIT || !(at == first || bounded(at - 1)) {
            return None;
        }
        let digits = stretch.clone().take_while(|at| kinds[*at] == kind::DIGIT);
        let (mut len, mut changing) = (0, 0);
        for at in digits {
            len += 1;
            changing += u64::from(columns.varies[at]);
        }
        let end = at + len;
        if !(5..=18).contains(&len) || changing == 0 || !(end == stretch.end || bounded(end)) {
            return None;
        }
        self.values.clear();
        for row in 0..count {
            let value = if let Some(digits) = texts.slice(row, at..end) {
                decimal::value_of(digits)
            } else {
                let mut digits = [0; 18];
                for (digit, at) in digits.iter_mut().zip(at..end) {
                    *digit = texts.byte(row, at);
                }
                decimal::value_of(&digits[..len])
            };
            self.values.push(value);
        }
        let (column, cost) = self.column();
        (cost + ITEM_COST < changing * count as u64 * COST16[10])
            .then_some((Item::Number { len, column }, len))
    }
}

/// What neighbouring positions hold while they are being joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// The same in all rows.
    Text,
    /// Characters of the alphabet of their kinds.
    Varying,
    /// An item that is ready, by its index.
    Special(usize),
}

/// Neighbouring positions that are described together.
#[derive(Clone, Copy, Debug)]
struct Run {
    what: What,
    kinds: u8,
    at: usize,
    len: usize,
}

/// A stretch of texts as characters of one alphabet.
fn one_item(texts: &Texts<'_>, stretch: Range<usize>) -> Item {
    let mut run = Run {
        what: What::Varying,
        kinds: 0,
        at: stretch.start,
        len: stretch.len(),
    };
    run.kinds = run
        .characters(texts)
        .fold(0, |kinds, byte| kinds | kind_of(byte));
    Item::Run {
        alphabet: run.alphabet(texts),
        len: run.len,
    }
}

/// A listed alphabet of up to four symbols, when that is cheaper than the alphabet of the kinds.
fn few_symbols(texts: &Texts<'_>, kinds: u8, at: usize) -> Option<Item> {
    let count = texts.count();
    let mut seen = [0u64; 4];
    // Most positions that seem to have few symbols show more of them soon.
    for start in (0..count).step_by(16) {
        for row in start..count.min(start + 16) {
            let byte = texts.byte(row, at);
            seen[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
        if seen.iter().map(|some| some.count_ones()).sum::<u32>() > 4 {
            return None;
        }
    }
    let mut symbols = Vec::with_capacity(4);
    for (quarter, mut some) in (0..4u8).zip(seen) {
        while some != 0 {
            symbols.push(quarter << 6 | some.trailing_zeros() as u8);
            some &= some - 1;
        }
    }
    let len = symbols.len();
    let gain = COST16_OF_KINDS[kinds as usize].saturating_sub(COST16[len]) * count as u64;
    (gain > ITEM_COST + 128 * len as u64).then_some(Item::Listed { symbols, len: 1 })
}

/// Appends a run; joins it with those before it where describing them apart costs more than it saves.
fn push_run(runs: &mut Vec<Run>, mut run: Run, count: u64, look: Look) {
    let cost = |kinds: u8| COST16_OF_KINDS[kinds as usize];
    // Letters a-f alone are letters, with digits they are hexadecimal: a union may be cheaper.
    let loss = |union: u8, run: &Run| run.len as u64 * cost(union).saturating_sub(cost(run.kinds));
    while let Some(before) = runs.last_mut() {
        match (before.what, run.what) {
            (What::Text, What::Text) => {}
            (What::Varying, What::Varying) => {
                let union = before.kinds | run.kinds;
                // Digits are so few of the letters and digits that some characters may have none by chance.
                let is_chance = (before.kinds ^ run.kinds) == kind::DIGIT;
                let count = if is_chance { look.looked(count) } else { count };
                if (loss(union, before) + loss(union, &run)) * count >= ITEM_COST {
                    break;
                }
                run.kinds = union;
            }
            _ => break,
        }
        run.at = before.at;
        run.len += before.len;
        runs.pop();
    }
    runs.push(run);
}

/// Turns runs into items; single positions of two alphabets in turn become one item.
fn describe(runs: &[Run], specials: &mut [Item], texts: &Texts<'_>) -> Vec<Item> {
    let mut items = Vec::with_capacity(runs.len());
    let mut at = 0;
    while let Some(run) = runs.get(at) {
        let rest = &runs[at..];
        at += 1;
        match run.what {
            What::Text => items.push(Item::Text { len: run.len }),
            What::Special(index) => {
                let taken = Item::Text { len: 0 };
                items.push(std::mem::replace(&mut specials[index], taken));
            }
            What::Varying => {
                let in_turn = |(step, next): &(usize, &Run)| {
                    next.what == What::Varying
                        && next.len == 1
                        && next.smallest() == rest[step % 2].smallest()
                };
                let turns = rest.iter().enumerate().take_while(in_turn).count();
                if turns < 4 {
                    items.push(run.plain_item(texts));
                    continue;
                }
                // Of one smallest alphabet, but some may have bytes beyond it.
                let alphabet = |first: usize| {
                    let turn = rest[first..turns].iter().step_by(2);
                    turn.map(|run| run.alphabet(texts)).max().unwrap_or(BYTES)
                };
                items.push(Item::Alternating {
                    even: alphabet(0),
                    odd: alphabet(1),
                    len: turns,
                });
                at += turns - 1;
            }
        }
    }
    items
}

impl Run {
    fn range(&self) -> Range<usize> {
        self.at..self.at + self.len
    }

    fn smallest(&self) -> u8 {
        SMALLEST[self.kinds as usize]
    }

    /// Every character at the positions of the run.
    fn characters<'a>(&self, texts: &'a Texts<'_>) -> impl Iterator<Item = u8> + use<'a> {
        let range = self.range();
        (0..texts.count()).flat_map(move |row| range.clone().map(move |at| texts.byte(row, at)))
    }

    fn alphabet(&self, texts: &Texts<'_>) -> u8 {
        alphabet_of(self.kinds, self.characters(texts))
    }

    fn plain_item(&self, texts: &Texts<'_>) -> Item {
        let alphabet = self.alphabet(texts);
        let len = self.len;
        let count = texts.count();
        if alphabet >= 9 && count * len >= 64 {
            let mut seen = [false; 256];
            for byte in self.characters(texts) {
                seen[usize::from(byte)] = true;
            }
            let symbols: Vec<u8> = (0..=254).filter(|byte| seen[usize::from(*byte)]).collect();
            let saved = COST16[ALPHABETS[usize::from(alphabet)].len()]
                .saturating_sub(COST16[symbols.len().max(1)]);
            let worth = saved * (count * len) as u64 > 128 * symbols.len() as u64;
            if worth && symbols.len() >= 2 && !seen[255] {
                return Item::Listed { symbols, len };
            }
        }
        Item::Run { alphabet, len }
    }
}

/// Number of the smallest fixed alphabet that holds characters of these kinds.
fn alphabet_of(kinds: u8, characters: impl IntoIterator<Item = u8>) -> u8 {
    let alphabet = SMALLEST[kinds as usize];
    let beyond = |byte: u8| !(33..=126).contains(&byte);
    if alphabet == PRINTABLE && characters.into_iter().any(beyond) {
        return BYTES;
    }
    alphabet
}

/// The value of a decimal number without leading zeros, of at most 18 digits.
fn plain_decimal(field: &[u8]) -> Option<i64> {
    let plain = (1..=18).contains(&field.len())
        && (field[0] != b'0' || field.len() == 1)
        && field.iter().all(u8::is_ascii_digit);
    plain.then(|| {
        field
            .iter()
            .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'))
    })
}

/// Whether two ids have the same separators in the same order.
fn same_shape(left: &[u8], right: &[u8]) -> bool {
    let mut left = left;
    let mut right = right;
    loop {
        let (left_word, right_word) = (word_len(left), word_len(right));
        if (left_word == 0) != (right_word == 0) {
            return false;
        }
        left = &left[left_word..];
        right = &right[right_word..];
        match (left.split_first(), right.split_first()) {
            (None, None) => return true,
            (Some((left_mark, left_rest)), Some((right_mark, right_rest)))
                if left_mark == right_mark =>
            {
                left = left_rest;
                right = right_rest;
            }
            _ => return false,
        }
    }
}

/// A number that is the same for ids of one shape: a hash of their separators.
pub(super) fn shape_of(id: &[u8]) -> u64 {
    let mut shape = 0u64;
    let mut word_start = 0;
    let (eights, rest) = id.as_chunks();
    let mut last = [b'0'; 8];
    last[..rest.len()].copy_from_slice(rest);
    for (start, eight) in (0..).step_by(8).zip(eights.iter().chain([&last])) {
        let mut marks = marks_of(u64::from_le_bytes(*eight));
        while marks != 0 {
            let at = start + (marks.trailing_zeros() / 8) as usize;
            marks &= marks - 1;
            let mark = u64::from(id[at]) << 1 | u64::from(at > word_start);
            shape = (shape.rotate_left(5) ^ mark).wrapping_mul(0x517c_c1b7_2722_0a95);
            word_start = at + 1;
        }
    }
    shape << 1 | u64::from(id.len() > word_start)
}

/// The highest bits of those of eight bytes that are neither letters nor digits.
const fn marks_of(bytes: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    // The highest bit of a sum says that a byte without its own is at least that character.
    let low = bytes & (0x7f * ONES);
    let small = low | (0x20 * ONES);
    let digit = (low + (0x80 - b'0' as u64) * ONES) & !(low + (0x7f - b'9' as u64) * ONES);
    let letter = (small + (0x80 - b'a' as u64) * ONES) & !(small + (0x7f - b'z' as u64) * ONES);
    !((digit | letter) & !bytes) & (0x80 * ONES)
}

/// Length of the letters and digits at the start.
fn word_len(id: &[u8]) -> usize {
    id.iter()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count()
}

/// Where the part number stands in all ids: what is taken off it, bytes before it, bytes after it.
///
/// The parts ascend.
fn place_of_part(rows: &[Segment<'_>], look: Look) -> Option<(u32, usize, usize)> {
    let longest = rows.last()?;
    let step = look.step(rows.len());
    let mut digits = [0; 10];
    for base in [0, 1] {
        let Some(value) = longest.part.checked_sub(base) else {
            continue;
        };
        let wanted = write_decimal(value, &mut digits).to_vec();
        for (before, window) in longest.id.windows(wanted.len()).enumerate() {
            if window[0] != wanted[0] || window != wanted {
                continue;
            }
            let after = longest.id.len() - before - wanted.len();
            let everywhere = rows.iter().step_by(step).all(|row| {
                let Some(value) = row.part.checked_sub(base) else {
                    return false;
                };
                let mut digits = [0; 10];
                let number = write_decimal(value, &mut digits);
                row.id.len() == before + number.len() + after
                    && row.id[before..].starts_with(number)
            });
            // Those that are not looked at must be long enough for the texts around the part.
            let shortest = || rows.iter().map(|row| row.id.len()).min().unwrap_or(0);
            if everywhere && (step == 1 || shortest() >= before + after) {
                return Some((base, before, after));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_letter_nor_digit_is_a_mark() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                let mut bytes = *b"a0Z9zA5b";
                bytes[place] = byte;
                let mark = u64::from(!byte.is_ascii_alphanumeric()) << (8 * place + 7);
                assert_eq!(marks_of(u64::from_le_bytes(bytes)), mark);
            }
        }
    }
}
