//! The parsers on real posts, where the folder with the collected data is present.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use voyager_engine::date::DateParser;
use voyager_engine::inflate::Inflater;
use voyager_engine::lines::scan;
use voyager_engine::subject::{self, flags};
use voyager_engine::xref::group_names;

fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/overview");
    folder.is_dir().then_some(folder)
}

/// The text of a file that may be compressed.
fn text(path: &Path) -> Vec<u8> {
    let block = fs::read(path).expect("a readable file");
    let mut out = Vec::new();
    let framing = Inflater::new()
        .inflate(&block, &mut out)
        .expect("a whole stream");
    out.truncate(framing.text_len);
    out
}

/// What is left of a subject without its segment counter.
fn key(bytes: &[u8]) -> (Vec<u8>, u32) {
    let found = subject::segment(bytes);
    let mut left = bytes.to_vec();
    for cut in found.cuts.iter().rev() {
        left.drain(cut.start as usize..cut.end as usize);
    }
    (left, found.total)
}

#[test]
fn fields_of_real_lines_are_those_of_a_plain_split() {
    let Some(folder) = folder() else { return };
    let mut files = 0;
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("an entry").path();
        if !path.to_string_lossy().contains(".over") {
            continue;
        }
        files += 1;
        let text = text(&path);
        let mut plain = text
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        let mut dates = DateParser::new();
        scan(&text, &mut |line| {
            let raw = plain.next().expect("a line");
            let fields: Vec<&[u8]> = raw
                .strip_suffix(b"\r")
                .unwrap_or(raw)
                .split(|byte| *byte == b'\t')
                .collect();
            assert_eq!(line.reason, None, "{}", String::from_utf8_lossy(raw));
            assert_eq!(
                (line.subject, line.poster, line.date),
                (fields[1], fields[2], fields[3])
            );
            assert_eq!([b"<", line.message_id, b">"].concat(), fields[4]);
            let number = |number: Option<u64>| {
                number
                    .map(|number| number.to_string())
                    .unwrap_or_default()
                    .into_bytes()
            };
            assert_eq!(
                (number(line.number), number(line.size), number(line.lines)),
                (fields[0].into(), fields[6].into(), fields[7].into())
            );
            assert_eq!([b"Xref: ", line.xref].concat(), fields[8]);
            assert!(group_names(line.xref).count() > 0);
            assert!(
                dates.parse(line.date).is_some(),
                "{}",
                String::from_utf8_lossy(line.date)
            );
        });
        assert!(plain.next().is_none(), "{}", path.display());
    }
    assert!(files > 10, "only {files} files");
}

#[test]
fn subjects_without_their_counter_tell_the_files_of_a_real_group_apart() {
    let Some(folder) = folder() else { return };
    let truth = String::from_utf8(text(&folder.join("mixed-boneless.truth.tsv.gz"))).expect("text");
    let truth: BTreeMap<u64, Vec<&str>> = truth
        .lines()
        .skip(1)
        .map(|row| row.split('\t').collect::<Vec<_>>())
        .map(|columns| (columns[0].parse().expect("a number"), columns))
        .collect();
    let mut by_key: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let mut by_file: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    scan(&text(&folder.join("mixed-boneless.over.gz")), &mut |line| {
        let Some(columns) = line.number.and_then(|number| truth.get(&number)) else {
            return;
        };
        let found = subject::parse(line.subject);
        assert_eq!(found.part.to_string(), columns[3]);
        assert_eq!(found.flags & flags::INDEX_SPAM, 0);
        let file = (columns[1], columns[2]);
        by_key.entry(key(line.subject)).or_default().insert(file);
        by_file.entry(file).or_default().insert(key(line.subject));
    });
    assert!(by_key.len() > 200 && by_key.len() == by_file.len());
    assert!(
        by_key.values().all(|files| files.len() == 1)
            && by_file.values().all(|keys| keys.len() == 1)
    );
}

#[test]
fn counters_and_names_of_collected_subjects() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/subjects/edge_cases.tsv");
    let Ok(table) = fs::read_to_string(path) else {
        return;
    };
    let (mut rows, mut names) = (0, 0);
    for row in table.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let found = subject::parse(columns[0].as_bytes());
        let got = [
            found.file_index,
            found.file_total,
            Some(found.part),
            Some(found.total),
        ];
        for (got, want) in got.into_iter().zip(&columns[2..6]) {
            if let Ok(want) = want.parse::<u32>() {
                assert_eq!(got, Some(want), "{}", columns[0]);
            }
        }
        rows += 1;
        names += usize::from(found.name.of(columns[0].as_bytes()) == columns[1].as_bytes());
    }
    // Some rows want the whole subject where it holds no file name.
    assert!(rows - names <= 6, "{names} names of {rows}");
}
