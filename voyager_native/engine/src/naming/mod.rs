//! What names and heads of files say: stems, kinds of files, grades of heads.
//!
//! The patterns and their order are given from outside, once: they are rules, and whoever keeps the rules keeps
//! them. Here is only how they are asked of many names. No pattern goes back, but one that is replaced wherever
//! it stands may be looked for from each place: what bounds the time of a name is that its length is bounded.

mod blocked;
mod endings;
mod facts;
mod heads;
mod pool;
mod readable;
mod runs;
mod stems;
mod tokens;

pub use blocked::BlockList;
pub use endings::{Endings, Finder};
pub use facts::{Bits, COLUMNS, FactRules, FactTables, Facts, Forms};
pub use heads::{HeadRules, HeadTables};
pub use pool::{TextId, Texts};
pub use readable::{ReadableRules, ReadableTables};
pub use runs::{Piece, Run, RunRules, follow};
pub use stems::{StemRules, StemTables, Stems};
pub use tokens::TokenRules;

use blake2::digest::consts::U8;
use blake2::{Blake2b, Digest};

/// A table of rules that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// A pattern that is none.
    #[error("the pattern {name} cannot be used: {reason}")]
    Pattern {
        /// What the table calls it.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A rule that speaks of a pattern which the table lacks.
    #[error("there is no pattern {0} in the table")]
    Missing(String),
}

/// The 64-bit keys of texts, stable for ever: the first eight bytes of a `BLAKE2b` of that length.
pub fn keys_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<u64> {
    texts
        .into_iter()
        .map(|text| u64::from_be_bytes(Blake2b::<U8>::digest(text).into()))
        .collect()
}

/// A pattern over a whole text.
fn pattern(name: &str, text: &str) -> Result<regex::Regex, RulesError> {
    regex::Regex::new(text).map_err(|error| RulesError::Pattern {
        name: name.to_owned(),
        reason: error.to_string(),
    })
}
