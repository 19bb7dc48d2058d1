//! The grammar of subjects: the project's table, the shared battery where it is present, and rules between the two.

use std::fs;
use std::path::Path;

use voyager_engine::subject::{self, Span32, Subject, flags};
use voyager_engine::text;

/// A subject and what was found in it.
struct Parsed {
    decoded: Vec<u8>,
    found: Subject,
}

impl Parsed {
    fn new(raw: &[u8]) -> Self {
        let mut decoded = Vec::new();
        if text::needs_decoding(raw) {
            text::decode_header(raw, &mut decoded);
        } else {
            decoded.extend_from_slice(raw);
        }
        let found = subject::parse(&decoded);
        Self { decoded, found }
    }

    fn text(&self, span: Span32) -> String {
        text::to_utf8(span.of(&self.decoded)).into_owned()
    }

    fn name(&self) -> String {
        self.text(self.found.name)
    }

    fn counters(&self) -> (u32, u32, Option<u32>, Option<u32>) {
        (
            self.found.part,
            self.found.total,
            self.found.file_index,
            self.found.file_total,
        )
    }
}

fn parse(raw: &str) -> Parsed {
    Parsed::new(raw.as_bytes())
}

/// `\xNN` is a byte, `\\` a backslash.
fn unescape(column: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = column.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match (first, after) {
            (b'\\', [b'\\', tail @ ..]) => {
                out.push(b'\\');
                rest = tail;
            }
            (b'\\', [b'x', high, low, tail @ ..]) => {
                let digits = String::from_utf8_lossy(&[*high, *low]).into_owned();
                out.push(u8::from_str_radix(&digits, 16).expect("two hexadecimal digits"));
                rest = tail;
            }
            _ => out.push(*first),
        }
    }
    out
}

fn flag_names(bits: u32) -> String {
    const NAMES: [(u32, &str); 12] = [
        (flags::AMBIGUOUS, "ambiguous"),
        (flags::UNKNOWN_TOTAL, "unknown_total"),
        (flags::PART_OVER_TOTAL, "part_over_total"),
        (flags::INDEX_OVER_TOTAL, "index_over_total"),
        (flags::PART_ZERO, "part_zero"),
        (flags::INDEX_SPAM, "index_spam"),
        (flags::DOUBLED, "doubled"),
        (flags::QUOTED_NAME, "quoted"),
        (flags::BRACKET_NAME, "bracket"),
        (flags::YENC, "yenc"),
        (flags::EXTENSION, "extension"),
        (flags::TAIL_BETWEEN, "between"),
    ];
    let set: Vec<&str> = NAMES
        .iter()
        .filter(|(bit, _)| bits & bit != 0)
        .map(|(_, name)| *name)
        .collect();
    set.join(",")
}

#[test]
fn every_row_of_the_table() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in include_str!("subjects.tsv")
        .lines()
        .filter(|row| !row.starts_with('#'))
    {
        let columns: Vec<&str> = row.split('\t').collect();
        let parsed = Parsed::new(&unescape(columns[1]));
        let found = &parsed.found;
        let number =
            |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
        let counted = |number: u32| {
            if found.counted {
                number.to_string()
            } else {
                String::new()
            }
        };
        let got = [
            counted(found.part),
            counted(found.total),
            number(found.file_index),
            number(found.file_total),
            parsed.name(),
            parsed.text(found.head),
            parsed.text(found.tail),
            parsed.text(found.request),
            flag_names(found.flags),
        ];
        if got != columns[2..] {
            wrong.push(format!(
                "{} {}\n  want {:?}\n  got  {got:?}",
                columns[0],
                columns[1],
                &columns[2..]
            ));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} rows");
}

