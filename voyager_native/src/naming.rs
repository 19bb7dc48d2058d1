//! The rules of names for Python: tables in, columns out.

use std::collections::{BTreeMap, HashMap};

use arrow_array::types::{UInt8Type, UInt32Type, UInt64Type};
use pyo3::prelude::*;
use voyager_engine::naming::{
    self, BlockList as Blocked, HeadRules as Heads, HeadTables, Piece, RunRules,
    StemRules as Stems, StemTables, Texts,
};

use crate::asked::{self, raise, raise_arrow};
use crate::capsule::{self, ArrowStream};
use crate::frames::{flags, numbers, texts};
use crate::intake::Intake;

/// What file names say: stems and kinds, by tables of patterns.
#[pyclass(module = "voyager_native", frozen)]
pub(crate) struct StemRules {
    rules: Stems,
    kinds: Vec<String>,
}

#[pymethods]
impl StemRules {
    #[new]
    #[pyo3(signature = (*, endings, patterns, around, transient, members, volumes, cuts, edges, separators, specific_length, kinds))]
    #[expect(clippy::too_many_arguments, reason = "a table of rules by name")]
    fn new(
        py: Python<'_>,
        endings: HashMap<String, String>,
        patterns: BTreeMap<String, String>,
        around: String,
        transient: String,
        members: Vec<String>,
        volumes: Vec<String>,
        cuts: Vec<String>,
        edges: String,
        separators: String,
        specific_length: usize,
        kinds: BTreeMap<String, (Vec<String>, Vec<String>)>,
    ) -> PyResult<Self> {
        let names = kinds.keys().cloned().collect();
        let tables = StemTables {
            endings: endings.into_iter().collect(),
            patterns,
            around,
            transient,
            members,
            volumes,
            cuts,
            edges,
            separators,
            specific_length,
            kinds: kinds
                .into_iter()
                .map(|(name, (any, none))| (name, any, none))
                .collect(),
        };
        let rules = py.detach(|| Stems::new(&tables)).map_err(raise)?;
        Ok(Self {
            rules,
            kinds: names,
        })
    }

    /// What the names of a column say.
    fn describe(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        column: &str,
    ) -> PyResult<ArrowStream> {
        asked::of_texts(py, table, column, |names| {
            let told = self.rules.describe(&names);
            let shown = texts(told.shown.texts).map_err(raise_arrow)?;
            let stem = texts(told.stem.texts).map_err(raise_arrow)?;
            let mut columns = vec![
                ("_shown", shown, false),
                ("_shown_id", numbers::<UInt64Type>(told.shown.ids), false),
                ("_stem", stem, false),
                ("_stem_id", numbers::<UInt64Type>(told.stem.ids), false),
                ("_is_specific", flags(told.is_specific), false),
                ("_is_member", flags(told.is_member), false),
            ];
            for (name, kind) in self.kinds.iter().zip(told.kinds) {
                columns.push((name, flags(kind), false));
            }
            asked::table(columns)
        })
    }
}

/// What heads and requests say, by tables of patterns.
#[pyclass(module = "voyager_native", frozen)]
pub(crate) struct HeadRules {
    rules: Heads,
}

#[pymethods]
impl HeadRules {
    #[new]
    #[pyo3(signature = (*, nothing, kinds, least_letters, named, named_bare, separators, edges, no_request))]
    #[expect(clippy::too_many_arguments, reason = "a table of rules by name")]
    fn new(
        py: Python<'_>,
        nothing: Vec<String>,
        kinds: String,
        least_letters: usize,
        named: String,
        named_bare: String,
        separators: String,
        edges: String,
        no_request: String,
    ) -> PyResult<Self> {
        let tables = HeadTables {
            nothing,
            kinds,
            least_letters,
            named,
            named_bare,
            separators,
            edges,
            no_request,
        };
        let rules = py.detach(|| Heads::new(&tables)).map_err(raise)?;
        Ok(Self { rules })
    }

    /// The grade of each head of a column.
    fn grades(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        column: &str,
    ) -> PyResult<ArrowStream> {
        asked::of_texts(py, table, column, |heads| {
            let grades = self.rules.grades(heads);
            asked::table(vec![("grade", numbers::<UInt8Type>(grades), false)])
        })
    }

