"""The header pass over a text: whole, or cut into spans that come in any order."""

import random
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

import polars as pl

import voyager_native
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_files, build_span
from voyager_core.header_pass.fragments import merge_fragments
from voyager_core.header_pass.parse import parse_blocks, parse_span

NOW = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Indexed:
    """What the header pass made of a text.

    Attributes:
        files: every file, cut ones merged.
        releases: every release.
        segments: message-id, part and file key of every article that is in a file.
        lines: how many lines were read.
    """

    files: pl.DataFrame
    releases: pl.DataFrame
    segments: pl.DataFrame
    lines: int

    def place_of(self) -> dict[str, tuple[int, int, tuple[int, int]]]:
        """Returns file, part and release of each message-id."""
        releases = {
            key: (release, session)
            for key, release, session in self.files.select(
                "file_key", "release_key", "session"
            ).iter_rows()
        }
        return {
            id_: (key, part, releases[key])
            for id_, part, key in self.segments.select("message_id", "part", "file_key").iter_rows()
        }


@lru_cache(maxsize=32)
def index_whole(text: bytes, group: str) -> Indexed:
    """Returns what becomes of a text that is read at once."""
    parsed = parse_blocks(group, [text], low=0, high=0, groups={}, now=NOW)
    built = build_span(parsed, RuleSet(), now=NOW)
    return Indexed(
        built.files, built.releases, _segments(built.files), int(parsed.stats.get("lines", 0))
    )


@lru_cache(maxsize=32)
def index_spans(text: bytes, group: str, size: int, *, seed: int, twice: bool = True) -> Indexed:
    """Returns what becomes of a text in spans of so many numbers, in a random order.

    Args:
        text: overview lines.
        group: the newsgroup.
        size: article numbers in a span.
        seed: of the order.
        twice: every span holds its lines twice.
    """
    by_span: dict[int, list[bytes]] = {}
    for line in text.splitlines(keepends=True):
        number = int(line.split(b"\t", 1)[0])
        by_span.setdefault(number // size, []).append(line)
    order = sorted(by_span)
    random.Random(seed).shuffle(order)
    whole, fragments, lines = [], [], 0
    for place in order:
        block = b"".join(by_span[place])
        # A span cannot begin at 0, which means no bound.
        span = Span(group, max(1, place * size), place * size + size - 1)
        parsed = parse_span(span, [block] * (1 + twice), groups={}, now=NOW)
        built = build_span(parsed, RuleSet(), now=NOW)
        whole.append(built.files.filter(~pl.col("is_fragment")))
        fragments.append(built.fragments)
        lines += int(parsed.stats.get("lines", 0))
    merged = merge_fragments(pl.concat(fragments)).with_columns(dropped_by=pl.lit(None, pl.String))
    files = pl.concat([*whole, merged.select(whole[0].columns)])
    kept = files.filter(pl.col("dropped_by").is_null()).drop("dropped_by")
    # A file of which two spans hold all of one posting each comes twice; its key is the same.
    releases = build_files(kept, now=NOW).releases
    return Indexed(files, releases, _segments(files), lines)


def _segments(files: pl.DataFrame) -> pl.DataFrame:
    tables = [
        pl.DataFrame(voyager_native.decode_segments(payload))
        .select("message_id", "part")
        .with_columns(file_key=pl.lit(key, pl.UInt64))
        for key, payload in files.select("file_key", "payload").iter_rows()
    ]
    empty = {"message_id": pl.String(), "part": pl.UInt32(), "file_key": pl.UInt64()}
    return pl.concat(tables) if tables else pl.DataFrame(schema=empty)


def not_exact(expected: Mapping[str, Hashable], found: Mapping[str, Hashable]) -> list[str]:
    """Returns the expected sets that no found set equals, with what became of them.

    Args:
        expected: the true set of each member.
        found: the found set of each member; a member of none is missing.
    """
    true_sets, found_sets = _members(expected), _members(found)
    wrong = []
    for name, members in true_sets.items():
        places = {found.get(member) for member in members}
        if len(places) == 1 and None not in places and found_sets[next(iter(places))] == members:
            continue
        strangers = {
            str(expected.get(other))
            for place in places
            if place is not None
            for other in found_sets[place] - members
        }
        wrong.append(
            f"{name}: in {len(places)} pieces"
            + (f", with parts of {sorted(strangers)[:3]}" if strangers else "")
        )
    return sorted(wrong)


def _members(sets: Mapping[str, Hashable]) -> dict[Hashable, set[str]]:
    members: dict[Hashable, set[str]] = {}
    for member, name in sets.items():
        members.setdefault(name, set()).add(member)
    return members


def message_ids(lines: Iterable[bytes]) -> dict[int, str]:
    """Returns the message-id of each article number."""
    ids = {}
    for line in lines:
        fields = line.split(b"\t")
        ids[int(fields[0])] = fields[4].strip(b"<>").decode("utf-8", "replace")
    return ids
