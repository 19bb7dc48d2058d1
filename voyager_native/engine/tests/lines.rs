//! Overview lines in every shape that servers send.

use voyager_engine::lines::{Line, Scanner, scan};
use voyager_engine::reason::Reason;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Fields {
    number: Option<u64>,
    subject: String,
    poster: String,
    date: String,
    message_id: String,
    size: Option<u64>,
    lines: Option<u64>,
    xref: String,
    reason: Option<Reason>,
}

fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn fields(line: &Line<'_>) -> Fields {
    Fields {
        number: line.number,
        subject: latin(line.subject),
        poster: latin(line.poster),
        date: latin(line.date),
        message_id: latin(line.message_id),
        size: line.size,
        lines: line.lines,
        xref: latin(line.xref),
        reason: line.reason,
    }
}

fn all(text: &[u8]) -> Vec<Fields> {
    let mut found = Vec::new();
    scan(text, &mut |line| found.push(fields(&line)));
    found
}

fn one(line: &[u8]) -> Fields {
    let mut found = all(line);
    assert_eq!(found.len(), 1, "{}", latin(line));
    found.remove(0)
}

fn usual() -> Fields {
    Fields {
        number: Some(6_084_661_434),
        subject: "[1/2] - \"a.rar\" yEnc (3/4)".into(),
        poster: "p <p@x>".into(),
        date: "Sun, 25 Sep 2022 03:03:36 GMT".into(),
        message_id: "a$b@x".into(),
        size: Some(740_105),
        lines: Some(5691),
        xref: "e alt.binaries.test:6084661434".into(),
        reason: None,
    }
}

const USUAL: &str = "6084661434\t[1/2] - \"a.rar\" yEnc (3/4)\tp <p@x>\tSun, 25 Sep 2022 03:03:36 GMT\t<a$b@x>\t\t740105\t5691\tXref: e alt.binaries.test:6084661434";

#[test]
fn line_ends() {
    for end in ["\r\n", "\n", "", "\r"] {
        assert_eq!(one(format!("{USUAL}{end}").as_bytes()), usual(), "{end:?}");
    }
    let text = format!("{USUAL}\r\n\r\n\n{USUAL}\n{USUAL}\r\n.\r\n{USUAL}\r\n.\r\n");
    assert_eq!(all(text.as_bytes()), vec![usual(); 4]);
}

#[test]
fn nothing() {
    for text in ["", "\r\n", ".\r\n", ".", "\n\n", "\r"] {
        assert_eq!(all(text.as_bytes()), [], "{text:?}");
    }
}

#[test]
fn xref_with_and_without_label_or_not_at_all() {
    let start = USUAL.split("Xref").next().unwrap_or_default();
    for (tail, xref) in [
        ("Xref: e g:1", "e g:1"),
        ("xref: e g:1", "e g:1"),
        ("Xref:e g:1", "e g:1"),
        ("e g:1", "e g:1"),
        ("g:1", "g:1"),
        ("", ""),
        ("Xref:", ""),
        ("Bytes: 55\tXref: e g:1", "e g:1"),
        ("X-Other: y\tmore", ""),
        ("Xref: e g:1\tmore\tfields", "e g:1"),
    ] {
        let found = one(format!("{start}{tail}\r\n").as_bytes());
        assert_eq!(
            found,
            Fields {
                xref: xref.into(),
                ..usual()
            },
            "{tail:?}"
        );
    }
    let found = one(format!("{}\r\n", start.trim_end()).as_bytes());
    assert_eq!(
        found,
        Fields {
            xref: String::new(),
            ..usual()
        }
    );
}

#[test]
fn missing_counts_and_fields() {
    let with = |size: &str, lines: &str| {
        let line = format!("1\ts\tp\td\t<a@b>\t<r@s>\t{size}\t{lines}\tXref: e g:1\r\n");
        let found = one(line.as_bytes());
        assert_eq!(found.reason, None);
        (found.size, found.lines)
    };
    assert_eq!(with("740105", ""), (Some(740_105), None));
    assert_eq!(with("0", "0"), (None, None));
    assert_eq!(with("-1", "-5"), (None, None));
    assert_eq!(with(" 12 ", "007"), (Some(12), Some(7)));
    assert_eq!(
        with("9223372036854775808", "9223372036854775809"),
        (Some(1 << 63), None)
    );
    assert_eq!(with("99999999999999999999999", "1e5"), (None, None));
    assert_eq!(
        with("000000000000000000000000000012", "12.5"),
        (Some(12), None)
    );
    let found = one(b"1\ts\tp\td\t<a@b>\r\n");
    assert_eq!(
        (found.reason, found.size, found.message_id.as_str()),
        (None, None, "a@b")
    );
}

