//! The files of a span while its lines come in.

use super::generations;
use super::limits::{Gate, Limits, row_bytes};
use super::log::{Facts, Log};
use super::sealed::{IdSet, Sealed, Vault};
use super::texts::KeyMap;
use crate::tables::{ByteStore, Stored};

/// Longest stored subject, From and list of newsgroups in bytes.
pub(super) const TEXT_LIMIT: usize = 2000;
/// A file without a new article for so many lines is encoded as far as it is there.
const IDLE_LINES: u64 = 50_000;
/// How often idle files are looked for.
const SWEEP_LINES: u64 = 50_000;
/// Most bytes of empty logs that are kept for the next files.
const SPARE_BYTES: usize = 8 << 20;
/// Largest log that is kept for the next files.
const SPARE_LOG: usize = 256 << 10;
/// So many bytes of Froms are added before what is held is weighed again.
const WEIGHED_BYTES: usize = 1 << 20;
/// Shorter logs are not searched for copies of a part.
const SEARCHED: usize = 16;
/// What a file takes besides its articles and texts: its entry, its place in the map, what its articles add up to.
const ENTRY_BYTES: usize = size_of::<Entry>() + size_of::<Sealed>() + 4 * size_of::<u64>();
/// What an article takes while its file is encoded, besides the log.
const ENCODING_BYTES: usize = 56;

/// In which way a file was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// By its subject without the segment counter.
    Ordinary,
    /// By its subject without any counter, until it is known whose the counter is.
    Doubtful,
}

/// The line that the texts of a file are taken from: of its lowest part the one with the lowest number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lowest {
    pub(super) part: u32,
    pub(super) number: u64,
    pub(super) subject: Stored,
    pub(super) groups: u32,
    pub(super) is_cut: bool,
}

/// One file.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: u64,
    pub(super) total: u32,
    pub(super) flags: u32,
    /// The part whose lines have two equal counters; 0 for none.
    pub(super) twin: u32,
    pub(super) lowest: Lowest,
    pub(super) log: Log,
    pub(super) sealed: Option<Box<Sealed>>,
    /// Number of logged articles at which the file may be whole.
    attempt_at: usize,
    last_line: u64,
    /// Rows that its logged articles make beyond the first.
    more_rows: u32,
    /// Bytes of the texts in its row.
    pub(super) text_bytes: u32,
}

impl Entry {
    /// A file without articles.
    pub(super) fn new(key: u64, total: u32, twin: u32, flags: u32) -> Self {
        Self {
            key,
            total,
            flags,
            twin,
            lowest: Lowest {
                part: u32::MAX,
                number: u64::MAX,
                subject: Stored::default(),
                groups: 0,
                is_cut: false,
            },
            log: Log::default(),
            sealed: None,
            attempt_at: if total == 0 {
                usize::MAX
            } else {
                total as usize
            },
            last_line: 0,
            more_rows: 0,
            text_bytes: 0,
        }
    }

    /// Bytes of its rows.
    fn row_bytes(&self, rows: usize) -> usize {
        rows * row_bytes(self.text_bytes as usize)
    }
}

/// All files of a span.
#[derive(Debug)]
pub(super) struct FileSet {
    pub(super) entries: Vec<Entry>,
    ordinary: KeyMap,
    doubtful: KeyMap,
    pub(super) subjects: ByteStore,
    pub(super) vault: Vault,
    pub(super) ids: IdSet,
    /// Articles that were found to be duplicates when their file was encoded.
    pub(super) duplicates: Log,
    order: Vec<u32>,
    spare: Vec<Log>,
    spare_bytes: usize,
    swept_at: u64,
    pub(super) gate: Gate,
    /// Bytes of all logs, spare ones included.
    log_bytes: usize,
    /// Bytes of the texts of newsgroups.
    pub(super) group_bytes: usize,
    /// Rows that will be made, and their bytes.
    rows: usize,
    row_bytes: usize,
    poster_bytes: usize,
    /// Articles that the largest log has room for.
    largest: usize,
}

impl FileSet {
    pub(super) fn new(keep_rows: bool, limits: Option<Limits>) -> Self {
        Self {
            entries: Vec::new(),
            ordinary: KeyMap::new(),
            doubtful: KeyMap::new(),
            subjects: ByteStore::default(),
            vault: Vault::new(keep_rows),
            ids: IdSet::new(),
            duplicates: Log::default(),
            order: Vec::new(),
            spare: Vec::new(),
            spare_bytes: 0,
            swept_at: 0,
            gate: Gate::new(limits),
            log_bytes: 0,
            group_bytes: 0,
            rows: 0,
            row_bytes: 0,
            poster_bytes: 0,
            largest: 0,
        }
    }

