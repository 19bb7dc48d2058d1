//! Reads the description of a chunk: the columns of its files, and what their records are made of.

use super::CodecError;
use super::bits::{Reader, put_varint, unzigzag};
use super::file_row::{FileRow, Numbers};
use super::record::{Parts, Version, decode_first, join};
use super::segments::Segments;
use crate::tables::{Files, TextColumn};

/// What numbers of a row are told from: those of the row before.
#[derive(Default)]
pub(super) struct Before {
    pub(super) posted: i64,
    pub(super) number: u64,
}

/// Texts of a row that are stored as places in its subject where they are there.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Name,
    Head,
    Tail,
    Request,
}

/// Texts of a row that are often those of the row before.
#[derive(Clone, Copy)]
pub(super) enum Repeated {
    Poster,
    Group,
    Groups,
}

/// In the order in which they are stored.
pub(super) const PARTS: [Part; 4] = [Part::Name, Part::Head, Part::Tail, Part::Request];
/// In the order in which they are stored.
pub(super) const REPEATED: [Repeated; 3] = [Repeated::Poster, Repeated::Group, Repeated::Groups];

impl Part {
    /// This text of a row.
    pub(super) const fn of<'a>(self, row: &FileRow<'a>) -> &'a str {
        match self {
            Self::Name => row.name,
            Self::Head => row.head,
            Self::Tail => row.tail,
            Self::Request => row.request,
        }
    }

    const fn of_mut(self, files: &mut Files) -> (&TextColumn, &mut TextColumn) {
        let column = match self {
            Self::Name => &mut files.name,
            Self::Head => &mut files.head,
            Self::Tail => &mut files.tail,
            Self::Request => &mut files.request,
        };
        (&files.subject, column)
    }
}

impl Repeated {
    /// This text of a row.
    pub(super) const fn of<'a>(self, row: &FileRow<'a>) -> &'a str {
        match self {
            Self::Poster => row.poster,
            Self::Group => row.group,
            Self::Groups => row.groups,
        }
    }

    const fn of_mut(self, files: &mut Files) -> &mut TextColumn {
        match self {
            Self::Poster => &mut files.poster,
            Self::Group => &mut files.group,
            Self::Groups => &mut files.groups,
        }
    }
}

/// What a description is read into: column after column, the rows of each in order.
pub(super) trait Rows {
    /// Key of a file.
    fn key(&mut self, row: usize, key: u64);

    /// What the keys of a file and of its reposts differ in, and which of them it is.
    fn generation(&mut self, row: usize, difference: u64, generation: u16);

    /// Subject of a file.
    fn subject(&mut self, row: usize, text: &str);

    /// A text that stands in the subject of its row, from `at` on.
    fn place(&mut self, part: Part, row: usize, at: usize, len: usize) -> Result<(), CodecError>;

    /// A text that does not stand in the subject.
    fn part(&mut self, part: Part, row: usize, text: &str);

    /// A text that is often repeated.
    fn repeated(&mut self, column: Repeated, row: usize, text: &str);

    /// First message-id; nothing where it is that of the record.
    fn first_id(&mut self, row: usize, id: Option<&str>);

    /// Numbers of a file.
    fn numbers(&mut self, row: usize, numbers: &Numbers);

    /// The version of a record, and the lengths of its header and its body.
    fn record(&mut self, row: usize, record: Outline);
}

/// A record without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outline {
    version: Version,
    header: usize,
    body: usize,
}

impl Outline {
    pub(super) const fn of(record: &Parts<'_>) -> Self {
        Self {
            version: record.version,
            header: record.header.len(),
            body: record.body.len(),
        }
    }

    /// Appends what a chunk of a version says of a record.
    pub(super) fn write(self, chunk: Version, out: &mut Vec<u8>) {
        let header = self.header as u64;
        put_varint(
            out,
            match chunk {
                Version::One => header,
                Version::Two => header << 1 | u64::from(self.version == Version::Two),
            },
        );
        put_varint(out, self.body as u64);
    }

    fn read(
        chunk: Version,
        reader: &mut Reader<'_>,
        most_header: usize,
        most_body: usize,
    ) -> Result<Self, CodecError> {
        let (version, header) = match chunk {
            Version::One => (Version::One, reader.count(most_header)?),
            Version::Two => match reader.count(most_header.saturating_mul(2) | 1)? {
                head if head & 1 == 1 => (Version::Two, head >> 1),
                head => (Version::One, head >> 1),
            },
        };
        Ok(Self {
            version,
            header,
            body: reader.count(most_body)?,
        })
    }
}

