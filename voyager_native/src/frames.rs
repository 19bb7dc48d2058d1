//! Tables of the engine as Arrow record batches.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, LargeStringBuilder, ListBuilder, make_view};
use arrow_array::types::{UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryViewArray, BooleanArray, LargeStringArray, PrimitiveArray,
    RecordBatch, TimestampSecondArray,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field, Schema};
use voyager_engine::tables::{Articles, ByteStore, Files, Rejects, Stored, TextColumn};
use voyager_engine::text::to_utf8;

/// A column with its name, and whether it may hold nulls.
pub(crate) type Column<'a> = (&'a str, ArrayRef, bool);

/// The files table.
pub(crate) fn files(files: Files) -> Result<RecordBatch, ArrowError> {
    let payload = byte_views(&files.payload, files.payloads)?;
    batch(vec![
        ("file_key", numbers::<UInt64Type>(files.file_key), false),
        ("base_key", numbers::<UInt64Type>(files.base_key), false),
        ("generation", numbers::<UInt16Type>(files.generation), false),
        ("subject", texts(files.subject)?, false),
        ("name", texts(files.name)?, false),
        ("head", texts(files.head)?, false),
        ("tail", texts(files.tail)?, false),
        ("request", texts(files.request)?, false),
        ("file_index", optional::<UInt32Type>(files.file_index), true),
        ("file_total", optional::<UInt32Type>(files.file_total), true),
        (
            "parts_total",
            numbers::<UInt32Type>(files.parts_total),
            false,
        ),
        (
            "parts_found",
            numbers::<UInt32Type>(files.parts_found),
            false,
        ),
        ("size_bytes", numbers::<UInt64Type>(files.size_bytes), false),
        ("poster", texts(files.poster)?, false),
        ("poster_constant", flags(files.poster_constant), false),
        ("group", texts(files.group)?, false),
        ("groups", texts(files.groups)?, false),
        ("first_posted_at", times(files.first_posted_at), true),
        ("last_posted_at", times(files.last_posted_at), true),
        (
            "first_number",
            numbers::<UInt64Type>(files.first_number),
            false,
        ),
        (
            "last_number",
            numbers::<UInt64Type>(files.last_number),
            false,
        ),
        ("first_message_id", texts(files.first_message_id)?, false),
        ("flags", numbers::<UInt32Type>(files.flags), false),
        ("is_fragment", flags(files.is_fragment), false),
        ("reach_low", numbers::<UInt64Type>(files.reach_low), false),
        ("reach_high", numbers::<UInt64Type>(files.reach_high), false),
        ("payload", payload, false),
    ])
}

/// The articles table.
pub(crate) fn articles(articles: Articles) -> Result<RecordBatch, ArrowError> {
    let mut ids = LargeStringBuilder::new();
    for id in &articles.message_id {
        ids.append_option(id.map(|id| to_utf8(articles.message_ids.get(id))));
    }
    let mut reasons = LargeStringBuilder::new();
    for reason in &articles.reason {
        reasons.append_option(reason.map(|number| &articles.reasons[usize::from(number)]));
    }
    batch(vec![
        ("number", optional::<UInt64Type>(articles.number), true),
        ("file_key", optional::<UInt64Type>(articles.file_key), true),
        ("part", optional::<UInt32Type>(articles.part), true),
        ("message_id", Arc::new(ids.finish()), true),
        (
            "size_bytes",
            optional::<UInt32Type>(articles.size_bytes),
            true,
        ),
        ("reason", Arc::new(reasons.finish()), true),
    ])
}

/// The rejects table.
pub(crate) fn rejects(rejects: &Rejects) -> Result<RecordBatch, ArrowError> {
    let reasons: LargeStringArray = rejects.reason.iter().map(Some).collect();
    let mut samples = ListBuilder::new(BinaryBuilder::new());
    for row in &rejects.samples {
        for sample in row {
            samples.values().append_value(sample);
        }
        samples.append(true);
    }
    batch(vec![
        ("reason", Arc::new(reasons), false),
        ("count", numbers::<UInt64Type>(rejects.count.clone()), false),
        ("samples", Arc::new(samples.finish()), false),
    ])
}

/// A batch of these columns.
pub(crate) fn batch(columns: Vec<Column<'_>>) -> Result<RecordBatch, ArrowError> {
    let field = |(name, array, nullable): &Column<'_>| {
        Field::new(*name, array.data_type().clone(), *nullable)
    };
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|(_, array, _)| array).collect();
    RecordBatch::try_new(Arc::new(schema), arrays)
}

/// A column without nulls.
pub(crate) fn flags(values: Vec<bool>) -> ArrayRef {
    Arc::new(BooleanArray::from(values))
}

pub(crate) fn numbers<T: ArrowPrimitiveType>(values: Vec<T::Native>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), None))
}

/// A column with nulls.
pub(crate) fn optional<T: ArrowPrimitiveType>(values: Vec<Option<T::Native>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<PrimitiveArray<T>>())
}

/// Epoch seconds as moments in UTC.
pub(crate) fn times(values: Vec<Option<i64>>) -> ArrayRef {
    Arc::new(TimestampSecondArray::from(values).with_timezone("UTC"))
}

/// A column of strings.
pub(crate) fn texts(column: TextColumn) -> Result<ArrayRef, ArrowError> {
    let (bytes, ends) = column.into_parts();
    let offsets = std::iter::once(0)
        .chain(
            ends.into_iter()
                .map(|end| i64::try_from(end).unwrap_or(i64::MAX)),
        )
        .collect::<Vec<_>>();
    Ok(Arc::new(LargeStringArray::try_new(
        OffsetBuffer::new(ScalarBuffer::from(offsets)),
        Buffer::from_vec(bytes.into_bytes()),
        None,
    )?))
}

/// A column of byte strings that stay where they are stored.
pub(crate) fn byte_views(stored: &[Stored], store: ByteStore) -> Result<ArrayRef, ArrowError> {
    let views: ScalarBuffer<u128> = stored
        .iter()
        .map(|at| make_view(store.get(*at), at.buffer, at.start))
        .collect::<Vec<_>>()
        .into();
    let buffers: Vec<Buffer> = store
        .into_buffers()
        .into_iter()
        .map(Buffer::from_vec)
        .collect();
    Ok(Arc::new(BinaryViewArray::try_new(views, buffers, None)?))
}
