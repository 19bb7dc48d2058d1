//! Finds what the message-ids of a file have in common.

use super::alphabet::{ALPHABETS, BYTES, PRINTABLE, SMALLEST, cost16, kind, kind_of};
use super::coder::write_decimal;
use super::column::Column;
use super::pieces::{Family, Item, Piece};

/// One message-id and the part number of its segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) part: u32,
    pub(super) id: &'a [u8],
}

/// Describing one more item costs about this, in sixteenths of a bit.
const ITEM_COST: u64 = 16 * 16;

/// Work space of the search.
#[derive(Debug, Default)]
pub(super) struct Planner {
    values: Vec<i64>,
    deltas: Vec<i64>,
    sorted: Vec<i64>,
}

impl Planner {
    /// The family of all these ids, or `None` when they are not built alike.
    pub(super) fn family(&mut self, rows: &[Row<'_>]) -> Option<Family> {
        self.of_equal_length(rows)
            .or_else(|| self.with_part_number(rows))
            .or_else(|| self.of_equal_shape(rows))
    }

    /// A family for any ids, without any knowledge of how they are built.
    pub(super) fn fallback(&mut self, rows: &[Row<'_>]) -> Family {
        let mut family = Family::default();
        let at = |row: &Row<'_>| row.id.iter().rposition(|byte| *byte == b'@');
        if rows.iter().all(|row| at(row).is_some()) {
            let column = |pick: fn(&[u8], usize) -> &[u8]| -> Vec<&[u8]> {
                rows.iter()
                    .map(|row| pick(row.id, at(row).unwrap_or_default()))
                    .collect()
            };
            self.push_field(&mut family, &column(|id, at| &id[..at]), None);
            family.push_fixed(vec![Item::Text(b"@".to_vec())]);
            self.push_field(&mut family, &column(|id, at| &id[at + 1..]), None);
        } else {
            let whole: Vec<&[u8]> = rows.iter().map(|row| row.id).collect();
            self.push_field(&mut family, &whole, None);
        }
        family
    }

    fn of_equal_length(&mut self, rows: &[Row<'_>]) -> Option<Family> {
        let first = rows.first()?.id;
        let at = first.iter().rposition(|byte| *byte == b'@');
        let alike = rows
            .iter()
            .all(|row| row.id.len() == first.len() && at.is_none_or(|at| row.id[at] == b'@'));
        alike.then(|| {
            let mut family = Family::default();
            family.push_fixed(self.items(rows.len(), |row| rows[row].id));
            family
        })
    }

    /// Ids that are equally long but for the part number, which stands at the same place in all.
    fn with_part_number(&mut self, rows: &[Row<'_>]) -> Option<Family> {
        let (base, before, after) = place_of_part(rows)?;
        let tail = |row: usize| {
            let id = rows[row].id;
            &id[id.len() - after..]
        };
        let mut family = Family::default();
        if before > 0 {
            family.push_fixed(self.items(rows.len(), |row| &rows[row].id[..before]));
        }
        family.pieces.push(Piece::Part { base });
        if after > 0 {
            family.push_fixed(self.items(rows.len(), tail));
        }
        Some(family)
    }

    /// Ids with the same separators: the stretches between them are coded one by one.
    fn of_equal_shape(&mut self, rows: &[Row<'_>]) -> Option<Family> {
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
            family.push_fixed(vec![Item::Text(rest[0][..len].to_vec())]);
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
            family.push_fixed(self.items(fields.len(), |row| fields[row]));
            return;
        }
        if let Some(parts) = parts
            && let Some(base) = [0, 1].into_iter().find(|base| {
                fields
                    .iter()
                    .zip(parts)
                    .all(|(field, part)| decimal(field) == Some(i64::from(*part) - base))
            })
        {
            family.pieces.push(Piece::Part { base: base as u32 });
            return;
        }
        family
            .lengths
            .push(fields.iter().map(|field| field.len() as u8).collect());
        self.values.clear();
        self.values
            .extend(fields.iter().map_while(|field| decimal(field)));
        let kinds = fields
            .iter()
            .flat_map(|field| field.iter())
            .fold(0, |kinds, byte| kinds | kind_of(*byte));
        let alphabet = alphabet_of(kinds, fields.iter().copied());
        if self.values.len() == fields.len() {
            let (column, cost) = self.column();
            let radix = ALPHABETS[alphabet as usize].len();
            let plain: u64 = fields.iter().map(|field| field.len() as u64).sum::<u64>()
                * cost16(radix)
                + fields.len() as u64 * cost16(longest - shortest + 1);
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
        // The value before the first is chosen so that the first difference is no outlier.
        let start = first - (second - first);
        self.deltas.clear();
        self.deltas.push(first - start);
        self.deltas
            .extend(self.values.windows(2).map(|pair| pair[1] - pair[0]));
        let delta = Column::plan(&self.deltas, Some(start), &mut self.sorted);
        if delta.1 + ITEM_COST < plain.1 {
            delta
        } else {
            plain
        }
    }

    /// Describes rows of equal length, position by position.
    fn items<'a>(&mut self, count: usize, row: impl Fn(usize) -> &'a [u8]) -> Vec<Item> {
        let first = row(0);
        let len = first.len();
        let mut kinds = [0u8; 256];
        let mut varies = [0u8; 256];
        for index in 0..count {
            let bytes = &row(index)[..len];
            for (((kinds, varies), byte), first) in kinds[..len]
                .iter_mut()
                .zip(&mut varies[..len])
                .zip(bytes)
                .zip(first)
            {
                *kinds |= kind_of(*byte);
                *varies |= byte ^ first;
            }
        }
        let (kinds, varies) = (&kinds[..len], &mut varies[..len]);
        if count <= 3 {
            mark_tokens(first, kinds, varies);
        }
        let mut runs: Vec<Run> = Vec::new();
        let mut at = 0;
        while at < len {
            if let Some((run, number_len)) = self.number(count, &row, kinds, varies, at) {
                runs.push(Run {
                    item: Some(run),
                    kinds: 0,
                    at,
                    len: number_len,
                });
                at += number_len;
                continue;
            }
            let item = if varies[at] == 0 {
                Some(Item::Text(vec![first[at]]))
            } else {
                few_symbols(count, &row, kinds[at], at)
            };
            runs.push(Run {
                item,
                kinds: kinds[at],
                at,
                len: 1,
            });
            at += 1;
        }
        let runs = merge(runs, count as u64);
        alternate(&runs, count, &row)
    }

    /// A decimal number that starts at `at`, when storing it as a number is cheaper than digit by digit.
    fn number<'a>(
        &mut self,
        count: usize,
        row: &impl Fn(usize) -> &'a [u8],
        kinds: &[u8],
        varies: &[u8],
        at: usize,
    ) -> Option<(Item, usize)> {
        let bounded = |at: usize| kinds[at] & (kind::OTHER | kind::DASH | kind::DOLLAR) != 0;
        if count < 4 || kinds[at] != kind::DIGIT || !(at == 0 || bounded(at - 1)) {
            return None;
        }
        let len = kinds[at..]
            .iter()
            .take_while(|k| **k == kind::DIGIT)
            .count();
        let end = at + len;
        let changing = varies[at..end].iter().filter(|v| **v != 0).count() as u64;
        if !(5..=18).contains(&len) || changing == 0 || !(end == kinds.len() || bounded(end)) {
            return None;
        }
        self.values.clear();
        for index in 0..count {
            self.values.push(
                row(index)[at..end]
                    .iter()
                    .fold(0, |value, digit| value * 10 + i64::from(digit - b'0')),
            );
        }
        let (column, cost) = self.column();
        (cost + ITEM_COST < changing * count as u64 * cost16(10))
            .then_some((Item::Number { len, column }, len))
    }
}

/// Neighbouring positions while they are being merged; without an item they are of the alphabet of `kinds`.
#[derive(Debug)]
struct Run {
    item: Option<Item>,
    kinds: u8,
    at: usize,
    len: usize,
}

/// In one to three ids much is equal by chance: long words of letters and digits count as varying.
fn mark_tokens(first: &[u8], kinds: &[u8], varies: &mut [u8]) {
    let word = |at: &usize| kinds[*at] & (kind::OTHER | kind::DASH | kind::DOLLAR) == 0;
    let mut at = 0;
    while at < first.len() {
        let len = (at..first.len()).take_while(word).count();
        if len >= 8 {
            varies[at..at + len].fill(1);
        }
        at += len.max(1);
    }
}

/// A listed alphabet of up to four symbols, when that is cheaper than the alphabet of the kinds.
fn few_symbols<'a>(
    count: usize,
    row: &impl Fn(usize) -> &'a [u8],
    kinds: u8,
    at: usize,
) -> Option<Item> {
    if count < 16 {
        return None;
    }
    let mut symbols: Vec<u8> = Vec::with_capacity(5);
    for index in 0..count {
        let byte = row(index)[at];
        if !symbols.contains(&byte) {
            if symbols.len() == 4 {
                return None;
            }
            symbols.push(byte);
        }
    }
    symbols.sort_unstable();
    let radix = ALPHABETS[SMALLEST[kinds as usize] as usize].len();
    let gain = cost16(radix).saturating_sub(cost16(symbols.len())) * count as u64;
    (gain > ITEM_COST + 128 * symbols.len() as u64).then_some(Item::Listed { symbols, len: 1 })
}

/// Joins neighbours where describing them apart costs more than it saves.
fn merge(runs: Vec<Run>, count: u64) -> Vec<Run> {
    let cost = |kinds: u8| cost16(ALPHABETS[SMALLEST[kinds as usize] as usize].len());
    // Letters a-f alone are letters, with digits they are hexadecimal: a union may be cheaper.
    let loss = |union: u8, run: &Run| run.len as u64 * cost(union).saturating_sub(cost(run.kinds));
    let mut out: Vec<Run> = Vec::new();
    for mut run in runs {
        while let Some(before) = out.last_mut() {
            match (&mut before.item, &run.item) {
                (Some(Item::Text(text)), Some(Item::Text(more))) => {
                    text.extend_from_slice(more);
                    before.len += run.len;
                }
                (None, None) => {
                    let union = before.kinds | run.kinds;
                    if (loss(union, before) + loss(union, &run)) * count >= ITEM_COST {
                        break;
                    }
                    run.at = before.at;
                    run.len += before.len;
                    run.kinds = union;
                    out.pop();
                    continue;
                }
                _ => break,
            }
            run.len = 0;
            break;
        }
        if run.len > 0 {
            out.push(run);
        }
    }
    out
}

/// Turns runs into items; single positions of two alphabets in turn become one item.
fn alternate<'a>(runs: &[Run], count: usize, row: &impl Fn(usize) -> &'a [u8]) -> Vec<Item> {
    let mut items = Vec::with_capacity(runs.len());
    let mut at = 0;
    while at < runs.len() {
        let run = &runs[at];
        if let Some(item) = &run.item {
            items.push(item.clone());
            at += 1;
            continue;
        }
        let turns = runs[at..]
            .iter()
            .enumerate()
            .take_while(|(step, next)| {
                next.item.is_none()
                    && next.len == 1
                    && next.kinds_class() == runs[at + step % 2].kinds_class()
            })
            .count();
        if turns >= 4 {
            items.push(Item::Alternating {
                even: run.alphabet(count, row),
                odd: runs[at + 1].alphabet(count, row),
                len: turns,
            });
            at += turns;
            continue;
        }
        items.push(run.plain_item(count, row));
        at += 1;
    }
    items
}

impl Run {
    fn kinds_class(&self) -> u8 {
        SMALLEST[self.kinds as usize]
    }

