//! Overview lines to files.
//!
//! What is in a file depends on the lines of the span alone, never on their order:
//! - The key of a file is its subject without the segment counter, the number of parts and the owner group.
//! - Articles are logged per file as they come. A file whose parts are all there is encoded at once; articles
//!   that come later wait for the end, where the file is opened again.
//! - Of articles with one message-id the lowest number stays. Reposts are told apart by [`generations`].
//! - A line with one counter twice (`[3/40] … (3/40)`) is filed apart under its subject without counters, and
//!   decided at the end: see [`doubtful`].
//! - A span that would hold too much ends early: see [`limits`].

mod bounds;
mod doubtful;
mod emit;
mod file;
mod generations;
mod keys;
mod known;
mod limits;
mod log;
mod quick;
mod rejects;
mod sealed;
mod texts;

use crate::date::DateParser;
use crate::lines::{Line, Scanner};
use crate::message_id::part_of;
use crate::reason::Reason;
use crate::subject::{self, Segment, Subject};
use crate::tables::{ByteStore, Tables, flags};
use crate::text::{decode_header, needs_decoding, to_utf8};
use crate::xref::{Owner, Owners, group_names};
use bounds::Bounds;
use file::{Entry, FileSet, Place, TEXT_LIMIT, cut};
use keys::Keys;
use known::Known;
pub use limits::Limits;
use log::Facts;
use rejects::{Cause, Tallies};
use texts::Texts;

/// What a span is, and what is known beforehand.
#[derive(Clone, Debug)]
pub struct Config {
    /// The newsgroup that is indexed.
    pub group: String,
    /// Lowest article number of the span; 0 for none.
    pub low: u64,
    /// Highest article number of the span; 0 for none.
    pub high: u64,
    /// All indexed newsgroups with their priority numbers; the lowest owns an article.
    pub groups: Vec<(String, u32)>,
    /// Now, in seconds since 1970: later dates are taken as now.
    pub now: i64,
    /// Whether a row per line is wanted.
    pub keep_articles: bool,
}

/// What one block gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// Overview lines.
    pub lines: u64,
    /// Lines that are in no file. A repeated message-id is found out at the end and not counted here.
    pub rejected: u64,
    /// Lowest article number.
    pub first_number: Option<u64>,
    /// Highest article number.
    pub last_number: Option<u64>,
    /// The last article number of the span, if it ended early: lines with greater ones were left alone.
    pub ended_at: Option<u64>,
}

/// Files the lines of one span.
#[derive(Debug)]
pub struct Assembler {
    scanner: Scanner,
    filer: Filer,
}

impl Assembler {
    /// An assembler that has seen no line.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            scanner: Scanner::new(),
            filer: Filer::new(config, None),
        }
    }

    /// An assembler of a span that ends early rather than hold more; rows per line are not counted.
    #[must_use]
    pub fn within(limits: Limits, config: Config) -> Self {
        Self {
            scanner: Scanner::new(),
            filer: Filer::new(config, Some(limits)),
        }
    }

    /// Files the lines of a block of overview text.
    ///
    /// Once the span has ended early it is to be finished; another one, whose lowest number is the next one, goes on
    /// with the same block.
    pub fn add_text(&mut self, text: &[u8]) -> BlockCounts {
        self.add(text, false)
    }

    /// [`Self::add_text`] for a block in which another span ended: what that one counted is left alone.
    pub fn go_on(&mut self, text: &[u8]) -> BlockCounts {
        self.add(text, true)
    }

    fn add(&mut self, text: &[u8], is_begun: bool) -> BlockCounts {
        let filer = &mut self.filer;
        let before = filer.begin_block(is_begun);
        quick::scan(filer, &mut self.scanner, text);
        filer.end_block(before)
    }

    /// Counts a block that could not be inflated; `sample` is its start.
    ///
    /// How many lines are lost with it is unknown: it counts as one line, in no file.
    pub fn add_undecodable(&mut self, sample: &[u8]) -> BlockCounts {
        let filer = &mut self.filer;
        let before = filer.begin_block(false);
        filer.add(&Line {
            raw: sample,
            number: None,
            subject: &[],
            poster: &[],
            date: &[],
            message_id: &[],
            size: None,
            lines: None,
            xref: &[],
            reason: Some(Reason::UndecodableBlock),
        });
        filer.end_block(before)
    }

    /// Decides what was left open and gives the tables.
    #[must_use]
    pub fn finish(self) -> Tables {
        emit::finish(self.filer)
    }
}

/// A row of the articles table until the end.
#[derive(Clone, Copy, Debug)]
struct Row {
    number: Option<u64>,
    place: RowPlace,
    part: u32,
    size: Option<u32>,
    id: crate::tables::Stored,
    has_id: bool,
}

#[derive(Clone, Copy, Debug)]
enum RowPlace {
    /// In no file: number of the cause.
    Rejected(u16),
    /// In a file of the set.
    Entry(u32),
    /// In a file whose key is known.
    Key(u64),
}

/// The articles table until the end.
#[derive(Debug, Default)]
struct Rows {
    rows: Vec<Row>,
    ids: ByteStore,
}