/// Reads all columns of the description of a chunk; what is left are the headers of the records.
///
/// # Errors
/// [`CodecError`] when the bytes are none.
pub(super) fn read<'a>(
    version: Version,
    description: &'a [u8],
    bodies: &'a [u8],
    out: &mut impl Rows,
) -> Result<Records<'a>, CodecError> {
    let mut reader = Reader::new(description);
    // A row takes at least the eight bytes of its key.
    let rows = reader.count(description.len() / 8)?;
    for (row, key) in reader.bytes(rows * 8)?.chunks_exact(8).enumerate() {
        out.key(row, u64::from_le_bytes(key.try_into().unwrap_or_default()));
    }
    for row in 0..rows {
        let difference = reader.varint()?;
        let generation = u16::try_from(reader.varint()?)
            .map_err(|_| CodecError::Malformed("a generation of more than 16 bits"))?;
        out.generation(row, difference, generation);
    }
    for row in 0..rows {
        out.subject(row, read_text(&mut reader)?);
    }
    for part in PARTS {
        for row in 0..rows {
            read_part_of(&mut reader, part, row, out)?;
        }
    }
    for column in REPEATED {
        let mut before = None;
        for row in 0..rows {
            out.repeated(column, row, read_repeated(&mut reader, &mut before)?);
        }
    }
    for row in 0..rows {
        let id = match reader.varint()? {
            0 => None,
            _ => Some(read_text(&mut reader)?),
        };
        out.first_id(row, id);
    }
    let mut before = Before::default();
    for row in 0..rows {
        out.numbers(row, &read_numbers(&mut reader, &mut before)?);
    }
    for row in 0..rows {
        let (most_header, most_body) = (description.len(), bodies.len());
        out.record(
            row,
            Outline::read(version, &mut reader, most_header, most_body)?,
        );
    }
    Ok(Records {
        headers: reader,
        bodies: Reader::new(bodies),
    })
}

/// The columns of a description.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) files: Files,
    /// Whether the first message-id is given. It is empty where it is that of the record.
    has_id: Vec<bool>,
    records: Vec<Outline>,
}

impl Rows for Columns {
    fn key(&mut self, _: usize, key: u64) {
        self.files.file_key.push(key);
    }

    fn generation(&mut self, row: usize, difference: u64, generation: u16) {
        self.files
            .base_key
            .push(difference ^ self.files.file_key[row]);
        self.files.generation.push(generation);
    }

    fn subject(&mut self, _: usize, text: &str) {
        self.files.subject.push(text);
    }

    fn place(&mut self, part: Part, row: usize, at: usize, len: usize) -> Result<(), CodecError> {
        let (subjects, column) = part.of_mut(&mut self.files);
        let end = at.checked_add(len);
        let text = end.and_then(|end| subjects.get(row).get(at..end));
        column.push(text.ok_or(CodecError::Malformed("a place outside its subject"))?);
        Ok(())
    }

    fn part(&mut self, part: Part, _: usize, text: &str) {
        part.of_mut(&mut self.files).1.push(text);
    }

    fn repeated(&mut self, column: Repeated, _: usize, text: &str) {
        column.of_mut(&mut self.files).push(text);
    }

    fn first_id(&mut self, _: usize, id: Option<&str>) {
        self.has_id.push(id.is_some());
        self.files.first_message_id.push(id.unwrap_or_default());
    }

    fn numbers(&mut self, _: usize, numbers: &Numbers) {
        let files = &mut self.files;
        files.file_index.push(numbers.file_index);
        files.file_total.push(numbers.file_total);
        files.parts_total.push(numbers.parts_total);
        files.parts_found.push(numbers.parts_found);
        files.size_bytes.push(numbers.size_bytes);
        files.flags.push(numbers.flags);
        files.poster_constant.push(numbers.poster_constant);
        files.is_fragment.push(numbers.is_fragment);
        files.first_posted_at.push(numbers.first_posted_at);
        files.last_posted_at.push(numbers.last_posted_at);
        files.first_number.push(numbers.first_number);
        files.last_number.push(numbers.last_number);
        files.reach_low.push(numbers.reach_low);
        files.reach_high.push(numbers.reach_high);
    }

