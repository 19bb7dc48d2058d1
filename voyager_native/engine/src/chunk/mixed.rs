//! Codes segments of several families, whose bits stand in the order of the segments.
//!
//! Rows are coded in windows: within one the rows of a family are coded together, column by column, and their
//! words wait for their turn.

use super::CodecError;
use super::bits::{BitReader, BitWriter};
use super::checked::Checked;
use super::coder::{Characters, Coder, Sink};
use super::layout::Scratch;
use super::rows::NO_WORDS;
use super::segments::Segment;
use super::transpose::ROWS;
use super::words::MOST_WORDS;

/// Rows of a window: so many that few batches of its families are not full.
const WINDOW: usize = 256;

/// The words of the rows of a window.
type Window = [[u64; MOST_WORDS]; WINDOW];

/// Work space for a window.
#[derive(Debug)]
pub(super) struct Mix {
    window: Box<Window>,
    places: Vec<Place>,
}

impl Mix {
    pub(super) fn new() -> Self {
        Self {
            window: Box::new([[0; MOST_WORDS]; WINDOW]),
            places: Vec::new(),
        }
    }
}

/// Rows of one family in a window.
struct Members {
    rows: [u8; WINDOW],
    len: usize,
}

impl Members {
    fn of(choices: &[u8], family: usize) -> Self {
        let mut members = Self {
            rows: [0; WINDOW],
            len: 0,
        };
        for (row, choice) in (0..=u8::MAX).zip(choices) {
            // There is room for one row of each number, and as many were added at most.
            if let Some(place) = members.rows.get_mut(members.len) {
                *place = row;
            }
            members.len += usize::from(usize::from(*choice) == family);
        }
        members
    }

    /// As many rows as are coded at once.
    fn batches(&self) -> impl Iterator<Item = &[u8]> {
        self.rows[..self.len].chunks(ROWS)
    }
}

