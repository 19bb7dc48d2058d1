"""Folds: what they join of made-up groups cut into spans, and how much of it wrongly."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping

import polars as pl

import voyager_native
from tests.quality.data import QualityData
from tests.quality.made_folds import scenes
from tests.quality.passes import NOW
from tests.quality.report import Result, share
from voyager_core.domain.folds import FOLD_VERSIONS, Member, find_folds
from voyager_core.domain.names import is_readable_name
from voyager_core.domain.posting_tools import tool_of
from voyager_core.domain.ranges import Span
from voyager_core.header_pass import stems
from voyager_core.header_pass.folds import volume_of
from voyager_core.header_pass.fragments import merge_fragments
from voyager_core.header_pass.identity import identify_releases
from voyager_core.header_pass.parse import parse_span
from voyager_core.header_pass.schemas import FRAGMENTS

_LINES = 400_000
_SPAN = 90_000
_SEEDS = (1, 2)
_MIXES = ("boneless", "modern")
_SCENES = 240
_KEY = ["release_key", "session"]


def results(data: QualityData) -> Iterator[Result]:
    """Yields the share of right folds, and of exact releases before and after them."""
    del data
    for mix in _MIXES:
        before: list[str] = []
        after: list[str] = []
        wrong: list[str] = []
        folds = uploads = 0
        for seed in _SEEDS:
            files = _files(mix, seed)
            owner = dict(zip(files["file_key"], files["release"], strict=True))
            truth = dict(zip(files["file_key"], files["upload"], strict=True))
            uploads += len(set(truth.values()))
            before += [f"seed {seed}: {each}" for each in _not_exact(truth, owner)]
            members = _members(files)
            for rule in FOLD_VERSIONS:
                for fold in find_folds(members, rule):
                    folds += 1
                    ids = {each.release_id for each in (fold.winner, *fold.losers)}
                    held = {truth[key] for key, release in owner.items() if release in ids}
                    if len(held) > 1:
                        wrong.append(f"seed {seed}: {rule} fold of uploads {sorted(held)}")
                    owner = {
                        key: fold.winner.release_id if release in ids else release
                        for key, release in owner.items()
                    }
            after += [f"seed {seed}: {each}" for each in _not_exact(truth, owner)]
        yield share(f"{mix} in spans: exact releases before folds", before, uploads, bar=None)
        yield share(f"{mix} in spans: exact releases after folds", after, uploads, bar=0.8)
        yield share(f"{mix} in spans: right folds", wrong, folds, bar=1.0)
    yield from _made()


def _made() -> Iterator[Result]:
    """Yields how many folds of made-up scenes are right, by rule, and what they make whole."""
    wrong: dict[str, list[str]] = {rule: [] for rule in FOLD_VERSIONS}
    folds: Counter[str] = Counter()
    cut: list[str] = []
    left: list[str] = []
    for number, files in enumerate(scenes(_SCENES, seed=1)):
        owner = dict(zip(files["file_key"], files["release"], strict=True))
        truth = dict(zip(files["file_key"], files["upload"], strict=True))
        cut += [f"scene {number}: {each}" for each in _not_exact(truth, owner)]
        members = _members(files)
        done: set[int] = set()
        for rule in FOLD_VERSIONS:
            for fold in find_folds([each for each in members if each.release_id not in done], rule):
                folds[rule] += 1
                ids = {each.release_id for each in (fold.winner, *fold.losers)}
                done |= ids
                held = {truth[key] for key, release in owner.items() if release in ids}
                if len(held) > 1:
                    wrong[rule].append(f"scene {number}: {sorted(held)}")
                winner = fold.winner.release_id
                owner = {key: winner if one in ids else one for key, one in owner.items()}
        left += [f"scene {number}: {each}" for each in _not_exact(truth, owner)]
    for rule in FOLD_VERSIONS:
        yield share(f"made-up scenes: right {rule} folds", wrong[rule], folds[rule], bar=0.99)
    healed = len(cut) - len(left)
    name = "made-up scenes: uploads in pieces that folds make whole"
    yield share(name, left, healed + len(left), bar=None)


def _files(mix: str, seed: int) -> pl.DataFrame:
    """Returns the files of all spans with their release (a number) and their true upload."""
    overview = voyager_native.synthesize_overview(mix, _LINES, seed=seed, block_lines=100_000)
    truth = pl.DataFrame(overview.truth)
    low, high = int(truth["number"].min() or 1), int(truth["number"].max() or 1)  # type: ignore[arg-type]
    whole, cut, articles = [], [], []
    for start in range(low, high + 1, _SPAN):
        parsed = parse_span(
            Span(overview.group, start, start + _SPAN - 1),
            overview.blocks,
            groups=overview.groups,
            now=NOW,
            keep_articles=True,
        )
        files = identify_releases(parsed.files)
        whole.append(files.filter(~pl.col("is_fragment")))
        cut.append(files.filter("is_fragment"))
        articles.append(parsed.articles.filter(pl.col("reason").is_null()))
    merged = merge_fragments(pl.concat(cut).select(list(FRAGMENTS)))
    files = pl.concat([*whole, merged.select(whole[0].columns)]).unique("file_key", keep="first")
    uploads = (
        pl.concat(articles)
        .select("number", "file_key")
        .join(truth.select("number", "upload"), on="number")
        .drop_nulls("upload")
        .unique("file_key", keep="first")
        .select("file_key", "upload")
    )
    numbered = files.with_columns(release=pl.struct(_KEY).rank("dense").cast(pl.Int64))
    return numbered.join(uploads, on="file_key")


def _members(files: pl.DataFrame) -> list[Member]:
    members = []
    for rows in files.partition_by("release"):
        totals = set(rows["file_total"])
        if rows["file_index"].has_nulls() or len(totals) != 1 or None in totals:
            continue
        names = stems.key_form(stems.display_stem(rows["name"]))
        members.append(
            Member(
                release_id=rows["release"][0],
                release_key=rows["release_key"][0],
                group=rows["group"][0],
                total=totals.pop(),
                indexes=frozenset(rows["file_index"].to_list()),
                files=rows.height,
                stems=frozenset(names.to_list()),
                is_readable=is_readable_name(rows["release_name"][0]),
                since=rows["first_posted_at"].min(),  # type: ignore[arg-type]
                until=rows["last_posted_at"].max(),  # type: ignore[arg-type]
                tool=tool_of(rows["first_message_id"][0]),
                volume=volume_of(rows["parts_total"]),
                poster=_poster_of(rows),
            )
        )
    return members


def _poster_of(rows: pl.DataFrame) -> str | None:
    posters = set(rows["poster"])
    return posters.pop() if rows["poster_constant"].all() and len(posters) == 1 else None


def _not_exact(truth: Mapping[int, Hashable], owner: Mapping[int, int]) -> list[str]:
    uploads: dict[Hashable, set[int]] = defaultdict(set)
    releases: dict[int, set[Hashable]] = defaultdict(set)
    for key, upload in truth.items():
        uploads[upload].add(owner[key])
        releases[owner[key]].add(upload)
    return [
        f"upload {upload} in {len(held)} releases"
        for upload, held in sorted(uploads.items(), key=str)
        if len(held) > 1 or len(releases[next(iter(held))]) > 1
    ]
