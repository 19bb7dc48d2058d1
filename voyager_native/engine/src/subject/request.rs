//! The name inside `[id]-[FULL]-[group]-[ Name ]`, the header of posts made on request.

use super::Span32;
use super::counter::{self, is_blank};
use super::words::{closing_of, only_separators, separator_at};

/// Groups beyond this number are no such header.
const MAX_GROUPS: usize = 8;

/// The name in the last bracket of `from..to` when the brackets before it are those of a request.
pub(super) fn find(s: &[u8], from: usize, to: usize) -> Span32 {
    let mut groups = [(0, 0); MAX_GROUPS];
    let mut len = 0;
    let mut at = from;
    while let Some(open) = s
        .get(at..to)
        .and_then(|rest| memchr::memchr(b'[', rest))
        .map(|i| at + i)
    {
        let Some(close) = closing_of(&s[..to], open).filter(|_| len < MAX_GROUPS) else {
            return Span32::default();
        };
        if len > 0 && !only_separators(s, at, open) {
            len = 0; // free text between brackets: the header begins anew
        }
        groups[len] = (open + 1, close);
        len += 1;
        at = close + 1;
    }
    let groups = &groups[..len];
    let Some(((start, end), before)) = groups.split_last() else {
        return Span32::default();
    };
    let is_request = match before {
        [] => false,
        [(start, end)] => {
            is_id(&s[*start..*end]) && s[*start..*end].iter().any(u8::is_ascii_alphabetic)
        }
        _ => before
            .iter()
            .any(|(start, end)| is_id(&s[*start..*end]) || is_channel(&s[*start..*end])),
    };
    if !is_request || !only_separators(s, at, to) || counter::bracketed(s, start - 1).is_some() {
        return Span32::default();
    }
    let (mut start, mut end) = (*start, *end);
    while start < end && is_blank(s[start]) {
        start += 1;
    }
    while start < end && is_blank(s[end - 1]) {
        end -= 1;
    }
    if (start..end).all(|i| separator_at(s, i) > 0) {
        return Span32::default();
    }
    Span32::new(start, end)
}

/// `93921`, `#93921`, `ReqID: 93921`.
fn is_id(group: &[u8]) -> bool {
    let text = group.trim_ascii();
    let text = match text.get(..3) {
        Some(word) if word.eq_ignore_ascii_case(b"req") => {
            let rest = &text[3..];
            let rest = rest
                .get(..2)
                .filter(|id| id.eq_ignore_ascii_case(b"id"))
                .map_or(rest, |_| &rest[2..]);
            rest.trim_ascii_start()
        }
        _ => text,
    };
    let text = text.strip_prefix(b":").unwrap_or(text).trim_ascii_start();
    let text = text.strip_prefix(b"#").unwrap_or(text);
    (1..=9).contains(&text.len()) && text.iter().all(u8::is_ascii_digit)
}

/// `FULL`, `#a.b.x@EFNet`, `altbinEFNet`: what a request says besides its name.
fn is_channel(group: &[u8]) -> bool {
    const IRC: &[u8] = b"efnet";
    let text = group.trim_ascii();
    text.eq_ignore_ascii_case(b"full")
        || text
            .windows(IRC.len())
            .any(|word| word.eq_ignore_ascii_case(IRC))
        || (text.first() == Some(&b'#') && text.contains(&b'@'))
}
