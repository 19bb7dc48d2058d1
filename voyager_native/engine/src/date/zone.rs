//! Time zones by name and by offset.

/// A zone by name or offset: `Z`, `GMT`, `+01:00`, `-0500`, `+1`.
pub(super) fn zone(text: &[u8]) -> Option<i64> {
    let (sign, digits) = match text {
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return named_zone(text),
    };
    if digits.is_empty() {
        return Some(0);
    }
    let offset = match digits {
        [h @ .., b':', m1, m2] if (1..=2).contains(&h.len()) => offset(&[h, &[*m1, *m2]].concat()),
        _ if digits.iter().all(u8::is_ascii_digit) => offset(digits),
        _ => return None,
    };
    Some(sign * offset)
}

/// Seconds of an offset without its sign: `1`, `01`, `100`, `0100`, `00100`. What no zone has (`2400`) is UTC.
pub(super) fn offset(digits: &[u8]) -> i64 {
    const FURTHEST_HOUR: u32 = 15;
    let value = digits.iter().fold(0_u32, |sum, digit| {
        sum.saturating_mul(10)
            .saturating_add(u32::from(digit.wrapping_sub(b'0')))
    });
    let (hour, minute) = if digits.len() <= 2 {
        (value, 0)
    } else {
        (value / 100, value % 100)
    };
    if hour > FURTHEST_HOUR || minute >= 60 {
        0
    } else {
        i64::from(hour * 3600 + minute * 60)
    }
}

/// Seconds east of Greenwich of a zone's name. Names that mean several zones are those of RFC 5322.
pub(super) fn named_zone(name: &[u8]) -> Option<i64> {
    const ZONES: [(&[u8], i64); 40] = [
        (b"GMT", 0),
        (b"UTC", 0),
        (b"UT", 0),
        (b"Z", 0),
        (b"WET", 0),
        (b"EST", -300),
        (b"EDT", -240),
        (b"CST", -360),
        (b"CDT", -300),
        (b"MST", -420),
        (b"MDT", -360),
        (b"PST", -480),
        (b"PDT", -420),
        (b"AST", -240),
        (b"ADT", -180),
        (b"NST", -210),
        (b"NDT", -150),
        (b"AKST", -540),
        (b"AKDT", -480),
        (b"HST", -600),
        (b"BST", 60),
        (b"IST", 330),
        (b"WEST", 60),
        (b"CET", 60),
        (b"CEST", 120),
        (b"MET", 60),
        (b"MEST", 120),
        (b"MEZ", 60),
        (b"MESZ", 120),
        (b"EET", 120),
        (b"EEST", 180),
        (b"MSK", 180),
        (b"MSD", 240),
        (b"SAST", 120),
        (b"HKT", 480),
        (b"SGT", 480),
        (b"JST", 540),
        (b"KST", 540),
        (b"AEST", 600),
        (b"AEDT", 660),
    ];
    const MORE: [(&[u8], i64); 4] = [
        (b"ACST", 570),
        (b"AWST", 480),
        (b"NZST", 720),
        (b"NZDT", 780),
    ];
    ZONES
        .iter()
        .chain(&MORE)
        .find(|(zone, _)| zone.eq_ignore_ascii_case(name))
        .map(|(_, minutes)| minutes * 60)
}