    fn alphabet<'a>(&self, count: usize, row: &impl Fn(usize) -> &'a [u8]) -> u8 {
        alphabet_of(
            self.kinds,
            (0..count).map(|index| &row(index)[self.at..self.at + self.len]),
        )
    }

    fn plain_item<'a>(&self, count: usize, row: &impl Fn(usize) -> &'a [u8]) -> Item {
        let alphabet = self.alphabet(count, row);
        let len = self.len;
        if alphabet >= 9 && count * len >= 64 {
            let mut seen = [false; 256];
            for index in 0..count {
                for byte in &row(index)[self.at..self.at + len] {
                    seen[*byte as usize] = true;
                }
            }
            let symbols: Vec<u8> = (0..=254).filter(|byte| seen[*byte as usize]).collect();
            let saved = cost16(ALPHABETS[alphabet as usize].len())
                .saturating_sub(cost16(symbols.len().max(1)));
            let worth = saved * (count * len) as u64 > 128 * symbols.len() as u64;
            if worth && symbols.len() >= 2 && !seen[255] {
                return Item::Listed { symbols, len };
            }
        }
        Item::Run { alphabet, len }
    }
}

/// Number of the smallest fixed alphabet that holds bytes of these kinds.
fn alphabet_of<'a>(kinds: u8, fields: impl IntoIterator<Item = &'a [u8]>) -> u8 {
    let alphabet = SMALLEST[kinds as usize];
    let beyond = |byte: &u8| !(33..=126).contains(byte);
    if alphabet == PRINTABLE && fields.into_iter().any(|field| field.iter().any(beyond)) {
        return BYTES;
    }
    alphabet
}