#[test]
fn a_tab_in_the_subject_moves_the_other_fields() {
    for (subject, poster) in [
        ("my\tfile \"64.rar\" yEnc (52/82)", "p"),
        ("a\tb\tc\t", "<p@x.y>"),
        ("\t", ""),
    ] {
        let line = format!("7\t{subject}\t{poster}\tdate\t<a@b>\t\t740105\t5691\tXref: e g:7\r\n");
        let want = Fields {
            number: Some(7),
            subject: subject.into(),
            poster: poster.into(),
            date: "date".into(),
            message_id: "a@b".into(),
            size: Some(740_105),
            lines: Some(5691),
            xref: "e g:7".into(),
            reason: None,
        };
        assert_eq!(one(line.as_bytes()), want);
    }
}

#[test]
fn message_ids() {
    let with = |id: &[u8]| {
        let line = [&b"1\ts\tp\td\t"[..], id, b"\t\t5\t6\tXref: e g:1\r\n"].concat();
        let found = one(&line);
        (found.message_id, found.reason)
    };
    let ok = |id: &[u8]| assert_eq!(with(&[b"<", id, b">"].concat()), (latin(id), None));
    ok(b"a");
    ok(b"8&u$MN4Z$gkp9@camel");
    ok(b"-o2dnev5dJm9cobZRVn-sg@giganews.com");
    ok("n\u{e4}h@x".as_bytes());
    ok(b"\xe4\xff@x");
    ok(&[b'a'; 248]);
    assert_eq!(with(b" <a@b> "), ("a@b".into(), None));
    let bad = |id: &[u8]| {
        assert_eq!(
            with(id),
            (String::new(), Some(Reason::BadMessageId)),
            "{}",
            latin(id)
        );
    };
    bad(&[&b"<"[..], &[b'a'; 249], b">"].concat());
    bad(b"<a b@c>");
    bad(b"<a<b@c>");
    bad(b"<a\x7fb>");
    for none in [&b""[..], b"a@b", b"<>", b"<a@b", b"a@b>"] {
        assert_eq!(
            with(none),
            (String::new(), Some(Reason::NoMessageId)),
            "{}",
            latin(none)
        );
    }
}

#[test]
fn article_numbers() {
    let with = |number: &str| {
        let found = one(format!("{number}\ts\tp\td\t<a@b>\t\t5\t6\tXref: e g:1\r\n").as_bytes());
        (found.number, found.reason, found.message_id)
    };
    let id = || "a@b".to_string();
    assert_eq!(with("33856000001"), (Some(33_856_000_001), None, id()));
    assert_eq!(with("0000000007"), (Some(7), None, id()));
    assert_eq!(with("18446744073709551615"), (Some(u64::MAX), None, id()));
    for bad in [
        "18446744073709551616",
        "",
        "x",
        "-5",
        "+5",
        "0",
        "1.5",
        "0x1f",
        "99999999999999999999999999",
    ] {
        assert_eq!(with(bad), (None, Some(Reason::BadNumber), id()), "{bad}");
    }
}

#[test]
fn too_few_fields() {
    for line in [
        "x",
        "64.rar\" yEnc (52/82)",
        "1\t2\t3\t4",
        "224 overview follows",
        "\t\t\t",
        "1\ts\t<a@b>",
    ] {
        assert_eq!(one(line.as_bytes()).reason, Some(Reason::BadLine), "{line}");
    }
    assert_eq!(
        one(b"1\ts\tp\td\tno id\t\t5\t6").reason,
        Some(Reason::NoMessageId)
    );
}