    fn record(&mut self, _: usize, record: Outline) {
        self.records.push(record);
    }
}

/// Rows that a description must give back.
pub(super) struct Expected<'a> {
    pub(super) rows: &'a [FileRow<'a>],
    /// The record of each row.
    pub(super) records: &'a [Parts<'a>],
    /// Whether the first message-id of each row was found to be that of its record.
    pub(super) has_first: &'a [bool],
    /// Rows that were read.
    pub(super) seen: usize,
    pub(super) is_same: bool,
}

impl Expected<'_> {
    /// Whether `is_right` holds for a row.
    #[inline]
    fn expect(&mut self, row: usize, is_right: impl FnOnce(&FileRow<'_>) -> bool) {
        self.is_same &= self.rows.get(row).is_some_and(is_right);
    }
}

impl Rows for Expected<'_> {
    fn key(&mut self, row: usize, key: u64) {
        self.seen += 1;
        self.expect(row, |row| row.file_key == key);
    }

    fn generation(&mut self, row: usize, difference: u64, generation: u16) {
        self.expect(row, |row| {
            row.base_key == difference ^ row.file_key && row.generation == generation
        });
    }

    fn subject(&mut self, row: usize, text: &str) {
        self.expect(row, |row| row.subject == text);
    }

    fn place(&mut self, part: Part, row: usize, at: usize, len: usize) -> Result<(), CodecError> {
        self.expect(row, |row| {
            let end = at.checked_add(len);
            end.and_then(|end| row.subject.get(at..end)) == Some(part.of(row))
        });
        Ok(())
    }

    fn part(&mut self, part: Part, row: usize, text: &str) {
        self.expect(row, |row| part.of(row) == text);
    }

    fn repeated(&mut self, column: Repeated, row: usize, text: &str) {
        self.expect(row, |row| column.of(row) == text);
    }

    fn first_id(&mut self, row: usize, id: Option<&str>) {
        let has_first = self.has_first.get(row).copied();
        self.expect(row, |row| match id {
            Some(id) => row.first_message_id == id,
            None => has_first == Some(true),
        });
    }

    fn numbers(&mut self, row: usize, numbers: &Numbers) {
        self.expect(row, |row| row.numbers == *numbers);
    }

    fn record(&mut self, row: usize, record: Outline) {
        self.is_same &= self.records.get(row).map(Outline::of) == Some(record);
    }
}

/// The records of a chunk, taken apart.
pub(super) struct Records<'a> {
    pub(super) headers: Reader<'a>,
    pub(super) bodies: Reader<'a>,
}

impl Records<'_> {
    /// Puts the records together again.
    pub(super) fn join(mut self, columns: &mut Columns) -> Result<(), CodecError> {
        let Columns {
            files,
            has_id,
            records,
        } = columns;
        let mut record = Vec::new();
        let mut first = Segments::default();
        let given = std::mem::take(&mut files.first_message_id);
        for (row, outline) in records.iter().enumerate() {
            let parts = Parts {
                version: outline.version,
                header: self.headers.bytes(outline.header)?,
                body: self.bodies.bytes(outline.body)?,
            };
            record.clear();
            join(&parts, &mut record);
            files.payload.push(files.payloads.push(&record));
            if has_id[row] {
                files.first_message_id.push(given.get(row));
                continue;
            }
            first.clear();
            decode_first(&parts, &mut first)?;
            let id = if first.is_empty() {
                &[]
            } else {
                first.get(0).id
            };
            files.first_message_id.push(&crate::text::to_utf8(id));
        }
        self.end()
    }

    /// Whether the headers and bodies are those of these records, which have the lengths that were read.
    pub(super) fn are(mut self, records: &[Parts<'_>]) -> Result<bool, CodecError> {
        let mut is_same = true;
        for Parts { header, body, .. } in records {
            is_same &= self.headers.bytes(header.len())? == *header;
            is_same &= self.bodies.bytes(body.len())? == *body;
        }
        self.end()?;
        Ok(is_same)
    }

    fn end(&self) -> Result<(), CodecError> {
        if self.headers.rest().is_empty() && self.bodies.rest().is_empty() {
            Ok(())
        } else {
            Err(CodecError::Malformed("more than its files"))
        }
    }
}

