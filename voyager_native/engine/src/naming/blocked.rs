//! Texts that hold a blocked word, told by salted digests: the words themselves stand nowhere.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::hash::Seeded;
use crate::words;

/// So many words are remembered as told.
const MOST_REMEMBERED: usize = 1 << 17;
/// Longest word that is remembered: longer ones do not come again.
const LONGEST_REMEMBERED: usize = 32;

/// What is known of words.
type Words = HashMap<Box<str>, Told, Seeded>;

/// What is blocked: digests of words, of pairs of words with a blank between, and of the first words of pairs.
#[derive(Debug)]
pub struct BlockList {
    salt: String,
    digests: HashSet<u64>,
    halves: HashSet<u64>,
    told: Mutex<Words>,
}

/// What a word is.
#[derive(Clone, Copy, Debug)]
struct Told {
    is_blocked: bool,
    is_half: bool,
}

impl BlockList {
    /// A list of hexadecimal digests; what is no digest blocks nothing.
    pub fn new<'a>(
        salt: &str,
        digests: impl IntoIterator<Item = &'a str>,
        halves: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self {
            salt: salt.to_owned(),
            digests: digests.into_iter().filter_map(number).collect(),
            halves: halves.into_iter().filter_map(number).collect(),
            told: Mutex::default(),
        }
    }

    /// The words of texts ([`words::distinct`]) that are blocked or may begin a blocked pair, sorted.
    pub fn suspects<'a>(&self, texts: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut found = words::distinct(texts);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        found.retain(|word| {
            let told = self.tell(&mut told, word);
            told.is_blocked || told.is_half
        });
        found.sort_unstable();
        found
    }

    /// Whether each text holds a blocked word or pair; none of a text beyond ASCII, which has to be folded first.
    pub fn blocked<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Vec<Option<bool>> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_blocked = |text: &str| text.is_ascii().then(|| self.is_blocked(&mut told, text));
        texts.into_iter().map(&mut is_blocked).collect()
    }

    fn is_blocked(&self, told: &mut Words, text: &str) -> bool {
        let lower = text.to_ascii_lowercase();
        let mut before: Vec<String> = Vec::new();
        for token in lower.split(|letter: char| !is_of_token(letter)) {
            if token.is_empty() {
                continue;
            }
            let mut halves = Vec::new();
            for way in readings(token) {
                let each = self.tell(told, &way);
                if each.is_blocked {
                    return true;
                }
                let pair = |first: &String| self.digest_of(&[first, " ", &way]);
                if before
                    .iter()
                    .any(|first| self.digests.contains(&pair(first)))
                {
                    return true;
                }
                if each.is_half {
                    halves.push(way);
                }
            }
            before = halves;
        }
        false
    }

    fn tell(&self, told: &mut Words, word: &str) -> Told {
        if let Some(known) = told.get(word) {
            return *known;
        }
        let new = Told {
            is_blocked: self.digests.contains(&self.digest_of(&[word])),
            is_half: self.halves.contains(&self.digest_of(&["half ", word])),
        };
        if word.len() <= LONGEST_REMEMBERED {
            if told.len() >= MOST_REMEMBERED {
                told.clear();
            }
            told.insert(word.into(), new);
        }
        new
    }

    fn digest_of(&self, text: &[&str]) -> u64 {
        let mut sha = Sha256::new();
        sha.update(&self.salt);
        sha.update(b"\n");
        for piece in text {
            sha.update(piece);
        }
        let digest: [u8; 32] = sha.finalize().into();
        digest[..8]
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

/// The number of a digest as it is written: sixteen digits, letters in lower case.
fn number(digest: &str) -> Option<u64> {
    let is_digest = digest.len() == 16
        && digest
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    is_digest.then(|| u64::from_str_radix(digest, 16).ok())?
}

fn is_of_token(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '@' || letter == '$'
}

/// A token in every way in which it may be read: signs as the letters that they stand for, or left out.
fn readings(token: &str) -> Vec<String> {
    let mut ways = vec![token.to_owned()];
    if token.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return ways;
    }
    let letters: String = token.chars().map(letter_of).collect();
    let bare: String = token.chars().filter(char::is_ascii_lowercase).collect();
    for way in [letters, bare] {
        if !way.is_empty() && !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

/// Which letter posters write a digit or sign for.
fn letter_of(sign: char) -> char {
    match sign {
        '0' => 'o',
        '1' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::BlockList;
    use sha2::{Digest, Sha256};
    use std::fmt::Write;

    const SALT: &str = "salt";

    fn digest(text: &str) -> String {
        let digest = Sha256::digest(format!("{SALT}\n{text}"));
        digest[..8].iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("a string takes it");
            hex
        })
    }

    fn list() -> BlockList {
        let digests = [digest("apple"), digest("green pear"), "zz".to_owned()];
        let halves = [digest("half green")];
        BlockList::new(
            SALT,
            digests.iter().map(String::as_str),
            halves.iter().map(String::as_str),
        )
    }

    fn blocked(text: &str) -> Option<bool> {
        list().blocked([text])[0]
    }

    #[test]
    fn words_pairs_and_odd_spellings_are_told() {
        for text in [
            "An APPLE",
            "4ppl3",
            "ap1ple.",
            "green.pear",
            "gr33n-p3ar",
            "@pple",
        ] {
            assert_eq!(blocked(text), Some(true), "{text}");
        }
        for text in ["", "pear", "green", "pear green", "green a pear", "apples"] {
            assert_eq!(blocked(text), Some(false), "{text}");
        }
    }

    #[test]
    fn other_scripts_are_left_to_others() {
        assert_eq!(blocked("\u{e4}pple"), None);
    }

    #[test]
    fn suspects_are_blocked_words_and_beginnings_of_pairs() {
        let texts: [&[u8]; 3] = [b"a green thing", b"4p0ple", b"apple apple"];
        assert_eq!(list().suspects(texts), ["apple", "green"]);
    }

    #[test]
    fn a_word_of_the_known_hash_of_another_is_told_for_itself() {
        // `xxh3_64` is the same of both.
        let (harmless, blocked) = ("gejdjieaeaaeongn", "dccgbgfgpacaddhk");
        let digests = [digest(blocked)];
        let list = BlockList::new(SALT, digests.iter().map(String::as_str), []);
        let told = list.blocked([harmless, blocked, harmless, blocked]);
        assert_eq!(told, [false, true, false, true].map(Some));
    }

    #[test]
    fn long_words_are_told_as_well() {
        let long = "a".repeat(300);
        let digests = [digest(&long)];
        let list = BlockList::new(SALT, digests.iter().map(String::as_str), []);
        let longer = format!("{long}a");
        assert_eq!(
            list.blocked([&long[..], &longer, &long]),
            [true, false, true].map(Some)
        );
    }
}
