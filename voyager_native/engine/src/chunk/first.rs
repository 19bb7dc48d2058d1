//! Whether a message-id is the first one of a record.
//!
//! Decoding prepares for many segments, which takes longer than one of them does. Here the first one alone is
//! put together, from what its header says. What has a form that is not provided for is no match, as is what
//! decoding refuses: then decoding decides. A match must never be another one than decoding gives, since the id
//! of a file is left out where it matches.

use super::alphabet::{ALPHABETS, DIGITS};
use super::bell::Bell;
use super::bits::{BitReader, Reader, unzigzag};
use super::coder::write_decimal;
use super::decimal;
use super::grid::radix_for;
use super::lanes::{RADIX_BITS, RADIX_LIMIT, cheapest_lanes, width_of};
use super::lone;
use super::parts::read_first;
use super::pieces::{
    ALTERNATING, COUNTED, FIRST_LISTED, FIXED, LISTED, LONGEST_ID, NUMBER, PART, TEXT,
};
use super::record::{MOST_FAMILIES, Parts, Version};

/// Finds first message-ids, one after the other, with the same work space.
#[derive(Debug, Default)]
pub(super) struct FirstId {
    /// The characters of the fixed pieces, one after the other.
    text: Vec<u8>,
    spots: Vec<Spot>,
    /// The size, then the numbers of the id.
    numbers: Vec<Number>,
    steps: Vec<Step>,
    /// Radices of the digits in lanes.
    radices: Vec<u32>,
    digits: Vec<u32>,
    layout: Layout,
    /// Alphabets of its own that the family has.
    listed: usize,
    id: Vec<u8>,
    sizes: Vec<i64>,
    /// The id of a record of one segment.
    lone: Vec<u8>,
}

/// The lanes of the last radices: those of the next file are often the same.
#[derive(Debug, Default)]
struct Layout {
    radices: Vec<u32>,
    costs: Vec<(u32, usize)>,
    /// Start, end and width of each.
    lanes: Vec<(usize, usize, u32)>,
}

/// A varying position of the text.
#[derive(Clone, Copy, Debug)]
struct Spot {
    at: usize,
    alphabet: u8,
    /// Where the symbols of a listed alphabet are in the header.
    from: usize,
    count: usize,
    radix: u16,
}

/// A column of numbers, of which only the first is wanted.
#[derive(Clone, Copy, Debug)]
struct Number {
    /// Where it stands in the text, and how long it is; nothing when it has its own length.
    at: usize,
    len: usize,
    low: i64,
    radix: u64,
    start: Option<i64>,
    listed: Option<i64>,
}