    /// Looks after what is held, which has grown; `line` is the number of lines so far.
    pub(super) fn grown(&mut self, line: u64) {
        if line >= self.swept_at + SWEEP_LINES {
            self.close_idle(line);
        }
        let held = self.entries.len() * ENTRY_BYTES
            + self.log_bytes
            + self.duplicates.capacity()
            + self.subjects.size()
            + self.vault.size()
            + self.group_bytes;
        let made = self.row_bytes + self.largest * ENCODING_BYTES;
        self.gate.weigh(self.rows, held, made);
    }

    /// The number of a From.
    #[inline]
    pub(super) fn number_of_poster(&mut self, poster: &[u8]) -> u32 {
        let number = self.vault.posters.number(poster);
        if self.vault.posters.size() >= self.poster_bytes + WEIGHED_BYTES {
            self.poster_bytes = self.vault.posters.size();
            self.grown(self.swept_at);
        }
        number
    }

    /// The entry with this key.
    #[inline]
    pub(super) fn find(&self, place: Place, key: u64) -> Option<u32> {
        let key_of = |entry: u32| self.entries[entry as usize].key;
        match place {
            Place::Ordinary => self.ordinary.get(key, key_of),
            Place::Doubtful => self.doubtful.get(key, key_of),
        }
    }

    /// Adds an entry whose key is not there.
    pub(super) fn insert(&mut self, place: Place, mut entry: Entry) -> u32 {
        let index = self.entries.len() as u32;
        if let Some(log) = self.spare.pop() {
            self.spare_bytes -= log.capacity();
            entry.log = log;
        }
        match place {
            Place::Ordinary => self.ordinary.insert(entry.key, index),
            Place::Doubtful => self.doubtful.insert(entry.key, index),
        }
        self.rows += 1;
        self.row_bytes += entry.row_bytes(1);
        self.entries.push(entry);
        index
    }

    /// Whether a line of this part has two equal counters.
    #[inline]
    pub(super) fn is_twin(&self, index: u32, part: u32) -> bool {
        self.entries[index as usize].twin == part
    }

    /// The From of the article that came last.
    #[inline]
    pub(super) fn last_poster(&self, index: u32) -> Option<u32> {
        let entry = &self.entries[index as usize];
        let logged = entry.log.heads.last().map(|head| head.poster);
        logged.or_else(|| entry.sealed.as_ref().map(|sealed| sealed.summary.poster))
    }

    /// Whether a line is now the one that the texts of the file are taken from.
    #[inline]
    pub(super) fn is_lowest(&self, index: u32, part: u32, number: u64) -> bool {
        let lowest = &self.entries[index as usize].lowest;
        (part, number) < (lowest.part, lowest.number)
    }

    /// Takes the texts of the file from the line of this part and number; `beside` are the bytes of the newsgroups and
    /// the From.
    pub(super) fn set_lowest(
        &mut self,
        index: u32,
        (part, number): (u32, u64),
        subject: &[u8],
        (groups, beside): (u32, usize),
    ) {
        let entry = &mut self.entries[index as usize];
        let kept = cut(subject, TEXT_LIMIT);
        let rows = 1 + entry.more_rows as usize;
        self.row_bytes -= entry.row_bytes(rows);
        // Its name and what stands around that are texts of their own in a row.
        entry.text_bytes = (2 * kept.len() + beside) as u32;
        self.row_bytes += entry.row_bytes(rows);
        entry.lowest = Lowest {
            part,
            number,
            subject: self.subjects.replace(entry.lowest.subject, kept),
            groups,
            is_cut: kept.len() < subject.len(),
        };
    }

    /// Logs an article, its id at `start..end` of a text; encodes the file when it is whole.
    #[inline]
    pub(super) fn push(
        &mut self,
        index: u32,
        facts: Facts,
        (text, start, end): (&[u8], usize, usize),
        line: u64,
    ) {
        let mut entry = &mut self.entries[index as usize];
        entry.last_line = line;
        if entry.log.is_full() {
            self.make_room(index, line);
            entry = &mut self.entries[index as usize];
        }
        entry.log.push_from(facts, text, start, end);
        if entry.log.heads.len() == entry.attempt_at && entry.sealed.is_none() {
            self.try_close(index);
        }
    }

    /// Makes room in the log of a file.
    #[cold]
    fn make_room(&mut self, index: u32, line: u64) {
        let entry = &mut self.entries[index as usize];
        let len = entry.log.heads.len();
        if len >= SEARCHED {
            let more = entry.log.most_copies(&mut self.order) - 1;
            let known = entry.more_rows as usize;
            if more > known {
                entry.more_rows = more as u32;
                self.rows += more - known;
                self.row_bytes += entry.row_bytes(more - known);
            }
        }
        let before = entry.log.capacity();
        let is_of_copies = entry.more_rows as usize > len / 2;
        entry.log.make_room(entry.total, is_of_copies);
        self.log_bytes += entry.log.capacity() - before;
        self.largest = self.largest.max(entry.log.heads.capacity());
        self.grown(line);
    }