/// Everything but the scanner, which hands out lines while this files them.
#[derive(Debug)]
struct Filer {
    config: Config,
    owners: Owners,
    dates: DateParser,
    keys: Keys,
    set: FileSet,
    groups: Texts,
    tallies: Tallies,
    rows: Option<Rows>,
    lines: u64,
    rejected: u64,
    bounds: Bounds,
    decoded: Vec<u8>,
    names: Vec<u8>,
    known: Known,
}

impl Filer {
    fn new(config: Config, limits: Option<Limits>) -> Self {
        let owners = Owners::new(&config.group, &config.groups);
        Self {
            owners,
            dates: DateParser::new(),
            keys: Keys::new(&config.group),
            set: FileSet::new(config.keep_articles, limits),
            groups: Texts::new(),
            tallies: Tallies::new(config.groups.iter().map(|group| group.0.as_str())),
            rows: config.keep_articles.then(Rows::default),
            lines: 0,
            rejected: 0,
            bounds: Bounds::new(config.high),
            decoded: Vec::new(),
            names: Vec::new(),
            known: Known::new(),
            config,
        }
    }

    fn add(&mut self, line: &Line<'_>) {
        if self.set.gate.take_due() {
            self.end_early();
        }
        if self.is_elsewhere(line.number) {
            return;
        }
        self.lines += 1;
        if let Some(rows) = &mut self.rows {
            rows.rows.push(Row {
                number: line.number,
                place: RowPlace::Rejected(0),
                part: 0,
                size: line.size.and_then(|size| u32::try_from(size).ok()),
                id: rows.ids.push(line.message_id),
                has_id: !line.message_id.is_empty(),
            });
        }
        if let Err(cause) = self.file(line) {
            self.rejected += 1;
            self.tallies.add(cause, line.raw);
            if let Some(row) = self.rows.as_mut().and_then(|rows| rows.rows.last_mut()) {
                row.place = RowPlace::Rejected(Tallies::number(cause));
            }
        }
    }

    /// Files a line, or tells why it is in no file.
    #[inline]
    fn file(&mut self, line: &Line<'_>) -> Result<(), Cause> {
        if let Some(reason) = line.reason {
            return Err(Cause::Reason(reason));
        }
        let number = line.number.ok_or(Cause::Reason(Reason::BadNumber))?;
        let (low, high) = (self.config.low, self.config.high);
        if number < low || (high > 0 && number > high) {
            return Err(Cause::Reason(Reason::OutsideSpan));
        }
        self.bounds.block.note(number);
        let owner = self.owners.owner(line.xref);
        self.known.learn_owner(line.xref, owner);
        if let Owner::Other(owner) = owner {
            return Err(Cause::Crosspost(owner));
        }
        if self.set.gate.is_closed() {
            return Err(Cause::Reason(Reason::SpanFull));
        }
        let mut decoded = std::mem::take(&mut self.decoded);
        let subject = readable(line.subject, &mut decoded);
        let filed = self.file_subject(line, number, subject);
        self.decoded = decoded;
        filed
    }

    fn file_subject(&mut self, line: &Line<'_>, number: u64, text: &[u8]) -> Result<(), Cause> {
        let mut segment = subject::segment(text);
        let mut how = 0;
        let mut details = None;
        if !segment.counted {
            (segment, how, details) = uncounted(text, line.message_id)?;
        } else if segment.part == 0 {
            if segment.total > 0 {
                return Err(Cause::Reason(Reason::Description));
            }
            // `(0/0)`: a file of which nothing is counted, so its one segment is the first.
            segment.part = 1;
        }
        let key = self.keys.of(text, &segment.cuts, segment.total);
        let index = match self.set.find(Place::Ordinary, key) {
            Some(index) if !self.set.is_twin(index, segment.part) => index,
            _ => self.new_place(text, &segment, key, how, details)?,
        };
        let posted = self.dates.parse(line.date);
        let facts = Facts {
            number,
            part: segment.part,
            size: line.size.map_or(0, |size| u32::try_from(size).unwrap_or(0)),
            posted: self.clamp(posted),
            poster: self.poster(index, line.poster),
            row: self.rows.as_ref().map_or(0, |rows| rows.rows.len() - 1) as u32,
        };
        if let Some(row) = self.rows.as_mut().and_then(|rows| rows.rows.last_mut()) {
            row.place = RowPlace::Entry(index);
            row.part = segment.part;
        }
        if self.set.is_lowest(index, segment.part, number) {
            let groups = self.groups_of(line.xref);
            let beside = self.names.len() + cut(line.poster, TEXT_LIMIT).len();
            self.set
                .set_lowest(index, (segment.part, number), text, (groups, beside));
            self.set.grown(self.lines);
        }
        let id = line.message_id;
        self.set.push(index, facts, (id, 0, id.len()), self.lines);
        Ok(())
    }

