"""How good what the header pass made of an overview is: against the truth, and against entropy."""

from dataclasses import dataclass

import polars as pl

import voyager_native
from voyager_core.header_pass.build import BuiltSpan
from voyager_core.header_pass.parse import ParsedSpan

_FAMILIES = (
    ("nyuu", r"-\d{13}@nyuu$"),
    ("powerpost", r"^part\d+of\d+\..*powerpost"),
    ("guid", r"(?i)^part\d+of\d+\.[0-9a-f]{32}@"),
    ("jbinup", r"@JBinUp\.local$"),
    ("uuid", r"^[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}@"),
    ("agent", r"^[0-9a-f]{5}\$[0-9a-f]{8}\$"),
)
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Family:
    """What the segments whose message-ids are built alike take.

    Attributes:
        segments: how many there are.
        payload: bytes a segment in the records.
        floor: bytes a segment of the entropy of message-id and size.
    """

    segments: int
    payload: float
    floor: float | None


@dataclass(frozen=True, slots=True)
class Quality:
    """What the pass made of an overview; what needs its truth is None without it.

    Attributes:
        kept: lines in a file.
        rejected: lines in no file.
        exact_files: share of the true files that came out with exactly their articles.
        exact_releases: share of the true uploads that came out as one release, whole.
        payload: bytes a segment in the chunks, without the names.
        floor: bytes a segment of the entropy of message-ids and sizes.
        chunk: bytes a segment in the chunks with all names.
        families: the records by the form of their message-ids.
    """

    kept: int
    rejected: int
    exact_files: float | None
    exact_releases: float | None
    payload: float
    floor: float | None
    chunk: float
    families: dict[str, Family]


def judge(parsed: ParsedSpan, built: BuiltSpan, truth: pl.DataFrame | None) -> Quality:
    """Compares files and releases with the truth, and sizes with the entropy.

    Args:
        parsed: with articles.
        built: of it.
        truth: as `voyager_native.SyntheticOverview.truth`; None for lines without one.
    """
    segments = int(parsed.files["parts_found"].sum())
    chunks = int(built.chunks["payload"].bin.size().sum())
    payload = (chunks - names_only(built)) / max(segments, 1)
    rejected = int(parsed.stats["rejected"])
    chunk = chunks / max(segments, 1)
    if truth is None:
        families = _families(parsed.files, None)
        return Quality(segments, rejected, None, None, payload, None, chunk, families)
    rows = truth.join(parsed.articles, on="number", how="left")
    crossposts = pl.col("reason").str.starts_with("crosspost:").fill_null(value=False)
    rows = rows.filter(~crossposts & pl.col("file").is_not_null())
    releases = built.files.filter(~pl.col("is_fragment")).select(
        "file_key", release=pl.struct("release_key", "session").hash()
    )
    uploads = rows.join(releases, on="file_key", how="left")
    stored = rows.filter(pl.col("reason").is_null())
    return Quality(
        kept=segments,
        rejected=rejected,
        exact_files=_exact(rows, "file", "file_key"),
        exact_releases=_exact(uploads, "upload", "release"),
        payload=payload,
        floor=float(stored["entropy_bits"].sum()) / 8 / max(segments, 1),
        chunk=chunk,
        families=_families(parsed.files, stored),
    )


def names_only(built: BuiltSpan) -> int:
    """Returns the size of the chunks if there were no segments in them."""
    empty = voyager_native.merge_records([])
    files = built.files.filter(~pl.col("is_fragment") & pl.col("release_key").is_not_null())
    files = files.with_columns(
        payload=pl.lit(empty),
        first_message_id=pl.lit(""),
        _chunk=pl.struct("release_key", "session").rank("dense").cast(pl.UInt64),
    )
    chunks = pl.DataFrame(voyager_native.encode_chunks(files, by="_chunk"))
    return int(chunks["payload"].bin.size().sum())


def _families(files: pl.DataFrame, stored: pl.DataFrame | None) -> dict[str, Family]:
    family = pl.lit(OTHER)
    for name, pattern in reversed(_FAMILIES):
        of_form = pl.col("first_message_id").str.contains(pattern)
        family = pl.when(of_form).then(pl.lit(name)).otherwise(family)
    known = files.select(
        "file_key", "parts_found", _family=family, _bytes=pl.col("payload").bin.size()
    )
    bits: dict[str, float] = {}
    if stored is not None:
        floors = stored.join(known.select("file_key", "_family"), on="file_key", how="left")
        bits = dict(floors.group_by("_family").agg(pl.col("entropy_bits").mean()).iter_rows())
    sizes = known.group_by("_family").agg(pl.col("_bytes").sum(), pl.col("parts_found").sum())
    return {
        name: Family(
            segments=segments,
            payload=size / max(segments, 1),
            floor=bits[name] / 8 if bits.get(name) else None,
        )
        for name, size, segments in sizes.sort("_family").iter_rows()
    }


def _exact(rows: pl.DataFrame, truth: str, found: str) -> float:
    """Returns the share of true groups whose rows are exactly those of one found group."""
    rows = rows.select(pl.col(truth).alias("truth"), pl.col(found).alias("found"))
    pairs = rows.group_by("truth", "found").len()
    splits = pairs.group_by("truth").agg(
        pl.col("found").n_unique().alias("pieces"), pl.col("found").null_count().alias("lost")
    )
    merges = pairs.drop_nulls().group_by("found").agg(pl.col("truth").n_unique().alias("sources"))
    merged = pairs.join(merges, on="found", how="left").group_by("truth").agg(pl.max("sources"))
    total = splits.height
    exact = splits.join(merged, on="truth").filter(
        (pl.col("pieces") == 1) & (pl.col("lost") == 0) & (pl.col("sources") == 1)
    )
    return exact.height / total if total else 1.0