/// The value of a decimal number without leading zeros, of at most 18 digits.
fn decimal(field: &[u8]) -> Option<i64> {
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
pub(super) fn same_shape(left: &[u8], right: &[u8]) -> bool {
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

/// Length of the letters and digits at the start.
fn word_len(id: &[u8]) -> usize {
    id.iter()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count()
}

/// Where the part number stands in all ids: what is taken off it, bytes before it, bytes after it.
fn place_of_part(rows: &[Row<'_>]) -> Option<(u32, usize, usize)> {
    let longest = rows.iter().max_by_key(|row| (row.part, row.id))?;
    let mut digits = [0; 10];
    for base in [0, 1] {
        let Some(value) = longest.part.checked_sub(base) else {
            continue;
        };
        let wanted = write_decimal(value, &mut digits).to_vec();
        for (before, window) in longest.id.windows(wanted.len()).enumerate() {
            if window != wanted {
                continue;
            }
            let after = longest.id.len() - before - wanted.len();
            let everywhere = rows.iter().all(|row| {
                let Some(value) = row.part.checked_sub(base) else {
                    return false;
                };
                let mut digits = [0; 10];
                let number = write_decimal(value, &mut digits);
                row.id.len() == before + number.len() + after
                    && row.id[before..].starts_with(number)
            });
            if everywhere {
                return Some((base, before, after));
            }
        }
    }
    None
}
