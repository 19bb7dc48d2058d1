//! The words of many texts.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use xxhash_rust::xxh3::xxh3_64;

use crate::naming::Given;

/// U+0130, whose lower case is `i` and a mark.
const DOTTED_I: &[u8] = "\u{130}".as_bytes();
/// U+212A, whose lower case is `k`.
const KELVIN: &[u8] = "\u{212a}".as_bytes();

/// The distinct words of texts: runs of a-z in lower case, digits left out as if they were not there.
#[must_use]
pub fn distinct<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut found = Found::default();
    let mut word = Vec::new();
    for text in texts {
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            at += 1;
            if byte.is_ascii_alphabetic() {
                word.push(byte | 0x20);
                continue;
            }
            if byte.is_ascii_digit() {
                continue;
            }
            let rest = &text[at - 1..];
            if rest.starts_with(KELVIN) {
                word.push(b'k');
                at += KELVIN.len() - 1;
                continue;
            }
            if rest.starts_with(DOTTED_I) {
                word.push(b'i');
                at += DOTTED_I.len() - 1;
            }
            found.keep(&mut word);
        }
        found.keep(&mut word);
    }
    found
        .words
        .into_iter()
        .filter_map(|word| String::from_utf8(word).ok())
        .collect()
}

/// Words in the order in which they were first met, and the hashes of all of them.
#[derive(Default)]
struct Found {
    hashes: HashSet<u64, BuildHasherDefault<Given>>,
    words: Vec<Vec<u8>>,
}

impl Found {
    fn keep(&mut self, word: &mut Vec<u8>) {
        // A hash of 64 bits is taken for the word: there are some ten thousand of them.
        if !word.is_empty() && self.hashes.insert(xxh3_64(word)) {
            self.words.push(word.clone());
        }
        word.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::distinct;

    fn sorted(texts: &[&str]) -> Vec<String> {
        let mut words = distinct(texts.iter().map(|text| text.as_bytes()));
        words.sort();
        words
    }

    #[test]
    fn words_are_runs_of_letters_in_lower_case() {
        assert_eq!(
            sorted(&["Some.Show-2 [3/4]", "some \"show\" yEnc"]),
            ["show", "some", "yenc"]
        );
    }

    #[test]
    fn digits_do_not_part_a_word() {
        assert_eq!(sorted(&["w0rd wo1rd 12"]), ["word", "wrd"]);
    }

    #[test]
    fn characters_whose_lower_case_is_ascii_count() {
        assert_eq!(
            sorted(&["\u{212a}elvin", "\u{130}stanbul", "gr\u{fc}n"]),
            ["gr", "i", "kelvin", "n", "stanbul"]
        );
    }

    #[test]
    fn a_word_ends_with_its_text() {
        assert_eq!(sorted(&["ab", "cd", "", "\u{ff}"]), ["ab", "cd"]);
    }
}
