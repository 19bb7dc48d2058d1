//! Date headers in every form that was seen, with their exact moments.

use voyager_engine::date::DateParser;

fn parse(header: &str) -> Option<i64> {
    DateParser::new().parse(header.as_bytes())
}

/// 2013-11-09 12:26:40 UTC.
const NOON: i64 = 1_384_000_000;
const HOUR: i64 = 3600;

#[test]
fn usual_forms() {
    for header in [
        "Sat, 09 Nov 2013 12:26:40 GMT",
        "09 Nov 2013 12:26:40 GMT",
        "Sat, 9 Nov 2013 12:26:40 +0000",
        "9 Nov 2013 12:26:40 -0000",
        "Sat, 09 Nov 13 12:26:40 UTC",
        "Sat, 09 Nov 2013 12:26:40 UT",
        "Sat, 09 Nov 2013 12:26:40 Z",
        "Sat, 09 Nov 2013 12:26:40",
        "Sat, 09 Nov 2013 12:26:40 +0000 (UTC)",
        "Sat,09 Nov 2013 12:26:40 GMT",
        "Sat, 09 Nov 2013 12.26.40 GMT",
        "Sat, 09 Nov 113 12:26:40 GMT",
        "  Sat,  09  Nov  2013  12:26:40  GMT  ",
        "saturday, 09-Nov-13 12:26:40 GMT",
        "Sat Nov  9 12:26:40 2013",
        "Sat Nov  9 12:26:40 UTC 2013",
        "Nov 9, 2013 12:26:40",
        "Sat, 9 November 2013 12:26:40 gmt",
        "Sat, 09 NOV 2013 12:26:40 GMT",
    ] {
        assert_eq!(parse(header), Some(NOON), "{header}");
    }
}

#[test]
fn zones() {
    for (zone, hours) in [
        ("EST", -5),
        ("EDT", -4),
        ("CST", -6),
        ("CDT", -5),
        ("MST", -7),
        ("MDT", -6),
        ("PST", -8),
        ("PDT", -7),
        ("CET", 1),
        ("CEST", 2),
        ("MET", 1),
        ("MEST", 2),
        ("-0500 (EST)", -5),
        ("-0500", -5),
        ("+0100", 1),
        ("0100", 1),
        ("00200", 2),
        ("+00200", 2),
        ("+2400", 0),
        ("-2400", 0),
        ("+1", 1),
        ("+01:00", 1),
        ("GMT+0100", 1),
        ("GMT-5", -5),
        ("(CET)", 0),
        ("XYZ", 0),
        ("+0100 (Mitteleurop\u{e4}ische Zeit)", 1),
        ("-0800 (GMT-08:00)", -8),
    ] {
        let header = format!("Sat, 09 Nov 2013 12:26:40 {zone}");
        assert_eq!(parse(&header), Some(NOON - hours * HOUR), "{header}");
    }
    assert_eq!(
        parse("Sat, 09 Nov 2013 12:26:40 +0530"),
        Some(NOON - 5 * HOUR - 1800)
    );
    assert_eq!(
        parse("Sat, 09 Nov 2013 12:26:40 -0330"),
        Some(NOON + 3 * HOUR + 1800)
    );
}

#[test]
fn years_of_two_and_three_digits() {
    assert_eq!(parse("Wed, 17 Dec 25 19:34:49 UTC"), Some(1_766_000_089));
    assert_eq!(parse("Thu, 01 Jan 26 00:00:00 GMT"), Some(1_767_225_600));
    assert_eq!(parse("Fri, 31 Dec 99 23:59:59 GMT"), Some(946_684_799));
    assert_eq!(parse("Sat, 01 Jan 100 00:00:00 GMT"), Some(946_684_800));
    assert_eq!(parse("Thu, 01 Jan 70 00:00:00 GMT"), Some(0));
}

#[test]
fn times_of_day() {
    let midnight = NOON - 12 * HOUR - 26 * 60 - 40;
    for (time, seconds) in [
        ("", 0),
        ("12:26", 12 * HOUR + 26 * 60),
        ("1:02:03", HOUR + 123),
        ("12:26:40.125", 12 * HOUR + 26 * 60 + 40),
        ("24:00:00", 24 * HOUR),
        ("23:59:60", 24 * HOUR),
        ("12:26 PM", 12 * HOUR + 26 * 60),
        ("12:26 AM", 26 * 60),
        ("01:26:40 pm", 13 * HOUR + 26 * 60 + 40),
    ] {
        let header = format!("Sat, 09 Nov 2013 {time}");
        assert_eq!(parse(&header), Some(midnight + seconds), "{header}");
    }
}

