//! Many patterns at the ends of texts, asked for in one walk from the last byte backwards.

use std::sync::{Mutex, PoisonError};

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use super::RulesError;

/// Patterns that a text may end with. Case and scripts do not matter: letters are `a` to `z`.
#[derive(Debug)]
pub struct Endings {
    backwards: DFA,
    count: usize,
    /// States that were worked out before, for the next one who asks.
    caches: Mutex<Vec<Cache>>,
}

impl Endings {
    /// The endings of these patterns.
    ///
    /// # Errors
    /// When one of them is no pattern; the first such is named.
    pub fn new<N: AsRef<str>, P: AsRef<str>>(patterns: &[(N, P)]) -> Result<Self, RulesError> {
        for (name, pattern) in patterns {
            super::pattern(name.as_ref(), &wrapped(pattern.as_ref()))?;
        }
        let texts: Vec<String> = patterns
            .iter()
            .map(|(_, pattern)| wrapped(pattern.as_ref()))
            .collect();
        let failed = |reason: String| RulesError::Pattern {
            name: "of the endings together".to_owned(),
            reason,
        };
        let automaton = thompson::Compiler::new()
            .syntax(syntax::Config::new())
            .configure(
                thompson::Config::new()
                    .reverse(true)
                    .which_captures(WhichCaptures::None),
            )
            .build_many(&texts)
            .map_err(|error| failed(error.to_string()))?;
        let backwards = DFA::builder()
            .configure(
                Config::new()
                    .match_kind(MatchKind::All)
                    .skip_cache_capacity_check(true),
            )
            .build_from_nfa(automaton)
            .map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            backwards,
            count: texts.len(),
            caches: Mutex::new(Vec::new()),
        })
    }

    /// What asks texts for the endings; one for many texts.
    pub fn finder(&self) -> Finder<'_> {
        let kept = self
            .caches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        Finder {
            endings: self,
            cache: Some(kept.unwrap_or_else(|| self.backwards.create_cache())),
            starts: vec![None; self.count],
        }
    }
}

/// A pattern whatever the case of its letters.
fn wrapped(pattern: &str) -> String {
    format!("(?i-u)(?:{pattern})")
}

/// Finds [`Endings`].
#[derive(Debug)]
pub struct Finder<'a> {
    endings: &'a Endings,
    cache: Option<Cache>,
    starts: Vec<Option<usize>>,
}

impl Finder<'_> {
    /// What was found last.
    #[must_use]
    pub fn starts(&self) -> &[Option<usize>] {
        &self.starts
    }

    /// Where each of the endings begins in a text; of several places the first one.
    pub fn find(&mut self, text: &str) -> &[Option<usize>] {
        self.starts.fill(None);
        let Some(cache) = &mut self.cache else {
            return &self.starts;
        };
        let backwards = &self.endings.backwards;
        let input = Input::new(text).anchored(Anchored::Yes);
        let mut keep = |cache: &Cache, state: LazyStateID, start: usize| {
            for index in 0..backwards.match_len(cache, state) {
                let pattern = backwards.match_pattern(cache, state, index);
                self.starts[pattern.as_usize()] = Some(start);
            }
        };
        // Walked here because the search of the library gives another place for the second pattern of a state.
        // It fails only at bytes that are declared to end it, and none is.
        let Ok(mut state) = backwards.start_state_reverse(cache, &input) else {
            return &self.starts;
        };
        for (at, byte) in text.bytes().enumerate().rev() {
            let Ok(next) = backwards.next_state(cache, state, byte) else {
                return &self.starts;
            };
            state = next;
            if state.is_match() {
                // A state tells of a match one byte after its start.
                keep(cache, state, at + 1);
            } else if state.is_dead() {
                return &self.starts;
            }
        }
        if let Ok(last) = backwards.next_eoi_state(cache, state)
            && last.is_match()
        {
            keep(cache, last, 0);
        }
        &self.starts
    }
}

impl Drop for Finder<'_> {
    fn drop(&mut self) {
        if let Some(cache) = self.cache.take() {
            self.endings
                .caches
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(cache);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Endings;
    use regex::Regex;

    const PATTERNS: [(&str, &str); 5] = [
        ("volume", r"\.part\d{1,4}(?:\.rar)?|\.[r-z]\d\d"),
        ("parity", r"(?:[._ -]+vol\d+(?:\+\d+)?)?\.par2(?:\.par2)?"),
        ("number", r"\d+"),
        ("two", r"\d\d"),
        ("site", r"[_ .-]+www[._][a-z0-9._-]+"),
    ];

    #[test]
    fn each_ending_begins_where_a_pattern_alone_finds_it() {
        let endings = Endings::new(&PATTERNS).expect("patterns");
        let mut finder = endings.finder();
        for text in [
            "",
            "a",
            "Show.PART01.RAR",
            "show.part1.part2.rar",
            "a.vol03+04.PAR2",
            "x.vol1.vol2.par2.par2",
            "x.r00",
            "\u{e9}.r00",
            "12345",
            "a.www.b-www.c",
            ".part1",
            "\u{131}.part1\u{131}",
            "a.2012",
            "\u{ac8c}.r12",
        ] {
            let wanted: Vec<Option<usize>> = PATTERNS
                .iter()
                .map(|(_, pattern)| {
                    let alone = Regex::new(&format!("(?i-u)(?:{pattern})$")).expect("a pattern");
                    alone.find(text).map(|found| found.start())
                })
                .collect();
            assert_eq!(finder.find(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_named() {
        let error = Endings::new(&[("good", "a"), ("bad", "(")]).expect_err("no pattern");
        assert!(error.to_string().contains("bad"), "{error}");
    }
}
