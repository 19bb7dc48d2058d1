//! Arbitrary bytes: nothing panics, and everything that was handed out is consistent.
//!
//! `PROPTEST_CASES=100000` asks for more of them.

use proptest::collection::vec;
use proptest::prelude::*;
use voyager_engine::date::DateParser;
use voyager_engine::inflate::Inflater;
use voyager_engine::lines::{Line, Scanner, scan};
use voyager_engine::message_id::part_of;
use voyager_engine::subject::{self, Span32, Subject};
use voyager_engine::text;
use voyager_engine::xref::{Owner, Owners, group_names};

/// Pieces that subjects are made of, in any order.
fn subject() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(
            [
                "[",
                "]",
                "(",
                ")",
                "{",
                "<",
                ">",
                "\"",
                "\"\"",
                "(1/5)",
                "[03/25]",
                "(3/3)",
                "[1_1]",
                "5 of 12",
                "File ",
                "yEnc",
                " yEnc ",
                "yEnc(",
                " - ",
                " ",
                "\t",
                ".rar",
                ".mkv",
                ".part01.rar",
                "name",
                "12",
                "1/",
                "/",
                "|",
                "-",
                "_",
                "0/0",
                "741,51 kB",
                "1.45 GB",
                "46101356",
                "[PRiVATE]",
                "[WtFnZb]",
                "-WtF[nZb]",
                "[FULL]",
                "#a.b@x",
                "EFNet",
                "ReqID: 1",
                "Re: ",
                "&quot;",
                "&#34;",
                "=?utf-8?Q?",
                "=28",
                "?=",
                "\u{201d}",
                "\u{201c}",
                "\u{2013}",
                "\u{fc}",
                "\u{ac00}",
                "usenet index post",
                "'",
                "!",
                "2009/2010",
                "999999999",
                "9999999999",
            ]
            .map(|piece| piece.as_bytes().to_vec())
            .to_vec()
        ),
        vec(any::<u8>(), 1..4),
    ];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just(b"\t".to_vec()),
        3 => prop::sample::select(
            ["<a@b>", "<>", "<a", "a>", "123", "0", "-1", "Xref: e g:1", "e g:1", "", "\r", "\n", "\r\n", ".", "..", "\0", " "]
                .map(|piece| piece.as_bytes().to_vec())
                .to_vec()
        ),
        1 => vec(any::<u8>(), 0..6),
        2 => Just(b"5\ts\tp\td\t<a@b>\t\t5\t6\tXref: e g:1\r\n".to_vec()),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn spans(found: &Subject) -> Vec<Span32> {
    let mut spans = vec![
        found.name,
        found.head,
        found.tail,
        found.request,
        found.file_counter,
    ];
    spans.extend(found.cuts);
    spans
}

fn overlap(a: Span32, b: Span32) -> bool {
    !a.is_empty() && !b.is_empty() && a.start < b.end && b.start < a.end
}

fn check_subject(bytes: &[u8]) -> Result<(), TestCaseError> {
    let found = subject::parse(bytes);
    let is_text = std::str::from_utf8(bytes);
    for span in spans(&found) {
        prop_assert!(
            span.start <= span.end && span.end as usize <= bytes.len(),
            "{span:?}"
        );
        if let Ok(text) = is_text {
            prop_assert!(
                text.is_char_boundary(span.start as usize)
                    && text.is_char_boundary(span.end as usize)
            );
        }
    }
    for cut in found.cuts {
        prop_assert!(
            !overlap(cut, found.name),
            "the name holds a counter: {:?}",
            found
        );
        prop_assert!(
            !overlap(cut, found.head) && !overlap(cut, found.tail),
            "free text holds a counter: {:?}",
            found
        );
    }
    prop_assert!(
        found
            .cuts
            .windows(2)
            .all(|pair| pair[1].is_empty() || pair[0].end <= pair[1].start)
    );
    prop_assert_eq!(found.counted, found.cuts.iter().any(|cut| !cut.is_empty()));
    prop_assert!(found.counted || (found.part, found.total) == (0, 0));
    prop_assert!(found.file_index.is_some() || found.file_total.is_none());
    Ok(())
}

