//! What release names state, for Python: tables in, columns out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, LargeStringBuilder, ListBuilder};
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{ArrayRef, BooleanArray};
use pyo3::prelude::*;
use voyager_engine::naming::{
    Bits, FactRules as Rules, FactTables, Facts, Forms, ReadableRules as Readable, ReadableTables,
    RulesError, TokenRules as Tokens,
};

use crate::asked::{self, raise};
use crate::capsule::{self, ArrowStream};
use crate::frames::{flags, numbers, optional};
use crate::intake::Intake;

/// The texts of a table by their names.
struct Named(HashMap<String, String>);

impl Named {
    fn take(&mut self, name: &str) -> PyResult<String> {
        self.0
            .remove(name)
            .ok_or_else(|| raise(RulesError::Missing(name.to_owned())))
    }
}

/// Which names are readable, by tables of letters and patterns.
#[pyclass(module = "voyager_native", frozen)]
pub(crate) struct ReadableRules {
    rules: Readable,
}

#[pymethods]
impl ReadableRules {
    #[new]
    #[pyo3(signature = (*, surprise, patterns, ids, marks))]
    fn new(
        py: Python<'_>,
        surprise: Vec<String>,
        patterns: HashMap<String, String>,
        ids: Vec<String>,
        marks: Vec<String>,
    ) -> PyResult<Self> {
        let mut named = Named(patterns);
        let tables = ReadableTables {
            surprise,
            surely: named.take("surely")?,
            may_hold_id: named.take("may_hold_id")?,
            extension: named.take("extension")?,
            ids,
            marks,
            year: named.take("year")?,
        };
        let rules = py.detach(|| Readable::new(&tables)).map_err(raise)?;
        Ok(Self { rules })
    }

    /// Whether each name of a column is readable; null where more has to be known.
    fn readable(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        column: &str,
    ) -> PyResult<ArrowStream> {
        asked::of_texts(py, table, column, |names| {
            let told: BooleanArray = names
                .into_iter()
                .map(|name| self.rules.is_readable(name))
                .collect();
            asked::table(vec![("readable", Arc::new(told) as ArrayRef, true)])
        })
    }
}

/// What release names state, by tables of words and patterns.
#[pyclass(module = "voyager_native", frozen)]
pub(crate) struct FactRules {
    rules: Rules,
}

type Shapes = Vec<(String, u64)>;

#[pymethods]
impl FactRules {
    #[new]
    #[pyo3(signature = (*, patterns, words, shapes, bracketed, shown, game_groups, own_case, teams))]
    #[expect(clippy::too_many_arguments, reason = "a table of rules by name")]
    fn new(
        py: Python<'_>,
        patterns: HashMap<String, String>,
        words: HashMap<String, Bits>,
        shapes: (Shapes, Shapes, Shapes),
        bracketed: u64,
        shown: u64,
        game_groups: (String, HashSet<String>, u64),
        own_case: (String, u64),
        teams: Vec<(bool, String)>,
    ) -> PyResult<Self> {
        let mut named = Named(patterns);
        let tables = FactTables {
            words: words.into_iter().collect(),
            forms: Forms {
                shapes: shapes.into(),
                bracketed,
                shown,
                team: game_groups,
                own_case,
            },
            dated: named.take("dated")?,
            usual: named.take("usual")?,
            range: named.take("range")?,
            other: named.take("other")?,
            last_year: named.take("last_year")?,
            after_title: named.take("after_title")?,
            ending: named.take("ending")?,
            reposted: named.take("reposted")?,
            teams,
            no_team: named.take("no_team")?,
        };
        let rules = py.detach(|| Rules::new(&tables)).map_err(raise)?;
        Ok(Self { rules })
    }

    /// What each name of a column states; those that are not readable state nothing.
    fn facts(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        column: &str,
        readable: &str,
    ) -> PyResult<ArrowStream> {
        let intake = Intake::new(capsule::import(table)?);
        py.detach(|| {
            let names = intake.strings(column)?;
            let readable = intake.flags(readable)?;
            let (mut asking, mut dated) = (Vec::new(), Vec::new());
            let (mut seasons, mut episodes, mut years) = (Vec::new(), Vec::new(), Vec::new());
            let mut words: [Vec<u64>; 4] = Default::default();
            let mut forms = Vec::new();
            let mut teams = LargeStringBuilder::new();
            for (name, is_readable) in names.into_iter().zip(readable) {
                let facts = if is_readable {
                    self.rules.facts(name)
                } else {
                    Facts::default()
                };
                asking.push(facts.asks_episode);
                dated.push(facts.is_dated);
                seasons.push(facts.season);
                episodes.push(facts.episode);
                years.push(facts.year);
                for (column, bits) in words.iter_mut().zip(facts.words) {
                    column.push(bits);
                }
                forms.push(facts.forms);
                teams.append_option(facts.team);
            }
            let [said, resolution, source, language] = words;
            asked::table(vec![
                ("asks_episode", flags(asking), false),
                ("is_dated", flags(dated), false),
                ("season", optional::<Int32Type>(seasons), true),
                ("episode", optional::<Int32Type>(episodes), true),
                ("year", optional::<Int32Type>(years), true),
                ("words", numbers::<UInt64Type>(said), false),
                ("forms", numbers::<UInt64Type>(forms), false),
                ("resolution", numbers::<UInt64Type>(resolution), false),
                ("source", numbers::<UInt64Type>(source), false),
                ("language", numbers::<UInt64Type>(language), false),
                ("team", Arc::new(teams.finish()), true),
            ])
        })
    }
}

/// The words of names as hashes.
#[pyclass(module = "voyager_native", frozen)]
pub(crate) struct TokenRules {
    rules: Tokens,
}

#[pymethods]
impl TokenRules {
    #[new]
    #[pyo3(signature = (*, pairs, contracted, most_words))]
    fn new(
        pairs: HashMap<(String, String), String>,
        contracted: Vec<String>,
        most_words: usize,
    ) -> Self {
        let rules = Tokens::new(pairs, contracted.into_iter().collect(), most_words);
        Self { rules }
    }

    /// The hashes of the words of each name of a column; null where more has to be known.
    fn hashes(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        column: &str,
    ) -> PyResult<ArrowStream> {
        asked::of_texts(py, table, column, |names| {
            let mut lists = ListBuilder::new(Int32Builder::new());
            for name in names {
                let hashes = self.rules.hashes(name);
                lists.append_option(hashes.map(|hashes| hashes.into_iter().map(Some)));
            }
            asked::table(vec![("tok", Arc::new(lists.finish()), true)])
        })
    }
}