#[test]
fn iso_and_epoch() {
    for header in [
        "2013-11-09T12:26:40Z",
        "2013-11-09T12:26:40+00:00",
        "2013-11-09T13:26:40+01:00",
        "2013-11-09 12:26:40",
        "2013-11-09 12:26:40 UTC",
        "2013-11-09T12:26:40.999Z",
        "2013/11/09 12:26:40",
        "20131109T122640Z",
        "2013-11-09 13:26:40 +0100 (CET)",
        "09.11.2013 12:26:40",
        "Sat, 2013-11-09 12:26:40 GMT",
        "1384000000",
        "1384000000000",
    ] {
        assert_eq!(parse(header), Some(NOON), "{header}");
    }
    assert_eq!(parse("2013-11-09"), Some(NOON - 12 * HOUR - 26 * 60 - 40));
    assert_eq!(parse("999999999"), Some(999_999_999));
}

#[test]
fn foreign_weekdays_do_not_matter_and_foreign_months_have_no_date() {
    assert_eq!(
        parse("mercredi, 23 jul 2014 20:01:02 -0600"),
        Some(1_406_167_262)
    );
    assert_eq!(parse("Sa, 09 Nov 2013 12:26:40 GMT"), Some(NOON));
    assert_eq!(
        parse("\u{441}\u{431}, 09 Nov 2013 12:26:40 GMT"),
        Some(NOON)
    );
    for header in [
        "mer., 23 juil. 2014 20:01:02 -0600",
        "Mi, 15 Okt 2014 20:01:02 GMT",
        "ma, 4 marras 2013 10:00:00 GMT",
    ] {
        assert_eq!(parse(header), None, "{header}");
    }
}

#[test]
fn no_moment() {
    for header in [
        "",
        " ",
        "garbage",
        "Sat, 09 Nov 2013 25:26:40 GMT",
        "Sat, 09 Nov 2013 12:60:40 GMT",
        "Sat, 31 Feb 2013 12:26:40 GMT",
        "Sat, 00 Nov 2013 12:26:40 GMT",
        "Sat, 09 Nov 12:26:40 GMT",
        "09 2013 12:26:40",
        "12345",
        "2013-13-09T12:26:40Z",
        "Sat, 09 Nov 1913 12:26:40 GMT",
        "99999999999999999999999",
    ] {
        assert_eq!(parse(header), None, "{header}");
    }
    assert_eq!(DateParser::new().parse(b"\xff\xfe\x00"), None);
}

#[test]
fn a_leap_day_exists_only_in_leap_years() {
    assert_eq!(parse("Wed, 29 Feb 2012 00:00:00 GMT"), Some(1_330_473_600));
    assert_eq!(parse("Tue, 29 Feb 2000 00:00:00 GMT"), Some(951_782_400));
    assert_eq!(parse("Fri, 29 Feb 2013 00:00:00 GMT"), None);
    assert_eq!(parse("Mon, 29 Feb 2100 00:00:00 GMT"), None);
}

#[test]
fn what_was_met_before_changes_nothing() {
    let headers = [
        "Wed, 17 Dec 25 19:34:49 UTC",
        "Wed, 17 Dec 25 19:34:50 UTC",
        "Wed, 17 Dec 2025 19:34:51 +0100",
        "Wed, 17 Dec 2025 24:00:00 +0100",
        "Wed, 17 Dec 2025 19:34 +0100",
        "Wed, 17 Dec 2025 19:3x:51 +0100",
        "Sat Nov  9 12:26:40 2013",
        "Sat Nov  9 12:26:40 2014",
        "17 Dec 2025 19:34:52 EST",
        "17 Dec 2025 19:34:52 GMT",
        "2025-12-17 19:34:52 GMT",
        "2025-12-17T19:34:52Z",
        "17 Dec 2025 19:34:52 GMT+0100",
    ];
    let mut parser = DateParser::new();
    for round in 0..3 {
        for header in headers {
            assert_eq!(
                parser.parse(header.as_bytes()),
                parse(header),
                "round {round}: {header}"
            );
        }
        for day in 1..=28 {
            let header = format!("{day} Jan 2020 00:00:00 GMT");
            assert_eq!(
                parser.parse(header.as_bytes()),
                Some(1_577_836_800 + (day - 1) * 86_400)
            );
        }
    }
}
