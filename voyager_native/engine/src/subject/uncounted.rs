//! What a subject is that says neither which file it is of nor which part.
//!
//! Posting tools hide uploads in two ways: every article gets a random subject of its own, or all that is left
//! of a subject are random words. Both are told from text that people wrote, by the form of the words alone.

use crate::reason::Reason;

/// A word of so many characters that nobody writes.
const LONG: usize = 24;
/// A shorter word is random when digits or capitals are strewn in it.
const SHORT: usize = 16;
const LEAST_DIGITS: usize = 2;
const LEAST_CAPITALS: usize = 3;

/// The reason for which an article with this subject is in no file.
///
/// # Arguments
/// * `subject` - decoded, without a counter and without the name of a file
/// * `message_id` - without the angle brackets
#[must_use]
#[inline]
pub fn reason(subject: &[u8], message_id: &[u8]) -> Reason {
    if !subject.is_ascii() {
        // Tools use letters and digits alone.
        return Reason::NoCounter;
    }
    if !subject.iter().all(|byte| is_of_word(*byte)) {
        return several_words(subject);
    }
    if is_random(subject) || is_own_id(subject, message_id) {
        Reason::RandomSubject
    } else {
        Reason::NoCounter
    }
}

/// The reason for a subject that is known to be one word.
#[must_use]
#[inline]
pub(crate) fn reason_of_word(word: &[u8], message_id: &[u8]) -> Reason {
    if word.len() >= LONG {
        return Reason::RandomSubject;
    }
    reason(word, message_id)
}

/// Tools that name an article after its message-id.
fn is_own_id(subject: &[u8], message_id: &[u8]) -> bool {
    !subject.is_empty()
        && message_id
            .strip_prefix(subject)
            .is_some_and(|rest| rest.first() == Some(&b'@'))
}

/// Bytes of a word; the quick way takes everything for one that is no blank, bracket, stroke, dot or colon.
const fn is_of_word(byte: u8) -> bool {
    !matches!(
        byte,
        b' ' | b'\t' | b'(' | b'[' | b'{' | b'<' | b'/' | b'|' | b'\\' | b'.' | b':'
    )
}

fn is_random(word: &[u8]) -> bool {
    if word.len() >= LONG || word.len() < SHORT {
        return word.len() >= LONG;
    }
    let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
    let inner = word
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    digits >= LEAST_DIGITS || inner.count() >= LEAST_CAPITALS
}

#[cold]
fn several_words(subject: &[u8]) -> Reason {
    let words = subject
        .split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-' && *byte != b'_')
        .filter(|word| word.iter().any(u8::is_ascii_alphanumeric));
    let says_nothing = |word: &[u8]| {
        is_random(word)
            || word.eq_ignore_ascii_case(b"yenc")
            || word.iter().all(|byte| !byte.is_ascii_alphabetic())
    };
    let mut is_hidden = false;
    for word in words {
        if !says_nothing(word) {
            return Reason::NoCounter;
        }
        is_hidden |= is_random(word);
    }
    if is_hidden {
        Reason::ObfuscatedSubject
    } else {
        Reason::NoCounter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_the_words_tells() {
        for (subject, wanted) in [
            (&b"j8QmZ2vXc0pLr7TfKd4WsN1y"[..], Reason::RandomSubject),
            (
                b"83f5c794-1b1a-4bc3-88cb-87dff4060f2e",
                Reason::RandomSubject,
            ),
            (b"a8f9e7c6d5b4a3f2", Reason::RandomSubject),
            (b"xKqPwLmNzRtYvBhG", Reason::RandomSubject),
            (b"short1d", Reason::RandomSubject),
            (b"Internationalization", Reason::NoCounter),
            (
                b"looking for 12345678901234567890 please",
                Reason::NoCounter,
            ),
            (b"[a8f9e7c6d5b4a3f2] - yEnc", Reason::ObfuscatedSubject),
            (
                b"83f5c794-1b1a-4bc3-88cb-87dff4060f2e a8f9e7c6d5b4a3f2",
                Reason::ObfuscatedSubject,
            ),
            (b"hello there", Reason::NoCounter),
            (b"[12] - yEnc", Reason::NoCounter),
            (b"thanks a8f9e7c6d5b4a3f2", Reason::NoCounter),
            (b"", Reason::NoCounter),
            (b"...", Reason::NoCounter),
        ] {
            assert_eq!(reason(subject, b"short1d@ngPost"), wanted, "{subject:?}");
        }
    }

    #[test]
    fn the_short_way_is_the_long_way() {
        for word in [
            &b"Internationalization"[..],
            b"abc",
            b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            assert_eq!(reason_of_word(word, b"abc@x"), reason(word, b"abc@x"));
        }
    }
}
