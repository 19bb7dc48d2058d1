//! The short way for usual lines and the long way for all lines file every line alike.

use proptest::prelude::*;
use voyager_engine::assemble::{Assembler, BlockCounts, Config};
use voyager_engine::synthetic::{Generator, Mix};
use voyager_engine::tables::Tables;

/// Files blocks; with `keep_articles` every line goes the long way.
fn file(mix: Mix, blocks: &[Vec<u8>], keep_articles: bool) -> (Vec<BlockCounts>, Tables) {
    let mut assembler = Assembler::new(Config {
        group: mix.group().to_owned(),
        low: 0,
        high: 0,
        groups: mix.groups(),
        now: 1_760_000_000,
        keep_articles,
    });
    let counts = blocks
        .iter()
        .map(|block| assembler.add_text(block))
        .collect();
    (counts, assembler.finish())
}

fn assert_alike(mix: Mix, blocks: &[Vec<u8>]) {
    let (counts, mut tables) = file(mix, blocks, true);
    tables.articles = None;
    let (quick_counts, quick_tables) = file(mix, blocks, false);
    assert_eq!(counts, quick_counts);
    assert_eq!(tables.rejects, quick_tables.rejects);
    assert!(tables == quick_tables, "the files differ");
}

fn lines(mix: Mix, seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut generator = Generator::new(mix, seed, 0.02);
    (0..count)
        .map(|_| {
            let mut line = Vec::new();
            generator.write_line(&mut line);
            line
        })
        .collect()
}

/// What is done to a line, and where in it.
#[derive(Clone, Debug)]
enum Change {
    Byte(u8),
    Insert(Vec<u8>),
    Cut,
    Repeat(usize),
    BeforeCounter(Vec<u8>),
}

