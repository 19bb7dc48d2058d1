//! Arrow tables from Python as columns of the engine.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use pyo3::PyErr;
use pyo3::exceptions::PyValueError;
use voyager_engine::chunk::{FileRow, Numbers};

/// A table in one or more batches.
pub(crate) struct Intake {
    batches: Vec<RecordBatch>,
}

type Result<T> = std::result::Result<T, PyErr>;

impl Intake {
    pub(crate) fn new(batches: Vec<RecordBatch>) -> Self {
        Self { batches }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The pieces of a column.
    fn column<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Result<&'a ArrayRef>> {
        self.batches.iter().map(move |batch| {
            batch
                .column_by_name(name)
                .ok_or_else(|| PyValueError::new_err(format!("the table has no column {name}")))
        })
    }

    /// A column of integers; those of signed columns keep their bits.
    pub(crate) fn integers(&self, name: &str) -> Result<Vec<Option<u64>>> {
        let mut out = Vec::with_capacity(self.rows());
        for array in self.column(name) {
            let array = array?;
            match array.data_type() {
                DataType::UInt64 => push::<UInt64Type>(array, &mut out, |value| value),
                DataType::UInt32 => push::<UInt32Type>(array, &mut out, u64::from),
                DataType::UInt16 => push::<UInt16Type>(array, &mut out, u64::from),
                DataType::UInt8 => push::<UInt8Type>(array, &mut out, u64::from),
                DataType::Int64 => push::<Int64Type>(array, &mut out, i64::cast_unsigned),
                DataType::Int32 => {
                    push::<Int32Type>(array, &mut out, |value| i64::from(value).cast_unsigned());
                }
                DataType::Int16 => {
                    push::<Int16Type>(array, &mut out, |value| i64::from(value).cast_unsigned());
                }
                DataType::Int8 => {
                    push::<Int8Type>(array, &mut out, |value| i64::from(value).cast_unsigned());
                }
                other => return Err(unfit(name, "integers", other)),
            }
        }
        Ok(out)
    }

    /// A column of integers that fit and are not null.
    pub(crate) fn whole<T: TryFrom<u64>>(&self, name: &str) -> Result<Vec<T>> {
        let fit = |value: Option<u64>| {
            value
                .and_then(|value| T::try_from(value).ok())
                .ok_or_else(|| {
                    PyValueError::new_err(format!("column {name} holds nulls or too large values"))
                })
        };
        self.integers(name)?.into_iter().map(fit).collect()
    }

    fn optional_u32(&self, name: &str) -> Result<Vec<Option<u32>>> {
        let fit = |value: Option<u64>| {
            value
                .map(u32::try_from)
                .transpose()
                .map_err(|_| PyValueError::new_err(format!("column {name} holds too large values")))
        };
        self.integers(name)?.into_iter().map(fit).collect()
    }

    pub(crate) fn flags(&self, name: &str) -> Result<Vec<bool>> {
        let mut out = Vec::with_capacity(self.rows());
        for array in self.column(name) {
            let array = array?;
            let values = array
                .as_boolean_opt()
                .ok_or_else(|| unfit(name, "booleans", array.data_type()))?;
            out.extend(values.iter().map(|value| value == Some(true)));
        }
        Ok(out)
    }

    /// A column of moments, in epoch seconds.
    fn times(&self, name: &str) -> Result<Vec<Option<i64>>> {
        self.moments(name, 1)
    }

    /// A column of moments, in epoch milliseconds.
    pub(crate) fn milliseconds(&self, name: &str) -> Result<Vec<Option<i64>>> {
        self.moments(name, 1_000)
    }

