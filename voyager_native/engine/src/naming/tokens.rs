//! The words of plain names, as the hashes under which they are found.

use std::collections::{HashMap, HashSet};

/// The rules of words, as they are given.
#[derive(Clone, Debug)]
pub struct TokenRules {
    /// Pairs of words that are one word, with that word.
    pairs: HashMap<(String, String), String>,
    /// What is left of a word when its apostrophe became a separator.
    contracted: HashSet<String>,
    /// So many words may be too many of one name.
    most_words: usize,
    /// The halves of each word that is a pair.
    parts: HashMap<String, (String, String)>,
    firsts: HashSet<String>,
}

impl TokenRules {
    /// The rules of pairs of words that are one word, with that word; of what is left of a word when its
    /// apostrophe became a separator; and of how many words may be too many of one name.
    #[must_use]
    pub fn new(
        pairs: HashMap<(String, String), String>,
        contracted: HashSet<String>,
        most_words: usize,
    ) -> Self {
        let parts = pairs
            .iter()
            .map(|(pair, joined)| (joined.clone(), pair.clone()))
            .collect();
        let firsts = pairs.keys().map(|(first, _)| first.clone()).collect();
        Self {
            pairs,
            contracted,
            most_words,
            parts,
            firsts,
        }
    }

    /// The hashes of the words of a name, sorted and distinct; none of a name that asks for more: other scripts,
    /// apostrophes and what is left of them, very many words.
    #[must_use]
    pub fn hashes(&self, name: &str) -> Option<Vec<i32>> {
        if !name.is_ascii() || name.contains(['\'', '`']) {
            return None;
        }
        let lower = name.to_ascii_lowercase();
        let words = self.joined(&lower);
        if words.len() >= self.most_words
            || words
                .iter()
                .any(|word| self.contracted.contains(word.as_ref()))
        {
            return None;
        }
        let mut hashes = Vec::with_capacity(words.len());
        for word in words {
            hashes.push(hash(&word));
            if let Some((first, second)) = self.parts.get(word.as_ref()) {
                hashes.extend([hash(first), hash(second)]);
            }
        }
        hashes.sort_unstable();
        hashes.dedup();
        Some(hashes)
    }

    /// The words of a text in lower case, known pairs joined.
    fn joined<'t>(&self, lower: &'t str) -> Vec<std::borrow::Cow<'t, str>> {
        let mut pieces = lower
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .filter(|piece| !piece.is_empty())
            .peekable();
        let mut words = Vec::new();
        while let Some(first) = pieces.next() {
            if let Some(second) = pieces.peek().copied()
                && let Some(joined) = self.pair(first, second)
            {
                pieces.next();
                words.push(joined.into());
            } else {
                words.push(first.into());
            }
        }
        words
    }

    fn pair(&self, first: &str, second: &str) -> Option<String> {
        if self.firsts.contains(first)
            && let Some(joined) = self.pairs.get(&(first.to_owned(), second.to_owned()))
        {
            return Some(joined.clone());
        }
        let is_numbered = |word: &str, letter: u8, lengths: [usize; 2]| {
            lengths.contains(&word.len())
                && word.as_bytes()[0] == letter
                && word.bytes().skip(1).all(|byte| byte.is_ascii_digit())
        };
        // `S01 E02`
        let is_episode = is_numbered(first, b's', [3, 5]) && is_numbered(second, b'e', [3, 4]);
        is_episode.then(|| format!("{first}{second}"))
    }
}

/// The CRC-32 of a word, with a sign.
fn hash(word: &str) -> i32 {
    crc32fast::hash(word.as_bytes()).cast_signed()
}
