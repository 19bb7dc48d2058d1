//! What readable release names state: place in a series, words, forms, team.
//!
//! Everything that a pattern can show is found here. Names with uncommon marks of an episode are said to be so:
//! whoever asked reads them by themselves.

use std::collections::{HashMap, HashSet};

use regex::{Regex, RegexSet};

use super::{RulesError, pattern};

/// Columns of bits that the words of names set.
pub const COLUMNS: usize = 4;

/// The bits of words: features, resolution, source, language.
pub type Bits = [u64; COLUMNS];

/// Where the language is among the columns.
const LANGUAGE: usize = 3;
/// What is looked at of a name, and for its place in a series.
const MOST_CHARACTERS: usize = 400;
const MOST_OF_SERIES: usize = 512;

/// Forms that are asked of some names.
#[derive(Clone, Debug, Default)]
pub struct Forms {
    /// Patterns over a name in lower case, with the bits of each: of all names, of names in brackets, of names
    /// that show no picture.
    pub shapes: [Vec<(String, u64)>; 3],
    /// The bit of the form that names in brackets have.
    pub bracketed: u64,
    /// Bits of words of names that show a picture.
    pub shown: u64,
    /// The group at the end of a name in lower case, the groups that count, and their bit.
    pub team: (String, HashSet<String>, u64),
    /// A group in its own case, and its bit.
    pub own_case: (String, u64),
}

/// The rules of facts, as they are given.
#[derive(Clone, Debug, Default)]
pub struct FactTables {
    /// Plain texts that begin and end at words, with their bits.
    pub words: Vec<(String, Bits)>,
    /// Forms.
    pub forms: Forms,
    /// Patterns over a name in lower case: dates, the usual mark of an episode with its two numbers, what makes
    /// that a range, all other marks, and the last year.
    pub dated: String,
    /// See `dated`.
    pub usual: String,
    /// See `dated`.
    pub range: String,
    /// See `dated`.
    pub other: String,
    /// See `dated`.
    pub last_year: String,
    /// What of a plain text may state a language.
    pub after_title: String,
    /// Endings and marks that a name may have behind its team, the second twice.
    pub ending: String,
    /// See `ending`.
    pub reposted: String,
    /// Places of the team, in their order: whether it is asked of the name without marks, and a pattern.
    pub teams: Vec<(bool, String)>,
    /// What is no team.
    pub no_team: String,
}

/// The rules of facts, ready for use.
#[derive(Debug)]
pub struct FactRules {
    alone: HashMap<String, Bits>,
    together: HashMap<String, Vec<(String, Bits)>>,
    shapes: RegexSet,
    shape_bits: Vec<(usize, u64)>,
    bracketed: u64,
    shown: u64,
    game_team: Regex,
    game_groups: HashSet<String>,
    game_bit: u64,
    own_case: Regex,
    own_case_bit: u64,
    dated: Regex,
    usual: Regex,
    range: Regex,
    other: Regex,
    last_year: Regex,
    after_title: Regex,
    ending: Regex,
    reposted: Regex,
    teams: Vec<(bool, Regex)>,
    no_team: Regex,
}

/// What one name states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether the place in a series has to be read by itself, and whether such a name may hold a date.
    pub asks_episode: bool,
    /// See `asks_episode`.
    pub is_dated: bool,
    /// Season and episode of the usual mark.
    pub season: Option<i32>,
    /// See `season`.
    pub episode: Option<i32>,
    /// The last year.
    pub year: Option<i32>,
    /// Bits of words; those of the language after the title.
    pub words: Bits,
    /// Bits of forms.
    pub forms: u64,
    /// The team.
    pub team: Option<String>,
}

impl FactRules {
    /// The rules of these tables.
    ///
    /// # Errors
    /// When a pattern is none.
    pub fn new(tables: &FactTables) -> Result<Self, RulesError> {
        let (mut alone, mut together) = (HashMap::new(), HashMap::<String, Vec<_>>::new());
        for (text, bits) in &tables.words {
            let mut words = text.split_ascii_whitespace();
            let Some(first) = words.next() else {
                continue;
            };
            if words.next().is_none() && text.ends_with(' ') {
                alone.insert(first.to_owned(), *bits);
            } else {
                together
                    .entry(first.to_owned())
                    .or_default()
                    .push((text.clone(), *bits));
            }
        }
        let forms = &tables.forms;
        let mut shapes = Vec::new();
        let mut shape_bits = Vec::new();
        for (place, group) in forms.shapes.iter().enumerate() {
            for (text, bit) in group {
                pattern("shapes", text)?;
                shapes.push(text);
                shape_bits.push((place, *bit));
            }
        }
        let teams = tables
            .teams
            .iter()
            .map(|(is_bare, text)| Ok((*is_bare, pattern("teams", text)?)));
        Ok(Self {
            alone,
            together,
            shapes: RegexSet::new(shapes).map_err(|error| RulesError::Pattern {
                name: "of the shapes together".to_owned(),
                reason: error.to_string(),
            })?,
            shape_bits,
            bracketed: forms.bracketed,
            shown: forms.shown,
            game_team: pattern("team", &forms.team.0)?,
            game_groups: forms.team.1.clone(),
            game_bit: forms.team.2,
            own_case: pattern("own_case", &forms.own_case.0)?,
            own_case_bit: forms.own_case.1,
            dated: pattern("dated", &tables.dated)?,
            usual: pattern("usual", &tables.usual)?,
            range: pattern("range", &tables.range)?,
            other: pattern("other", &tables.other)?,
            last_year: pattern("last_year", &tables.last_year)?,
            after_title: pattern("after_title", &tables.after_title)?,
            ending: pattern("ending", &tables.ending)?,
            reposted: pattern("reposted", &tables.reposted)?,
            teams: teams.collect::<Result<_, RulesError>>()?,
            no_team: pattern("no_team", &tables.no_team)?,
        })
    }

