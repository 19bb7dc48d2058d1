"""A search finds what its words and filters ask for, newest first, with a true total."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.spans import GROUP, add_ranges, built, release, store
from voyager_core.catalog import search as module
from voyager_core.catalog import search_statistics, search_ways
from voyager_core.catalog.connect import connect
from voyager_core.catalog.errors import StatementTimeout
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.search import SearchPage, SearchQuery, search
from voyager_core.catalog.search_filters import Where, place_of
from voyager_core.domain.tokens import matches, query_terms, token_hash

pytestmark = pytest.mark.postgres

NOW = datetime.now(UTC).replace(microsecond=0)

NAMES = (
    "Some.Show.S01E02.1080p.WEB-DL.x264-GRP",
    "Some.Show.S01E03.720p.HDTV.x264-GRP",
    "Some.Show.S02.German.1080p",
    "Some.Film.2019.1080p.BluRay.H.264-OTHER",
    "Grey's.Anatomy.S01E01",
    "9-1-1.S01E01.The.Pilot",
    "Tom.&.Jerry.2021",
    "Up.2009",
    "Beyoncé.Live",
    "The.Daily.2026.10.09.720p",
    "龙之家族.第一季",
    "alt.tool.v2",
)


def ago(**values: float) -> datetime:
    return NOW - timedelta(**values)


def fill(conn, *rows: dict[str, Any]) -> None:
    """Stores releases with keys 1, 2, 3 …; each row is what differs from the usual release."""
    (range_id,) = add_ranges(conn)
    releases = []
    for at, row in enumerate(rows, start=1):
        posted = row.pop("posted_at", ago(days=30, hours=at))
        releases.append(release(at, posted_at=posted, last_posted_at=posted, **row))
    assert store(conn, range_id, 1, 1000, built(releases)).stored


def names(page: SearchPage) -> list[str]:
    return [item.name for item in page.items]


def find(conn, text: str = "", **values: Any) -> list[str]:
    page = search(conn, SearchQuery(text=text, **values))
    assert page.total == len(page.items)
    return names(page)


@pytest.fixture(params=["index", "walk"])
def way(request, monkeypatch):
    """Both ways of searching for words, whatever the number of releases suggests."""
    monkeypatch.setattr(search_ways, "choose_way", lambda *_: request.param)


@pytest.fixture(scope="module")
def filled(postgres_server):
    """A catalog of the names above, to read only."""
    dsn = postgres_server.dsn("filled")
    migrate(dsn)
    with connect(dsn) as conn:
        fill(conn, *({"name": name} for name in NAMES))
        yield conn


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("some show", [0, 1, 2]),
        ("SHOW.some_1080P", [0, 2]),
        ("s01e02", [0]),
        ("h264", [3]),
        ("web dl", [0]),
        ("greys anatomy", [4]),
        ("9-1-1", [5]),
        ("911", []),
        ("tom and jerry", [6]),
        ("the pilot", [5]),
        ("up", [7]),
        ("beyonce", [8]),
        ("家族", [10]),
        ("some -1080p", [1]),
        ("some --1080p !720p", []),
        ("-some -grey's -9-1-1", [6, 7, 8, 9, 10, 11]),
        ('"show s02"', [2]),
        ('"s02 show"', []),
        ('"some film"', [3]),
        ('some "german 1080p"', [2]),
        ("nothing like it", []),
        ("v2", [11]),
    ],
)
def test_words(filled, text, expected):
    assert find(filled, text) == [NAMES[at] for at in expected]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("text", ["", " ", "\0", "\u202e", "\ud800"])
def test_a_blank_text_asks_for_everything(filled, text):
    assert len(find(filled, text)) == len(NAMES)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("text", ["%", "\\", '"', "''", "-", "!", "*", "(", "|", "&", "\U0001f600"])
def test_signs_alone_find_nothing(filled, text):
    assert find(filled, text) == []


@pytest.mark.usefixtures("way")
def test_very_long_text_is_no_error(filled):
    assert find(filled, "word " * 20_000 + " ".join(map(str, range(20_000)))) == []


def test_parent_category_means_all_its_children(catalog):
    fill(
        catalog,
        *({"name": f"n{c}", "category": c} for c in (0, 10, 2040, 5000, 5030, 5040, 5999, 6000)),
    )
    assert find(catalog, categories=[5000]) == ["n5000", "n5030", "n5040", "n5999"]
    assert find(catalog, categories=[5030, 5040, 5030]) == ["n5030", "n5040"]
    assert find(catalog, categories=[5040, 5000]) == ["n5000", "n5030", "n5040", "n5999"]
    assert find(catalog, categories=[0]) == ["n0", "n10"]
    assert find(catalog, categories=[7000, 123_456]) == []
    assert find(catalog, categories=[1 << 40, -5]) == []
    assert find(catalog, "n5040", categories=[5000]) == ["n5040"]
    assert find(catalog, "n5040", categories=[2000]) == []
    assert find(catalog, "n5040", categories=[-5]) == []


def test_a_category_that_is_a_trait_finds_what_has_it(catalog):
    fill(
        catalog,
        {"name": "A.S01E01.German.1080p.WEB.x264-G", "source": "WEB", "language": "German"},
        {"name": "B.S01E01.1080p.WEB-DL.H.265-G", "source": "WEB-DL"},
        {"name": "C.S01E01.English.HEVC.720p-G", "language": "English", "category": 5030},
        {"name": "D.2019.MULTi.x265-G", "language": "English, Multi", "category": 2040},
        {"name": "E.2160p", "category": 5045},
    )
    a, b, c, d, e = (name for (name,) in catalog.execute("select name from release order by 1"))
    assert find(catalog, categories=[5020]) == [a]
    assert find(catalog, categories=[2010]) == [d]
    assert find(catalog, categories=[5010]) == [a, b]
    assert find(catalog, categories=[5090]) == [b, c]
    assert find(catalog, categories=[2090, 5020]) == [a, d]
    assert find(catalog, categories=[5045, 5020, 5090]) == [a, b, c, e]
    assert find(catalog, categories=[5000, 5020]) == [a, b, c, e]
    assert find(catalog, categories=[3060, 7060, 6090]) == []
    assert find(catalog, "s01e01", categories=[5010], max_age=60) == [a, b]
    assert find(catalog, categories=[5020], before=(NOW - timedelta(days=31), 1)) == []


def test_season_and_episode(catalog):
    fill(
        catalog,
        {"name": "e", "season": 3, "episode": 5},
        {"name": "double", "season": 3, "episode": 4, "episode_last": 6},
        {"name": "pack", "season": 3},
        {"name": "box", "season": 1, "season_last": 5},
        {"name": "special", "season": 0, "episode": 5},
        {"name": "other", "season": 4, "episode": 5},
        {"name": "film"},
    )
    assert find(catalog, season=3, episode=5) == ["e", "double"]
    assert find(catalog, season=3) == ["e", "double", "pack", "box"]
    assert find(catalog, season=0, episode=5) == ["special"]
    assert find(catalog, episode=5) == ["e", "double", "special", "other"]
    assert find(catalog, "double", season=3, episode=6) == ["double"]
    assert find(catalog, season=1 << 40, episode=-(1 << 40)) == []


def test_daily_show(catalog):
    fill(
        catalog,
        {"name": "dated", "aired_on": date(2026, 10, 9)},
        {"name": "Words.2026.10.09"},
        {"name": "Words.09.10.2026"},
        {"name": "other", "aired_on": date(2026, 10, 8)},
        {"name": "year", "season": 2026, "episode": 3},
        {"name": "before", "aired_on": date(2025, 12, 31)},
    )
    assert find(catalog, airdate=date(2026, 10, 9)) == [
        "dated",
        "Words.2026.10.09",
        "Words.09.10.2026",
    ]
    assert find(catalog, season=2026) == ["dated", "other", "year"]


def test_ages_and_sizes(catalog):
    fill(
        catalog,
        {"name": "new", "posted_at": ago(hours=2), "size_bytes": 10},
        {"name": "week", "posted_at": ago(days=7), "size_bytes": 20},
        {"name": "old", "posted_at": ago(days=400), "size_bytes": 1 << 40},
    )
    assert find(catalog, max_age=1) == ["new"]
    assert find(catalog, min_age=1, max_age=30) == ["week"]
    assert find(catalog, min_age=8) == ["old"]
    assert find(catalog, min_size=20) == ["week", "old"]
    assert find(catalog, max_size=20) == ["new", "week"]
    assert find(catalog, "week", min_size=20, max_size=20) == ["week"]
    huge = 1 << 90
    assert find(catalog, max_age=huge, min_age=-huge, max_size=huge, min_size=-huge) == [
        "new",
        "week",
        "old",
    ]
    assert find(catalog, min_age=huge) == []


def test_group_is_an_exact_name_and_crossposts_count(catalog):
    fill(
        catalog,
        {"name": "own"},
        {"name": "cross", "groups": [GROUP, "alt.binaries.misc"]},
    )
    assert find(catalog, group=GROUP) == ["own", "cross"]
    assert find(catalog, group="alt.binaries.misc") == ["cross"]
    for unknown in ("alt.binaries", "ALT.BINARIES.TEST", "alt.%", "", "\0"):
        assert find(catalog, group=unknown) == []


def test_poster_password_and_completion(catalog):
    fill(
        catalog,
        {"name": "a", "poster": "Joe <joe@x.example>"},
        {"name": "b", "poster": None, "segments": 5, "segments_expected": 10},
        {"name": "c", "files": 1, "files_expected": 4, "segments_expected": None},
    )
    catalog.execute("update release set password = 1 where name = 'b'")
    assert find(catalog, poster="JOE@x") == ["a"]
    assert find(catalog, poster="%") == []
    assert find(catalog, poster="\0joe") == ["a"]
    assert find(catalog, password=0) == ["a", "c"]
    assert find(catalog, password=1) == ["a", "b", "c"]
    assert find(catalog, min_completion=100) == ["a"]
    assert find(catalog, min_completion=50) == ["a", "b"]
    assert find(catalog, min_completion=25) == ["a", "b", "c"]
    assert find(catalog, min_completion=0) == ["a", "b", "c"]


def test_pages_follow_each_other_and_the_total_stays(catalog):
    fill(
        catalog,
        *(
            # Several posted in the same second.
            {"name": f"common.n{at}", "posted_at": ago(days=20, hours=at // 3)}
            for at in range(25)
        ),
    )
    for text in ("common", "", '"common"', "-other"):
        seen: list[str] = []
        for offset in range(0, 40, 4):
            page = search(catalog, SearchQuery(text=text, limit=4, offset=offset))
            assert page.total == 25
            assert len(page.items) == max(0, min(4, 25 - offset))
            seen += [item.public_id for item in page.items]
        assert len(set(seen)) == len(seen) == 25
        whole = search(catalog, SearchQuery(text=text, limit=1000))
        assert [item.public_id for item in whole.items] == seen
        posted = [item.posted_at for item in whole.items]
        assert posted == sorted(posted, reverse=True)


@pytest.mark.parametrize(("limit", "offset"), [(0, 0), (-5, 3), (5, 10**12)])
def test_odd_pages_are_empty_and_still_have_the_total(filled, limit, offset):
    for text in ("some", "", '"some show"'):
        page = search(filled, SearchQuery(text=text, limit=limit, offset=offset))
        assert page.items == []
        assert page.total > 1


def test_negative_offset_is_the_first_page(filled):
    assert len(search(filled, SearchQuery(offset=-3)).items) == len(NAMES)


def test_limit_is_bounded(filled, monkeypatch):
    monkeypatch.setattr(module, "MAX_LIMIT", 3)
    assert len(search(filled, SearchQuery(limit=10**9)).items) == 3


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("query", [SearchQuery("some"), SearchQuery(), SearchQuery('"some"')])
def test_total_and_pages_end_at_the_cap(filled, monkeypatch, query):
    monkeypatch.setattr(search_ways, "TOTAL_CAP", 2)
    page = search(filled, query)
    assert (page.total, len(page.items)) == (2, 2)


@pytest.mark.usefixtures("way")
def test_words_with_one_hash_are_told_apart_by_the_name(catalog):
    # crc32 of both is the same.
    assert token_hash("plumless") == token_hash("buckeroo")
    fill(catalog, {"name": "Plumless.One"}, {"name": "Buckeroo.Two"}, {"name": "Plumless.Three"})
    assert find(catalog, "plumless") == ["Plumless.One", "Plumless.Three"]
    assert find(catalog, "buckeroo") == ["Buckeroo.Two"]
    page = search(catalog, SearchQuery("plumless", limit=1, offset=1))
    assert (page.total, names(page)) == (2, ["Plumless.Three"])


def test_feed_goes_by_listing_for_new_posts_and_by_posting_for_history(catalog):
    fill(
        catalog,
        {"name": "late.post", "posted_at": ago(days=6)},
        {"name": "new.post", "posted_at": ago(hours=1)},
        {"name": "history.post", "posted_at": ago(days=3000)},
        {"name": "older.post", "posted_at": ago(days=4000)},
    )
    catalog.execute("update release set listed_at = %s where name = 'new.post'", [ago(minutes=50)])
    # What was posted six days ago was listed after what was posted an hour ago.
    by_listing = ["late.post", "new.post", "history.post", "older.post"]
    assert find(catalog) == by_listing
    assert find(catalog, categories=[5000]) == by_listing
    assert find(catalog, "-x") == by_listing
    # With words the posting date alone decides.
    assert find(catalog, "post") == ["new.post", "late.post", "history.post", "older.post"]
    for item in search(catalog, SearchQuery()).items:
        is_new = item.name in ("late.post", "new.post")
        assert item.feed_at == (item.listed_at if is_new else item.posted_at)


def test_rare_and_common_categories_are_merged_by_date(catalog):
    fill(
        catalog,
        *({"name": f"n{at}", "category": (5040, 5030, 1060)[at % 3]} for at in range(9)),
    )
    assert find(catalog, categories=[5000, 1000]) == [f"n{at}" for at in range(9)]


def test_slow_search_is_stopped(catalog):
    fill(catalog, {"name": "a"})
    with connect(catalog.info.dsn + f" password={catalog.info.password}") as holder:
        holder.execute("begin; lock table release in access exclusive mode")
        with pytest.raises(StatementTimeout, match="searching"):
            search(catalog, SearchQuery(), statement_timeout_seconds=0.05)
        holder.execute("rollback")
    assert find(catalog) == ["a"]
    assert catalog.execute("show statement_timeout").fetchone() == ("0",)


def test_merged_release_is_found_once(catalog):
    ids = add_ranges(catalog, 3)
    for at, hour in ((0, 0), (2, 90), (1, 45)):
        row = release(1, hour, name="Some.Name")
        store(catalog, ids[at], at * 1000 + 1, at * 1000 + 1000, built([row]))
    assert find(catalog, "some name") == ["Some.Name"]


_WORDS = ("some", "show", "s01e02", "1080p", "x264", "grey's", "film", "german", "h.264", "two")
_texts = st.lists(
    st.tuples(st.sampled_from(["", "", "", "-", "!"]), st.sampled_from(_WORDS)), max_size=4
).map(lambda words: " ".join(sign + word for sign, word in words))


@given(
    st.lists(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=5), min_size=1, max_size=12),
    st.lists(st.one_of(_texts, _texts.map(lambda text: f'"{text}"')), min_size=1, max_size=4),
)
@example([["some", "show"]], ["-some"])
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_both_ways_find_what_the_names_say(catalog, monkeypatch, rows, texts):
    catalog.execute("truncate release, chunk, range, newsgroup restart identity cascade")
    found = [".".join(words) for words in rows]
    fill(catalog, *({"name": name} for name in found))
    for text in texts:
        terms = query_terms(text)
        expected = [name for name in found if matches(name, terms)]
        for way in ("index", "walk"):
            monkeypatch.setattr(search_ways, "choose_way", lambda *_, way=way: way)
            assert find(catalog, text) == expected


_season = st.one_of(st.none(), st.integers(0, 3), st.just(2019), st.just(2**31 - 1))
_episode = st.one_of(st.none(), st.integers(0, 3), st.just(2**31 - 1))
_asked = st.one_of(st.none(), st.integers(-4, 4), st.just(2019), st.just(2**31 - 1))


@st.composite
def _series(draw):
    """What a name says of a show: its words, season and episode with their ends, and date."""
    season, episode = draw(_season), draw(_episode)
    ahead = st.one_of(st.none(), st.integers(1, 2))
    more = [draw(ahead) if at is not None and at < 2019 else None for at in (season, episode)]
    return {
        "words": draw(st.lists(st.sampled_from(("show", "film", "x264")), max_size=2)),
        "season": season,
        "season_last": None if more[0] is None else season + more[0],
        "episode": None if season is None else episode,
        "episode_last": None if season is None or more[1] is None else episode + more[1],
        "aired_on": draw(st.sampled_from((None, None, date(2019, 5, 1), date(2020, 5, 1)))),
    }


def is_asked(row: dict[str, Any], season: int | None, episode: int | None) -> bool:
    first, last = row["season"], row["season_last"]
    aired = row["aired_on"]
    if season is not None:
        by_number = first is not None and first <= season <= (first if last is None else last)
        if not by_number and (aired is None or aired.year != season):
            return False
    first, last = row["episode"], row["episode_last"]
    return episode is None or (
        first is not None and first <= episode <= (first if last is None else last)
    )


@given(st.lists(_series(), min_size=1, max_size=12), _asked, _asked)
@example([{"words": ["show"], "season": 0, "season_last": None, "episode": 4,
           "episode_last": None, "aired_on": None}], -5, None)  # fmt: skip
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_way_finds_the_same_episodes(catalog, monkeypatch, rows, season, episode):
    catalog.execute("truncate release, chunk, range, newsgroup restart identity cascade")
    titles = [".".join([*row.pop("words"), f"n{at}"]) for at, row in enumerate(rows)]
    fill(catalog, *({**row, "name": name} for row, name in zip(rows, titles, strict=True)))
    for text in ("show", "show x264", ""):
        expected = [
            name
            for name, row in zip(titles, rows, strict=True)
            if set(text.split()) <= set(name.split(".")) and is_asked(row, season, episode)
        ]
        query = SearchQuery(text=text, season=season, episode=episode)
        ways = {"index", "walk", search_ways.choose_way(asking(query), FEW)}
        for way in sorted(ways | ({"place"} if season is not None else set())):
            with monkeypatch.context() as patch:
                patch.setattr(search_ways, "choose_way", lambda *_, way=way: way)
                assert find(catalog, text, season=season, episode=episode) == expected, way


FEW = search_statistics.Statistics(releases=10.0)


def asking(query: SearchQuery) -> search_ways.Request:
    return search_ways.Request(query_terms(query.text), Where(), place_of(query), [], NOW)


@pytest.mark.parametrize(
    ("query", "way"),
    [
        (SearchQuery("show", season=3, episode=5), "both"),
        (SearchQuery("show", season=3), "both"),
        (SearchQuery("show", season=-3), "index"),
        (SearchQuery("show", episode=5), "index"),
        (SearchQuery("show", season=3, episode=-1), "index"),
        (SearchQuery(season=3, episode=5), "place"),
    ],
    ids=str,
)
def test_words_with_an_episode_are_asked_of_the_index_that_holds_both(query, way):
    assert search_ways.choose_way(asking(query), FEW) == way


_number = st.one_of(st.none(), st.integers(-5, 5000), st.integers())
_any = st.one_of(
    st.text(max_size=30),
    st.text(alphabet='"-! a\0%\\*', max_size=20),
    st.text(alphabet=st.characters(categories=["Cs", "Lo", "Cc"]), max_size=10),
)


@given(
    st.builds(
        SearchQuery,
        text=_any,
        categories=st.lists(st.integers(), max_size=3),
        season=_number,
        episode=_number,
        airdate=st.one_of(st.none(), st.dates()),
        group=st.one_of(st.none(), _any),
        poster=st.one_of(st.none(), _any),
        min_age=_number,
        max_age=_number,
        min_size=_number,
        max_size=_number,
        password=_number,
        min_completion=_number,
        limit=st.integers(),
        offset=st.integers(),
    )
)
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_search_is_answered(filled, query):
    page = search(filled, query)
    assert len(page.items) <= page.total <= len(NAMES)
