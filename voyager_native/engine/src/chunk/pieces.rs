//! What a family of message-ids has in common: the pieces that every id of it is made of.

use super::CodecError;
use super::alphabet::{ALPHABETS, BYTES, DIGITS, RANKS, ranks_of};
use super::bits::{Reader, put_varint};
use super::column::Column;

/// Longest message-id that can be stored.
pub(super) const LONGEST_ID: usize = 255;
/// Number of the first alphabet that is listed in the family itself.
pub(super) const FIRST_LISTED: u8 = ALPHABETS.len() as u8;

pub(super) const TEXT: u8 = 16;
pub(super) const ALTERNATING: u8 = 17;
pub(super) const LISTED: u8 = 18;
pub(super) const NUMBER: u8 = 19;
pub(super) const FIXED: u8 = 0;
pub(super) const PART: u8 = 1;
pub(super) const COUNTED: u8 = 2;
const VARIABLE: u8 = 3;

/// Positions of a [`Fixed`] piece that are described together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// The same bytes in every id.
    Text { len: usize },
    /// `len` characters of one alphabet.
    Run { alphabet: u8, len: usize },
    /// Characters of two alphabets in turn.
    Alternating { even: u8, odd: u8, len: usize },
    /// `len` characters of a listed alphabet.
    Listed { symbols: Vec<u8>, len: usize },
    /// A decimal number of `len` digits.
    Number { len: usize, column: Column },
}

impl Item {
    /// Number of positions.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Text { len }
            | Self::Run { len, .. }
            | Self::Alternating { len, .. }
            | Self::Listed { len, .. }
            | Self::Number { len, .. } => *len,
        }
    }
}

/// A number that stands at fixed positions of a [`Fixed`] piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FixedNumber {
    pub(super) at: usize,
    pub(super) len: usize,
    pub(super) column: Column,
}

/// A stretch that is equally long in every id, ready for coding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fixed {
    /// The constant characters; other positions are 0.
    pub(super) template: Vec<u8>,
    /// Varying positions and the number of their alphabet.
    pub(super) spots: Vec<(u8, u8)>,
    pub(super) numbers: Vec<FixedNumber>,
    items: Vec<Item>,
}

/// One part of every id of a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Equally long in every id.
    Fixed(Fixed),
    /// The part number less `base`, as a decimal number.
    Part { base: u32 },
    /// A decimal number without leading zeros.
    Counted(Column),
    /// Between `shortest` and `longest` characters of one alphabet.
    Variable {
        alphabet: u8,
        shortest: usize,
        longest: usize,
    },
}

/// Ids that are built alike.
#[derive(Clone, Debug, Default)]
pub(super) struct Family {
    pub(super) pieces: Vec<Piece>,
    /// While encoding: for every piece of varying length, its length in each id.
    pub(super) lengths: Vec<Vec<u8>>,
    /// Alphabets of its own: symbols and ranks. Their numbers start at [`FIRST_LISTED`].
    listed: Vec<(Vec<u8>, Box<[u8; 256]>)>,
}

impl Family {
    /// Adds a stretch of fixed length; `template` has the characters of a text.
    pub(super) fn push_fixed(&mut self, items: Vec<Item>, template: Vec<u8>) {
        let mut fixed = Fixed {
            spots: Vec::with_capacity(template.len()),
            template,
            ..Fixed::default()
        };
        let mut at = 0;
        for item in &items {
            let mut spot = |alphabet: u8, at: usize| fixed.spots.push((at as u8, alphabet));
            if !matches!(item, Item::Text { .. }) {
                fixed.template[at..at + item.len()].fill(0);
            }
            match item {
                Item::Text { .. } => {}
                Item::Run { alphabet, len } => (at..at + len).for_each(|at| spot(*alphabet, at)),
                Item::Alternating { even, odd, len } => {
                    for step in 0..*len {
                        spot(if step % 2 == 0 { *even } else { *odd }, at + step);
                    }
                }
                Item::Listed { symbols, len } => {
                    let alphabet = FIRST_LISTED + self.listed.len() as u8;
                    self.listed
                        .push((symbols.clone(), Box::new(ranks_of(symbols))));
                    (at..at + len).for_each(|at| spot(alphabet, at));
                }
                Item::Number { len, column } => fixed.numbers.push(FixedNumber {
                    at,
                    len: *len,
                    column: column.clone(),
                }),
            }
            at += item.len();
        }
        fixed.items = items;
        self.pieces.push(Piece::Fixed(fixed));
    }

