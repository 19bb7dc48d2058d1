"""Parsed spans to the frames that the catalog stores."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

import voyager_native
from tests.support.uploads import START, Upload, interleaved, old_volumes, volumes
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.domain.tokens import token_hashes
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.parse import parse_span
from voyager_core.header_pass.schemas import (
    BUILT_FILES,
    CANDIDATES,
    CHUNKS,
    FILES,
    FRAGMENTS,
    RELEASES,
    RULE_COUNTS,
    RULE_SAMPLES,
    SchemaMismatchError,
    conform,
)

GROUP = "alt.binaries.test"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def build(uploads, *, low=5_000_000_001, high=5_001_000_000, rules=None):
    text, _ = interleaved(uploads, first_number=max(low, 1) + 200_000)
    parsed = parse_span(Span(GROUP, low, high), [text], groups={GROUP: 1}, now=NOW)
    return parsed, build_span(parsed, rules or RuleSet(), now=NOW)


def test_frames_have_their_columns():
    _, built = build([Upload("a", volumes("Some.Show.S01E02.720p.HDTV.x264-GRP", 4))])
    for name, schema in [
        ("files", BUILT_FILES),
        ("releases", RELEASES),
        ("chunks", CHUNKS),
        ("fragments", FRAGMENTS),
        ("candidates", CANDIDATES),
        ("rule_counts", RULE_COUNTS),
        ("rule_samples", RULE_SAMPLES),
    ]:
        assert dict(getattr(built, name).schema) == dict(schema), name


def test_empty_span_builds_empty_frames():
    parsed = parse_span(Span(GROUP, 1, 10), [], groups={}, now=NOW)
    built = build_span(parsed, RuleSet(), now=NOW)
    assert built.releases.is_empty()
    assert built.chunks.is_empty()
    assert built.candidates.is_empty()


def test_release_adds_up_its_files():
    files = volumes("Some.Show.S01E02.720p.HDTV.x264-GRP", 4, parts=3)
    _, built = build([Upload("a", files)])
    release = built.releases.row(0, named=True)
    segments = sum(parts for _, parts in files)
    assert release["name"] == "Some.Show.S01E02.720p.HDTV.x264-GRP"
    assert release["is_readable"]
    assert (release["files"], release["files_expected"]) == (len(files), len(files))
    assert (release["segments"], release["segments_expected"]) == (segments, segments)
    assert release["size_bytes"] == built.files["size_bytes"].sum()
    assert release["has_par2"]
    assert (release["season"], release["episode"], release["episode_last"]) == (1, 2, 2)
    assert release["category"] == 5040
    assert release["poster"] == "Someone <someone@example.invalid>"
    assert release["group"] == GROUP
    assert release["groups"] == [GROUP]
    assert release["tok"] == token_hashes(release["name"])
    assert START <= release["posted_at"] <= release["last_posted_at"]
    assert release["last_posted_at"] <= START + timedelta(minutes=5)


def test_changing_poster_is_no_poster():
    _, built = build([Upload("a", volumes("Some.Show.S01E02-GRP", 3), poster=lambda i: f"p{i}@x")])
    assert built.releases["poster"].to_list() == [None]


def test_missing_segments_are_expected():
    upload = Upload("a", [("Some Film.mkv", 10)], missing=frozenset({(1, 4)}))
    _, built = build([upload], low=1, high=10_000_000)
    assert built.releases.select("segments", "segments_expected").rows() == [(9, 10)]


def test_chunk_holds_every_segment_of_its_release():
    uploads = [
        Upload("a", volumes("Some.Show.S01E02-GRP", 3)),
        Upload("b", old_volumes("Other.Film.2010-GRP", 4)),
    ]
    parsed, built = build(uploads)
    ids = {}
    for key, _, payload in built.chunks.rows():
        decoded = voyager_native.decode_chunk(payload)
        ids[key] = set(pl.DataFrame(decoded.segments)["message_id"])
    expected = {
        key: {
            id_
            for payload in group["payload"]
            for id_ in pl.DataFrame(voyager_native.decode_segments(payload))["message_id"]
        }
        for (key,), group in built.files.group_by("release_key")
    }
    assert ids == expected
    assert sum(map(len, ids.values())) == parsed.stats["kept"]


def test_every_article_ends_in_one_place():
    uploads = [
        Upload("a", volumes("Some.Show.S01E02-GRP", 3)),
        Upload("b", [("Film.mkv.exe", 5)]),
        Upload("c", [("Cut.Film.2010.mkv", 400)]),
    ]
    text, truth = interleaved(uploads, first_number=5_000)
    numbers = sorted(truth)
    span = Span(GROUP, 5_000, numbers[-30])
    parsed = parse_span(span, [text], groups={}, now=NOW)
    built = build_span(parsed, RuleSet(), now=NOW)
    counted = int(built.rule_counts["articles"].sum())
    chunked = int(built.releases["segments"].sum())
    cut = int(built.fragments["parts_found"].sum())
    assert cut > 0
    assert counted == 5
    assert parsed.stats["lines"] == parsed.stats["rejected"] + counted + chunked + cut


def test_sessions_of_one_key_are_two_releases_and_chunks():
    files = volumes("Some.Show.S01E02-GRP", 3)
    uploads = [Upload("a", files), Upload("b", files, salt="x", at=START + timedelta(days=5))]
    _, built = build(uploads)
    assert built.releases["release_key"].n_unique() == 1
    assert sorted(built.releases["session"]) == [0, 1]
    assert sorted(built.chunks["session"]) == [0, 1]
    assert set(built.candidates["session"]) == {0, 1}


def test_dropped_files_are_in_no_release():
    _, built = build([Upload("a", [("Film.mkv.exe", 5)])])
    assert built.releases.is_empty()
    assert built.files.select("release_key", "dropped_by").rows() == [(None, "disguised_program")]


def test_undated_articles_make_a_release_without_a_date():
    line = b'5\t"Some Film.mkv" yEnc (1/1)\tx\tnever\t<a@b>\t\t100\t1\t\r\n'
    parsed = parse_span(Span(GROUP, 1, 10), [line], groups={}, now=NOW)
    built = build_span(parsed, RuleSet(), now=NOW)
    assert built.releases.select("posted_at", "segments").rows() == [(None, 1)]


def test_silly_totals_do_not_overflow():
    lines = b"".join(
        b'%d\t"Some Film.part%d.rar" yEnc (1/999999999)\tx\t\t<%d@b>\t\t100\t1\t\r\n' % (n, n, n)
        for n in range(1, 9)
    )
    parsed = parse_span(Span(GROUP, 1, 1000), [lines], groups={}, now=NOW)
    built = build_span(parsed, RuleSet(), now=NOW)
    assert len(built.files) == 8


def test_misshapen_frame_is_refused():
    with pytest.raises(SchemaMismatchError, match="missing columns"):
        conform(pl.DataFrame({"name": ["x"]}), FILES, what="files")
    with pytest.raises(SchemaMismatchError, match="does not fit"):
        conform(
            pl.DataFrame({"rule": ["x"], "articles": ["y"]}), {"articles": pl.UInt64()}, what="x"
        )


def kinds(built):
    names = dict(built.files.select("file_key", "name").rows())
    return {
        (kind, names[key], part)
        for kind, key, part in built.candidates.select("kind", "file_key", "part").rows()
    }


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            volumes("Some.Show.S01E01-GRP", 11),
            {
                ("archive_first", "Some.Show.S01E01-GRP.part01.rar", 1),
                ("par2_index", "Some.Show.S01E01-GRP.par2", 1),
            },
        ),
        (
            old_volumes("Some.Film.2010-GRP", 4),
            {
                ("archive_first", "Some.Film.2010-GRP.rar", 1),
                ("par2_index", "Some.Film.2010-GRP.par2", 1),
            },
        ),
        (
            [("Tb82hqzKx0dLm4RvYp3sWn.7z.001", 5), ("Tb82hqzKx0dLm4RvYp3sWn.7z.002", 4)],
            {
                ("archive_first", "Tb82hqzKx0dLm4RvYp3sWn.7z.001", 1),
                ("sevenz_last", "Tb82hqzKx0dLm4RvYp3sWn.7z.002", 4),
            },
        ),
        (
            [("L3iMP7Tg4XaObh32FqTzvP6durgw7wZi.mkv", 9)],
            {("lone_random", "L3iMP7Tg4XaObh32FqTzvP6durgw7wZi.mkv", 1)},
        ),
        ([("Some Readable Film.mkv", 9)], set()),
    ],
    ids=["new volumes", "old volumes", "7z", "lone random", "readable"],
)
def test_candidates(files, expected):
    _, built = build([Upload("a", files)])
    assert kinds(built) == expected


def test_missing_first_article_is_no_candidate():
    upload = Upload("a", volumes("Some.Show-GRP", 3), missing=frozenset({(1, 1)}))
    _, built = build([upload])
    assert {kind for kind, _, _ in kinds(built)} == {"par2_index"}


def test_missing_last_article_is_no_end_of_a_7z():
    files = [("Some.Long.Name.7z.001", 5), ("Some.Long.Name.7z.002", 4)]
    _, built = build([Upload("a", files, missing=frozenset({(2, 4)}))])
    assert {kind for kind, _, _ in kinds(built)} == {"archive_first"}