fn change() -> impl Strategy<Value = Change> {
    let piece = prop::sample::select(vec![
        " (3/7)",
        " (1/1)",
        "(0/0)",
        "(0/9)",
        "[2/9] ",
        "=?UTF-8?Q?a=C3=A4?=",
        "&amp;",
        "&",
        "=",
        "Re: ",
        "\u{e4}",
        "\t",
        "\r",
        "\n",
        "\0",
        " ",
        ".",
        "yEnc",
        "<",
        ">",
        ":",
        "part1of2.",
        "12345678901234567890",
        "news.example.invalid",
        "alt.binaries.example.mom:5",
    ]);
    prop_oneof![
        any::<u8>().prop_map(Change::Byte),
        piece
            .clone()
            .prop_map(|piece| Change::Insert(piece.as_bytes().to_vec())),
        piece.prop_map(|piece| Change::BeforeCounter(piece.as_bytes().to_vec())),
        Just(Change::Cut),
        (1..40_usize).prop_map(Change::Repeat),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn both_ways_file_damaged_lines_alike(
        (mix, seed) in (prop::sample::select(Mix::ALL.to_vec()), 0..100_u64),
        changes in prop::collection::vec((0..400_usize, any::<prop::sample::Index>(), change()), 0..120),
        cut in 0..400_usize,
    ) {
        let mut lines = lines(mix.1, seed, 400);
        for (line, at, change) in changes {
            let len = lines[line].len();
            let at = if len == 0 { 0 } else { at.index(len) };
            match change {
                Change::Byte(byte) if at < len => lines[line][at] = byte,
                Change::Insert(bytes) => drop(lines[line].splice(at..at, bytes)),
                Change::Cut if at < len => drop(lines[line].remove(at)),
                Change::Repeat(back) => lines[line] = lines[line.saturating_sub(back)].clone(),
                Change::BeforeCounter(bytes) => {
                    let counter = lines[line].iter().rposition(|byte| *byte == b'(');
                    let at = counter.unwrap_or(at);
                    lines[line].splice(at..at, bytes);
                }
                Change::Byte(_) | Change::Cut => {}
            }
        }
        let (first, second) = lines.split_at(cut);
        assert_alike(mix.1, &[first.concat(), second.concat()]);
    }
}

#[test]
fn both_ways_file_each_mix_alike() {
    for (_, mix) in Mix::ALL {
        let lines = lines(mix, 11, 20_000);
        let blocks: Vec<Vec<u8>> = lines.chunks(7_000).map(<[Vec<u8>]>::concat).collect();
        assert_alike(mix, &blocks);
    }
}

/// A line of the usual form.
fn usual(number: u64, subject: &str, date: &str, id: &str, xref: &str) -> String {
    format!(
        "{number}\t{subject}\tA Poster <a@example.invalid>\t{date}\t<{id}>\t\t7300\t56\tXref: {xref}\r\n"
    )
}

#[test]
fn both_ways_file_near_misses_alike() {
    let mut text = String::new();
    let mut number = 1000;
    let subjects = [
        "\"a name that is long enough.rar\" yEnc (1/3)",
        "\"a name that is long enough.rar\" yEnc (2/3) 7300",
        "\"a name that is long enough.rar\" yEnc (3/3)  ",
        " \"a name that is long enough.rar\" yEnc (3/3)",
        "Re: \"a name that is long enough.rar\" yEnc (3/3)",
        "\"a name that is long enough.rar\" (3/3)",
        "\"a name that is long enough.rar\" (2/3) (2/3)",
        "[1/3] \"a name that is long enough.rar\" yEnc (1/3)",
        "[2/3] \"a name that is long enough.rar\" yEnc (2/3)",
        "[03/12] a name without quotes and dots yEnc (000000003/12)",
        "[03/12] a name without quotes and dots yEnc (0000000004/12)",
        "[03/12] a name without quotes and dots yEnc (00000005/12)",
        "a name without quotes and dots xyEnc (5/12)",
        "\"a name that is long enough.rar\" yEnc \"(1/3) (2/3)",
        "\"a name that is long enough.rar\" yEnc \" (2/3)",
        "onesinglewordwithoutanycounter",
        "onesinglewordwithacolon:likere:",
        "Re:onesinglewordthatisanswered",
        "one.word.with.dots.and.an.extension.rar",
        "",
    ];
    let dates = [
        "Sat, 09 Nov 2013 12:26:40 GMT",
        "Sat, 09 Nov 2013 12:26:41 GMT",
        "Sat, 09 Nov 2013 24:00:00 GMT",
        "Sat, 09 Nov 2013 12:26:60 GMT",
        "Sat, 09 Nov 2013 12:2x:40 GMT",
        "Sat, 09 Nov 2013 12:26:40 -0500",
        "Sat, 09 Nov 2013 12:26:40 +0500",
        "09 Nov 13 12:26:40 UTC",
        "Fri, 31 Dec 2100 12:26:40 GMT",
        "Mon, 09 Nov 1903 12:26:40 GMT",
        "nonsense",
        "",
    ];
    let own = Mix::Boneless.group();
    for round in 0..3 {
        for subject in subjects {
            for date in dates {
                for (form, xref) in [
                    format!("news.example.invalid {own}:{number}"),
                    format!(
                        "news.example.invalid {own}:{number} alt.binaries.example.mom:{round}7"
                    ),
                    format!("news.example.invalid {own}:{number} alt.binaries.example.tv:{round}7"),
                    format!("news.example.invalid alt.binaries.example.mom:1{round}"),
                    format!("news.example.invalid {own}:{number} "),
                    own.to_owned(),
                ]
                .iter()
                .enumerate()
                {
                    number += 1;
                    let id = match form {
                        0 => format!("part{form}of3.{number}@x"),
                        1 => format!("{number} @x"),
                        _ => format!("{number}{}@x", "y".repeat(form * 60)),
                    };
                    text += &usual(number, subject, date, &id, xref);
                }
            }
        }
    }
    assert_alike(Mix::Boneless, &[text.into_bytes()]);
}

#[test]
fn a_file_of_very_many_articles_is_as_any_other() {
    // Without rows less is held of it; some ids come twice, and in the second file a part too.
    for reposted in [0, 1] {
        let mut text = String::new();
        let own = Mix::Boneless.group();
        for number in 1..40_000_u64 {
            let part = match number % 1000 {
                999 if reposted == 1 => number,
                _ => number * 977 % 99_991 + 1,
            };
            let subject = format!("\"a name that is long enough.rar\" yEnc ({part}/999999)");
            let date = format!(
                "Sat, 09 Nov 2013 12:{:02}:{:02} GMT",
                number / 60 % 60,
                number % 60
            );
            let of = number - u64::from(number % 777 == 0);
            let id = format!("{of}.{}@x", of % 7);
            text += &usual(
                number,
                &subject,
                &date,
                &id,
                &format!("news.example.invalid {own}:{number}"),
            );
        }
        assert_alike(Mix::Boneless, &[text.into_bytes()]);
    }
}
