//! The end of a span: what was left open is decided, and files become rows.

use std::borrow::Cow;

use super::file::{Entry, Lowest};
use super::generations::{Settled, settle};
use super::log::Log;
use super::rejects::{Cause, Tallies};
use super::sealed::{Sealed, Summary};
use super::{Config, Filer, RowPlace, Rows, doubtful, keys};
use crate::reason::Reason;
use crate::subject;
use crate::tables::{Articles, Files, Tables, flags};
use crate::text::to_utf8;

/// A file whose missing parts are further away than this many numbers is not waited for.
const REACH_MARGIN: u64 = 2000;
/// Missing parts may be this many times further apart than the parts that were seen.
const REACH_FACTOR: u64 = 4;
/// A file of so many articles takes so much memory that it is worth while to free it piece by piece.
const MANY: usize = 1 << 14;

/// Makes the tables of a span.
pub(super) fn finish(mut filer: Filer) -> Tables {
    doubtful::resolve(&mut filer.set, &mut filer.keys, &filer.config);
    filer.set.stop_finding();
    let mut files = Files::default();
    files.reserve(filer.set.entries.len());
    reserve_texts(&filer, &mut files);
    let mut log = Log::default();
    let entry_keys: Vec<u64> = filer.set.entries.iter().map(|entry| entry.key).collect();
    for index in 0..entry_keys.len() {
        let entry = &filer.set.entries[index];
        if entry.log.heads.is_empty() {
            if let Some(sealed) = entry.sealed.as_deref().copied() {
                push_file(&mut files, &filer, index, &sealed, 0);
            }
            continue;
        }
        if entry.sealed.is_some() {
            log.clear();
            filer.set.take_articles(index as u32, &mut log);
        } else {
            log = std::mem::take(&mut filer.set.entries[index].log);
        }
        if log.heads.len() >= MANY {
            finish_large(&mut filer, &mut files, index, std::mem::take(&mut log));
        } else {
            finish_file(&mut filer, &mut files, index, &log);
        }
    }
    let duplicates = std::mem::take(&mut filer.set.duplicates);
    for head in &duplicates.heads {
        reject(&mut filer, Reason::Duplicate, head.row, duplicates.id(head));
    }
    files.payloads = std::mem::take(&mut filer.set.vault.records);
    let articles = filer
        .rows
        .take()
        .map(|rows| articles(rows, &entry_keys, filer.tallies.names()));
    Tables {
        files,
        articles,
        rejects: filer.tallies.into_table(),
        lines: filer.lines,
        rejected: filer.rejected,
    }
}

/// Makes room for the texts that are long where somebody made them so, as if each file had one row.
fn reserve_texts(filer: &Filer, files: &mut Files) {
    let (mut subjects, mut groups, mut posters) = (0, 0, 0);
    for entry in &filer.set.entries {
        let subject = entry.lowest.subject.len as usize;
        let listed = filer.groups.get(entry.lowest.groups).len();
        subjects += subject;
        groups += listed;
        posters += (entry.text_bytes as usize).saturating_sub(2 * subject + listed);
    }
    files.subject.reserve_bytes(subjects);
    files.name.reserve_bytes(subjects);
    files.groups.reserve_bytes(groups);
    files.poster.reserve_bytes(posters);
}

/// [`finish_file`] of a file that was posted once, for which less is held; else it is that.
fn finish_large(filer: &mut Filer, files: &mut Files, index: usize, log: Log) {
    let mut settled = settle(&log, &mut filer.set.ids);
    filer.set.ids.free();
    let order = match &mut settled.generations[..] {
        [order] if filer.rows.is_none() => std::mem::take(order),
        _ => return finish_file(filer, files, index, &log),
    };
    reject_duplicates(filer, &log, &settled);
    finish_last(filer, files, index, log, order);
}

/// [`finish_posting`] of the only posting of a file, without a row per line.
fn finish_last(filer: &mut Filer, files: &mut Files, index: usize, log: Log, order: Vec<usize>) {
    let count = order.len();
    let sample = order.first().map_or_else(Vec::new, |first| {
        let first = &log.heads[*first];
        log.id(first).to_vec()
    });
    match filer.set.vault.seal_last(log, order) {
        Ok(sealed) => push_file(files, filer, index, &sealed, 0),
        Err(_) => (0..count).for_each(|_| reject(filer, Reason::Unencodable, 0, &sample)),
    }
}

/// Tells duplicates and reposts of a file apart and makes a row of each posting.
fn finish_file(filer: &mut Filer, files: &mut Files, index: usize, log: &Log) {
    let settled = settle(log, &mut filer.set.ids);
    reject_duplicates(filer, log, &settled);
    for (generation, order) in (0..).zip(&settled.generations) {
        finish_posting(filer, files, (index, generation), log, order);
    }
}