    /// The ranks of an alphabet by its number.
    #[inline]
    pub(super) fn ranks(&self, alphabet: u8) -> &[u8; 256] {
        match RANKS.get(alphabet as usize) {
            Some(ranks) => ranks,
            None => &self.listed[(alphabet - FIRST_LISTED) as usize].1,
        }
    }

    /// The symbols of an alphabet by its number.
    #[inline]
    pub(super) fn symbols(&self, alphabet: u8) -> &[u8] {
        match ALPHABETS.get(alphabet as usize) {
            Some(symbols) => symbols,
            None => &self.listed[(alphabet - FIRST_LISTED) as usize].0,
        }
    }

    /// The symbols of the alphabets of its own.
    pub(super) fn listed(&self) -> impl Iterator<Item = &[u8]> {
        self.listed.iter().map(|(symbols, _)| symbols.as_slice())
    }

    /// Whether both are described alike.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.pieces == other.pieces && self.listed().eq(other.listed())
    }

    /// The pieces of fixed length.
    pub(super) fn fixed(&self) -> impl Iterator<Item = &Fixed> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Fixed(fixed) => Some(fixed),
            _ => None,
        })
    }

    /// The radices of the wide digits of one id, in the order in which they are coded: numbers and lengths.
    pub(super) fn wide_radices(&self, out: &mut Vec<u32>) {
        for piece in &self.pieces {
            match piece {
                Piece::Fixed(fixed) => {
                    for number in &fixed.numbers {
                        out.extend(number.column.radices());
                    }
                }
                Piece::Part { .. } => {}
                Piece::Counted(column) => out.extend(column.radices()),
                Piece::Variable {
                    shortest, longest, ..
                } => {
                    if longest > shortest {
                        out.push((longest - shortest + 1) as u32);
                    }
                }
            }
        }
    }

    /// The columns of numbers, in order.
    pub(super) fn columns(&self) -> impl Iterator<Item = &Column> {
        self.pieces.iter().flat_map(|piece| {
            let (numbers, counted) = match piece {
                Piece::Fixed(fixed) => (fixed.numbers.as_slice(), None),
                Piece::Counted(column) => (&[][..], Some(column)),
                Piece::Part { .. } | Piece::Variable { .. } => (&[][..], None),
            };
            numbers.iter().map(|number| &number.column).chain(counted)
        })
    }

    /// Appends the description of the family.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put_varint(out, self.pieces.len() as u64);
        for piece in &self.pieces {
            match piece {
                Piece::Fixed(fixed) => {
                    out.push(FIXED);
                    put_varint(out, fixed.items.len() as u64);
                    let mut at = 0;
                    for item in &fixed.items {
                        write_item(item, &fixed.template[at..], out);
                        at += item.len();
                    }
                }
                Piece::Part { base } => {
                    out.push(PART);
                    put_varint(out, u64::from(*base));
                }
                Piece::Counted(column) => {
                    out.push(COUNTED);
                    column.write(out);
                }
                Piece::Variable {
                    alphabet,
                    shortest,
                    longest,
                } => out.extend([VARIABLE, *alphabet, *shortest as u8, *longest as u8]),
            }
        }
    }

    /// Reads what [`Self::write`] wrote for a family of `rows` ids.
    ///
    /// # Errors
    /// [`CodecError`] when the bytes describe no family.
    pub(super) fn read(reader: &mut Reader<'_>, rows: usize) -> Result<Self, CodecError> {
        let mut family = Self::default();
        let mut len = 0;
        for _ in 0..reader.count(LONGEST_ID)? {
            match reader.byte()? {
                FIXED => {
                    let count = reader.count(LONGEST_ID)?;
                    let mut items = Vec::with_capacity(count.min(8));
                    let mut template = Vec::with_capacity(64);
                    for _ in 0..count {
                        let item = read_item(reader, rows, &mut template)?;
                        len += item.len();
                        if len > LONGEST_ID {
                            return Err(CodecError::Malformed("a message-id that is too long"));
                        }
                        items.push(item);
                    }
                    if family.listed.len() + items.len() > LONGEST_ID - FIRST_LISTED as usize {
                        return Err(CodecError::Malformed("too many alphabets"));
                    }
                    family.push_fixed(items, template);
                }
                PART => family.pieces.push(Piece::Part {
                    base: reader.varint32()?,
                }),
                COUNTED => family
                    .pieces
                    .push(Piece::Counted(Column::read(reader, rows)?)),
                VARIABLE => {
                    let alphabet = read_alphabet(reader)?;
                    let shortest = reader.byte()? as usize;
                    let longest = reader.byte()? as usize;
                    if shortest > longest {
                        return Err(CodecError::Malformed("a longest below its shortest"));
                    }
                    family.pieces.push(Piece::Variable {
                        alphabet,
                        shortest,
                        longest,
                    });
                }
                _ => return Err(CodecError::Malformed("an unknown kind of piece")),
            }
        }
        Ok(family)
    }
}