    /// The entry for a line whose ordinary key has none, or whose two counters are equal.
    #[cold]
    fn new_place(
        &mut self,
        text: &[u8],
        segment: &Segment,
        key: u64,
        how: u32,
        details: Option<Subject>,
    ) -> Result<u32, Cause> {
        let is_plain = how != 0 || !subject::may_count_alike(text, segment);
        if details.is_none() && is_plain && !subject::is_index_spam(text) {
            // The counter is the segment's, whatever else the subject says.
            if let Some(index) = self.set.find(Place::Ordinary, key) {
                return Ok(index);
            }
            let entry = Entry::new(key, segment.total, 0, how);
            return Ok(self.set.insert(Place::Ordinary, entry));
        }
        let details = details.unwrap_or_else(|| subject::details(text, segment));
        if details.flags & subject::flags::INDEX_SPAM != 0 {
            return Err(Cause::Reason(Reason::IndexSpam));
        }
        if how == 0 && details.flags & subject::flags::AMBIGUOUS != 0 {
            let bare = doubtful::key_without_counters(&mut self.keys, text, &details);
            if let Some(index) = self.set.find(Place::Doubtful, bare) {
                return Ok(index);
            }
            let entry = Entry::new(bare, segment.total, 0, how);
            return Ok(self.set.insert(Place::Doubtful, entry));
        }
        if let Some(index) = self.set.find(Place::Ordinary, key) {
            return Ok(index);
        }
        let twin = match (details.file_index, details.file_total) {
            (Some(1), Some(1)) => 0,
            (Some(index), total) if how == 0 && total.unwrap_or(0) == segment.total => index,
            _ => 0,
        };
        let entry = Entry::new(key, segment.total, twin, how);
        Ok(self.set.insert(Place::Ordinary, entry))
    }

    /// A moment as it is logged: none later than now, 0 for none.
    #[inline]
    fn clamp(&self, moment: Option<i64>) -> u32 {
        moment.map_or(0, |seconds| {
            u32::try_from(seconds.min(self.config.now)).unwrap_or(0)
        })
    }

    /// The number of a From. Most files have one, so the last one of the file is compared first.
    #[inline]
    fn poster(&mut self, index: u32, poster: &[u8]) -> u32 {
        let poster = cut(poster, TEXT_LIMIT);
        match self.set.last_poster(index) {
            Some(last) if self.set.vault.posters.get(last) == poster => last,
            _ => self.set.number_of_poster(poster),
        }
    }

    /// The newsgroups of an Xref as one text, the indexed one first.
    fn groups_of(&mut self, xref: &[u8]) -> u32 {
        let own = self.config.group.as_bytes();
        self.names.clear();
        self.names.extend_from_slice(own);
        let mut seen: Vec<&[u8]> = vec![own];
        for name in group_names(xref) {
            if self.names.len() + name.len() >= TEXT_LIMIT {
                break;
            }
            if !seen.contains(&name) {
                seen.push(name);
                self.names.push(b' ');
                self.names.extend_from_slice(name);
            }
        }
        let number = self.groups.number(&self.names);
        self.set.group_bytes = self.groups.size();
        number
    }
}

/// The subject as it is parsed and stored: decoded where needed, valid UTF-8.
#[inline]
fn readable<'a>(raw: &'a [u8], decoded: &'a mut Vec<u8>) -> &'a [u8] {
    if needs_decoding(raw) {
        decode_header(raw, decoded);
        return decoded;
    }
    if is_ascii(raw) || std::str::from_utf8(raw).is_ok() {
        return raw;
    }
    decoded.clear();
    decoded.extend_from_slice(to_utf8(raw).as_bytes());
    decoded
}

/// [`slice::is_ascii`] that looks at the last bytes as one word as well: subjects are short.
#[inline]
fn is_ascii(text: &[u8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (words, rest) = text.as_chunks::<8>();
    let Some(last) = text.last_chunk::<8>() else {
        return rest.is_ascii();
    };
    let all = words.iter().fold(u64::from_le_bytes(*last), |all, word| {
        all | u64::from_le_bytes(*word)
    });
    all & HIGH == 0
}

/// What a subject without a segment counter is a part of: by the message-id, or one article with a clear name.
fn uncounted(text: &[u8], message_id: &[u8]) -> Result<(Segment, u32, Option<Subject>), Cause> {
    let counted = |part, total| Segment {
        part,
        total,
        counted: true,
        ..Segment::default()
    };
    if let Some((part, total)) = part_of(message_id) {
        return match part {
            0 if total > 0 => Err(Cause::Reason(Reason::Description)),
            _ => Ok((counted(part.max(1), total), flags::COUNTED_BY_ID, None)),
        };
    }
    let none = || Cause::Reason(subject::uncounted::reason(text, message_id));
    // A name with an extension has a dot: most subjects without a counter are random and have none.
    if memchr::memchr(b'.', text).is_none() {
        return Err(none());
    }
    let details = subject::details(text, &Segment::default());
    if details.flags & subject::flags::INDEX_SPAM != 0 {
        return Err(Cause::Reason(Reason::IndexSpam));
    }
    if details.name.is_empty() || details.flags & subject::flags::EXTENSION == 0 {
        return Err(none());
    }
    Ok((counted(1, 1), flags::SINGLE_BY_NAME, Some(details)))
}