/// Appends segments, each with the coder of its choice, row by row.
///
/// # Errors
/// [`CodecError::Unfaithful`] when an id is not of its family.
pub(super) fn put(
    coders: &mut [Coder<'_>],
    segments: &[Segment<'_>],
    choices: &[u8],
    scratch: &mut Scratch,
    writer: &mut BitWriter,
) -> Result<(), CodecError> {
    for (segment, choice) in segments.iter().zip(choices) {
        let coder = &mut coders[usize::from(*choice)];
        coder.put(std::slice::from_ref(segment), scratch, writer)?;
    }
    Ok(())
}

/// [`put`] column by column, with the proof that the segments come back.
///
/// # Errors
/// [`CodecError::Unfaithful`] when an id is not of its family, or would not come back.
pub(super) fn put_checked(
    coders: &mut [Checked<'_>],
    segments: &[Segment<'_>],
    choices: &[u8],
    scratch: &mut Scratch,
    writer: &mut BitWriter,
) -> Result<(), CodecError> {
    let mut mix = scratch.mix.take().unwrap_or_else(|| Box::new(Mix::new()));
    let window = &mut mix.window;
    let mut windows = segments.chunks(WINDOW).zip(choices.chunks(WINDOW));
    let result = windows.try_for_each(|(segments, choices)| {
        for (family, coder) in coders.iter_mut().enumerate() {
            let members = Members::of(choices, family);
            join(coder, segments, &members, scratch, window)?;
        }
        let start = writer.len();
        for (choice, row) in choices.iter().zip(&**window) {
            writer.put_row(coders[usize::from(*choice)].widths(), row);
        }
        let mut rows = choices.iter().zip(&**window);
        let end = rows.try_fold(start, |at, (choice, row)| {
            writer.end_of_row(at, coders[usize::from(*choice)].widths(), row)
        });
        if end == Some(writer.len()) {
            Ok(())
        } else {
            Err(CodecError::Unfaithful)
        }
    });
    scratch.mix = Some(mix);
    result
}

/// Finds the words of the rows of one family.
fn join(
    coder: &mut Checked<'_>,
    segments: &[Segment<'_>],
    members: &Members,
    scratch: &mut Scratch,
    window: &mut Window,
) -> Result<(), CodecError> {
    let mut joined = NO_WORDS;
    coder.begin(scratch);
    for batch in members.batches() {
        let rows = batch.iter().map(|row| &segments[usize::from(*row)]);
        coder.join(rows, scratch, &mut joined)?;
        let words = coder.widths().len();
        for (place, row) in batch.iter().enumerate() {
            let window = &mut window[usize::from(*row)][..words];
            for (word, joined) in window.iter_mut().zip(&joined) {
                *word = joined[place];
            }
        }
    }
    Ok(())
}

/// A segment while its window is decoded.
#[derive(Debug)]
struct Place {
    id: [u8; 256],
    len: usize,
    size: i64,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            id: [0; 256],
            len: 0,
            size: 0,
        }
    }
}

impl Sink for Place {
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        // The coder refuses ids that are too long, but only once all pieces up to there were given.
        if let Some(place) = self.id.get_mut(self.len..self.len + bytes.len()) {
            place.copy_from_slice(bytes);
            self.len += bytes.len();
        }
    }

    #[inline]
    fn end(&mut self, size: i64) {
        self.size = size;
    }
}

/// Takes segments with these parts, each with the coder that `choose` gives, and gives them to `sink`.
///
/// # Errors
/// [`CodecError`] when the bits are no such segments, or as `choose`.
pub(super) fn take(
    coders: &mut [Coder<'_>],
    parts: &[u32],
    choose: impl FnMut() -> Result<u8, CodecError>,
    scratch: &mut Scratch,
    reader: &mut BitReader<'_>,
    sink: &mut impl Sink,
) -> Result<(), CodecError> {
    let mut mix = scratch.mix.take().unwrap_or_else(|| Box::new(Mix::new()));
    let result = take_windows(coders, parts, choose, scratch, &mut mix, reader, sink);
    scratch.mix = Some(mix);
    result
}

fn take_windows(
    coders: &mut [Coder<'_>],
    parts: &[u32],
    mut choose: impl FnMut() -> Result<u8, CodecError>,
    scratch: &mut Scratch,
    mix: &mut Mix,
    reader: &mut BitReader<'_>,
    sink: &mut impl Sink,
) -> Result<(), CodecError> {
    let Mix { window, places } = mix;
    places.resize_with(parts.len().min(WINDOW).max(places.len()), Place::default);
    for parts in parts.chunks(WINDOW) {
        let mut choices = [0; WINDOW];
        for ((choice, place), row) in choices.iter_mut().zip(&mut *places).zip(0..parts.len()) {
            *choice = choose()?;
            place.len = 0;
            let coder = coders
                .get_mut(usize::from(*choice))
                .ok_or(CodecError::Malformed("an unknown family"))?;
            if let Characters::Columns { kernel, .. } = &coder.characters {
                for (width, word) in kernel.widths().iter().zip(&mut window[row]) {
                    *word = reader.take(*width)?;
                }
            } else {
                coder.take(&parts[row..=row], scratch, reader, place)?;
            }
        }
        let choices = &choices[..parts.len()];
        for (family, coder) in coders.iter_mut().enumerate() {
            if matches!(coder.characters, Characters::Columns { .. }) {
                let members = Members::of(choices, family);
                split(coder, parts, &members, scratch, window, places)?;
            }
        }
        for place in &places[..parts.len()] {
            sink.push(&place.id[..place.len]);
            sink.end(place.size);
        }
    }
    Ok(())
}

/// Puts the segments of one family in their places.
fn split(
    coder: &mut Coder<'_>,
    parts: &[u32],
    members: &Members,
    scratch: &mut Scratch,
    window: &Window,
    places: &mut [Place],
) -> Result<(), CodecError> {
    let mut joined = NO_WORDS;
    let mut nothing = BitReader::new(&[]);
    if let Characters::Columns { template, .. } = &coder.characters {
        scratch.columns.begin(template);
    }
    for batch in members.batches() {
        for (place, row) in batch.iter().enumerate() {
            for (joined, word) in joined.iter_mut().zip(&window[usize::from(*row)]) {
                joined[place] = *word;
            }
        }
        coder.split(&joined, scratch)?;
        for (place, row) in batch.iter().enumerate() {
            let row = usize::from(*row);
            let text = &mut scratch.texts[place];
            let target = &mut places[row];
            target.size = coder.put_together(place, parts[row], text, &mut nothing, target)?;
        }
    }
    Ok(())
}
