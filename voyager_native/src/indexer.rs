//! `SpanIndexer`: blocks of one span in, tables out.

use std::collections::HashMap;
use std::sync::Mutex;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use voyager_engine::assemble::{Assembler, Config, Limits};
use voyager_engine::inflate::Inflater;

use crate::capsule::ArrowStream;
use crate::clock::thread_ns;
use crate::frames;

/// What one block gave.
#[pyclass(module = "voyager_native", frozen, get_all)]
pub(crate) struct BlockReport {
    lines: u64,
    kept: u64,
    rejected: u64,
    first_number: Option<u64>,
    last_number: Option<u64>,
    text_bytes: usize,
    error: Option<String>,
    ended_at: Option<u64>,
}

#[pymethods]
impl BlockReport {
    fn __repr__(&self) -> String {
        let Self {
            lines,
            kept,
            rejected,
            text_bytes,
            error,
            ..
        } = self;
        let error = error.as_deref().unwrap_or("None");
        format!(
            "BlockReport(lines={lines}, kept={kept}, rejected={rejected}, text_bytes={text_bytes}, error={error})"
        )
    }
}

#[derive(Default)]
struct Stats {
    blocks: u64,
    block_bytes: u64,
    text_bytes: u64,
    inflate_ns: u64,
    parse_ns: u64,
}

struct Work {
    inflater: Inflater,
    text: Vec<u8>,
    assembler: Assembler,
    stats: Stats,
    ended_at: Option<u64>,
}

/// Articles of one span to files.
#[pyclass(module = "voyager_native", frozen)]
pub(crate) struct SpanIndexer {
    work: Mutex<Option<Box<Work>>>,
    keep_articles: bool,
}

/// What a span may usually hold: files, and bytes.
pub(crate) const fn usual_limits() -> (usize, usize) {
    (Limits::USUAL.files, Limits::USUAL.bytes)
}

fn used_up() -> PyErr {
    PyRuntimeError::new_err("the indexer was finished before; make a new one for each span")
}

#[pymethods]
impl SpanIndexer {
    #[new]
    #[pyo3(signature = (group, low, high, *, groups, now, keep_articles=false, limits=None))]
    fn new(
        group: String,
        low: u64,
        high: u64,
        groups: HashMap<String, u32>,
        now: i64,
        keep_articles: bool,
        limits: Option<(usize, usize)>,
    ) -> PyResult<Self> {
        if high > 0 && high < low {
            return Err(PyValueError::new_err(format!(
                "the span of {group} ends at {high}, before its start {low}"
            )));
        }
        let mut groups: Vec<(String, u32)> = groups.into_iter().collect();
        groups.sort();
        let config = Config {
            group,
            low,
            high,
            groups,
            now,
            keep_articles,
        };
        let assembler = match limits {
            Some((files, bytes)) => Assembler::within(Limits { files, bytes }, config),
            None => Assembler::new(config),
        };
        Ok(Self {
            work: Mutex::new(Some(Box::new(Work {
                inflater: Inflater::new(),
                text: Vec::new(),
                assembler,
                stats: Stats::default(),
                ended_at: None,
            }))),
            keep_articles,
        })
    }

    /// Files the lines of a block as it was received.
    #[pyo3(signature = (block, *, is_begun=false))]
    fn feed(&self, py: Python<'_>, block: &[u8], is_begun: bool) -> PyResult<BlockReport> {
        let feed = || {
            let mut work = self.work.lock().ok()?;
            let work = work.as_deref_mut()?;
            match work.ended_at {
                Some(last) => Some(Err(last)),
                None => Some(Ok(work.feed(block, is_begun))),
            }
        };
        py.detach(feed).ok_or_else(used_up)?.map_err(|last| {
            PyRuntimeError::new_err(format!(
                "the span ended at {last}; what follows is of a span that begins behind it"
            ))
        })
    }

