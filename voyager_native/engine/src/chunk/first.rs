//! Whether a message-id is the first one of a record.
//!
//! Decoding prepares for many segments, which takes longer than one of them does. Here the first one alone is
//! put together, from what its header says. What has a form that is not provided for is no match, as is what is
//! damaged: then decoding decides.

use super::alphabet::{ALPHABETS, DIGITS};
use super::bits::{BitReader, Reader, unzigzag};
use super::coder::write_decimal;
use super::decimal;
use super::grid::radix_for;
use super::lanes::{RADIX_BITS, RADIX_LIMIT, cheapest_lanes, width_of};
use super::lone;
use super::pieces::{
    ALTERNATING, COUNTED, FIRST_LISTED, FIXED, LISTED, LONGEST_ID, NUMBER, PART, TEXT,
};
use super::record::{BITMAP, CONSECUTIVE, GAPS, MOST_FAMILIES};

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
    id: Vec<u8>,
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
    /// Whether `id` surely is the first message-id of a whole record with this header and body.
    pub(super) fn is(&mut self, header: &[u8], body: &[u8], id: &[u8]) -> bool {
        if let Some(segment) = lone::read(header, body) {
            return segment.id == id;
        }
        self.find(header, body).is_some() && self.id == id
    }

    fn find(&mut self, header: &[u8], body: &[u8]) -> Option<()> {
        let mut reader = Reader::new(header);
        let (count, part) = read_first_part(&mut reader)?;
        self.numbers.clear();
        self.numbers.push(read_number(&mut reader, count)?);
        let families = reader.count(MOST_FAMILIES).ok()?;
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
        for _ in 0..reader.count(LONGEST_ID).ok()? {
            match reader.byte().ok()? {
                FIXED => {
                    let start = self.text.len();
                    for _ in 0..reader.count(LONGEST_ID).ok()? {
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
        if at + len > LONGEST_ID {
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
                reader.bytes(count).ok()?;
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
        for number in &mut self.numbers {
            let mut distance = 0u64;
            let (mut rest, mut shift) = (number.radix, 0);
            while rest > 1 {
                distance |= u64::from(*digits.next()?).checked_shl(shift)?;
                rest = rest.div_ceil(RADIX_LIMIT);
                shift += RADIX_BITS;
            }
            let value = number.low.wrapping_add_unsigned(distance);
            let value = number.listed.unwrap_or(value);
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
        Some(())
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

/// The number of segments, and the first part.
fn read_first_part(reader: &mut Reader<'_>) -> Option<(usize, u32)> {
    let head = reader.varint().ok()?;
    let count = usize::try_from(head >> 2).ok().filter(|count| *count > 0)?;
    let part = reader.varint32().ok()?;
    match head & 3 {
        CONSECUTIVE => {}
        BITMAP => {
            let len = reader.count(reader.rest().len()).ok()?;
            reader.bytes(len).ok()?;
        }
        GAPS => {
            for _ in 1..count {
                reader.varint().ok()?;
            }
        }
        _ => return None,
    }
    Some((count, part))
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
    let mut listed = None;
    for place in 0..head >> 1 {
        let distance = reader.varint().ok()?;
        let value = low.wrapping_add(unzigzag(reader.varint().ok()?));
        if place == 0 && distance == 0 {
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
mod tests {
    use super::super::record::{Encoder, split};
    use super::super::segments::Segment;
    use super::*;
    use proptest::prelude::*;

    /// Whether the first of these ids is found, and no other one is.
    fn is_found(ids: &[String], parts: impl Iterator<Item = u32>, first: &mut FirstId) -> bool {
        let segments: Vec<Segment<'_>> = ids
            .iter()
            .zip(parts)
            .map(|(id, part)| Segment {
                part,
                size: 740_000 + part * 7919 % 3000,
                id: id.as_bytes(),
            })
            .collect();
        let mut record = Vec::new();
        Encoder::new()
            .encode(&segments, &mut record)
            .expect("segments are a record");
        let (header, body) = split(&record).expect("a record is whole");
        for id in &ids[1..] {
            assert!(*id == ids[0] || !first.is(header, body, id.as_bytes()));
        }
        first.is(header, body, ids[0].as_bytes())
    }

    /// Message-ids of a form of posting tools.
    fn ids(form: usize, count: u64, seed: u64) -> Vec<String> {
        let mixed = |at: u64| (seed + at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let letters = |at: u64, len: u32, symbols: &str| -> String {
            let radix = symbols.len() as u64;
            let of = |place: u32| mixed(at * 31 + u64::from(place)).rotate_left(17) % radix;
            (0..len)
                .map(|place| char::from(symbols.as_bytes()[of(place) as usize]))
                .collect()
        };
        let small = "abcdefghijklmnopqrstuvwxyz";
        let form_of = |at: u64| match form {
            0 => format!(
                "{}-{}@nyuu",
                letters(at, 24, small),
                1_700_000_000_123 + at * 900
            ),
            1 => format!("{:016x}{:016x}@ngPost", mixed(at), mixed(at + 999)),
            2 => format!(
                "part{}of{count}.{}@x.local",
                at + 1,
                letters(7, 20, "aB3$&")
            ),
            3 => format!("{:x}${}$1$9@host", 0x5f00_0000 + at, mixed(at) % 100_000),
            4 => format!("{}.{}@a.b", 1_500_000_000 + at, mixed(at) % 10_000_000),
            5 => format!("{}@{}", letters(at, 20, "!?#09aZ"), letters(at, 8, "xyz.")),
            6 if at.is_multiple_of(2) => format!("{}@even", letters(at, 12, small)),
            6 => format!("{:08x}-{:04x}@odd", mixed(at) >> 32, mixed(at) & 0xffff),
            _ => format!("{}@constant", letters(0, 300 % 97, small)),
        };
        (0..count).map(form_of).collect()
    }

    const FORMS: usize = 8;

    #[test]
    fn first_ids_of_usual_forms_are_found() {
        let mut first = FirstId::default();
        for form in 0..FORMS {
            for count in [1, 2, 3, 7, 60, 200] {
                let ids = ids(form, count, 5);
                // What is alone in its form has none that is known.
                let is_odd = form == 6 && count < 7;
                assert!(is_found(&ids, 1.., &mut first) || is_odd, "{form} {count}");
                // With other part numbers those in the ids are numbers of their own length.
                let with_gaps = is_found(&ids, (3..).step_by(3), &mut first);
                assert!(
                    with_gaps || is_odd || form == 2,
                    "{form} {count}, parts with gaps"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn no_other_id_is_taken_for_the_first(
            ids in prop::collection::vec("[ -~]{1,60}", 1..40),
            seed in any::<u32>(),
            form in 0..FORMS,
        ) {
            let mut first = FirstId::default();
            is_found(&ids, 1.., &mut first);
            is_found(&self::ids(form, 1 + u64::from(seed % 50), u64::from(seed)), 4.., &mut first);
        }

        #[test]
        fn any_header_is_no_panic(header in prop::collection::vec(any::<u8>(), 0..200), body in prop::collection::vec(any::<u8>(), 0..40)) {
            FirstId::default().is(&header, &body, b"x");
        }
    }
}
