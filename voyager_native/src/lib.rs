//! Python binding of the Voyager engine: registers, converts, releases the GIL.
#![deny(unsafe_code)]

mod asked;
mod capsule;
mod chunks;
mod clock;
mod facts;
mod frames;
mod indexer;
mod intake;
mod naming;
mod stages;
mod synthetic;
mod tools;

use pyo3::prelude::*;

/// The compiled half of `voyager_native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::capsule::ArrowStream;
    #[pymodule_export]
    use crate::chunks::{
        ChunkError, DecodedChunk, decode_chunk, decode_segments, encode_chunk, encode_chunks,
        encode_releases, encode_segments, last_segments, merge_records,
    };
    #[pymodule_export]
    use crate::facts::{FactRules, ReadableRules, TokenRules};
    #[pymodule_export]
    use crate::indexer::{BlockReport, SpanIndexer, SpanTables};
    #[pymodule_export]
    use crate::naming::{BlockList, HeadRules, StemRules, follow_runs, text_keys};
    #[pymodule_export]
    use crate::stages::{distinct_words, records_ns, stages_ns};
    #[pymodule_export]
    use crate::synthetic::{SyntheticOverview, synthesize_overview};
    #[pymodule_export]
    use crate::tools::{inflate, inflate_ns, parse_lines, parse_subject};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("PARSER_VERSION", voyager_engine::PARSER_VERSION)?;
        module.add("CODEC_VERSION", voyager_engine::chunk::CODEC_VERSION)?;
        module.add("DEBUG_BUILD", cfg!(debug_assertions))?;
        module.add("SPAN_LIMITS", crate::indexer::usual_limits())?;
        module.add("FILE_FLAGS", crate::tools::file_flags())?;
        module.add("REJECT_REASONS", crate::tools::reject_reasons())
    }
}
