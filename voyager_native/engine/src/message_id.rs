//! What a message-id itself says about its article.

/// Part and total from the local part of a `PowerPost` style message-id.
///
/// `part7of201.<token>` (any letter case) carries the segment counter; other shapes such as
/// `<token>_18o29` carry the *file* counter and give `None`.
#[must_use]
pub fn part_of(local: &[u8]) -> Option<(u32, u32)> {
    if local.len() < 9 || !local[..4].eq_ignore_ascii_case(b"part") {
        return None;
    }
    let (part, rest) = number(&local[4..])?;
    let rest = rest
        .get(..2)
        .filter(|of| of.eq_ignore_ascii_case(b"of"))
        .map(|_| &rest[2..])?;
    let (total, rest) = number(rest)?;
    (rest.first() == Some(&b'.')).then_some((part, total))
}

/// The decimal number of at most nine digits at the start of `bytes`, and what follows it.
fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let digits = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if !(1..=9).contains(&digits) {
        return None;
    }
    let value = bytes[..digits]
        .iter()
        .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    Some((value, &bytes[digits..]))
}
