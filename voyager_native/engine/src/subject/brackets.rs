//! Names that a tool puts into square brackets: `[PRiVATE]-[WtFnZb]-[name.ext]-[1/10] - ""`.

use super::Span32;
use super::counter;
use super::extension::extension_rank;
use super::names::{Name, trim_blanks};
use super::words::closing_of;

/// Brackets beyond this number hold no name.
const MAX_BRACKETS: usize = 32;

/// A name in square brackets, as `[PRiVATE]-[WtFnZb]-[name.ext]-[1/10] - ""` has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BracketName {
    pub name: Name,
    /// The number in `[12/name.ext]`.
    pub index: Option<u32>,
    /// The folder in `[/Folder-WtF[nZb]/name.ext]`; empty without one.
    pub folder: Span32,
}

/// The bracket of `..to` with the best name; `least` is the least [`extension_rank`] it must have.
///
/// With 0 even a word without an extension is a name, unless it is a tag of the tool or a number.
/// Round brackets must hold a known extension: they are part of many names.
pub(super) fn find(s: &[u8], to: usize, least: u8) -> Option<BracketName> {
    const KNOWN: u8 = 2;
    let mut best: Option<(u8, usize, usize)> = None;
    let mut at = 0;
    let mut tool = false;
    for _ in 0..MAX_BRACKETS {
        let Some(open) = s
            .get(at..to)
            .and_then(|rest| memchr::memchr2(b'[', b'(', rest))
            .map(|i| at + i)
        else {
            break;
        };
        let Some(close) = closing_of(&s[..to], open) else {
            at = open + 1;
            continue;
        };
        let content = s[open + 1..close].trim_ascii();
        let is_tag = content.eq_ignore_ascii_case(b"private") || std::mem::take(&mut tool);
        tool = content.eq_ignore_ascii_case(b"private");
        let rank = extension_rank(content);
        let fits = rank >= if s[open] == b'(' { KNOWN } else { least };
        let names = rank > 0 || !(is_tag || content.iter().all(u8::is_ascii_digit));
        if fits
            && names
            && best.is_none_or(|(best, ..)| rank >= best)
            && counter::bracketed(s, open).is_none()
        {
            best = Some((rank, open, close));
        }
        at = close + 1;
    }
    let (_, open, close) = best?;
    let mut found = inside(s, open, close);
    found.name.rank = extension_rank(&s[found.name.start..found.name.end]);
    Some(found)
}

/// The parts of a bracket's content: `12/name`, `/Folder/name`, `name`.
fn inside(s: &[u8], open: usize, close: usize) -> BracketName {
    let whole = trim_blanks(
        s,
        &Name {
            start: open + 1,
            end: close,
            outer_start: open,
            outer_end: close + 1,
            rank: 0,
        },
    );
    let text = &s[whole.start..whole.end];
    let mut found = BracketName {
        name: whole,
        index: None,
        folder: Span32::default(),
    };
    let Some(slash) = memchr::memrchr(b'/', text) else {
        return found;
    };
    found.name.start = whole.start + slash + 1;
    let path = &text[..slash];
    let digits = path.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if (1..=5).contains(&digits) && matches!(path.get(digits), None | Some(b'/')) {
        found.index = Some(
            path[..digits]
                .iter()
                .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')),
        );
    }
    let last = memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1);
    let folder = without_tag(&path[last..]);
    let start = whole.start + last;
    // Only a path from the root names the upload; `1/series/name` merely sorts it.
    if path.len() > last + folder.len() || text.starts_with(b"/") {
        found.folder = Span32::new(start, start + folder.len());
    }
    // A single file is posted in a folder that bears its name; the file itself may be renamed.
    if extension_rank(folder) == 2 {
        found.name.start = start;
        found.name.end = start + folder.len();
    }
    found
}

/// A folder name without the poster's tag (`-WtF[nZb]`) at its end.
fn without_tag(folder: &[u8]) -> &[u8] {
    const TAG: &[u8] = b"-wtf[nzb]";
    match folder.len().checked_sub(TAG.len()) {
        Some(start) if folder[start..].eq_ignore_ascii_case(TAG) => &folder[..start],
        _ => folder,
    }
}