/// The rows that the project's table re-expresses, where the folder with the originals is present.
#[test]
fn every_row_of_the_shared_battery() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/prototypes/engine/battery.tsv");
    let Ok(battery) = fs::read_to_string(&path) else {
        return;
    };
    let mut wrong = Vec::new();
    for row in battery.lines().filter(|row| !row.starts_with('#')) {
        let columns: Vec<&str> = row.split('\t').collect();
        let parsed = Parsed::new(&unescape(columns[1]));
        let found = &parsed.found;
        let (mut index, mut of) = (found.file_index.unwrap_or(0), found.file_total.unwrap_or(0));
        // Whether an equal pair counts files or segments is decided across lines; this row has one line.
        if columns[0] == "D1" && found.flags & flags::AMBIGUOUS != 0 {
            (index, of) = (0, 0);
        }
        let got = [found.part, found.total, index, of].map(|number| number.to_string());
        let want = [columns[2], columns[3], columns[5], columns[6]];
        if got != want || parsed.name() != columns[4] {
            wrong.push(format!(
                "{} {}: want {want:?}, got {got:?} {}",
                columns[0],
                columns[1],
                parsed.name()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn parts_of_a_file_differ_only_in_what_is_cut_out() {
    for shape in [
        "[03/25] - \"cargo.r00\" yEnc (#/120) 5000",
        "63258-0[001/101] - \"63258-2.0\" yEnc (#/120) (#/120)",
        "[PRiVATE]-[WtFnZb]-[cargo.bin]-[1/10] - \"\" yEnc  4288754174 (#/120)",
        "\"cargo.rar\" yEnc -- READ NFO! (#/120)",
        "[1/3] \"cargo.rar\" yEnc [#/120]",
        "cargo.rar #/120",
        "Great Ship 2024 # of 120 yEnc",
        "cargo.rar (#/120) yEnc",
        "Cargo|part (#|120)",
        "\"cargo.rar\" yEnc (#/120) (German)",
    ] {
        let left = |part: u32| {
            let parsed = parse(&shape.replace('#', &part.to_string()));
            assert_eq!(
                (parsed.found.part, parsed.found.total),
                (part, 120),
                "{shape}"
            );
            let mut left = parsed.decoded.clone();
            for cut in parsed.found.cuts.iter().rev() {
                left.drain(cut.start as usize..cut.end as usize);
            }
            (left, parsed.name())
        };
        let first = left(1);
        for part in [2, 9, 10, 99, 119, 120] {
            assert_eq!(left(part), first, "{shape}");
        }
    }
}

#[test]
fn cuts_ascend_and_hold_the_counter() {
    let parsed = parse("\"cargo.rar\" yEnc (3/120) (3/120) [3/120]");
    let cuts = parsed.found.cuts.map(|cut| parsed.text(cut));
    assert_eq!(cuts, ["(3/120)", "(3/120)", "[3/120]"]);
    let parsed = parse("\"cargo.rar\" yEnc (3/120) (3/120) (3/120) (3/120) (3/120)");
    assert!(parsed.found.cuts.is_sorted_by_key(|cut| cut.start));
    assert_eq!((parsed.found.part, parsed.found.total), (3, 120));
}

#[test]
fn an_only_counter_after_the_name_may_be_either() {
    for subject in [
        "\"cargo.nfo\" (3/12) yEnc",
        "\"cargo.nfo\" [3/12] - yEnc",
        "cargo.nfo [3/12] yEnc",
        "cargo.nfo 3/12 yEnc",
    ] {
        let parsed = parse(subject);
        assert_eq!(parsed.counters(), (3, 12, Some(3), Some(12)), "{subject}");
        assert_eq!(parsed.found.file_counter, parsed.found.cuts[0], "{subject}");
        assert_ne!(parsed.found.flags & flags::AMBIGUOUS, 0, "{subject}");
    }
    // Parts begin at 1, files at 0 or 1.
    let parsed = parse("\"cargo.nzb\" [00/12] yEnc");
    assert_eq!(
        (parsed.found.counted, parsed.counters()),
        (false, (0, 0, Some(0), Some(12)))
    );
}

#[test]
fn one_of_one_is_never_ambiguous() {
    let parsed = parse("[1/1] - \"cargo.nfo\" yEnc (1/1)");
    assert_eq!(parsed.counters(), (1, 1, Some(1), Some(1)));
    assert_eq!(parsed.found.flags & flags::AMBIGUOUS, 0);
}

#[test]
fn numbers_that_no_counter_has() {
    for subject in [
        "\"a.rar\" yEnc (1234567890/3)",
        "\"a.rar\" yEnc (3/99999999999)",
        "\"a.rar\" yEnc (/)",
        "\"a.rar\" yEnc (1/)",
        "\"a.rar\" yEnc (-1/5)",
    ] {
        assert!(!parse(subject).found.counted, "{subject}");
    }
    let parsed = parse("\"a.rar\" yEnc (999999999/999999999)");
    assert_eq!(
        (parsed.found.part, parsed.found.total),
        (999_999_999, 999_999_999)
    );
}

#[test]
fn counters_inside_names_are_names() {
    let parsed = parse("[04/25] - \"02 Song (1/2) [3/4].flac\" yEnc (3/40)");
    assert_eq!(parsed.counters(), (3, 40, Some(4), Some(25)));
    assert_eq!(parsed.name(), "02 Song (1/2) [3/4].flac");
    let parsed = parse("\"Song (1/2).flac\"");
    assert_eq!(
        (parsed.found.counted, parsed.name().as_str()),
        (false, "Song (1/2).flac")
    );
}

#[test]
fn blanks_and_marks_in_counters() {
    for counter in [
        "( 3 / 40 )",
        "(3|40)",
        "(3 of 40)",
        "(03/40)",
        "(3\\40)",
        "(Part 3/40)",
        "(3/40]",
    ] {
        let parsed = parse(&format!("\"a.rar\" yEnc {counter}"));
        assert_eq!(
            (parsed.found.part, parsed.found.total),
            (3, 40),
            "{counter}"
        );
    }
    for counter in [
        "[3/40]",
        "(3 of 40)",
        "[3 von 40]",
        "{3/40}",
        "<3/40>",
        "(3|40)",
        "[ 3/40 ]",
        "File 3 of 40",
        "[3_40]",
        "(File 3/40)",
    ] {
        let parsed = parse(&format!("Ships {counter} - \"a.rar\" yEnc (1/2)"));
        assert_eq!(parsed.counters(), (1, 2, Some(3), Some(40)), "{counter}");
        assert_eq!(parsed.text(parsed.found.head), "Ships", "{counter}");
    }
}

#[test]
fn bytes_that_are_no_utf8_change_nothing() {
    let parsed = Parsed::new(b"Gr\xfc\xdfe \xff [2/5] \"datei\xe9.part1.rar\" \xfe yEnc (4/5)");
    assert_eq!(parsed.counters(), (4, 5, Some(2), Some(5)));
    assert_eq!(
        parsed.found.name.of(&parsed.decoded),
        b"datei\xe9.part1.rar"
    );
}
