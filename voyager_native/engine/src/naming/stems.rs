//! Stems that the files of one upload share, and the kinds of files, from file names.

use std::collections::BTreeMap;

use regex::Regex;

use super::endings::{Endings, Finder};
use super::pool::{Seen, Texts};
use super::{RulesError, pattern};

/// The rules of names, as they are given.
#[derive(Clone, Debug, Default)]
pub struct StemTables {
    /// What names may end with, by name.
    pub endings: Vec<(String, String)>,
    /// Patterns over a whole name, by name; of what they match the first group stays.
    pub patterns: BTreeMap<String, String>,
    /// What is around a name and does not belong to it.
    pub around: String,
    /// Endings that are looked through: a name without them tells whether it is a member of a set.
    pub transient: String,
    /// Endings of the members of a set, and patterns.
    pub members: Vec<String>,
    /// Endings of which the longest is cut first.
    pub volumes: Vec<String>,
    /// Endings and patterns that are cut after each other, each from what the one before left.
    pub cuts: Vec<String>,
    /// What is left of separators at both ends at last.
    pub edges: String,
    /// Separators that are one dot in the form in which stems are compared.
    pub separators: String,
    /// So many letters and digits make a stem that identifies an upload.
    pub specific_length: usize,
    /// Kinds of files: any of the first endings, none of the second.
    pub kinds: Vec<(String, Vec<String>, Vec<String>)>,
}

#[derive(Debug)]
enum Cut {
    Ending(usize),
    Pattern(usize),
}

#[derive(Debug)]
struct Kind {
    any: Vec<usize>,
    none: Vec<usize>,
}

/// The rules of names, ready for use.
#[derive(Debug)]
pub struct StemRules {
    endings: Endings,
    patterns: Vec<Regex>,
    around: Vec<char>,
    transient: usize,
    members: Vec<Cut>,
    volumes: Vec<usize>,
    cuts: Vec<Cut>,
    edges: Vec<char>,
    separators: Regex,
    letter: Regex,
    specific_length: usize,
    kinds: Vec<Kind>,
}

/// What names say, in columns of one length.
#[derive(Debug, Default)]
pub struct Stems {
    /// Names without endings, in their own case.
    pub shown: Texts,
    /// The same in the form in which they are compared.
    pub stem: Texts,
    /// Whether the stem identifies an upload.
    pub is_specific: Vec<bool>,
    /// Whether the name is that of a member of a set.
    pub is_member: Vec<bool>,
    /// A column for each kind of the tables.
    pub kinds: Vec<Vec<bool>>,
}

impl Stems {
    /// Appends what an earlier row has.
    fn repeat(&mut self, row: usize) {
        for column in &mut self.kinds {
            column.push(column[row]);
        }
        self.is_member.push(self.is_member[row]);
        self.repeat_stem(row);
    }

    fn repeat_stem(&mut self, row: usize) {
        self.shown.repeat(row);
        self.stem.repeat(row);
        self.is_specific.push(self.is_specific[row]);
    }
}

impl StemRules {
    /// The rules of these tables.
    ///
    /// # Errors
    /// When a pattern is none, or a rule speaks of one that is not there.
    pub fn new(tables: &StemTables) -> Result<Self, RulesError> {
        let ending = |name: &String| {
            let place = tables.endings.iter().position(|(known, _)| known == name);
            place.ok_or_else(|| RulesError::Missing(name.clone()))
        };
        let endings = |names: &[String]| names.iter().map(ending).collect::<Result<Vec<_>, _>>();
        let cuts = |names: &[String]| {
            let cut = |name: &String| {
                let place = tables.patterns.keys().position(|known| known == name);
                place.map_or_else(
                    || ending(name).map(Cut::Ending),
                    |place| Ok(Cut::Pattern(place)),
                )
            };
            names.iter().map(cut).collect::<Result<Vec<_>, _>>()
        };
        let kinds = tables.kinds.iter().map(|(_, any, none)| {
            Ok(Kind {
                any: endings(any)?,
                none: endings(none)?,
            })
        });
        Ok(Self {
            endings: Endings::new(&tables.endings)?,
            patterns: tables
                .patterns
                .iter()
                .map(|(name, text)| pattern(name, text))
                .collect::<Result<_, _>>()?,
            around: tables.around.chars().collect(),
            transient: ending(&tables.transient)?,
            members: cuts(&tables.members)?,
            volumes: endings(&tables.volumes)?,
            cuts: cuts(&tables.cuts)?,
            edges: tables.edges.chars().collect(),
            separators: pattern("separators", &tables.separators)?,
            letter: pattern("letter", r"[\p{L}\p{N}]")?,
            specific_length: tables.specific_length,
            kinds: kinds.collect::<Result<_, RulesError>>()?,
        })
    }

