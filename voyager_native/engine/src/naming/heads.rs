//! What the text before a file's counter is worth as the name of a set.

use std::collections::HashMap;

use regex::Regex;

use super::pool::{Seen, Texts};
use super::{RulesError, pattern};
use crate::hash::Seeded;

/// The rules of heads, as they are given: patterns over a whole head.
#[derive(Clone, Debug, Default)]
pub struct HeadTables {
    /// What says nothing about a release, each taken out in turn.
    pub nothing: Vec<String>,
    /// What says what kind of thing a release is, and not which.
    pub kinds: String,
    /// So many letters and digits must be left.
    pub least_letters: usize,
    /// What names one release in a head as it stands.
    pub named: String,
    /// The same in what is left of a head.
    pub named_bare: String,
    /// Separators that are one blank in the form in which heads are compared.
    pub separators: String,
    /// What is taken off both ends of that form.
    pub edges: String,
    /// A request that is none.
    pub no_request: String,
}

/// The rules of heads, ready for use.
#[derive(Debug)]
pub struct HeadRules {
    nothing: Vec<Regex>,
    kinds: Regex,
    letter: Regex,
    least_letters: usize,
    named: Regex,
    named_bare: Regex,
    separators: Regex,
    edges: Vec<char>,
    no_request: Regex,
}

/// Says nothing about the release.
const BANNER: u8 = 0;
/// Plain words.
const WORDS: u8 = 1;
/// Names one release.
const NAME: u8 = 2;

impl HeadRules {
    /// The rules of these tables.
    ///
    /// # Errors
    /// When a pattern is none.
    pub fn new(tables: &HeadTables) -> Result<Self, RulesError> {
        let nothing = tables.nothing.iter().map(|text| pattern("nothing", text));
        Ok(Self {
            nothing: nothing.collect::<Result<_, _>>()?,
            kinds: pattern("kinds", &tables.kinds)?,
            letter: pattern("letter", r"[\p{L}\p{N}]")?,
            least_letters: tables.least_letters,
            named: pattern("named", &tables.named)?,
            named_bare: pattern("named_bare", &tables.named_bare)?,
            separators: pattern("separators", &tables.separators)?,
            edges: tables.edges.chars().collect(),
            no_request: pattern("no_request", &tables.no_request)?,
        })
    }

    /// The grade of each head.
    pub fn grades<'a>(&self, heads: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
        let mut known: HashMap<&str, u8, Seeded> = HashMap::default();
        let grade = |head| *known.entry(head).or_insert_with(|| self.grade(head));
        heads.into_iter().map(grade).collect()
    }

    /// Each text in the form in which it is compared.
    #[must_use]
    pub fn squeezed(&self, texts: &[&str]) -> Texts {
        each_once(texts, |text| self.squeeze(text))
    }

    /// The same of requests; one that is none is empty.
    #[must_use]
    pub fn requests(&self, texts: &[&str]) -> Texts {
        each_once(texts, |text| {
            self.squeeze(&self.no_request.replace(text, ""))
        })
    }

    fn squeeze(&self, text: &str) -> String {
        let lower = text.to_lowercase();
        let spaced = self.separators.replace_all(&lower, " ");
        spaced.trim_matches(self.edges.as_slice()).to_owned()
    }

    fn grade(&self, head: &str) -> u8 {
        let mut bare = head.to_owned();
        for nothing in &self.nothing {
            bare = nothing.replace_all(&bare, " ").into_owned();
        }
        let left = self.kinds.replace_all(&bare, " ");
        let letters = self.letter.find_iter(&left).take(self.least_letters);
        if letters.count() < self.least_letters {
            BANNER
        } else if self.named.is_match(head) || self.named_bare.is_match(&bare) {
            NAME
        } else {
            WORDS
        }
    }
}

/// What is made of each text, worked out once for equal ones.
fn each_once(texts: &[&str], of: impl Fn(&str) -> String) -> Texts {
    let mut out = Texts::default();
    let mut seen = Seen::with_capacity(0);
    for (row, text) in texts.iter().enumerate() {
        match seen.before(row, text) {
            Some(before) => out.repeat(before),
            None => out.push(&of(text)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{BANNER, HeadRules, HeadTables, WORDS};

    #[test]
    fn a_head_of_the_known_hash_of_another_is_graded_for_itself() {
        let banner = "dccgbgfgpacaddhk";
        let tables = HeadTables {
            nothing: vec![banner.to_owned()],
            kinds: "none of them".to_owned(),
            least_letters: 3,
            named: "a name".to_owned(),
            named_bare: "a name".to_owned(),
            ..HeadTables::default()
        };
        let rules = HeadRules::new(&tables).expect("patterns");
        // `xxh3_64` is the same of both.
        let grades = rules.grades([banner, "gejdjieaeaaeongn", banner]);
        assert_eq!(grades, [BANNER, WORDS, BANNER]);
    }
}