    /// The tables of the span; the indexer is used up.
    fn finish(&self, py: Python<'_>) -> PyResult<SpanTables> {
        let finish = || {
            let work = self.work.lock().ok()?.take()?;
            Some(work.finish(self.keep_articles))
        };
        let tables = py.detach(finish).ok_or_else(used_up)?;
        let (files, articles, rejects, stats) =
            tables.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let counts = PyDict::new(py);
        for (name, value) in stats {
            counts.set_item(name, value)?;
        }
        Ok(SpanTables {
            files: Py::new(py, files)?,
            articles: articles.map(|table| Py::new(py, table)).transpose()?,
            rejects: Py::new(py, rejects)?,
            stats: counts.unbind(),
        })
    }
}

type Finished = (
    ArrowStream,
    Option<ArrowStream>,
    ArrowStream,
    Vec<(&'static str, u64)>,
);

impl Work {
    fn feed(&mut self, block: &[u8], is_begun: bool) -> BlockReport {
        let start = thread_ns();
        let framing = self.inflater.inflate(block, &mut self.text);
        let inflated = thread_ns();
        let (counts, text_bytes, error) = match framing {
            Ok(framing) => {
                let text = &self.text[..framing.text_len];
                let counts = if is_begun {
                    self.assembler.go_on(text)
                } else {
                    self.assembler.add_text(text)
                };
                (counts, framing.text_len, None)
            }
            Err(error) => (
                self.assembler.add_undecodable(block),
                0,
                Some(error.to_string()),
            ),
        };
        self.ended_at = counts.ended_at;
        self.stats.blocks += 1;
        self.stats.block_bytes += block.len() as u64;
        self.stats.text_bytes += text_bytes as u64;
        self.stats.inflate_ns += inflated - start;
        self.stats.parse_ns += thread_ns() - inflated;
        BlockReport {
            lines: counts.lines,
            kept: counts.lines - counts.rejected,
            rejected: counts.rejected,
            first_number: counts.first_number,
            last_number: counts.last_number,
            text_bytes,
            error,
            ended_at: counts.ended_at,
        }
    }

    fn finish(self, keep_articles: bool) -> Result<Finished, arrow_schema::ArrowError> {
        let start = thread_ns();
        // The text of the last block is no longer needed while the tables are made.
        drop(self.text);
        let tables = self.assembler.finish();
        let mut stats = vec![
            ("lines", tables.lines),
            (
                "articles",
                tables
                    .articles
                    .as_ref()
                    .map_or(0, |articles| articles.number.len() as u64),
            ),
            ("files", tables.files.len() as u64),
            ("kept", tables.lines - tables.rejected),
            ("rejected", tables.rejected),
            ("blocks", self.stats.blocks),
            ("block_bytes", self.stats.block_bytes),
            ("text_bytes", self.stats.text_bytes),
            ("inflate_ns", self.stats.inflate_ns),
            ("parse_ns", self.stats.parse_ns),
        ];
        let made = thread_ns();
        let files = ArrowStream::new(frames::files(tables.files)?);
        let articles = match tables.articles {
            Some(articles) if keep_articles => Some(ArrowStream::new(frames::articles(articles)?)),
            _ => None,
        };
        let rejects = ArrowStream::new(frames::rejects(&tables.rejects)?);
        let end = thread_ns();
        let finish_ns = end - start;
        stats.push(("finish_ns", finish_ns));
        stats.push(("arrow_ns", end - made));
        stats.push((
            "total_ns",
            self.stats.inflate_ns + self.stats.parse_ns + finish_ns,
        ));
        Ok((files, articles, rejects, stats))
    }
}

/// What a span gave.
#[pyclass(module = "voyager_native", frozen, get_all)]
pub(crate) struct SpanTables {
    files: Py<ArrowStream>,
    articles: Option<Py<ArrowStream>>,
    rejects: Py<ArrowStream>,
    stats: Py<PyDict>,
}
