//! Lines whose two counters are equal: `[12/240] - "name" yEnc (12/240)`.
//!
//! Alone such a line does not tell whose the counter is. All lines of a span do:
//! - The name stays while the counter runs: it is the segment's, and the file has no counter.
//! - Other parts of the file are there with unequal counters: the line is one of them.
//! - Else the name changes with the counter: it is the file's, and the file has one segment.
//!
//! The last is open where other parts may lie outside the span. The line is then a fragment under its name
//! without counters, with the flag [`flags::COUNTER_UNCERTAIN`] alone, and decided when fragments are merged.

use std::collections::HashMap;

use super::Config;
use super::emit::reach;
use super::file::{Entry, FileSet, Place};
use super::keys::{Keys, of_single};
use super::log::Log;
use crate::subject::{self, Subject};
use crate::tables::flags;

/// The key of a subject without its counters.
pub(super) fn key_without_counters(keys: &mut Keys, text: &[u8], details: &Subject) -> u64 {
    let [first, second, third] = details.cuts;
    let mut cuts = [details.file_counter, first, second, third];
    cuts.sort_unstable_by_key(|cut| (cut.is_empty(), cut.start, cut.end));
    keys.of(text, &cuts, details.total)
}

/// Decides every doubtful file: each becomes an ordinary one or joins one.
pub(super) fn resolve(set: &mut FileSet, keys: &mut Keys, config: &Config) {
    let doubtful: Vec<u32> = set.doubtful_entries().collect();
    let parsed: Vec<Subject> = doubtful
        .iter()
        .map(|index| subject::parse(set.subject(*index)))
        .collect();
    let is_lone = are_lone(set, &doubtful, &parsed);
    for ((&index, parsed), is_lone) in doubtful.iter().zip(&parsed).zip(is_lone) {
        let mut log = Log::default();
        set.take_articles(index, &mut log);
        let mut parts = log.heads.iter().map(|head| head.part);
        let first = parts.next();
        if parts.any(|part| Some(part) != first) {
            let key = set.entries[index as usize].key;
            join(
                set,
                index,
                key,
                parsed.total,
                flags::COUNTER_IS_SEGMENTS,
                &log,
            );
            continue;
        }
        let text = set.subject(index);
        let ordinary = keys.of(text, &parsed.cuts, parsed.total);
        if let Some(owner) = set.find(Place::Ordinary, ordinary) {
            set.give(index, owner, &log);
            continue;
        }
        let key = set.entries[index as usize].key;
        let numbers = log.heads.iter().map(|head| head.number);
        let (first, last) = (numbers.clone().min(), numbers.max());
        let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
        if reach(config, parsed.total, 1, first, last).0 {
            join(
                set,
                index,
                key,
                parsed.total,
                flags::COUNTER_UNCERTAIN,
                &log,
            );
            continue;
        }
        let mut how = flags::COUNTER_IS_FILES;
        if is_lone {
            how |= flags::COUNTER_UNCERTAIN;
        }
        let mut single = Log::default();
        single.append(&log, Some(1));
        join(set, index, of_single(key), 1, how, &single);
    }
}

/// Whether each doubtful file is the only one of its set: of its head and number of parts.
fn are_lone(set: &FileSet, doubtful: &[u32], parsed: &[Subject]) -> Vec<bool> {
    let set_of =
        |(index, parsed): (&u32, &Subject)| (parsed.head.of(set.subject(*index)), parsed.total);
    let sets = || doubtful.iter().zip(parsed).map(set_of);
    let mut siblings: HashMap<(&[u8], u32), u32> = HashMap::new();
    for set in sets() {
        *siblings.entry(set).or_default() += 1;
    }
    sets().map(|set| siblings.get(&set) == Some(&1)).collect()
}

/// Makes the articles of a doubtful file an ordinary file with this key, or adds them to the one that is there.
fn join(set: &mut FileSet, index: u32, key: u64, total: u32, how: u32, log: &Log) {
    let owner = set
        .find(Place::Ordinary, key)
        .unwrap_or_else(|| set.insert(Place::Ordinary, Entry::new(key, total, 0, how)));
    set.give(index, owner, log);
}