    /// What a readable name states.
    #[must_use]
    pub fn facts(&self, name: &str) -> Facts {
        let mut out = Facts::default();
        self.place_in_series(name, &mut out);
        let cut = first_characters(name, MOST_CHARACTERS);
        let plain = plain(cut);
        out.words = self.bits_of(&plain);
        out.forms = self.forms(cut, out.words[0]);
        if out.words[LANGUAGE] != 0
            && let Some(after) = self
                .after_title
                .captures(&plain)
                .and_then(|found| found.get(1))
        {
            out.words[LANGUAGE] = self.bits_of(after.as_str())[LANGUAGE];
        }
        out.team = self.team(cut);
        out
    }

    fn place_in_series(&self, name: &str, out: &mut Facts) {
        let lower = first_characters(name, MOST_OF_SERIES).to_lowercase();
        out.is_dated = self.dated.is_match(&lower);
        let usual = self.usual.captures(&lower);
        out.asks_episode = out.is_dated
            || if usual.is_some() {
                self.range.is_match(&lower)
            } else {
                self.other.is_match(&lower)
            };
        if out.asks_episode {
            return;
        }
        let number = |found: &regex::Captures<'_>, group| -> Option<i32> {
            found.get(group)?.as_str().parse().ok()
        };
        out.season = usual.as_ref().and_then(|found| number(found, 1));
        out.episode = usual.as_ref().and_then(|found| number(found, 2));
        let years = self.last_year.captures(&lower);
        out.year = years.and_then(|found| number(&found, 1));
    }

    fn bits_of(&self, plain: &str) -> Bits {
        let mut bits = Bits::default();
        let mut add = |more: &Bits| bits.iter_mut().zip(more).for_each(|(to, from)| *to |= from);
        for word in plain.split_ascii_whitespace() {
            if let Some(more) = self.alone.get(word) {
                add(more);
            }
            for (text, more) in self.together.get(word).into_iter().flatten() {
                if plain.contains(text.as_str()) {
                    add(more);
                }
            }
        }
        bits
    }

    fn forms(&self, cut: &str, words: u64) -> u64 {
        let lower = cut.to_lowercase();
        let mut of_group = [0; 3];
        for found in &self.shapes.matches(&lower) {
            let (group, bit) = self.shape_bits[found];
            of_group[group] |= bit;
        }
        let [mut forms, bracketed, plain] = of_group;
        if forms & self.bracketed != 0 {
            forms |= bracketed;
        }
        if words & self.shown == 0 {
            forms |= plain;
        }
        let team = self.game_team.captures(&lower);
        if let Some(team) = team.and_then(|found| found.get(1))
            && self.game_groups.contains(team.as_str())
        {
            forms |= self.game_bit;
        }
        if self.own_case.is_match(cut) {
            forms |= self.own_case_bit;
        }
        forms
    }

    fn team(&self, cut: &str) -> Option<String> {
        let ended = self.ending.replace(cut, "");
        let bare = ended.trim_matches(' ');
        let once = self.reposted.replace(bare, "");
        let name = self.reposted.replace(&once, "");
        self.teams.iter().find_map(|(is_bare, pattern)| {
            let asked = if *is_bare { bare } else { &*name };
            let team = pattern.captures(asked)?.get(1)?.as_str();
            (!self.no_team.is_match(team)).then(|| team.to_owned())
        })
    }
}

/// The beginning of a text.
fn first_characters(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = text.char_indices().nth(most).map(|(at, _)| at);
    end.map_or(text, |end| &text[..end])
}

/// A name in lower case with one blank for every other byte than `a-z` and `0-9`, and one around it.
fn plain(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 2);
    text.push(' ');
    text.extend(name.bytes().map(|byte| {
        if byte.is_ascii_alphanumeric() {
            char::from(byte.to_ascii_lowercase())
        } else {
            ' '
        }
    }));
    text.push(' ');
    text
}
