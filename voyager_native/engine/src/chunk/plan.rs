//! Finds what the message-ids of a file have in common.

use std::ops::Range;

use super::alphabet::{ALPHABETS, COST16, kind, kind_of};
use super::coder::write_decimal;
use super::column::Column;
use super::decimal;
use super::grid::CELLS;
use super::joined::{Run, What, alphabet_of, describe, few_symbols, one_item, push_run};
use super::pieces::{Family, Item, Piece};
use super::segments::Segment;
use super::shape::{same_shape, word_len};
use super::survey::{Columns, Look, MARKS, Texts};

/// Describing one more item costs about this, in sixteenths of a bit.
pub(super) const ITEM_COST: u64 = 16 * 16;
/// Describing a number costs about this: its bounds differ from file to file.
const NUMBER_COST: u64 = 3 * ITEM_COST;
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
        // Sixteenths of a bit, without rounding up: a full range is not worth its description.
        let digit_by_digit = changing * count as u64 * 5315 / 100;
        (cost + NUMBER_COST < digit_by_digit).then_some((Item::Number { len, column }, len))
    }
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
