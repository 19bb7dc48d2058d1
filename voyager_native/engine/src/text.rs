//! Header bytes to text: RFC 2047 words, HTML entities, character sets.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memmem};

/// Whether a subject must go through [`decode_header`] before it is parsed. Cheap: asked for every article.
///
/// NUL and CR must be out, as [`crate::lines`] leaves fields. Bytes that are merely no UTF-8 need no
/// decoding first: the grammar looks at ASCII only.
#[must_use]
pub fn needs_decoding(raw: &[u8]) -> bool {
    let (Some(first), Some(last)) = (raw.first(), raw.last()) else {
        return false;
    };
    if is_blank(*first) || is_blank(*last) || after_reply(raw).is_some() {
        return true;
    }
    let mut at = 0;
    while let Some(found) = memchr2(b'&', b'=', &raw[at..]) {
        at += found;
        let begins = if raw[at] == b'=' {
            raw.get(at + 1) == Some(&b'?')
        } else {
            entity(&raw[at..]).is_some()
        };
        if begins {
            return true;
        }
        at += 1;
    }
    false
}

/// Decodes a header value: RFC 2047 words, HTML entities, `Re:` taken off, NUL and CR out, outer blanks trimmed.
///
/// `out` is cleared first and then holds valid UTF-8.
pub fn decode_header(raw: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let text = to_utf8(raw);
    let text = words(&text);
    let text = entities(&text);
    let blanks = [' ', '\t', '\r', '\n', '\0'];
    let mut rest = text.trim_matches(blanks);
    while let Some(after) = after_reply(rest.as_bytes()) {
        rest = rest[rest.len() - after.len()..].trim_start_matches(blanks);
    }
    out.extend(
        rest.bytes()
            .filter(|byte| !matches!(byte, 0 | b'\r' | b'\n')),
    );
}

/// The bytes as text: UTF-8 when valid, else latin-1. NUL is taken out.
#[must_use]
pub fn to_utf8(raw: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(raw) {
        Ok(text) if memchr(0, raw).is_none() => Cow::Borrowed(text),
        Ok(text) => Cow::Owned(text.replace('\0', "")),
        Err(_) => Cow::Owned(
            raw.iter()
                .filter(|byte| **byte != 0)
                .map(|byte| char::from(*byte))
                .collect(),
        ),
    }
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// What follows a `Re:` at the start.
fn after_reply(text: &[u8]) -> Option<&[u8]> {
    match text {
        [b'R' | b'r', b'E' | b'e', b':', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// An RFC 2047 word: its character set, its bytes, and its length in the text.
struct Word<'a> {
    charset: &'a str,
    bytes: Vec<u8>,
    len: usize,
}

/// Decodes the RFC 2047 words of a text; blanks between two of them are no text.
fn words(text: &str) -> Cow<'_, str> {
    if memmem::find(text.as_bytes(), b"=?").is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    // Bytes of one character may be spread over several words of one character set.
    let mut pending: Option<(&str, Vec<u8>)> = None;
    let mut rest = text;
    while let Some(at) = rest.find("=?") {
        let (before, here) = rest.split_at(at);
        let Some(word) = word(here) else {
            flush(&mut pending, &mut out);
            out.push_str(&rest[..at + 2]);
            rest = &rest[at + 2..];
            continue;
        };
        let joined = pending.is_some() && before.bytes().all(is_blank);
        if !joined {
            flush(&mut pending, &mut out);
            out.push_str(before);
        }
        match &mut pending {
            Some((charset, bytes)) if charset.eq_ignore_ascii_case(word.charset) => {
                bytes.extend(word.bytes);
            }
            _ => {
                flush(&mut pending, &mut out);
                pending = Some((word.charset, word.bytes));
            }
        }
        rest = &here[word.len..];
    }
    flush(&mut pending, &mut out);
    out.push_str(rest);
    Cow::Owned(out)
}

fn flush(pending: &mut Option<(&str, Vec<u8>)>, out: &mut String) {
    if let Some((charset, bytes)) = pending.take() {
        out.push_str(&in_charset(charset, &bytes));
    }
}

/// The RFC 2047 word at the start of `text`. Blanks inside and a missing end are tolerated, as a cut subject has them.
fn word(text: &str) -> Option<Word<'_>> {
    let inner = text.strip_prefix("=?")?;
    let (charset, after) = inner.split_once('?')?;
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:+*".contains(&byte);
    if charset.is_empty() || charset.len() > 40 || !charset.bytes().all(is_token) {
        return None;
    }
    let quoted = match after.as_bytes() {
        [b'Q' | b'q', b'?', ..] => true,
        [b'B' | b'b', b'?', ..] => false,
        _ => return None,
    };
    let content = &after[2..];
    let end = end_of_word(content);
    let body = &content[..end.unwrap_or(content.len())];
    let bytes = if quoted {
        from_quoted(body.as_bytes())
    } else {
        from_base64(body.as_bytes())?
    };
    let len = text.len() - content.len() + end.map_or(content.len(), |end| end + 2);
    // A language may follow the character set (RFC 2231).
    let charset = charset.split('*').next().unwrap_or(charset);
    Some(Word {
        charset,
        bytes,
        len,
    })
}

/// Where the `?=` of a word begins that is not followed by a hexadecimal pair (`?=28` is an unencoded `?` and `=28`).
fn end_of_word(content: &str) -> Option<usize> {
    let bytes = content.as_bytes();
    memmem::find_iter(bytes, b"?=").find(|end| {
        !matches!(bytes.get(end + 2..end + 4), Some([a, b]) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
    })
}

fn from_quoted(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut i = 0;
    while let Some(byte) = body.get(i) {
        match (byte, body.get(i + 1..i + 3).and_then(hex_pair)) {
            (b'=', Some(value)) => {
                out.push(value);
                i += 2;
            }
            (b'_', _) => out.push(b' '),
            _ => out.push(*byte),
        }
        i += 1;
    }
    out
}

fn hex_pair(pair: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*pair.first()?)? * 16 + digit(*pair.get(1)?)?).ok()
}

