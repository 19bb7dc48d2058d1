//! The words of many texts.

use std::collections::HashMap;

use crate::hash::Seeded;

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
    found.in_order()
}

/// Words, and the order in which they were first met.
#[derive(Default)]
struct Found {
    places: HashMap<Vec<u8>, usize, Seeded>,
}

impl Found {
    fn keep(&mut self, word: &mut Vec<u8>) {
        if !word.is_empty() && !self.places.contains_key(word.as_slice()) {
            self.places.insert(word.clone(), self.places.len());
        }
        word.clear();
    }

    fn in_order(self) -> Vec<String> {
        let mut words = vec![String::new(); self.places.len()];
        for (word, place) in self.places {
            // All letters are ASCII.
            words[place] = String::from_utf8(word).unwrap_or_default();
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::distinct;
    use xxhash_rust::xxh3::xxh3_64;

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

    #[test]
    fn words_of_one_known_hash_are_both_kept() {
        let words = ["dccgbgfgpacaddhk", "gejdjieaeaaeongn"];
        assert_eq!(xxh3_64(words[0].as_bytes()), xxh3_64(words[1].as_bytes()));
        assert_eq!(sorted(&words), words);
    }

    #[test]
    fn words_come_in_the_order_in_which_they_were_met() {
        let texts = ["b a", "c b a d"].map(str::as_bytes);
        assert_eq!(distinct(texts), ["b", "a", "c", "d"]);
    }
}