    /// What names say.
    #[must_use]
    pub fn describe(&self, names: &[&str]) -> Stems {
        let rows = names.len();
        let mut out = Stems {
            kinds: vec![Vec::with_capacity(rows); self.kinds.len()],
            is_member: Vec::with_capacity(rows),
            is_specific: Vec::with_capacity(rows),
            ..Stems::default()
        };
        let mut finder = self.endings.finder();
        let mut seen = Seen::with_capacity(rows);
        // The volumes of a set are alike once their ends are cut.
        let mut cuts = Seen::with_capacity(0);
        for (row, name) in names.iter().enumerate() {
            if let Some(before) = seen.before(row, name) {
                out.repeat(before);
                continue;
            }
            let bare = name.trim_matches(self.around.as_slice());
            let found = finder.find(name);
            for (kind, column) in self.kinds.iter().zip(&mut out.kinds) {
                let has = |endings: &[usize]| endings.iter().any(|at| found[*at].is_some());
                column.push(has(&kind.any) && !has(&kind.none));
            }
            if bare.len() != name.len() {
                finder.find(bare);
            }
            let cut = without_first(&self.volumes, &finder, bare);
            out.is_member.push(self.is_member(&mut finder, bare));
            if let Some(before) = cuts.before(row, cut) {
                out.repeat_stem(before);
            } else {
                self.describe_stem(&mut finder, cut, &mut out);
            }
        }
        out
    }

    /// Tells a member of a set by a bare name whose endings were looked for.
    fn is_member(&self, finder: &mut Finder<'_>, bare: &str) -> bool {
        let plain = without_first(&[self.transient], finder, bare);
        if plain.len() != bare.len() {
            finder.find(plain);
        }
        self.members.iter().any(|member| match member {
            Cut::Ending(at) => finder.starts()[*at].is_some(),
            Cut::Pattern(at) => self.patterns[*at].is_match(plain),
        })
    }

    fn describe_stem(&self, finder: &mut Finder<'_>, cut: &str, out: &mut Stems) {
        let shown = self.without_endings(finder, cut);
        let lower = shown.to_lowercase();
        let stem = self.separators.replace_all(&lower, ".");
        out.is_specific.push(self.is_specific(&stem));
        out.shown.push(shown);
        out.stem.push(&stem);
    }

    fn without_endings<'t>(&self, finder: &mut Finder<'_>, text: &'t str) -> &'t str {
        let mut rest = text;
        finder.find(rest);
        for cut in &self.cuts {
            let left = match cut {
                Cut::Ending(at) => finder.starts()[*at].map(|start| &rest[..start]),
                Cut::Pattern(at) => self.left_of(*at, rest),
            };
            if let Some(left) = left
                && !left.is_empty()
                && left.len() != rest.len()
            {
                rest = left;
                finder.find(rest);
            }
        }
        let plain = rest.trim_matches(self.edges.as_slice());
        if plain.is_empty() { rest } else { plain }
    }

    /// What a pattern leaves of a text that it matches at one of its ends: its first group, or the other side.
    fn left_of<'t>(&self, at: usize, text: &'t str) -> Option<&'t str> {
        let pattern = &self.patterns[at];
        if pattern.captures_len() > 1 {
            if !pattern.is_match(text) {
                return None;
            }
            return pattern.captures(text)?.get(1).map(|group| group.as_str());
        }
        let found = pattern.find(text)?;
        if found.start() == 0 {
            Some(&text[found.end()..])
        } else {
            Some(&text[..found.start()])
        }
    }

    fn is_specific(&self, stem: &str) -> bool {
        let wanted = self.specific_length;
        let mut run = 0;
        for byte in stem.bytes() {
            run = if byte.is_ascii_lowercase() || byte.is_ascii_digit() {
                run + 1
            } else {
                0
            };
            if run >= wanted {
                return true;
            }
        }
        self.letter.find_iter(stem).take(wanted).count() >= wanted
    }
}

/// A text without the longest of some endings that were looked for, unless nothing would be left.
fn without_first<'t>(endings: &[usize], finder: &Finder<'_>, text: &'t str) -> &'t str {
    let starts = finder.starts();
    let start = endings.iter().filter_map(|at| starts[*at]).min();
    start
        .filter(|start| *start > 0)
        .map_or(text, |start| &text[..start])
}