    /// The texts of a column in the form in which heads are compared.
    fn squeezed(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        column: &str,
    ) -> PyResult<ArrowStream> {
        asked::of_texts(py, table, column, |said| {
            texts_of(self.rules.squeezed(&said))
        })
    }

    /// The same of requests; those that are none are empty.
    fn requests(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        column: &str,
    ) -> PyResult<ArrowStream> {
        asked::of_texts(py, table, column, |said| {
            texts_of(self.rules.requests(&said))
        })
    }
}

fn texts_of(told: Texts) -> PyResult<ArrowStream> {
    asked::table(vec![
        ("text", texts(told.texts).map_err(raise_arrow)?, false),
        ("id", numbers::<UInt64Type>(told.ids), false),
    ])
}

/// Digests of blocked words.
#[pyclass(module = "voyager_native", frozen)]
pub(crate) struct BlockList {
    list: Blocked,
}

#[pymethods]
impl BlockList {
    #[new]
    #[pyo3(signature = (*, salt, digests, halves))]
    #[expect(clippy::needless_pass_by_value, reason = "Python gives lists away")]
    fn new(salt: String, digests: Vec<String>, halves: Vec<String>) -> Self {
        let list = Blocked::new(
            &salt,
            digests.iter().map(String::as_str),
            halves.iter().map(String::as_str),
        );
        Self { list }
    }

    /// The words of a column that are blocked or may begin a blocked pair.
    fn suspects(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        column: &str,
    ) -> PyResult<Vec<String>> {
        asked::of_texts(py, table, column, |texts| {
            Ok(self.list.suspects(texts.into_iter().map(str::as_bytes)))
        })
    }

    /// Whether each text holds a blocked word or pair; None of a text beyond ASCII.
    #[expect(clippy::needless_pass_by_value, reason = "Python gives a list away")]
    fn blocked(&self, py: Python<'_>, texts: Vec<String>) -> Vec<Option<bool>> {
        py.detach(|| self.list.blocked(texts.iter().map(String::as_str)))
    }
}

/// The 64-bit keys of the texts of a column, stable for ever.
#[pyfunction]
pub(crate) fn text_keys(
    py: Python<'_>,
    table: &Bound<'_, PyAny>,
    column: &str,
) -> PyResult<ArrowStream> {
    asked::of_texts(py, table, column, |texts| {
        let keys = naming::keys_of(texts);
        asked::table(vec![("key", numbers::<UInt64Type>(keys), false)])
    })
}

/// The run of each file of a table, and whether it might as well be of another.
#[pyfunction]
#[pyo3(signature = (files, *, pause_ms, swapped_files, open_runs, edge_numbers, clearly_nearer))]
pub(crate) fn follow_runs(
    py: Python<'_>,
    files: &Bound<'_, PyAny>,
    pause_ms: i64,
    swapped_files: u64,
    open_runs: usize,
    edge_numbers: u64,
    clearly_nearer: u64,
) -> PyResult<ArrowStream> {
    let intake = Intake::new(capsule::import(files)?);
    let rules = RunRules {
        pause_ms,
        swapped_files,
        open_runs,
        edge_numbers,
        clearly_nearer,
    };
    py.detach(|| {
        let counters: Vec<u64> = intake.whole("_counter")?;
        let sets: Vec<u64> = intake.whole("_set")?;
        let indexes: Vec<u64> = intake.whole("_index")?;
        let starts: Vec<u64> = intake.whole("first_number")?;
        let ends: Vec<u64> = intake.whole("last_number")?;
        let parts: Vec<u64> = intake.whole("parts_total")?;
        let since = intake.milliseconds("first_posted_at")?;
        let until = intake.milliseconds("last_posted_at")?;
        let pieces: Vec<Piece> = (0..counters.len())
            .map(|row| Piece {
                counter: counters[row],
                set: sets[row],
                index: indexes[row].cast_signed(),
                start: starts[row],
                end: ends[row],
                parts: parts[row],
                since_ms: since[row],
                until_ms: until[row],
            })
            .collect();
        let runs = naming::follow(&pieces, rules);
        let places = runs.iter().map(|run| run.number).collect();
        let doubtful = runs.iter().map(|run| run.doubtful).collect();
        asked::table(vec![
            ("_run", numbers::<UInt32Type>(places), false),
            ("_doubtful", flags(doubtful), false),
        ])
    })
}