    /// Encodes a file if its logged articles are exactly its parts.
    #[inline(never)]
    fn try_close(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        let total = entry.total as usize;
        let heads = &entry.log.heads;
        self.order.clear();
        self.order.resize(total, u32::MAX);
        let mut distinct = 0;
        let mut is_plain = heads.len() == total;
        for (at, head) in (0..).zip(heads) {
            match self.order.get_mut((head.part as usize).wrapping_sub(1)) {
                Some(place) if *place == u32::MAX => {
                    *place = at;
                    distinct += 1;
                }
                _ => is_plain = false,
            }
        }
        if distinct < total {
            // Something came twice: at the earliest it is whole when as many more came as parts are missing.
            entry.attempt_at = heads.len() + (total - distinct);
            return;
        }
        entry.attempt_at = usize::MAX;
        self.ids.reset(total);
        if is_plain && self.order.iter().all(|at| self.ids.insert(&entry.log, *at)) {
            let order = self.order.iter().map(|at| *at as usize);
            if let Ok(sealed) = self.vault.seal(&entry.log, order) {
                entry.sealed = Some(Box::new(sealed));
                self.recycle(index);
            }
            return;
        }
        self.close_settled(index);
    }

    /// Encodes a file without its duplicates, unless it was posted more than once.
    fn close_settled(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        let settled = generations::settle(&entry.log, &mut self.ids);
        let [order] = &settled.generations[..] else {
            return;
        };
        if let Ok(sealed) = self.vault.seal(&entry.log, order.iter().copied()) {
            entry.sealed = Some(Box::new(sealed));
            self.duplicates.append_some(&entry.log, &settled.duplicates);
            self.recycle(index);
        }
    }

    /// Takes the log away from a file whose articles are encoded.
    fn recycle(&mut self, index: u32) {
        let mut log = std::mem::take(&mut self.entries[index as usize].log);
        log.clear();
        let bytes = log.capacity();
        if bytes <= SPARE_LOG && self.spare_bytes + bytes <= SPARE_BYTES {
            self.spare_bytes += bytes;
            self.spare.push(log);
        } else {
            self.log_bytes -= bytes;
        }
    }

    /// Encodes what is there of files that no article came to for long; `line` is the number of lines so far.
    fn close_idle(&mut self, line: u64) {
        self.swept_at = line;
        for index in 0..self.entries.len() {
            let entry = &self.entries[index];
            let is_idle = entry.last_line + IDLE_LINES <= line;
            if is_idle && entry.sealed.is_none() && !entry.log.heads.is_empty() {
                self.close_settled(index as u32);
            }
        }
    }

    /// Frees what only the lines that come in need.
    pub(super) fn stop_finding(&mut self) {
        self.ordinary = KeyMap::new();
        self.doubtful = KeyMap::new();
        self.spare = Vec::new();
    }

    /// The entries that were named without counters.
    pub(super) fn doubtful_entries(&self) -> impl Iterator<Item = u32> + use<> {
        let mut entries = self.doubtful.entries();
        entries.sort_unstable();
        entries.into_iter()
    }

    /// The subject of the lowest part.
    pub(super) fn subject(&self, index: u32) -> &[u8] {
        self.subjects
            .get(self.entries[index as usize].lowest.subject)
    }

    /// Moves all articles of a file to the end of `log`, those that were encoded as well.
    pub(super) fn take_articles(&mut self, index: u32, log: &mut Log) {
        let entry = &mut self.entries[index as usize];
        if let Some(sealed) = entry.sealed.take() {
            self.vault.open(&sealed, log);
        }
        log.append(&entry.log, None);
        entry.log.clear();
    }

    /// Adds the articles that were taken from one file to another.
    pub(super) fn give(&mut self, from: u32, to: u32, log: &Log) {
        let lowest = self.entries[from as usize].lowest;
        let entry = &mut self.entries[to as usize];
        entry.log.append(log, None);
        let part = log.heads.iter().map(|head| head.part).min();
        let part = part.unwrap_or(lowest.part);
        if (part, lowest.number) < (entry.lowest.part, entry.lowest.number) {
            entry.lowest = Lowest { part, ..lowest };
        }
    }
}

/// At most `limit` bytes, without cutting a character of UTF-8.
pub(super) fn cut(text: &[u8], limit: usize) -> &[u8] {
    if text.len() <= limit {
        return text;
    }
    let mut end = limit;
    while end > 0 && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    &text[..end]
}