fn read_numbers(reader: &mut Reader<'_>, before: &mut Before) -> Result<Numbers, CodecError> {
    let mut optional = || -> Result<Option<u32>, CodecError> {
        match reader.varint()?.checked_sub(1) {
            None => Ok(None),
            Some(value) => u32::try_from(value)
                .map(Some)
                .map_err(|_| CodecError::Malformed("an integer of more than 32 bits")),
        }
    };
    let (file_index, file_total) = (optional()?, optional()?);
    let (parts_total, parts_found) = (reader.varint32()?, reader.varint32()?);
    let (size_bytes, flags) = (reader.varint()?, reader.varint32()?);
    let bits = reader.varint()?;
    let mut first_posted_at = None;
    if bits & 4 != 0 {
        before.posted = before.posted.wrapping_add(unzigzag(reader.varint()?));
        first_posted_at = Some(before.posted);
    }
    let last_posted_at = match bits & 8 {
        0 => None,
        _ => Some(before.posted.wrapping_add(unzigzag(reader.varint()?))),
    };
    let mut distance = || reader.varint().map(|value| unzigzag(value).cast_unsigned());
    before.number = before.number.wrapping_add(distance()?);
    let last_number = before.number.wrapping_add(distance()?);
    Ok(Numbers {
        file_index,
        file_total,
        parts_total,
        parts_found,
        size_bytes,
        flags,
        poster_constant: bits & 1 != 0,
        is_fragment: bits & 2 != 0,
        first_posted_at,
        last_posted_at,
        first_number: before.number,
        last_number,
        reach_low: before.number.wrapping_sub(distance()?),
        reach_high: last_number.wrapping_add(distance()?),
    })
}

fn read_text<'a>(reader: &mut Reader<'a>) -> Result<&'a str, CodecError> {
    let len = reader.count(reader.rest().len())?;
    text(reader.bytes(len)?)
}

fn read_part_of(
    reader: &mut Reader<'_>,
    part: Part,
    row: usize,
    out: &mut impl Rows,
) -> Result<(), CodecError> {
    let code = reader.varint()?;
    if code & 1 == 0 {
        let len = usize::try_from(code >> 1).map_err(|_| CodecError::Truncated)?;
        out.part(part, row, text(reader.bytes(len)?)?);
        return Ok(());
    }
    let len = reader.count(usize::MAX)?;
    let at = usize::try_from(code >> 1)
        .map_err(|_| CodecError::Malformed("a place outside its subject"))?;
    out.place(part, row, at, len)
}

fn read_repeated<'a>(
    reader: &mut Reader<'a>,
    before: &mut Option<&'a str>,
) -> Result<&'a str, CodecError> {
    let code = reader.varint()?;
    if let Some(len) = code.checked_sub(1) {
        let len = usize::try_from(len).map_err(|_| CodecError::Truncated)?;
        *before = Some(text(reader.bytes(len)?)?);
    }
    before.ok_or(CodecError::Malformed("a repetition of nothing"))
}

fn text(bytes: &[u8]) -> Result<&str, CodecError> {
    std::str::from_utf8(bytes).map_err(|_| CodecError::Malformed("a text that is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::{Assembler, Config};

    #[test]
    fn only_an_id_that_its_record_has_may_be_left_out() {
        let mut assembler = Assembler::new(Config {
            group: "g".to_owned(),
            low: 0,
            high: 0,
            groups: Vec::new(),
            now: 2_000_000_000,
            keep_articles: false,
        });
        assembler.add_text(
            b"1\t\"a.rar\" yEnc (1/1)\tp\tSat, 09 Nov 2013 12:26:40 GMT\t<a@b>\t\t7300\t56\tXref: n g:1\r\n",
        );
        let files = assembler.finish().files;
        let row = FileRow::of(&files, 0, b"");
        let rows = [row, row];
        for (at, id, is_right) in [
            (0, None, true),
            (1, None, false),
            (1, Some("a@b"), true),
            (0, Some("b@a"), false),
        ] {
            let mut expected = Expected {
                rows: &rows,
                records: &[],
                has_first: &[true, false],
                seen: 0,
                is_same: true,
            };
            expected.first_id(at, id);
            assert_eq!(expected.is_same, is_right, "{at} {id:?}");
        }
    }
}