#[test]
fn nul_and_cr_are_taken_out_of_fields() {
    let line = b"1\ta\0b\rc\tp\0\td\t<a\0@b>\t\t5\r\t6\tXref: e\0 g:1\r\r\n";
    let found = one(line);
    assert_eq!(found.subject, "abc");
    assert_eq!(
        (found.poster.as_str(), found.message_id.as_str()),
        ("p", "a@b")
    );
    assert_eq!(
        (found.size, found.lines, found.xref.as_str()),
        (Some(5), Some(6), "e g:1")
    );
    let mut raw = Vec::new();
    scan(line, &mut |line| raw.extend_from_slice(line.raw));
    assert_eq!(raw, line.strip_suffix(b"\r\n").unwrap_or_default().to_vec());
}

#[test]
fn other_control_bytes_stay() {
    let found = one(b"1\ta\x01\x0b\x0c\x1b\x7fb\tp\td\t<a@b>\t\t5\t6\tXref: e g:1\r\n");
    assert_eq!(found.subject, "a\x01\x0b\x0c\x1b\x7fb");
}

#[test]
fn a_stuffed_dot_is_taken_off() {
    assert_eq!(
        one(b"..5\ts\tp\td\t<a@b>\t\t5\t6").reason,
        Some(Reason::BadNumber)
    );
    let found = one(b"..\tx\r\n");
    assert_eq!(found.reason, Some(Reason::BadLine));
    assert_eq!(
        all(b"..\r\n").len(),
        1,
        "a stuffed dot is a line, not a terminator"
    );
}

#[test]
fn very_long_lines() {
    for len in [10_000, 65_536, 300_000] {
        let subject = "s".repeat(len);
        let line = format!("1\t{subject}\tp\td\t<a@b>\t\t5\t6\tXref: e g:1\r\n");
        let text = [USUAL, "\r\n", &line, &line, USUAL, "\r\n"].concat();
        let found = all(text.as_bytes());
        assert_eq!(found.len(), 4, "{len}");
        assert_eq!(found[1].subject.len(), len);
        assert_eq!((found[0].clone(), found[3].clone()), (usual(), usual()));
        assert_eq!((found[1].size, found[2].xref.as_str()), (Some(5), "e g:1"));
    }
}

#[test]
fn lines_are_whole_wherever_the_windows_end() {
    // Lines of changing length, so that windows are cut at every place of a line.
    let mut scanner = Scanner::new();
    let lines: Vec<String> = (1..4000)
        .map(|i| {
            format!(
                "{i}\t{}\tp\td\t<{i}@b>\t\t{i}\t6\tXref: e g:{i}",
                "s".repeat(i % 97)
            )
        })
        .collect();
    for end in ["\r\n", "\n"] {
        let text = lines.join(end) + end;
        let mut next = 0;
        scanner.scan(text.as_bytes(), &mut |line| {
            assert_eq!(latin(line.raw), lines[next]);
            next += 1;
            let number = next as u64;
            assert_eq!((line.number, line.size), (Some(number), Some(number)));
            assert_eq!((line.subject.len(), line.reason), (next % 97, None));
        });
        assert_eq!(next, lines.len());
    }
}

#[test]
fn the_usual_way_and_the_other_agree() {
    // A NUL at the very end sends a line the other way and changes nothing else.
    for line in [
        USUAL,
        "1\t\t\t\t<a@b>\t\t\t\tXref: ",
        "1\ts\tp\td\t<a@b>\t\t5\t6\tXref: x",
        " 12 \ts\tp\td\t <a@b> \t\t5\t6\tXref: e g:1 ",
        "1\ts\tp\td\t<a@b>\t\tx\ty\tz",
        "0\ts\tp\td\t<a@b>\t\t5\t6\tXref: e g:1",
        "1\ts\tp\td\tx\t\t5\t6\tXref: e g:1",
        "1\ts\t<p>\t<d>\t<a@b>\t<r>\t5\t6\tXref: e g:1",
    ] {
        let direct = one(format!("{line}\r\n").as_bytes());
        let other = one(format!("{line}\0\r\n").as_bytes());
        assert_eq!(
            Fields {
                xref: direct.xref.trim().into(),
                ..direct.clone()
            },
            other,
            "{line}"
        );
    }
}