fn owned(line: &Line<'_>) -> String {
    format!("{line:?}")
}

proptest! {
    #[test]
    fn subjects_of_pieces(bytes in subject()) {
        check_subject(&bytes)?;
        let mut decoded = Vec::new();
        text::decode_header(&bytes, &mut decoded);
        prop_assert!(std::str::from_utf8(&decoded).is_ok());
        check_subject(&decoded)?;
    }

    #[test]
    fn subjects_of_any_bytes(bytes in vec(any::<u8>(), 0..200)) {
        check_subject(&bytes)?;
        let mut decoded = Vec::new();
        text::decode_header(&bytes, &mut decoded);
        prop_assert!(!decoded.contains(&0));
        prop_assert!(std::str::from_utf8(&decoded).is_ok());
    }

    #[test]
    fn text_that_needs_no_decoding_is_not_changed(bytes in subject()) {
        let clean: Vec<u8> = bytes.into_iter().filter(|byte| !matches!(byte, 0 | b'\r' | b'\n')).collect();
        let mut decoded = Vec::new();
        text::decode_header(&clean, &mut decoded);
        if !text::needs_decoding(&clean) {
            prop_assert_eq!(text::to_utf8(&clean).into_owned().into_bytes(), decoded);
        }
    }

    #[test]
    fn lines_do_not_depend_on_their_neighbours(text in line()) {
        let mut whole = Vec::new();
        Scanner::new().scan(&text, &mut |line| whole.push(owned(&line)));
        let mut single = Vec::new();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            scan(line, &mut |line| single.push(owned(&line)));
        }
        prop_assert_eq!(whole, single);
    }

    #[test]
    fn every_line_gives_fields_or_a_reason(text in line()) {
        let mut lines = 0;
        scan(&text, &mut |line| {
            lines += 1;
            let usable = line.number.is_some_and(|number| number > 0) && !line.message_id.is_empty();
            assert_eq!(usable, line.reason.is_none(), "{line:?}");
            assert!(line.message_id.len() <= 248);
            for field in [line.subject, line.poster, line.date, line.message_id, line.xref] {
                assert!(!field.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')));
            }
            assert_ne!(line.size, Some(0));
        });
        let clean = |line: &[u8]| line.iter().filter(|byte| !matches!(byte, 0 | b'\r')).copied().collect::<Vec<u8>>();
        let want = text.split(|byte| *byte == b'\n').map(clean).filter(|line| !line.is_empty() && line != b".").count();
        prop_assert_eq!(lines, want);
    }

    #[test]
    fn dates_do_not_depend_on_those_before(headers in vec(date(), 1..20)) {
        let mut kept = DateParser::new();
        for header in &headers {
            prop_assert_eq!(kept.parse(header), DateParser::new().parse(header), "{}", String::from_utf8_lossy(header));
        }
    }

    #[test]
    fn dates_of_any_bytes(bytes in vec(any::<u8>(), 0..40)) {
        let _ = DateParser::new().parse(&bytes);
    }

    #[test]
    fn owners_do_not_depend_on_those_before(xrefs in vec(xref(), 1..20)) {
        let groups: Vec<(String, u32)> = ["g", "h", "a.b"].into_iter().map(String::from).zip([2, 1, 3]).collect();
        let mut kept = Owners::new("g", &groups);
        for xref in &xrefs {
            let own = Owners::new("g", &groups).owner(xref);
            prop_assert_eq!(kept.owner(xref), own);
            let listed = group_names(xref).any(|name| name == b"h");
            prop_assert_eq!(own, if listed { Owner::Other(1) } else { Owner::Own });
        }
    }

    #[test]
    fn blocks_of_any_bytes(bytes in vec(any::<u8>(), 0..300), head in prop::sample::select(
        vec![&b""[..], b"\x78\x9c", b"\x78\xda", b"\x1f\x8b\x08\x00", b"\x38\x11", b"5\t", b"\x63", b"\x03\x00"]
    )) {
        let block = [head, &bytes].concat();
        let mut out = Vec::new();
        if let Ok(framing) = Inflater::new().inflate(&block, &mut out) {
            prop_assert!(framing.text_len + Inflater::PADDING <= out.len());
            prop_assert!(framing.trailing <= block.len());
        }
    }

    #[test]
    fn message_ids_of_any_bytes(bytes in vec(any::<u8>(), 0..40)) {
        let _ = part_of(&[b"part", &bytes[..]].concat());
        let _ = part_of(&bytes);
    }
}

