"""`replay` on real posts: every line accounted for, every file and release exactly right."""

import gzip
import json
import random
from collections import defaultdict
from datetime import UTC, datetime

import polars as pl
import pytest

import voyager_native
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass import replay as contract
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.fragments import merge_fragments
from voyager_core.header_pass.parse import parse_span
from voyager_core.header_pass.replay import replay

GROUP = "alt.binaries.boneless"
NOW = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def overview(shared_data):
    return shared_data / "overview"


@pytest.fixture(scope="module")
def mixed(overview, tmp_path_factory):
    """The mixed group replayed: totals, and the tables that it wrote."""
    out = tmp_path_factory.mktemp("replay")
    totals = replay([overview / "mixed-boneless.over.gz"], group=GROUP, out=out)
    return totals, {path.stem: pl.read_parquet(path) for path in out.glob("*.parquet")}


@pytest.fixture(scope="module")
def truth(overview):
    """Post, file, part and state of every article number that is there."""
    text = gzip.decompress((overview / "mixed-boneless.truth.tsv.gz").read_bytes()).decode()
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    return {
        int(row[0]): (row[1], row[2], int(row[3]), row[4]) for row in rows if row[4] != "missing"
    }


def groups_of(pairs):
    """Returns the sets of numbers that have one value in common."""
    members = defaultdict(set)
    for number, value in pairs:
        members[value].add(number)
    return {value: frozenset(numbers) for value, numbers in members.items()}


def test_tables_have_the_columns_of_the_contract(mixed):
    _, tables = mixed
    for name in ("articles", "files", "releases", "candidates", "rule_counts"):
        assert tables[name].columns == getattr(contract, name.upper())


def test_every_line_is_accounted_for(mixed, truth):
    totals, tables = mixed
    assert totals["lines"] == len(tables["articles"]) == len(truth)
    assert sorted(tables["articles"]["number"]) == sorted(truth)
    assert totals["lines"] == totals["kept"] + sum(totals["rejected"].values())
    in_file = tables["articles"]["file_key"].is_not_null()
    assert (in_file == tables["articles"]["reason"].is_null()).all()


def test_only_duplicates_are_rejected(mixed, truth):
    _, tables = mixed
    rejected = tables["articles"].filter(pl.col("reason").is_not_null())
    assert rejected["reason"].unique().to_list() == ["duplicate"]
    assert set(rejected["number"]) == {number for number, row in truth.items() if row[3] == "dup"}


def test_all_files_are_exactly_right(mixed, truth):
    _, tables = mixed
    kept = {number: row for number, row in truth.items() if row[3] == "ok"}
    articles = {
        row[0]: row[1:] for row in tables["articles"].select("number", "file_key", "part").rows()
    }
    expected = groups_of((number, row[:2]) for number, row in kept.items())
    found = groups_of((number, articles[number][0]) for number in kept)
    assert set(expected.values()) == set(found.values())
    assert all(articles[number][1] == row[2] for number, row in kept.items())


def test_releases_are_exactly_right(mixed, truth):
    _, tables = mixed
    release = dict(tables["files"].select("file_key", "release_key").rows())
    file = dict(tables["articles"].select("number", "file_key").rows())
    kept = [(number, row[0]) for number, row in truth.items() if row[3] == "ok"]
    expected = groups_of(kept)
    found = groups_of((number, release[file[number]]) for number, _ in kept)
    wrong = [name for name, numbers in expected.items() if numbers not in set(found.values())]
    assert wrong == []
    assert len(tables["releases"]) == len(expected)


def test_releases_of_posts_alone_are_whole_and_named(overview, tmp_path):
    right = named = 0
    paths = sorted(overview.glob("*.truth.json"))
    for path in paths:
        post = json.loads(path.read_text(encoding="utf-8"))
        name = path.name.removesuffix(".truth.json")
        out = tmp_path / name
        replay([path.with_name(f"{name}.over.gz")], group=post["files"][0]["groups"][0], out=out)
        releases = pl.read_parquet(out / "releases.parquet")
        files = pl.read_parquet(out / "files.parquet")
        expected = sorted(
            (each["name"], each["parts_present"], each["bytes"]) for each in post["files"]
        )
        assert sorted(files.select("name", "parts_found", "size_bytes").rows()) == expected
        right += releases["files"].to_list() == [len(post["files"])]
        named += releases["name"].to_list() == [post["expected_name"]]
    assert right == len(paths)
    assert named >= len(paths) - 1


@pytest.mark.parametrize("size", [5_000, 1_200])
def test_spans_in_any_order_equal_the_whole(overview, mixed, size):
    _, tables = mixed
    text = gzip.decompress((overview / "mixed-boneless.over.gz").read_bytes())
    lines = text.splitlines(keepends=True)
    numbers = [int(line.split(b"\t", 1)[0]) for line in lines]
    lows = list(range(numbers[0], numbers[-1] + 1, size))
    random.Random(size).shuffle(lows)
    kept, fragments = [], []
    for low in lows:
        span = Span(GROUP, low, low + size - 1)
        block = b"".join(
            line for line, number in zip(lines, numbers, strict=True) if low <= number < low + size
        )
        # A block that is sent twice holds the same articles: they are duplicates.
        parsed = parse_span(span, [block, block], groups={}, now=NOW)
        built = build_span(parsed, RuleSet(), now=NOW)
        kept.append(built.files.filter(~pl.col("is_fragment")).drop("dropped_by"))
        fragments.append(built.fragments)
    merged = merge_fragments(pl.concat(fragments))
    files = pl.concat([*kept, merged.select(kept[0].columns)])
    assert len(merged) > 10
    assert sorted(files.select("file_key", "release_key", "parts_found").rows()) == sorted(
        tables["files"].select("file_key", "release_key", "parts_found").rows()
    )
    ids = {
        id_
        for payload in files["payload"]
        for id_ in pl.DataFrame(voyager_native.decode_segments(payload))["message_id"]
    }
    in_files = tables["articles"].filter(pl.col("reason").is_null())
    assert ids == set(in_files["message_id"])


def test_order_of_inputs_does_not_matter(overview, tmp_path):
    inputs = sorted(overview.glob("ngpost-*.over.gz"))
    for name, each in (("forward", inputs), ("backward", inputs[::-1])):
        replay(each, group="alt.binaries.paxer", out=tmp_path / name)
    forward, backward = (
        pl.read_parquet(tmp_path / name / "files.parquet") for name in ("forward", "backward")
    )
    assert forward.equals(backward)


def test_odd_real_lines_are_accounted_for(overview, tmp_path):
    totals = replay([overview / "real_lines.over"], group="alt.binaries.test", out=tmp_path)
    assert totals["lines"] == 19
    assert totals["rejected"] == {"random_subject": 1}
    names = pl.read_parquet(tmp_path / "files.parquet")["name"].to_list()
    assert "Chobits (vol 2 - The Empty City) .part092.rar" in names
    assert "ctu-x264-flashpoint.106.rar" in names