    fn moments(&self, name: &str, wanted: i64) -> Result<Vec<Option<i64>>> {
        let mut out = Vec::with_capacity(self.rows());
        for array in self.column(name) {
            let array = array?;
            let (values, per_second) = match array.data_type() {
                DataType::Timestamp(TimeUnit::Second, _) => {
                    (signed::<TimestampSecondType>(array), 1)
                }
                DataType::Timestamp(TimeUnit::Millisecond, _) => {
                    (signed::<TimestampMillisecondType>(array), 1_000)
                }
                DataType::Timestamp(TimeUnit::Microsecond, _) => {
                    (signed::<TimestampMicrosecondType>(array), 1_000_000)
                }
                DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                    (signed::<TimestampNanosecondType>(array), 1_000_000_000)
                }
                other => return Err(unfit(name, "moments", other)),
            };
            // Both are powers of ten: one of them goes into the other.
            let in_wanted = |value: i64| {
                if per_second > wanted {
                    value.div_euclid(per_second / wanted)
                } else {
                    value.saturating_mul(wanted / per_second)
                }
            };
            out.extend(values.into_iter().map(|value| value.map(in_wanted)));
        }
        Ok(out)
    }

    /// A column of byte strings; null is the empty one.
    pub(crate) fn bytes<'a>(&'a self, name: &'a str) -> Result<Vec<&'a [u8]>> {
        let mut out = Vec::with_capacity(self.rows());
        for array in self.column(name) {
            let array = array?;
            if let Some(values) = array.as_binary_opt::<i64>() {
                out.extend(values.iter().map(Option::unwrap_or_default));
            } else if let Some(values) = array.as_binary_opt::<i32>() {
                out.extend(values.iter().map(Option::unwrap_or_default));
            } else if let Some(values) = array.as_binary_view_opt() {
                out.extend(values.iter().map(Option::unwrap_or_default));
            } else {
                return Err(unfit(name, "byte strings", array.data_type()));
            }
        }
        Ok(out)
    }

    /// A column of strings where they stand; null is the empty string.
    pub(crate) fn strings<'a>(&'a self, name: &'a str) -> Result<Vec<&'a str>> {
        let mut out = Vec::with_capacity(self.rows());
        for array in self.column(name) {
            let array = array?;
            if let Some(values) = array.as_string_view_opt() {
                out.extend(values.iter().map(Option::unwrap_or_default));
            } else if let Some(values) = array.as_string_opt::<i64>() {
                out.extend(values.iter().map(Option::unwrap_or_default));
            } else if let Some(values) = array.as_string_opt::<i32>() {
                out.extend(values.iter().map(Option::unwrap_or_default));
            } else {
                return Err(unfit(name, "strings", array.data_type()));
            }
        }
        Ok(out)
    }

    /// The files table.
    pub(crate) fn files(&self) -> Result<FileTable<'_>> {
        Ok(FileTable {
            file_key: self.whole("file_key")?,
            base_key: self.whole("base_key")?,
            generation: self.whole("generation")?,
            subject: self.strings("subject")?,
            name: self.strings("name")?,
            head: self.strings("head")?,
            tail: self.strings("tail")?,
            request: self.strings("request")?,
            file_index: self.optional_u32("file_index")?,
            file_total: self.optional_u32("file_total")?,
            parts_total: self.whole("parts_total")?,
            parts_found: self.whole("parts_found")?,
            size_bytes: self.whole("size_bytes")?,
            poster: self.strings("poster")?,
            poster_constant: self.flags("poster_constant")?,
            group: self.strings("group")?,
            groups: self.strings("groups")?,
            first_posted_at: self.times("first_posted_at")?,
            last_posted_at: self.times("last_posted_at")?,
            first_number: self.whole("first_number")?,
            last_number: self.whole("last_number")?,
            first_message_id: self.strings("first_message_id")?,
            flags: self.whole("flags")?,
            is_fragment: self.flags("is_fragment")?,
            reach_low: self.whole("reach_low")?,
            reach_high: self.whole("reach_high")?,
            payload: self.bytes("payload")?,
        })
    }
}

/// The columns of a files table.
pub(crate) struct FileTable<'a> {
    file_key: Vec<u64>,
    base_key: Vec<u64>,
    generation: Vec<u16>,
    subject: Vec<&'a str>,
    name: Vec<&'a str>,
    head: Vec<&'a str>,
    tail: Vec<&'a str>,
    request: Vec<&'a str>,
    file_index: Vec<Option<u32>>,
    file_total: Vec<Option<u32>>,
    parts_total: Vec<u32>,
    parts_found: Vec<u32>,
    size_bytes: Vec<u64>,
    poster: Vec<&'a str>,
    poster_constant: Vec<bool>,
    group: Vec<&'a str>,
    groups: Vec<&'a str>,
    first_posted_at: Vec<Option<i64>>,
    last_posted_at: Vec<Option<i64>>,
    first_number: Vec<u64>,
    last_number: Vec<u64>,
    first_message_id: Vec<&'a str>,
    flags: Vec<u32>,
    is_fragment: Vec<bool>,
    reach_low: Vec<u64>,
    reach_high: Vec<u64>,
    payload: Vec<&'a [u8]>,
}

impl<'a> FileTable<'a> {
    /// Number of files.
    pub(crate) fn len(&self) -> usize {
        self.file_key.len()
    }

    /// One file.
    pub(crate) fn row(&self, row: usize) -> FileRow<'a> {
        FileRow {
            file_key: self.file_key[row],
            base_key: self.base_key[row],
            generation: self.generation[row],
            subject: self.subject[row],
            name: self.name[row],
            head: self.head[row],
            tail: self.tail[row],
            request: self.request[row],
            poster: self.poster[row],
            group: self.group[row],
            groups: self.groups[row],
            first_message_id: self.first_message_id[row],
            numbers: Numbers {
                file_index: self.file_index[row],
                file_total: self.file_total[row],
                parts_total: self.parts_total[row],
                parts_found: self.parts_found[row],
                size_bytes: self.size_bytes[row],
                flags: self.flags[row],
                poster_constant: self.poster_constant[row],
                is_fragment: self.is_fragment[row],
                first_posted_at: self.first_posted_at[row],
                last_posted_at: self.last_posted_at[row],
                first_number: self.first_number[row],
                last_number: self.last_number[row],
                reach_low: self.reach_low[row],
                reach_high: self.reach_high[row],
            },
            payload: self.payload[row],
        }
    }
}

fn push<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    out: &mut Vec<Option<u64>>,
    convert: impl Fn(T::Native) -> u64,
) {
    out.extend(
        array
            .as_primitive::<T>()
            .iter()
            .map(|value| value.map(&convert)),
    );
}

fn signed<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef) -> Vec<Option<i64>> {
    array.as_primitive::<T>().iter().collect()
}

fn unfit(name: &str, wanted: &str, found: &DataType) -> PyErr {
    PyValueError::new_err(format!("column {name} must hold {wanted}, not {found}"))
}
