//! What the engine holds of hostile overviews: as much as was seen, never as much as a number in it claims; and
//! within limits, however much is seen.
//!
//! `HOSTILE_LINES=1000000` asks for more lines.
#![allow(unsafe_code, reason = "memory is counted where it is handed out")]
#![allow(clippy::print_stdout, reason = "`--no-capture` shows what was counted")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use voyager_engine::assemble::{Assembler, Config, Limits};
use voyager_engine::synthetic::{Generator, Mix};
use voyager_engine::tables::Tables;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: everything is the system's; only sizes are noted besides.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promises are those that the system asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// One test at a time, so that each counts its own memory.
static ALONE: Mutex<()> = Mutex::new(());

const MB: usize = 1 << 20;
const GROUP: &str = "alt.binaries.example";

fn lines_wanted(usual: usize) -> usize {
    std::env::var("HOSTILE_LINES")
        .ok()
        .and_then(|lines| lines.parse().ok())
        .unwrap_or(usual)
}

fn config(group: &str, groups: Vec<(String, u32)>) -> Config {
    Config {
        group: group.to_owned(),
        low: 0,
        high: 0,
        groups,
        now: 2_000_000_000,
        keep_articles: false,
    }
}

fn assembler(group: &str, groups: Vec<(String, u32)>) -> Assembler {
    Assembler::new(config(group, groups))
}

/// The most bytes that were held at a time while blocks were filed, the text of the blocks left out.
fn peak(mut assembler: Assembler, mut block: impl FnMut(&mut Vec<u8>) -> bool) -> (usize, Tables) {
    let mut text = Vec::new();
    let mut most = 0;
    let before = LIVE.load(Ordering::Relaxed);
    loop {
        text.clear();
        let is_more = block(&mut text);
        PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
        assembler.add_text(&text);
        most = most.max(PEAK.load(Ordering::Relaxed) - before - text.capacity());
        if !is_more {
            break;
        }
    }
    drop(text);
    PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
    let tables = assembler.finish();
    (most.max(PEAK.load(Ordering::Relaxed) - before), tables)
}

/// Blocks of some megabytes, each line with its subject and From.
fn made(
    lines: usize,
    subject: impl Fn(usize) -> String,
    poster: impl Fn(usize) -> String,
) -> (usize, Tables) {
    let mut next = 0;
    peak(assembler(GROUP, Vec::new()), |text| {
        let mut out = String::new();
        while next < lines && out.len() < 4 * MB {
            next += 1;
            let (subject, poster) = (subject(next), poster(next));
            let _ = write!(
                out,
                "{next}\t{subject}\t{poster}\tSat, 09 Nov 2013 12:26:40 GMT\t<{next}.{}@example.invalid>\t\t7300\t56\tXref: news.example.invalid {GROUP}:{next}\r\n",
                next.wrapping_mul(0x9e37_79b9)
            );
        }
        text.extend_from_slice(out.as_bytes());
        next < lines
    })
}

fn usual_poster(_: usize) -> String {
    "A poster <a@example.invalid>".to_owned()
}

#[test]
fn claimed_parts_take_no_memory() {
    let _alone = ALONE.lock();
    let lines = lines_wanted(100_000);
    let (one_file, tables) = made(
        lines,
        |at| format!("\"a name that is long.rar\" yEnc ({}/999999999)", at * 997),
        usual_poster,
    );
    assert_eq!(tables.files.len(), 1);
    assert_eq!(tables.files.parts_found[0] as usize, lines);
    let few_lines = lines / 10;
    let (many_files, tables) = made(
        few_lines,
        |at| format!("\"a name that is long {at}.rar\" yEnc (4/999999999)"),
        usual_poster,
    );
    assert_eq!(tables.files.len(), few_lines);
    println!(
        "bytes a line: one file {}, many {}",
        one_file / lines,
        many_files / few_lines
    );
    // A hundred and twenty megabytes for a million.
    assert!(one_file < 2 * MB + lines * 200, "{one_file}");
    assert!(many_files < 4 * MB + few_lines * 1800, "{many_files}");
}

#[test]
fn files_of_one_part_take_what_their_rows_take() {
    let _alone = ALONE.lock();
    let lines = lines_wanted(50_000);
    let (peak, tables) = made(
        lines,
        |at| format!("\"a name that is long {at}.rar\" yEnc (1/1)"),
        usual_poster,
    );
    assert_eq!(tables.files.len(), lines);
    println!("bytes a file: {}", peak / lines);
    assert!(peak < 4 * MB + lines * 1100, "{peak}");
}

#[test]
fn long_fields_are_not_kept_whole() {
    const LONG: usize = 64 << 10;
    let _alone = ALONE.lock();
    let lines = lines_wanted(100).min(4000);
    let long = "x".repeat(LONG);
    for (name, subject, poster) in [
        ("subjects", &long[..], ""),
        ("posters", "", &long[..]),
        ("both", &long[..], &long[..]),
    ] {
        let (peak, tables) = made(
            lines,
            |at| format!("\"{subject} a name that is long {at}.rar\" yEnc (1/2)"),
            |at| format!("{poster} A poster {at} <a@example.invalid>"),
        );
        assert!(tables.files.len() <= lines);
        println!("{name}: {} MB", peak / MB);
        assert!(peak < 8 * MB + lines * 12_000, "{name}: {peak}");
    }
}

