"""Common words are looked for back in time, in as many weeks as it takes."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.integration.test_search import NOW, names
from tests.integration.test_search_ways import counted, plan_of  # noqa: F401 - a fixture
from tests.support.spans import add_ranges
from voyager_core.catalog import search as module
from voyager_core.catalog import search_ways
from voyager_core.catalog.connect import connect
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.search import SearchQuery, search
from voyager_core.domain.tokens import token_hash

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def decade(postgres_server):
    """Releases of ten years; the number in a name tells which words it has."""
    dsn = postgres_server.dsn("decade")
    migrate(dsn)
    with connect(dsn) as conn:
        add_ranges(conn)
        conn.execute(
            "insert into release (release_key, generation, newsgroup_id, category, posted_at,"
            " last_posted_at, listed_at, changed_at, files, segments, size_bytes, has_par2,"
            " is_readable, group_ids, tok, name, season, episode)"
            " select i, 0, 1, case when i %% 7 = 0 then 3010 else 5040 end, t, t, now(), now(),"
            " 1, 1, i, false, true, array[7], array_remove(array[%s,"
            " case when i %% 3 = 0 then %s end, case when i %% 50 = 0 then %s end], null),"
            " 'r' || i, 1 + i %% 9, 1 + i %% 5"
            " from generate_series(1, 6000) as i,"
            " lateral (select %s - make_interval(hours => i * 14) as t) as p",
            [*map(token_hash, ("common", "third", "fiftieth")), NOW],
        )
        conn.execute("vacuum analyze release")
        yield conn


NEWEST = {
    "all": (SearchQuery("common"), lambda i: i > 0),
    "a third": (SearchQuery("third"), lambda i: i % 3 == 0),
    "two words": (SearchQuery("third fiftieth"), lambda i: i % 150 == 0),
    "excluded": (SearchQuery("third -fiftieth"), lambda i: i % 3 == 0 and i % 50),
    "category": (SearchQuery("third", categories=[3000]), lambda i: i % 21 == 0),
    "child": (SearchQuery("third", categories=[3010]), lambda i: i % 21 == 0),
    "children": (SearchQuery("third", categories=[3010, 5000]), lambda i: i % 3 == 0),
    "no category": (SearchQuery("third", categories=[3020, 7000, -3]), lambda i: i < 0),
    "trait": (
        SearchQuery("common", categories=[5020, 3010]),
        lambda i: i % 7 == 0,
    ),
    "episode": (SearchQuery("third", episode=2), lambda i: i % 3 == 0 and i % 5 == 1),
    "young": (SearchQuery("common", max_age=100), lambda i: i * 14 < 2400),
    "old": (SearchQuery("third", min_age=500), lambda i: i % 3 == 0 and i * 14 > 12_000),
    "between": (
        SearchQuery("third", max_age=600, min_age=500),
        lambda i: i % 3 == 0 and 12_000 < i * 14 < 14_400,
    ),
    "next page": (
        SearchQuery("third", before=(NOW - timedelta(hours=14 * 2000), 1 << 40)),
        lambda i: i % 3 == 0 and i >= 2000,
    ),
    "large": (SearchQuery("common", min_size=5900), lambda i: i >= 5900),
    "small": (SearchQuery("common", max_size=3), lambda i: i <= 3),
}


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("entries", [40, 400, 20_000])
@pytest.mark.parametrize("name", NEWEST)
def test_newest_weeks_hold_the_newest_matches(decade, monkeypatch, name, entries):
    """Whether they are looked into at once or in many steps."""
    query, fits = NEWEST[name]
    monkeypatch.setattr(search_ways, "choose_way", lambda *_: "weeks")
    monkeypatch.setattr(search_ways, "_MOST_AT_ONCE", entries)
    expected = [f"r{i}" for i in range(1, 6001) if fits(i)]
    page = search(decade, replace(query, limit=1000))
    assert names(page) == expected[: len(page.items)]
    assert page.total == len(page.items)
    assert len(page.items) == min(50, len(expected)) or page.is_least


@pytest.mark.usefixtures("counted")
def test_a_search_goes_back_no_further_than_it_must(decade, monkeypatch):
    """The words go together more often than is known: few weeks are enough."""
    looked = []
    real = module._newest
    monkeypatch.setattr(search_ways, "choose_way", lambda *_: "weeks")
    monkeypatch.setattr(search_ways, "_MOST_AT_ONCE", 60)
    monkeypatch.setattr(
        module, "_newest", lambda conn, hits: looked.append(hits.weeks.start) or real(conn, hits)
    )
    expected = [f"r{i}" for i in range(1, 6001) if i % 150 == 0]
    assert names(search(decade, SearchQuery("third fiftieth"))) == expected
    assert len(looked) >= 2
    assert looked == sorted(looked, reverse=True)
    looked.clear()
    assert search(decade, SearchQuery("common third")).total == 50
    assert looked[-1] > NOW - timedelta(hours=14 * 450)


@pytest.mark.usefixtures("counted")
def test_common_words_are_looked_for_in_few_weeks(decade, monkeypatch):
    monkeypatch.setattr(search_ways, "choose_way", lambda *_: "weeks")
    plan = plan_of(decade, SearchQuery("third"))
    used = set(re.findall(r"release_[a-z_]+", plan)) - {"release_id"}
    assert used == {"release_tok", "release_posted"}
    assert "ARRAY" in plan
    read = decade.execute("select count(*) from release where posted_at > %s",
                          [NOW - timedelta(days=200)]).fetchone()[0]  # fmt: skip
    (rows,) = re.findall(
        r"Bitmap Heap Scan.*?actual.*?rows=(\d+)",
        plan_of(decade, SearchQuery("third"), "explain analyze"),
    )
    assert int(rows) < read


@pytest.mark.usefixtures("counted")
def test_what_the_newest_weeks_do_not_hold_is_looked_for_in_all(decade, monkeypatch):
    """Both words are common, but the statistics know nothing of their going together."""
    monkeypatch.setattr(search_ways, "choose_way", lambda *_: "weeks")
    decade.execute("update release set tok = tok || %s where name = 'r5999'",
                   [[token_hash("fiftieth"), token_hash("late")]])  # fmt: skip
    try:
        page = search(decade, SearchQuery("third fiftieth -common"))
        assert (names(page), page.is_least) == ([], False)
        page = search(decade, SearchQuery("common fiftieth -third -late", limit=1000))
        assert len(page.items) == 50
    finally:
        decade.execute("update release set tok = tok[1:1] where name = 'r5999'")


@pytest.fixture
def odd_times(decade):
    """Releases that were stored after the statistics: of long ago, and by clocks far ahead."""
    moments = {"ancient": -20_000, "early": -15_000, "ahead": 30, "far ahead": 25_000}
    decade.execute(
        "insert into release (release_key, generation, newsgroup_id, category, posted_at,"
        " last_posted_at, listed_at, changed_at, files, segments, size_bytes, has_par2,"
        " is_readable, group_ids, tok, name)"
        " select 10000 + i, 0, 1, 5040, t, t, now(), now(), 1, 1, 1, false, true, array[7],"
        " array[%s, %s], name from unnest(%s::text[], %s::integer[]) with ordinality"
        " as new (name, days, i), lateral (select now() + make_interval(days => days) as t) as p",
        [*map(token_hash, ("common", "third")), list(moments), list(moments.values())],
    )
    yield
    decade.execute("delete from release where release_key > 10000")


@pytest.mark.usefixtures("counted", "odd_times")
@pytest.mark.parametrize("text", ["third", "common third"])
def test_weeks_lose_neither_the_oldest_nor_what_clocks_ahead_posted(decade, monkeypatch, text):
    monkeypatch.setattr(search_ways, "choose_way", lambda *_: "weeks")
    newest = names(search(decade, SearchQuery(text, limit=4)))
    assert newest == ["far ahead", "ahead", "r3", "r6"]
    assert names(search(decade, SearchQuery(text, max_age=3, limit=3))) == newest[:3]
    assert names(search(decade, SearchQuery(text, min_age=3, limit=1))) == ["r6"]
    between = (datetime.now(UTC) + timedelta(days=60), 1)
    assert names(search(decade, SearchQuery(text, before=between, limit=2))) == ["ahead", "r3"]
    last = (NOW - timedelta(hours=14 * 5999), 1)
    found = names(search(decade, SearchQuery(text, before=last)))
    assert found == ["r6000", "early", "ancient"]


@pytest.mark.usefixtures("counted")
def test_a_filter_that_only_old_releases_fit_is_answered_whole(decade, monkeypatch):
    """Most weeks would have to be asked for, which is when their keys help no more."""
    monkeypatch.setattr(search_ways, "choose_way", lambda *_: "weeks")
    monkeypatch.setattr(search_ways, "_A_PAGE", 10)
    page = search(decade, SearchQuery("third", min_size=5980, categories=[5000]))
    expected = [f"r{i}" for i in range(5980, 6001) if i % 3 == 0 and i % 7]
    assert (names(page), page.is_least) == (expected, False)
