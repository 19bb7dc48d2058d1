//! How the sizes of a record are stored.

use super::CodecError;
use super::bell::Bell;
use super::bits::Reader;
use super::column::{Column, NOTHING};
use super::record::Version;

/// How the sizes of a record are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sizes {
    /// Each with the digits of its id.
    Column(Column),
    /// Apart from the ids, at the end of the body.
    Bell(Bell),
}

impl Sizes {
    /// What is coded together with the ids.
    pub(super) const fn column(&self) -> &Column {
        match self {
            Self::Column(column) => column,
            Self::Bell(_) => &NOTHING,
        }
    }

    /// The version of a record whose sizes are stored so.
    pub(super) const fn version(&self) -> Version {
        match self {
            Self::Column(_) => Version::One,
            Self::Bell(_) => Version::Two,
        }
    }

    /// Whether these sizes come back; `back` is work space.
    pub(super) fn give_back(&self, sizes: &[i64], body: &[u8], back: &mut Vec<i64>) -> bool {
        match self {
            Self::Column(column) => column.gives_back(sizes),
            Self::Bell(bell) => bell.take(sizes.len(), body, back).is_ok() && back == sizes,
        }
    }

    /// Appends the description.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Column(column) => column.write(out),
            Self::Bell(bell) => bell.write(out),
        }
    }

    /// Reads what [`Self::write`] wrote for `rows` sizes.
    ///
    /// # Errors
    /// [`CodecError`] when the bytes describe no sizes.
    pub(super) fn read(
        version: Version,
        reader: &mut Reader<'_>,
        rows: usize,
    ) -> Result<Self, CodecError> {
        Ok(match version {
            Version::One => Self::Column(Column::read(reader, rows)?),
            Version::Two => Self::Bell(Bell::read(reader, rows)?),
        })
    }
}