/// Makes the row of one posting of a file, ascending by part.
fn finish_posting(
    filer: &mut Filer,
    files: &mut Files,
    (index, generation): (usize, u32),
    log: &Log,
    order: &[usize],
) {
    // Ids come from the scanner, which bounds their length, and parts ascend: only a fault of the encoder is left.
    let Ok(sealed) = filer.set.vault.seal(log, order.iter().copied()) else {
        return reject_articles(filer, Reason::Unencodable, log, order);
    };
    let key = keys::of_generation(filer.set.entries[index].key, generation);
    push_file(files, filer, index, &sealed, generation);
    if let Some(rows) = &mut filer.rows {
        for at in order {
            let head = &log.heads[*at];
            let row = &mut rows.rows[head.row as usize];
            row.place = RowPlace::Key(key);
            row.part = head.part;
        }
    }
}

fn reject_duplicates(filer: &mut Filer, log: &Log, settled: &Settled) {
    reject_articles(filer, Reason::Duplicate, log, &settled.duplicates);
}

fn reject_articles(filer: &mut Filer, reason: Reason, log: &Log, articles: &[usize]) {
    for article in articles {
        let head = &log.heads[*article];
        reject(filer, reason, head.row, log.id(head));
    }
}

fn reject(filer: &mut Filer, reason: Reason, row: u32, id: &[u8]) {
    let cause = Cause::Reason(reason);
    filer.rejected += 1;
    filer.tallies.add(cause, id);
    if let Some(rows) = &mut filer.rows {
        rows.rows[row as usize].place = RowPlace::Rejected(Tallies::number(cause));
    }
}

/// Appends the row of one posting of a file.
fn push_file(files: &mut Files, filer: &Filer, index: usize, sealed: &Sealed, generation: u32) {
    let entry = &filer.set.entries[index];
    let summary = &sealed.summary;
    let lowest = &entry.lowest;
    let text = subject_of(filer.set.subjects.get(lowest.subject), lowest, summary);
    let parsed = subject::parse(&text);
    let bytes = &text[..];
    let text_of = |span: subject::Span32| span.of(bytes);
    files
        .file_key
        .push(keys::of_generation(entry.key, generation));
    files
        .generation
        .push(u16::try_from(generation).unwrap_or(u16::MAX));
    files.subject.push(&to_utf8(bytes));
    files.name.push(&to_utf8(text_of(parsed.name)));
    files.head.push(&to_utf8(text_of(parsed.head)));
    files.tail.push(&to_utf8(text_of(parsed.tail)));
    files.request.push(&to_utf8(text_of(parsed.request)));
    let is_counted = entry.flags & flags::COUNTER_IS_SEGMENTS == 0;
    files
        .file_index
        .push(parsed.file_index.filter(|_| is_counted));
    files
        .file_total
        .push(parsed.file_total.filter(|_| is_counted));
    files.parts_total.push(entry.total);
    files.parts_found.push(summary.found);
    files.size_bytes.push(summary.size_bytes);
    files
        .poster
        .push(&to_utf8(filer.set.vault.posters.get(summary.poster)));
    files.poster_constant.push(summary.poster_constant);
    files.group.push(&filer.config.group);
    files.groups.push(&to_utf8(filer.groups.get(lowest.groups)));
    let time = |posted: u32| (posted > 0).then_some(i64::from(posted));
    files.first_posted_at.push(time(summary.first_posted));
    files.last_posted_at.push(time(summary.last_posted));
    files.first_number.push(summary.first_number);
    files.last_number.push(summary.last_number);
    files
        .first_message_id
        .push(&to_utf8(&filer.set.vault.first_id(sealed)));
    files
        .flags
        .push(flags_of(entry, summary, parsed.flags, generation));
    let (first, last) = (summary.first_number, summary.last_number);
    let (leaves, low, high) = reach(&filer.config, entry.total, summary.found, first, last);
    let is_fragment = leaves || is_undecided(entry);
    // A part of it whose two counters are equal may be a fragment under this name.
    let base = if is_fragment && entry.twin > 0 {
        let mut keys = keys::Keys::new(&filer.config.group);
        doubtful::key_without_counters(&mut keys, bytes, &parsed)
    } else {
        entry.key
    };
    files.base_key.push(base);
    files.is_fragment.push(is_fragment);
    files.reach_low.push(low);
    files.reach_high.push(high);
    files.payload.push(sealed.record);
}

/// The subject of a posting: that of the file's lowest part, with its own part number in the counters.
fn subject_of<'a>(text: &'a [u8], lowest: &Lowest, summary: &Summary) -> Cow<'a, [u8]> {
    if summary.lowest_part == lowest.part {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 8);
    let mut from = 0;
    for cut in subject::segment(text).cuts {
        let cut = cut.start as usize..cut.end as usize;
        let Some(counter) = text.get(cut.clone()).filter(|_| cut.start >= from) else {
            continue;
        };
        let is_digit = |byte: &&u8| byte.is_ascii_digit();
        let before = counter.iter().take_while(|byte| !is_digit(byte)).count();
        let width = counter[before..].iter().take_while(is_digit).count();
        if width == 0 {
            continue;
        }
        out.extend_from_slice(&text[from..cut.start + before]);
        out.extend_from_slice(format!("{:0width$}", summary.lowest_part).as_bytes());
        from = cut.start + before + width;
    }
    out.extend_from_slice(&text[from..]);
    Cow::Owned(out)
}

