"""The engine and its slow twin agree on every file and every line of a span."""

import gzip

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import voyager_native
from tests.properties.mutations import LINES, mangled
from tests.reference.files import Oracle

GROUP = "alt.binaries.test"
NOW = (1 << 32) - 1
COLUMNS = [
    *("file_key", "base_key", "generation", "subject", "name", "head", "tail", "request"),
    *("file_index", "file_total", "parts_total", "parts_found", "size_bytes", "poster"),
    *("poster_constant", "groups", "first_posted_at", "last_posted_at", "first_number"),
    *("last_number", "first_message_id", "is_fragment", "reach_low", "reach_high"),
]


def engine(blocks, *, group=GROUP, low=0, high=0, groups=None):
    indexer = voyager_native.SpanIndexer(
        group, low, high, groups=groups or {}, now=NOW, keep_articles=True
    )
    for block in blocks:
        indexer.feed(block)
    tables = indexer.finish()
    files = pl.DataFrame(tables.files)
    segments = {
        row["file_key"]: sorted(pl.DataFrame(voyager_native.decode_segments(row["payload"])).rows())
        for row in files.select("file_key", "payload").iter_rows(named=True)
    }
    articles = pl.DataFrame(tables.articles).select("number", "file_key", "part", "reason").rows()
    rejects = dict(pl.DataFrame(tables.rejects).select("reason", "count").rows())
    return files.select(COLUMNS).sort("file_key").to_dicts(), segments, articles, rejects


def oracle(blocks, *, group=GROUP, low=0, high=0, groups=None):
    twin = Oracle(group, low, high, groups=groups or {}, now=NOW)
    for block in blocks:
        twin.feed(block)
    twin.finish()
    files = sorted(twin.files, key=lambda row: row["file_key"])
    segments = {row["file_key"]: sorted(row["segments"]) for row in files}
    rejects: dict[str, int] = {}
    for reason in twin.reasons.values():
        rejects[reason] = rejects.get(reason, 0) + 1
    return (
        [{name: row[name] for name in COLUMNS} for row in files],
        segments,
        twin.articles(),
        rejects,
    )


def assert_agree(blocks, **settings):
    found, expected = engine(blocks, **settings), oracle(blocks, **settings)
    assert found[2] == expected[2]
    assert found[0] == expected[0]
    assert found[1] == expected[1]
    assert found[3] == expected[3]


def test_battery_agrees():
    assert_agree([b"".join(LINES)])


@pytest.mark.parametrize(
    "name",
    [
        *("big-buck-bunny-nyuu.over.gz", "ngpost-qt-unified-obfuscated.over.gz", "real_lines.over"),
        *("teevee-request-274596.over.gz", "ubuntu-16.04.1-server-obfuscated.over.gz"),
        *("cpp-split-zip-double-counter.over.gz", "mixed-boneless.over.gz"),
    ],
)
def test_real_lines_agree(shared_data, name):
    text = (shared_data / "overview" / name).read_bytes()
    if name.endswith(".gz"):
        text = gzip.decompress(text)
    assert_agree([text])


def test_real_lines_agree_within_bounds(shared_data):
    text = gzip.decompress((shared_data / "overview" / "mixed-boneless.over.gz").read_bytes())
    lines = text.splitlines(keepends=True)
    for start in (0, 7_000, 15_000):
        part = lines[start : start + 2_500]
        low, high = (int(part[at].split(b"\t")[0]) for at in (100, -100))
        assert_agree([b"".join(part)], low=low, high=high)


@given(st.lists(mangled(LINES), min_size=1, max_size=3))
def test_mangled_lines_agree(blocks):
    # A block that begins with a line can be nothing compressed.
    assert_agree([LINES[0] + block for block in blocks])


@st.composite
def posted(draw):
    """Lines of a few files with lost, doubled, reposted and equal counters, in any order."""
    lines = []
    for name in draw(st.lists(st.sampled_from(["a.rar", "b.mkv", "c"]), min_size=1, max_size=3)):
        total = draw(st.integers(1, 6))
        counter = draw(st.sampled_from(["", "[{p}/{n}] - ", "[2/{n}] - ", "[3/3] - "]))
        for copy in range(draw(st.integers(1, 3))):
            for part in range(1, total + 1):
                if draw(st.integers(0, 4)) == 0:
                    continue
                id_ = f"{name}{part}-{draw(st.integers(0, copy))}"
                head = counter.format(p=part, n=total)
                lines.append((f'{head}"{name}" yEnc ({part}/{total})', id_))
    chance = draw(st.randoms())
    chance.shuffle(lines)
    numbers = draw(st.lists(st.integers(1, 60), min_size=len(lines), max_size=len(lines)))
    return [
        f"{number}\t{subject}\tp{number % 2}@x\t1 May 2024 12:00:{number:02d} GMT\t<{id_}@x>\t\t"
        f"{1000 + number}\t7\tXref: h {GROUP}:{number}\r\n".encode()
        for number, (subject, id_) in zip(numbers, lines, strict=True)
    ]


@given(posted(), st.integers(0, 40), st.integers(0, 60))
def test_reposts_and_equal_counters_agree(lines, low, high):
    bounds = {"low": low, "high": high} if low <= high else {}
    assert_agree([b"".join(lines)], **bounds)


@given(posted(), st.randoms())
def test_files_do_not_depend_on_the_order_of_lines(lines, chance):
    first = engine([b"".join(lines)])
    chance.shuffle(lines)
    second = engine([b"".join(lines)])
    assert first[0] == second[0]
    assert first[1] == second[1]


_NAMES = ["alt.binaries.test", "alt.binaries.misc", "alt.binaries.a", "a.b.test"]


@given(
    st.dictionaries(st.sampled_from(_NAMES), st.integers(1, 5), max_size=4),
    st.lists(
        st.lists(st.sampled_from([*_NAMES, "alt.binaries.unknown"]), max_size=4),
        min_size=1,
        max_size=6,
    ),
)
def test_owners_of_crossposts_agree(groups, xrefs):
    lines = [
        f'{n}\t"f{n}.rar" (1/1)\tp\t\t<{n}@x>\t\t1\t1\tXref: host '
        f"{' '.join(f'{name}:{n}' for name in names)}\r\n".encode()
        for n, names in enumerate(xrefs, 1)
    ]
    assert_agree([b"".join(lines)], groups=groups)