fn date() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(
        [
            "Sat,",
            "9",
            "09",
            "10",
            "31",
            "Nov",
            "Dec",
            "nov.",
            "2013",
            "13",
            "113",
            "12:26:40",
            "12:26",
            "23:59:60",
            "24:00:00",
            "GMT",
            "UTC",
            "EST",
            "+0100",
            "-0600",
            "0100",
            "+2400",
            "(CET)",
            "2013-11-09T12:26:40Z",
            "Z",
            "PM",
            "x",
            ".",
            "-",
            "/",
            "12:26:4x",
            "1384000000",
        ]
        .map(|piece| piece.as_bytes().to_vec())
        .to_vec(),
    );
    prop_oneof![
        vec(piece, 0..9).prop_map(|pieces| pieces.join(&b' ')),
        (
            1..=31,
            0..24,
            0..60,
            prop::sample::select(vec!["GMT", "UTC", "+0200", "-0000", "EST", ""])
        )
            .prop_map(|(day, hour, second, zone)| format!(
                "Sat, {day:02} Nov 2013 {hour:02}:00:{second:02} {zone}"
            )
            .into_bytes()),
    ]
}

fn xref() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(
        [
            "Xref:",
            "e",
            "news.x.com",
            "g:1",
            "g:22",
            "g:",
            "g:x",
            "h:3",
            "a.b:4",
            "g.h:5",
            ":6",
            "x:7",
            "",
        ]
        .map(|piece| piece.as_bytes().to_vec())
        .to_vec(),
    );
    vec(piece, 0..6).prop_map(|pieces| pieces.join(&b' '))
}

/// Subjects of 64 KB that make a naive parser look at every byte for every byte.
#[test]
fn long_subjects_of_one_kind() {
    for piece in [
        "(",
        ")",
        "[",
        "]",
        "<",
        "{",
        "\"",
        "\"a",
        "(1/5",
        "[1/5]",
        "(1/5)",
        "yEnc",
        "yEnc ",
        " - ",
        " ",
        "1 of 2 ",
        "5/",
        ".",
        ".rar",
        ".rar ",
        "1kb ",
        "(1kb)",
        "((",
        "[a]",
        "[a.rar]",
        "[1]-",
        "()",
        "&",
        "&amp;",
        "=?",
        "=?a?Q?",
        "\u{201c}",
        "\u{2013}",
        "! ",
        "'",
        "0",
        "/",
        "_",
        "a",
        "[PRiVATE]",
        "[[a]",
        "]-[",
        "File 1 of 2",
        "1|2",
        "1,",
        "|",
        "#34;",
        "1 2 3 ",
    ] {
        let long = piece.repeat(65_536 / piece.len());
        for text in [
            long.clone(),
            format!("{long} yEnc (1/5)"),
            format!("\"{long}.rar\" yEnc"),
            format!("[1/2] {long} x"),
        ] {
            let mut decoded = Vec::new();
            text::decode_header(text.as_bytes(), &mut decoded);
            let found = subject::parse(&decoded);
            assert!(
                spans(&found)
                    .iter()
                    .all(|span| span.end as usize <= decoded.len()),
                "{piece}"
            );
        }
    }
}