#[test]
fn missing_articles_take_little_more() {
    let _alone = ALONE.lock();
    let lines = lines_wanted(16_000);
    for (name, mix) in Mix::ALL {
        let held = |lost: f64| {
            let mut generator = Generator::new(mix, 1, lost);
            let mut left = lines;
            let found = peak(assembler(mix.group(), mix.groups()), |text| {
                let count = left.min(25_000);
                for _ in 0..count {
                    generator.write_line(text);
                }
                left -= count;
                left > 0
            });
            found.0
        };
        let (whole, lossy) = (held(0.0), held(0.03));
        println!("{name}: {} MB, with losses {} MB", whole / MB, lossy / MB);
        // Every article of files that are never whole is held until no more come for long.
        assert!(lossy < whole + lines * 160, "{name}: {whole}, {lossy}");
        assert!(lossy < 120 * MB, "{name}: {lossy}");
    }
}

/// The subject, From and Xref of a line by its number.
type Made<'a> = &'a dyn Fn(usize) -> [String; 3];

/// What spans within limits hold of an overview: most bytes at a time, spans and lines.
struct Parts {
    peak: usize,
    spans: usize,
    lines: u64,
}

/// Files lines in as many spans as they take, in blocks of a megabyte. A line is its subject, From and Xref.
fn in_parts(limits: Limits, lines: usize, line: impl Fn(usize) -> [String; 3]) -> Parts {
    let begin = |low: u64| {
        Assembler::within(
            limits,
            Config {
                low,
                high: 1 << 40,
                ..config(GROUP, Vec::new())
            },
        )
    };
    let mut text = String::with_capacity(2 * MB);
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let mut parts = Parts {
        peak: 0,
        spans: 1,
        lines: 0,
    };
    let mut assembler = begin(1);
    let mut next = 0;
    let mut most = 0;
    while next < lines {
        text.clear();
        while next < lines && text.len() < MB {
            next += 1;
            let [subject, poster, xref] = line(next);
            let _ = write!(
                text,
                "{next}\t{subject}\t{poster}\tSat, 09 Nov 2013 12:26:40 GMT\t<{next}.{}@example.invalid>\t\t7300\t56\tXref: news.example.invalid {GROUP}:{next}{xref}\r\n",
                next.wrapping_mul(0x9e37_79b9)
            );
        }
        PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
        let mut counts = assembler.add_text(text.as_bytes());
        while let Some(last) = counts.ended_at {
            let tables = std::mem::replace(&mut assembler, begin(last + 1)).finish();
            parts.spans += 1;
            parts.lines += tables.lines;
            // Copies of a part are looked for whenever there are an eighth more.
            let most = limits.files + limits.files / 8 + 1;
            assert!(tables.files.len() <= most, "{}", tables.files.len());
            drop(tables);
            counts = assembler.go_on(text.as_bytes());
        }
        most = most.max(PEAK.load(Ordering::Relaxed));
    }
    PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
    parts.lines += assembler.finish().lines;
    parts.peak = most.max(PEAK.load(Ordering::Relaxed)) - before;
    parts
}

#[test]
fn spans_within_limits_hold_as_much_whatever_comes() {
    /// What an assembler holds before its first line, and the text of one line.
    const FIXED: usize = 6 * MB;
    let _alone = ALONE.lock();
    let wanted = lines_wanted(16_000);
    // As much less as there are lines less than a million.
    let limits = Limits {
        files: (Limits::USUAL.files * wanted / 1_000_000).max(1),
        bytes: (Limits::USUAL.bytes * wanted / 1_000_000).max(8 * MB),
    };
    let long_lines = if wanted > 100_000 { 30_000 } else { 4_000 };
    let long = "x".repeat(64 << 10);
    let plain = |subject: String| [subject, usual_poster(0), String::new()];
    let lists = |at: usize| {
        (0..100).fold(String::new(), |all, group| {
            format!("{all} alt.binaries.g{at}.{group}:{at}")
        })
    };
    let cases: [(&str, usize, Made); 9] = [
        ("files of one part", wanted, &|at| {
            plain(format!("\"a name {at}.rar\" yEnc (1/1)"))
        }),
        ("files that claim parts", wanted, &|at| {
            plain(format!("\"a name {at}.rar\" yEnc (4/4000000000)"))
        }),
        ("one file", (20 * wanted).min(2_000_000), &|at| {
            plain(format!("\"a name.rar\" yEnc ({at}/999999999)"))
        }),
        ("one part again and again", wanted, &|at| {
            plain(format!(
                "\"a name.rar\" yEnc (1/1) {}",
                if at == 0 { "x" } else { "" }
            ))
        }),
        ("one part of many", wanted, &|_| {
            plain("\"a name.rar\" yEnc (1/1000)".to_owned())
        }),
        ("long subjects", long_lines, &|at| {
            plain(format!("\"{at} {long}.rar\" yEnc (1/2)"))
        }),
        ("long Froms", long_lines, &|at| {
            [
                format!("\"{at}.rar\" yEnc (1/2)"),
                format!("{at} {long} <a@b>"),
                String::new(),
            ]
        }),
        ("long Froms of one file", wanted.min(60_000), &|at| {
            [
                format!("\"a name.rar\" yEnc ({at}/999999999)"),
                format!("{at} {} <a@b>", &long[..1900]),
                String::new(),
            ]
        }),
        ("many newsgroups", wanted.min(60_000) / 2, &|at| {
            [
                format!("\"{at}.rar\" yEnc (1/2)"),
                usual_poster(0),
                lists(at),
            ]
        }),
    ];
    for (name, lines, made) in cases {
        let found = in_parts(limits, lines, made);
        println!("{name}: {} MB in {} spans", found.peak / MB, found.spans);
        assert_eq!(found.lines as usize, lines, "{name}");
        assert!(found.spans > 1, "{name}");
        assert!(
            found.peak < limits.bytes + limits.bytes / 6 + FIXED,
            "{name}: {}",
            found.peak
        );
    }
}
