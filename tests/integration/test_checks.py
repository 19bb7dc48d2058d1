"""A catalog of real posts is sound however it was cut, and every damage is found."""

import random
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.spans import VERSIONS
from tests.support.uploads import START, Upload, interleaved, old_volumes, volumes
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.connect import connect
from voyager_core.catalog.groups import add_group
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.ranges import get_range, plan, ranges_of
from voyager_core.catalog.releases import chunks, nzb_source
from voyager_core.catalog.search import SearchQuery, search
from voyager_core.catalog.spans import store_span
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.parse import parse_span
from voyager_core.header_pass.settle import merge_ready_fragments
from voyager_core.nzb.writer import build_nzb

pytestmark = pytest.mark.postgres

GROUP = "alt.binaries.test"
NOW = datetime(2025, 1, 1, tzinfo=UTC)
SIZE = 100
NS = "{http://www.newzbin.com/DTD/2003/nzb}"


def posts() -> list[bytes]:
    """Returns overview lines numbered from 1: five uploads that mix, one of them a repost."""
    show = volumes("Some.Show.S01E02.1080p.WEB.x264-GRP", 6, parts=9)
    uploads = [
        Upload("show", show),
        Upload("film", volumes("A.Film.2019.720p.BluRay.x264-GRP", 4, parts=12)),
        Upload("classic", old_volumes("classic-release-cd1", 5, parts=7)),
        Upload("single", [("A Book - Somebody.epub", 3)], at=START + timedelta(seconds=20)),
        Upload("again", show, at=START + timedelta(days=30), salt="again"),
        Upload(
            "holes",
            volumes("Other.Show.S03E04.720p-GRP", 3, parts=20),
            at=START + timedelta(days=60),
            missing=frozenset({(1, 3), (2, 20)}),
        ),
    ]
    text, _ = interleaved(uploads, first_number=1)
    return text.splitlines(keepends=True)


LINES = posts()


def index(conn, cuts: list[int], order: list[int] | None = None) -> None:
    """Indexes all lines in ranges of `SIZE`, cut further at `cuts`, ranges in another order."""
    group = add_group(conn, GROUP)
    ends = range(SIZE, len(LINES) + SIZE, SIZE)
    plan(conn, group.newsgroup_id, [(end - SIZE + 1, end) for end in ends])
    rows = ranges_of(conn, GROUP)
    for at in order or range(len(rows)):
        row = rows[at]
        for low, high in spans_of(row.low, row.high, cuts):
            span = Span(GROUP, low, high)
            blocks = [b"".join(LINES[low - 1 : high])] if low <= len(LINES) else []
            parsed = parse_span(span, blocks, groups={GROUP: 1}, now=NOW)
            stored = store_span(
                conn,
                span,
                build_span(parsed, RuleSet(), now=NOW),
                range_id=row.range_id,
                read_lines=parsed.stats["lines"],
                versions=VERSIONS,
                rejects=dict(parsed.rejects.select("reason", "count").iter_rows()),
            )
            assert stored.stored
    merge_ready_fragments(conn, now=NOW + timedelta(days=4000), patience_seconds=0)


def spans_of(low: int, high: int, cuts: list[int]) -> list[tuple[int, int]]:
    inner = [cut for cut in sorted(set(cuts)) if low <= cut < high]
    starts, ends = [low, *(cut + 1 for cut in inner)], [*inner, high]
    return list(zip(starts, ends, strict=True))


def found(conn) -> dict[tuple[str, str], set[str]]:
    """Returns the message-ids in the NZB of each release, by name and day."""
    releases = {}
    page = search(conn, SearchQuery(limit=1000))
    for item in page.items:
        source = nzb_source(conn, item.public_id)
        assert source is not None
        root = ET.fromstring(build_nzb(*source))
        ids = [element.text or "" for element in root.iter(f"{NS}segment")]
        assert len(ids) == len(set(ids)) == item.segments
        releases[item.name, f"{item.posted_at:%Y-%m-%d}"] = set(ids)
    assert len(releases) == page.total
    return releases


@pytest.fixture(scope="module")
def whole(postgres_server):
    """What is found when everything is indexed in one span."""
    dsn = postgres_server.dsn("whole")
    migrate(dsn)
    with connect(dsn) as conn:
        group = add_group(conn, GROUP)
        plan(conn, group.newsgroup_id, [(1, len(LINES))])
        span = Span(GROUP, 1, len(LINES))
        parsed = parse_span(span, [b"".join(LINES)], groups={GROUP: 1}, now=NOW)
        store_span(
            conn,
            span,
            build_span(parsed, RuleSet(), now=NOW),
            range_id=1,
            read_lines=len(LINES),
            versions=VERSIONS,
            rejects=dict(parsed.rejects.select("reason", "count").iter_rows()),
        )
        merge_ready_fragments(conn, now=NOW + timedelta(days=4000), patience_seconds=0)
        assert check_catalog(conn) == []
        return found(conn)


