//! Header bytes to text.

use voyager_engine::text::{decode_header, needs_decoding, to_utf8};

fn decode(raw: &[u8]) -> String {
    let mut out = b"left over".to_vec();
    decode_header(raw, &mut out);
    String::from_utf8(out).expect("valid UTF-8")
}

#[test]
fn encoded_words() {
    for (raw, text) in [
        ("=?UTF-8?Q?Na=C3=AFve_=281/3=29?=", "Na\u{ef}ve (1/3)"),
        ("=?utf-8?q?a=20b?= =?utf-8?q?c?=", "a bc"),
        ("=?utf-8?q?a?= x =?utf-8?q?b?=", "a x b"),
        ("=?ISO-8859-1?Q?Gr=FC=DFe?=", "Gr\u{fc}\u{df}e"),
        ("=?iso-8859-15?Q?=A4?=", "\u{20ac}"),
        ("=?windows-1252?Q?=93a=94?=", "\u{201c}a\u{201d}"),
        ("=?UTF-8?B?R3LDvMOfZQ==?=", "Gr\u{fc}\u{df}e"),
        ("=?UTF-8?B?R3LDvMOfZQ?=", "Gr\u{fc}\u{df}e"),
        ("=?UTF-8*de?Q?x?=", "x"),
        ("=?EUC-KR?B?x9GxuQ==?=", "\u{d55c}\u{ad6d}"),
        ("=?KOI8-R?Q?=F0=D2=C9?=", "\u{41f}\u{440}\u{438}"),
        ("=?ISO-2022-JP?B?GyRCRnxLXBsoQg==?=", "\u{65e5}\u{672c}"),
        ("pre=?utf-8?q?a?=post", "preapost"),
        ("=?utf-8?q?words with blanks?=", "words with blanks"),
        ("=?utf-8?q?a cut one (1/3", "a cut one (1/3"),
        ("=?utf-8?q?really=3F?=", "really?"),
        ("=?us-ascii?Q?a?=", "a"),
        ("=?unknown-8bit?Q?=FC?=", "\u{fc}"),
    ] {
        assert_eq!(decode(raw.as_bytes()), text, "{raw}");
        assert!(needs_decoding(raw.as_bytes()), "{raw}");
    }
}

#[test]
fn a_character_spread_over_two_words() {
    assert_eq!(
        decode(b"=?UTF-8?Q?Gr=C3?= =?utf-8?Q?=BC=C3=9Fe?="),
        "Gr\u{fc}\u{df}e"
    );
}

#[test]
fn what_only_looks_like_an_encoded_word_stays() {
    for raw in [
        "=?",
        "a=?b",
        "=?x?y?z",
        "=?utf-8?X?abc?=",
        "=??q?a?=",
        "=?utf-8?B?***?=",
        "what =?= that",
    ] {
        assert_eq!(decode(raw.as_bytes()), raw);
    }
}

#[test]
fn entities() {
    for (raw, text) in [
        ("&#34;a.par2&#34;", "\"a.par2\""),
        ("&quot;a&quot; &amp; &lt;b&gt; &apos;", "\"a\" & <b> '"),
        ("&#x22;a&#X22;", "\"a\""),
        ("Gr&uuml;&szlig;e &Auml;", "Gr\u{fc}\u{df}e \u{c4}"),
        ("&yuml;&nbsp;&divide;", "\u{ff}\u{a0}\u{f7}"),
        ("&#150;&#8211;&ndash;", "\u{2013}\u{2013}\u{2013}"),
        ("a&#0;b&#13;c", "abc"),
        ("&amp;quot;", "&quot;"),
    ] {
        assert_eq!(decode(raw.as_bytes()), text, "{raw}");
        assert!(needs_decoding(raw.as_bytes()), "{raw}");
    }
    for raw in [
        "Tom & Jerry",
        "a&b;c d",
        "&;",
        "&#;",
        "&#x;",
        "&#99999999;",
        "&nosuch;",
        "&quot",
        "R&B;",
        "&#xd800;",
    ] {
        assert_eq!(decode(raw.as_bytes()), raw);
        assert!(!needs_decoding(raw.as_bytes()), "{raw}");
    }
}

#[test]
fn replies_and_blanks() {
    for (raw, text) in [
        ("Re: a", "a"),
        ("RE: re:  a", "a"),
        ("re:a", "a"),
        (" \t a b \t", "a b"),
        ("Re: =?utf-8?q?a?=", "a"),
        ("Re:", ""),
    ] {
        assert_eq!(decode(raw.as_bytes()), text, "{raw}");
        assert!(needs_decoding(raw.as_bytes()), "{raw}");
    }
    for raw in ["Reply: a", "Rea", "Read: a", "are: a", ""] {
        assert_eq!(decode(raw.as_bytes()), raw);
        assert!(!needs_decoding(raw.as_bytes()), "{raw}");
    }
}

#[test]
fn other_bytes_are_latin_1() {
    assert_eq!(to_utf8("na\u{ef}ve".as_bytes()), "na\u{ef}ve");
    assert_eq!(to_utf8(b"na\xefve \x93"), "na\u{ef}ve \u{93}");
    assert_eq!(to_utf8(b"a\0b"), "ab");
    assert_eq!(to_utf8(b"\xff\0"), "\u{ff}");
    assert_eq!(decode(b"Gr\xfc\xdfe &amp; \0\r\n."), "Gr\u{fc}\u{df}e & .");
    assert!(!needs_decoding(b"Gr\xfc\xdfe"));
}

#[test]
fn usual_subjects_need_no_decoding() {
    for raw in [
        "[1/3] - \"a.rar\" yEnc (1/3)",
        "RXM1WW1Sc== [02/31] \"a=b.nzb\"",
        "a?=b",
        "Q&A & more; [1/2]",
    ] {
        assert!(!needs_decoding(raw.as_bytes()), "{raw}");
        assert_eq!(decode(raw.as_bytes()), raw);
    }
}