/// Base64 with or without padding; `None` when other bytes than its alphabet and blanks are there.
fn from_base64(body: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(body.len() * 3 / 4);
    let mut bits = 0_u32;
    let mut held = 0;
    for byte in body {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' | b' ' | b'\t' => continue,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(out)
}

/// Bytes of a named character set; unknown names are read like raw headers.
fn in_charset(name: &str, bytes: &[u8]) -> String {
    match encoding_rs::Encoding::for_label(name.as_bytes()) {
        Some(encoding)
            if encoding != encoding_rs::UTF_8 && encoding != encoding_rs::WINDOWS_1252 =>
        {
            encoding.decode_without_bom_handling(bytes).0.into_owned()
        }
        Some(encoding)
            if encoding == encoding_rs::WINDOWS_1252 && std::str::from_utf8(bytes).is_err() =>
        {
            encoding.decode_without_bom_handling(bytes).0.into_owned()
        }
        _ => to_utf8(bytes).into_owned(),
    }
}

/// Decodes the HTML entities of a text: once, and only those with their semicolon.
fn entities(text: &str) -> Cow<'_, str> {
    if memchr(b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (character, len) = entity(rest.as_bytes()).unwrap_or(('&', 1));
        if !character.is_control() {
            out.push(character);
        }
        rest = &rest[len..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The entity at the start of `text` and its length.
fn entity(text: &[u8]) -> Option<(char, usize)> {
    const LONGEST: usize = 10;
    let end = text.iter().take(LONGEST).position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(text.get(1..end)?).ok()?;
    let character = match name.as_bytes() {
        [b'#', b'x' | b'X', ..] => numbered(u32::from_str_radix(&name[2..], 16).ok()?)?,
        [b'#', ..] => numbered(name[1..].parse().ok()?)?,
        _ => named(name)?,
    };
    Some((character, end + 1))
}

/// The character of a number; 128 to 159 are Windows-1252 in the wild.
fn numbered(number: u32) -> Option<char> {
    match u8::try_from(number) {
        Ok(byte @ 128..=159) => encoding_rs::WINDOWS_1252
            .decode_without_bom_handling(&[byte])
            .0
            .chars()
            .next(),
        _ => char::from_u32(number),
    }
}

/// The entities of U+00A0 to U+00FF, in their order.
const LATIN: [&str; 96] = [
    "nbsp", "iexcl", "cent", "pound", "curren", "yen", "brvbar", "sect", "uml", "copy", "ordf",
    "laquo", "not", "shy", "reg", "macr", "deg", "plusmn", "sup2", "sup3", "acute", "micro",
    "para", "middot", "cedil", "sup1", "ordm", "raquo", "frac14", "frac12", "frac34", "iquest",
    "Agrave", "Aacute", "Acirc", "Atilde", "Auml", "Aring", "AElig", "Ccedil", "Egrave", "Eacute",
    "Ecirc", "Euml", "Igrave", "Iacute", "Icirc", "Iuml", "ETH", "Ntilde", "Ograve", "Oacute",
    "Ocirc", "Otilde", "Ouml", "times", "Oslash", "Ugrave", "Uacute", "Ucirc", "Uuml", "Yacute",
    "THORN", "szlig", "agrave", "aacute", "acirc", "atilde", "auml", "aring", "aelig", "ccedil",
    "egrave", "eacute", "ecirc", "euml", "igrave", "iacute", "icirc", "iuml", "eth", "ntilde",
    "ograve", "oacute", "ocirc", "otilde", "ouml", "divide", "oslash", "ugrave", "uacute", "ucirc",
    "uuml", "yacute", "thorn", "yuml",
];

fn named(name: &str) -> Option<char> {
    Some(match name {
        "quot" | "QUOT" => '"',
        "amp" | "AMP" => '&',
        "lt" | "LT" => '<',
        "gt" | "GT" => '>',
        "apos" => '\'',
        "ldquo" => '\u{201c}',
        "rdquo" => '\u{201d}',
        "bdquo" => '\u{201e}',
        "lsquo" => '\u{2018}',
        "rsquo" => '\u{2019}',
        "ndash" => '\u{2013}',
        "mdash" => '\u{2014}',
        "hellip" => '\u{2026}',
        "bull" => '\u{2022}',
        "euro" => '\u{20ac}',
        "trade" => '\u{2122}',
        _ => {
            let at = LATIN.iter().position(|latin| *latin == name)?;
            char::from_u32(0xa0 + u32::try_from(at).ok()?)?
        }
    })
}