impl Number {
    /// A column of one value.
    const fn always(value: i64) -> Self {
        Self {
            at: 0,
            len: 0,
            low: value,
            radix: 1,
            start: None,
            listed: None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many characters of the text.
    Text(usize),
    /// The part number less this.
    Part(u32),
    /// The number at this place of the numbers.
    Counted(usize),
}

impl FirstId {
    /// Whether `id` surely is the first message-id of this record, which is whole.
    pub(super) fn is(&mut self, record: &Parts<'_>, id: &[u8]) -> bool {
        let mut found = std::mem::take(&mut self.lone);
        let is_lone = lone::read(record, &mut found).map(|segment| segment.id == id);
        self.lone = found;
        if let Some(is_same) = is_lone {
            return is_same;
        }
        self.find(record).is_some() && self.id == id
    }

    fn find(&mut self, record: &Parts<'_>) -> Option<()> {
        let Parts {
            version,
            header,
            body,
        } = *record;
        let mut reader = Reader::new(header);
        // Every segment has a bit at least.
        let (count, part) = read_first(&mut reader, body.len().saturating_mul(8))?;
        self.numbers.clear();
        self.numbers.push(match version {
            Version::One => read_number(&mut reader, count)?,
            Version::Two if count == 1 => return None,
            Version::Two => {
                let bell = Bell::read(&mut reader, count).ok()?;
                bell.take(1, body, &mut self.sizes).ok()?;
                Number::always(*self.sizes.first()?)
            }
        });
        let families = reader.count(MOST_FAMILIES).ok().filter(|some| *some > 0)?;
        let mut starts = [reader; MOST_FAMILIES];
        for start in &mut starts[..families] {
            *start = reader;
            self.read_family(header, &mut reader, count)?;
        }
        if families != 1 {
            let mut choices = BitReader::new(reader.rest());
            let choice = choices.take(width_of(families as u64)).ok()? as usize;
            let mut start = *starts[..families].get(choice)?;
            self.read_family(header, &mut start, count)?;
        }
        self.take(header, body)?;
        self.put_together(part)
    }

    /// Reads a family; of the numbers only the size stays.
    fn read_family(&mut self, header: &[u8], reader: &mut Reader<'_>, count: usize) -> Option<()> {
        self.numbers.truncate(1);
        self.text.clear();
        self.spots.clear();
        self.steps.clear();
        self.listed = 0;
        for _ in 0..reader.count(LONGEST_ID).ok()? {
            match reader.byte().ok()? {
                FIXED => {
                    let start = self.text.len();
                    let items = reader.count(LONGEST_ID).ok()?;
                    if self.listed + items > LONGEST_ID - usize::from(FIRST_LISTED) {
                        return None;
                    }
                    for _ in 0..items {
                        self.read_item(header, reader, count)?;
                    }
                    self.steps.push(Step::Text(self.text.len() - start));
                }
                PART => self.steps.push(Step::Part(reader.varint32().ok()?)),
                COUNTED => {
                    self.steps.push(Step::Counted(self.numbers.len()));
                    self.numbers.push(read_number(reader, count)?);
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn read_item(&mut self, header: &[u8], reader: &mut Reader<'_>, count: usize) -> Option<()> {
        let head = reader.byte().ok()?;
        let len = match head >> 5 {
            0 => reader.count(LONGEST_ID).ok()?,
            short => usize::from(short),
        };
        let at = self.text.len();
        if len == 0 || at + len > LONGEST_ID {
            return None;
        }
        let kind = head & 31;
        if kind == TEXT {
            self.text.extend_from_slice(reader.bytes(len).ok()?);
            return Some(());
        }
        self.text.resize(at + len, 0);
        let spot = |alphabet: u8| {
            Some(Spot {
                at,
                alphabet,
                from: 0,
                count: 0,
                radix: radix_for(ALPHABETS.get(usize::from(alphabet))?.len()),
            })
        };
        let (even, odd) = match kind {
            ALTERNATING => {
                let pair = reader.byte().ok()?;
                (spot(pair & 15)?, spot(pair >> 4)?)
            }
            LISTED => {
                let count = reader.count(LONGEST_ID).ok()?;
                let from = header.len() - reader.rest().len();
                let symbols = reader.bytes(count).ok()?;
                if !symbols.is_sorted_by(|left, right| left < right) {
                    return None;
                }
                self.listed += 1;
                let spot = Spot {
                    at,
                    alphabet: FIRST_LISTED,
                    from,
                    count,
                    radix: (count > 1).then(|| radix_for(count))?,
                };
                (spot, spot)
            }
            NUMBER => {
                let number = read_number(reader, count)?;
                self.numbers.push(Number { at, len, ..number });
                return (len <= 18).then_some(());
            }
            DIGITS.. => (spot(kind)?, spot(kind)?),
        };
        for place in 0..len {
            let spot = if place % 2 == 0 { even } else { odd };
            self.spots.push(Spot {
                at: at + place,
                ..spot
            });
        }
        Some(())
    }

    /// Takes the digits of the first segment, and puts its characters into the text.
    fn take(&mut self, header: &[u8], body: &[u8]) -> Option<()> {
        self.radices.clear();
        for number in &self.numbers {
            let mut rest = number.radix;
            while rest > 1 {
                self.radices.push(rest.min(RADIX_LIMIT) as u32);
                rest = rest.div_ceil(RADIX_LIMIT);
            }
        }
        let wide = self.radices.len();
        let small = self.spots.iter().map(|spot| spot.radix);
        let small = small.filter(|radix| !radix.is_power_of_two());
        self.radices.extend(small.map(u32::from));
        self.layout.of(&self.radices);
        self.digits.clear();
        self.digits.resize(self.radices.len(), 0);
        let mut bits = BitReader::new(body);
        for &(start, end, width) in &self.layout.lanes {
            let mut value = u32::try_from(bits.take(width).ok()?).ok()?;
            let digits = self.digits[start..end].iter_mut();
            for (digit, radix) in digits.zip(&self.radices[start..end]).rev() {
                *digit = value % radix;
                value /= radix;
            }
            if value != 0 {
                return None;
            }
        }
        let mut small = self.digits[wide..].iter();
        for spot in &self.spots {
            let rank = if spot.radix.is_power_of_two() {
                bits.take(spot.radix.trailing_zeros()).ok()? as usize
            } else {
                *small.next()? as usize
            };
            let symbols = match ALPHABETS.get(usize::from(spot.alphabet)) {
                Some(symbols) => symbols,
                None => &header[spot.from..spot.from + spot.count],
            };
            self.text[spot.at] = *symbols.get(rank)?;
        }
        Some(())
    }

    fn put_together(&mut self, part: u32) -> Option<()> {
        let mut digits = self.digits.iter();
        self.id.clear();
        for (place, number) in self.numbers.iter_mut().enumerate() {
            let mut distance = 0u64;
            let (mut rest, mut shift) = (number.radix, 0);
            while rest > 1 {
                distance |= u64::from(*digits.next()?).checked_shl(shift)?;
                rest = rest.div_ceil(RADIX_LIMIT);
                shift += RADIX_BITS;
            }
            let value = number.low.wrapping_add_unsigned(distance);
            let value = number.listed.unwrap_or(value);
            if place == 0 {
                // The size, which is none of the differences.
                u32::try_from(value).ok()?;
                continue;
            }
            // From here on it is the value.
            number.low = value.wrapping_add(number.start.unwrap_or(0));
            if number.len > 0 {
                let place = &mut self.text[number.at..number.at + number.len];
                decimal::write_padded(number.low, place).ok()?;
            }
        }
        let mut text = Reader::new(&self.text);
        let mut buffer = [0; 10];
        for step in &self.steps {
            match *step {
                Step::Text(len) => self.id.extend_from_slice(text.bytes(len).ok()?),
                Step::Part(base) => {
                    let value = part.checked_sub(base)?;
                    self.id.extend_from_slice(write_decimal(value, &mut buffer));
                }
                Step::Counted(place) => {
                    let value = u64::try_from(self.numbers[place].low).ok()?;
                    self.id.extend_from_slice(value.to_string().as_bytes());
                }
            }
        }
        (self.id.len() <= LONGEST_ID).then_some(())
    }
}

impl Layout {
    fn of(&mut self, radices: &[u32]) {
        if self.radices == radices {
            return;
        }
        self.radices.clear();
        self.radices.extend_from_slice(radices);
        cheapest_lanes(radices, &mut self.costs);
        self.lanes.clear();
        let mut end = radices.len();
        while end > 0 {
            let start = self.costs[end].1;
            let width = self.costs[end].0 - self.costs[start].0;
            self.lanes.push((start, end, width));
            end = start;
        }
        self.lanes.reverse();
    }
}

fn read_number(reader: &mut Reader<'_>, count: usize) -> Option<Number> {
    let head = reader.count(count.checked_mul(2)?.checked_add(1)?).ok()?;
    let start = match head & 1 {
        1 => Some(unzigzag(reader.varint().ok()?)),
        _ => None,
    };
    let low = unzigzag(reader.varint().ok()?);
    let radix = reader.varint().ok()?;
    if radix == 0 || radix > 1 << 62 {
        return None;
    }
    let (mut listed, mut row) = (None, 0u64);
    for place in 0..head >> 1 {
        row = row.saturating_add(reader.varint().ok()?);
        if row >= count as u64 {
            return None;
        }
        let value = low.wrapping_add(unzigzag(reader.varint().ok()?));
        if place == 0 && row == 0 {
            listed = Some(value);
        }
    }
    Some(Number {
        at: 0,
        len: 0,
        low,
        radix,
        start,
        listed,
    })
}

#[cfg(test)]
mod tests;