fn read_alphabet(reader: &mut Reader<'_>) -> Result<u8, CodecError> {
    let alphabet = reader.byte()?;
    if alphabet < FIRST_LISTED {
        Ok(alphabet)
    } else {
        Err(CodecError::Malformed("an unknown alphabet"))
    }
}

/// A family of one piece of fixed length that is one item, before that item.
pub(super) const ONE_TEXT: [u8; 3] = [1, FIXED, 1];

/// Appends what stands before the bytes of a text.
pub(super) fn write_text_head(len: usize, out: &mut Vec<u8>) {
    write_head(TEXT, len, out);
}

/// The length of a text whose bytes come next, if it is a text.
pub(super) fn read_text_head(reader: &mut Reader<'_>) -> Option<usize> {
    let (kind, len) = read_head(reader).ok()?;
    (kind == TEXT).then_some(len)
}

/// One byte of kind and short length; a length above 7 follows as an integer.
pub(super) fn write_head(kind: u8, len: usize, out: &mut Vec<u8>) {
    if (1..8).contains(&len) {
        out.push(kind | (len as u8) << 5);
    } else {
        out.push(kind);
        put_varint(out, len as u64);
    }
}

/// Reads what [`write_head`] wrote.
///
/// # Errors
/// [`CodecError`] when the bytes are no head.
pub(super) fn read_head(reader: &mut Reader<'_>) -> Result<(u8, usize), CodecError> {
    let head = reader.byte()?;
    let len = match head >> 5 {
        0 => reader.count(LONGEST_ID)?,
        short => usize::from(short),
    };
    Ok((head & 31, len))
}

fn write_item(item: &Item, template: &[u8], out: &mut Vec<u8>) {
    let len = item.len();
    match item {
        Item::Text { .. } => {
            write_head(TEXT, len, out);
            out.extend_from_slice(&template[..len]);
        }
        Item::Run { alphabet, .. } => write_head(*alphabet, len, out),
        Item::Alternating { even, odd, .. } => {
            write_head(ALTERNATING, len, out);
            out.push(even | odd << 4);
        }
        Item::Listed { symbols, .. } => {
            write_head(LISTED, len, out);
            put_varint(out, symbols.len() as u64);
            out.extend_from_slice(symbols);
        }
        Item::Number { column, .. } => {
            write_head(NUMBER, len, out);
            column.write(out);
        }
    }
}

/// Reads an item, and appends its characters to `template`: those of a text, or zeros.
fn read_item(
    reader: &mut Reader<'_>,
    rows: usize,
    template: &mut Vec<u8>,
) -> Result<Item, CodecError> {
    let (kind, len) = read_head(reader)?;
    if len == 0 {
        return Err(CodecError::Malformed("an item without positions"));
    }
    if kind == TEXT {
        template.extend_from_slice(reader.bytes(len)?);
        return Ok(Item::Text { len });
    }
    template.resize(template.len() + len, 0);
    match kind {
        ALTERNATING => {
            let pair = reader.byte()?;
            let (even, odd) = (pair & 15, pair >> 4);
            if even >= FIRST_LISTED || odd >= FIRST_LISTED {
                return Err(CodecError::Malformed("an unknown alphabet"));
            }
            Ok(Item::Alternating { even, odd, len })
        }
        LISTED => {
            let count = reader.count(LONGEST_ID)?;
            let symbols = reader.bytes(count)?;
            if count < 2 || !symbols.is_sorted_by(|left, right| left < right) {
                return Err(CodecError::Malformed("an alphabet out of order"));
            }
            Ok(Item::Listed {
                symbols: symbols.to_vec(),
                len,
            })
        }
        NUMBER if len <= 18 => Ok(Item::Number {
            len,
            column: Column::read(reader, rows)?,
        }),
        alphabet @ DIGITS..=BYTES => Ok(Item::Run { alphabet, len }),
        _ => Err(CodecError::Malformed("an unknown kind of item")),
    }
}