fn flags_of(entry: &Entry, summary: &Summary, grammar: u32, generation: u32) -> u32 {
    let mut bits = grammar & 0xffff | entry.flags;
    let mut set = |bit: u32, is_set: bool| bits = bits & !bit | if is_set { bit } else { 0 };
    set(
        subject::flags::PART_OVER_TOTAL,
        entry.total > 0 && summary.highest_part > entry.total,
    );
    set(subject::flags::UNKNOWN_TOTAL, entry.total == 0);
    set(flags::UNDATED, summary.last_posted == 0);
    set(flags::SIZE_UNKNOWN, summary.some_size_unknown);
    set(flags::SUBJECT_CUT, entry.lowest.is_cut);
    set(flags::REPOST, generation > 0);
    bits
}

/// Whether the lines of the span left it open whose the equal counters of a file are.
fn is_undecided(entry: &Entry) -> bool {
    const DECIDED: u32 = flags::COUNTER_IS_FILES | flags::COUNTER_IS_SEGMENTS;
    entry.flags & (flags::COUNTER_UNCERTAIN | DECIDED) == flags::COUNTER_UNCERTAIN
}

/// Whether missing parts may lie outside the span, and the numbers between which they may lie.
pub(super) fn reach(
    config: &Config,
    total: u32,
    found: u32,
    first: u64,
    last: u64,
) -> (bool, u64, u64) {
    if found >= total {
        return (false, first, last);
    }
    let missing = u64::from(total - found);
    let step = ((last - first) / u64::from(found.max(2) - 1)).max(1);
    let distance = missing
        .saturating_mul(step)
        .saturating_mul(REACH_FACTOR)
        .saturating_add(REACH_MARGIN);
    let (low, high) = (
        first.saturating_sub(distance),
        last.saturating_add(distance),
    );
    let leaves = (config.low > 0 && low < config.low) || (config.high > 0 && high > config.high);
    (leaves, low, high)
}

fn articles(rows: Rows, keys: &[u64], reasons: Vec<String>) -> Articles {
    let mut table = Articles {
        reasons,
        message_ids: rows.ids,
        ..Articles::default()
    };
    for row in rows.rows {
        table.number.push(row.number);
        let (key, reason) = match row.place {
            RowPlace::Rejected(cause) => (None, Some(cause)),
            RowPlace::Entry(index) => (Some(keys[index as usize]), None),
            RowPlace::Key(key) => (Some(key), None),
        };
        table.file_key.push(key);
        table.reason.push(reason);
        table.part.push(key.map(|_| row.part));
        table.size_bytes.push(row.size);
        table.message_id.push(row.has_id.then_some(row.id));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::log::Facts;
    use super::*;

    fn filer_with(log: &Log) -> (Filer, Files) {
        let config = Config {
            group: "alt.binaries.example".to_owned(),
            low: 0,
            high: 0,
            groups: Vec::new(),
            now: 0,
            keep_articles: false,
        };
        let mut filer = Filer::new(config, None);
        filer.lines = log.heads.len() as u64;
        let entry = Entry::new(1, 3, 0, 0);
        filer.set.insert(super::super::file::Place::Ordinary, entry);
        (filer, Files::default())
    }

    fn log_of(parts: &[u32]) -> Log {
        let mut log = Log::default();
        for (number, part) in (1..).zip(parts) {
            let facts = Facts {
                number,
                part: *part,
                size: 1,
                posted: 0,
                poster: 0,
                row: 0,
            };
            log.push(facts, format!("{number}@example.invalid").as_bytes());
        }
        log
    }

    /// Parts that do not ascend stand for whatever an encoder may refuse.
    #[test]
    fn what_cannot_be_encoded_is_counted() {
        let log = log_of(&[2, 1, 3]);
        let (mut filer, mut files) = filer_with(&log);
        finish_posting(&mut filer, &mut files, (0, 0), &log, &[0, 1, 2]);
        assert_eq!((files.len(), filer.rejected), (0, 3));
        let table = filer.tallies.into_table();
        assert_eq!(
            (table.reason, table.count),
            (vec!["unencodable".to_owned()], vec![3])
        );
        assert_eq!(table.samples[0][0], b"1@example.invalid");
    }

    #[test]
    fn a_large_file_that_cannot_be_encoded_is_counted() {
        let parts: Vec<u32> = (1..=MANY as u32).collect();
        let mut log = log_of(&parts);
        let (mut filer, mut files) = filer_with(&log);
        finish_last(
            &mut filer,
            &mut files,
            0,
            std::mem::take(&mut log),
            (0..MANY).rev().collect(),
        );
        assert_eq!((files.len(), filer.rejected), (0, MANY as u64));
        assert_eq!(filer.tallies.into_table().count, vec![MANY as u64]);
    }
}