def test_uploads_are_releases_with_every_segment(whole):
    sizes = sorted(len(ids) for ids in whole.values())
    assert sum(sizes) == len(LINES)
    assert len(whole) == 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_any_cut_in_any_order_gives_the_same_releases(catalog, whole, seed):
    chance = random.Random(seed)
    cuts = [chance.randrange(1, len(LINES)) for _ in range(seed * 2)]
    order = list(range(-(-len(LINES) // SIZE)))
    chance.shuffle(order)
    index(catalog, cuts, order)
    assert check_catalog(catalog) == []
    assert found(catalog) == whole


@pytest.fixture
def indexed(catalog):
    index(catalog, [])
    assert check_catalog(catalog) == []
    return catalog


@pytest.mark.parametrize(
    ("damage", "check", "words"),
    [
        ("update release set segments = segments + 1 where release_id = 1", "sums", "segments"),
        ("update release set posted_at = posted_at - interval '1 s'", "sums", "posted_at"),
        ("update chunk set files = files - 1, release_id = release_id", "sums", "files"),
        ("delete from chunk where release_id = 1", "sums", "has no chunk"),
        ("delete from candidate; delete from release where release_id = 1", "sums", "no row"),
        ("delete from release where release_id = 1", "sums", "does not exist"),
        ("update range set lines = lines + 1 where range_id = 1", "lines", "lines read"),
        (
            "update range set rejected = 1, lines = lines + 1 where range_id = 1",
            "lines",
            "rejected",
        ),
        ("insert into range_rule_count values (1, 'random', '', '', 5, 1)", "lines", "dropped"),
        ("delete from chunk where range_id = 2 and origin = 'span'", "lines", "chunk segments"),
        ("update range set merged_segments = 0", "lines", "fragment segments"),
        ("delete from range_recovery; delete from chunk; delete from release", "lines", "chunk"),
        (
            (
                "delete from chunk where range_id = 2;"
                " delete from range_version where range_id = 2;"
                " delete from range where range_id = 2"
            ),
            "ranges",
            "hole: the next begins at 201",
        ),
        (
            "update range set high = high + 5, state = 'partial' where range_id = 1",
            "ranges",
            "overlap",
        ),
        ("update range set state = 'planned' where range_id = 1", "ranges", "planned with resume"),
        (
            "update chunk set payload = set_byte(payload, 9, 255 - get_byte(payload, 9))",
            "payloads",
            "",
        ),
        ("update chunk set payload = substr(payload, 1, 20)", "payloads", ""),
        ("update chunk set size_bytes = size_bytes + 1", "payloads", "size_bytes"),
        (
            (
                "insert into release (release_key, generation, newsgroup_id, category, posted_at,"
                " last_posted_at, listed_at, changed_at, files, segments, size_bytes, has_par2,"
                " is_readable, group_ids, tok, name) select release_key, 99, newsgroup_id,"
                " category, posted_at, last_posted_at, listed_at, changed_at, files, segments,"
                " size_bytes, has_par2, is_readable, group_ids, tok, name"
                " from release where release_id = 1"
            ),
            "generations",
            "is not apart from",
        ),
    ],
)
def test_damage_is_found(indexed, damage, check, words):
    indexed.execute(damage)
    findings = [finding for finding in check_catalog(indexed) if finding.check == check]
    assert [finding for finding in findings if words in finding.detail], check_catalog(indexed)
    assert str(findings[0]).startswith(f"{check}: ")


def test_sample_decodes_only_so_many_chunks(indexed):
    indexed.execute("update chunk set payload = '\\x00'")
    payloads = [f for f in check_catalog(indexed, sample=3) if f.check == "payloads"]
    assert len(payloads) == 3
    assert [f for f in check_catalog(indexed, sample=0) if f.check == "payloads"] == []


def test_release_of_many_spans_has_its_chunks_in_order(indexed):
    (item,) = search(indexed, SearchQuery("some show", limit=1)).items
    found_chunks = chunks(indexed, item.release_id)
    assert len(found_chunks) > 1
    rows = indexed.execute(
        "select payload from chunk where release_id = %s order by low", [item.release_id]
    ).fetchall()
    assert [bytes(payload) for (payload,) in rows] == found_chunks
    assert nzb_source(indexed, "0" * 18) is None
    row = get_range(indexed, 1)
    assert row is not None
    assert row.state == "done"
