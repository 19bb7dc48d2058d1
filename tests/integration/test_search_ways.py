"""A search takes the cheapest way, through an index, and every way finds the same."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from psycopg import ClientCursor

from tests.integration.test_search import NOW, names
from tests.support.spans import add_ranges
from voyager_core.catalog import search as module
from voyager_core.catalog import search_hits, search_statistics, search_ways
from voyager_core.catalog.connect import connect
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.releases import COLUMNS, TABLES, Release
from voyager_core.catalog.search import SearchQuery, search
from voyager_core.domain.tokens import token_hash

pytestmark = pytest.mark.postgres


def plan_of(conn, query: SearchQuery, how: str = "explain") -> str:
    """Returns the plan of the search's first statement that finds hits."""
    plans: list[str] = []
    real = module._newest

    def explain(inner, hits):
        # As a search prepares it: one plan, whatever the values.
        used = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", hits.sql)))
        places = {name: f"${at}" for at, name in enumerate(used, start=1)}
        inner.execute(f"prepare asked as {hits.sql % places}")
        values = ", ".join(["%s"] * len(used))
        rows = (
            ClientCursor(inner)
            .execute(
                f"{how} execute asked" + (f" ({values})" if used else ""),
                [hits.values[name] for name in used],
            )
            .fetchall()
        )
        inner.execute("deallocate asked")
        plans.append("\n".join(row[0] for row in rows))
        return real(inner, hits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_newest", explain)
        search(conn, query)
    return plans[0]


@pytest.fixture(scope="module")
def big(postgres_server):
    """A catalog with enough releases for the planner to have a choice."""
    dsn = postgres_server.dsn("big")
    migrate(dsn)
    with connect(dsn) as conn:
        add_ranges(conn)
        conn.execute(
            "insert into release (release_key, generation, newsgroup_id, category, posted_at,"
            " last_posted_at, listed_at, changed_at, files, segments, size_bytes, has_par2,"
            " is_readable, group_ids, tok, name, season, season_last, episode, episode_last,"
            " aired_on)"
            " select i, 0, 1, case when i %% 1000 = 0 then 1060 else 5040 end, t, t, now(), now(),"
            " 1, 1, 1, false, true, array[case when i %% 500 = 0 then 8 else 7 end],"
            " array[%s, i::int], 'common ' || i, 1 + i %% 50, 1 + i %% 50, 1 + i / 50 %% 20,"
            " 1 + i / 50 %% 20 + (i %% 300 = 0)::int,"
            " case when i %% 100 = 0 then date '2020-01-01' + i / 100 end"
            " from generate_series(1, 30000) as i,"
            " lateral (select now() - make_interval(days => 10, mins => i::int) as t) as p",
            [token_hash("common")],
        )
        conn.execute("insert into group_name overriding system value values (7, 'g7'), (8, 'g8')")
        conn.execute("vacuum analyze release")
        yield conn


@pytest.fixture
def counted(monkeypatch):
    """A catalog that is taken for a large one, and totals that end at 50."""
    monkeypatch.setattr(search_ways, "FEW_RELEASES", 1000)
    monkeypatch.setattr(search_ways, "TOTAL_CAP", 50)
    monkeypatch.setattr(module, "_all_match", lambda *_: True)


@pytest.mark.usefixtures("counted")
def test_rare_word_goes_through_the_index_of_words(big):
    assert "release_tok" in plan_of(big, SearchQuery("unheardof"))


@pytest.mark.usefixtures("counted")
def test_common_word_walks_back_in_time(big):
    plan = plan_of(big, SearchQuery("common"))
    assert "release_posted" in plan
    assert "release_tok" not in plan
    assert "Sort" not in plan
    page = search(big, SearchQuery("common", limit=3))
    assert (page.total, names(page)) == (50, ["common 1", "common 2", "common 3"])


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize(
    ("query", "indexes"),
    [
        (SearchQuery(season=3, episode=7), "release_episode release_episode_range"),
        (
            SearchQuery(season=3, episode=7, categories=[5000]),
            "release_episode release_episode_range",
        ),
        (SearchQuery("common", season=3, episode=7), "release_episode release_episode_range"),
        (SearchQuery("common", season=3, group="g8"), "release_group_ids"),
        (SearchQuery(season=77), "release_episode release_episode_range"),
        (SearchQuery(airdate=date(2020, 3, 1)), "release_aired release_tok"),
        (SearchQuery(group="g8"), "release_group_ids"),
        (SearchQuery(group="g7"), "release_feed"),
        (SearchQuery(min_size=5), "release_feed"),
        (SearchQuery(poster="x", categories=[5000]), "release_category_feed"),
        (SearchQuery(categories=[5020]), "release_category_feed"),
        (SearchQuery("unheardof", categories=[5090]), "release_tok"),
        (SearchQuery(max_age=12), "release_feed"),
        (SearchQuery("common", max_age=12), "release_posted"),
        (SearchQuery("-common"), "release_feed"),
        (SearchQuery("common", categories=[1000]), "release_posted"),
        (SearchQuery("unheardof common", season=3), "release_tok"),
    ],
    ids=str,
)
def test_every_search_goes_through_an_index(big, query, indexes):
    plan = plan_of(big, query)
    assert set(re.findall(r"release_[a-z_]+", plan)) - {"release_id"} == set(indexes.split())
    assert "Seq Scan" not in plan


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("episode", [None, 7])
def test_words_and_a_place_are_compared_before_releases_are_read(big, monkeypatch, episode):
    """Double episodes and packs, which may hold the place, come from an index of their own."""
    monkeypatch.setattr(search_ways, "choose_way", lambda *_: "both")
    plan = plan_of(big, SearchQuery("common 4007", season=7, episode=episode))
    assert set(re.findall(r"release_[a-z_]+", plan)) - {"release_id"} == {
        "release_tok",
        "release_range_tok",
    }
    assert "Seq Scan" not in plan


@pytest.mark.usefixtures("counted")
def test_the_weeks_of_a_search_are_worked_out_once(big, monkeypatch):
    asked = []
    real = search_hits.first_weeks
    monkeypatch.setattr(search_hits, "first_weeks", lambda *a: asked.append(a) or real(*a))
    search(big, SearchQuery("common"))
    assert len(asked) == 1


@pytest.mark.usefixtures("counted")
def test_a_season_and_episode_are_read_from_their_index_newest_first(big):
    for episode in (1, 2):
        rows = big.execute(
            "select name from release where 1 between season and season_last and %s between"
            " episode and episode_last order by feed_at desc, release_id desc limit 50",
            [episode],
        ).fetchall()
        page = search(big, SearchQuery(season=1, episode=episode, limit=1000))
        assert len(rows) >= 30
        assert names(page) == [name for (name,) in rows]


@pytest.mark.usefixtures("counted")
def test_a_walk_ends_and_the_page_says_that_there_may_be_more(big, monkeypatch):
    assert names(search(big, SearchQuery(max_size=1, limit=2))) == ["common 1", "common 2"]
    big.execute("update release set size_bytes = 9 where name in ('common 20000', 'common 5')")
    page = search(big, SearchQuery(min_size=9))
    assert (names(page), page.is_least) == (["common 5", "common 20000"], False)
    monkeypatch.setattr(search_ways, "REACH_OF_FILTERS", 400)
    page = search(big, SearchQuery(min_size=9))
    assert (names(page), page.total, page.is_least) == (["common 5"], 1, True)
    # The newest are never cut, nor what an index leads to.
    monkeypatch.setattr(search_ways, "REACH_OF_FILTERS", 60)
    assert search(big, SearchQuery()).total == 50
    assert not search(big, SearchQuery("unheardof")).is_least


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


@pytest.mark.parametrize("index", ["release_tok", "release_range_tok"])
def test_few_words_wait_to_be_put_into_their_lists(big, index):
    """Every search reads all that wait."""
    (options,) = big.execute(
        "select reloptions from pg_class where oid = %s::regclass", [index]
    ).fetchone()
    settings = dict(option.split("=") for option in options)
    assert settings["fastupdate"] == "on"
    assert int(settings["gin_pending_list_limit"]) <= 2048


def test_statistics_are_not_read_at_every_search(big):
    search_statistics.forget()
    first = search_statistics.statistics_of(big)
    assert first is search_statistics.statistics_of(big)
    assert first.releases == 30_000
    assert first.words[token_hash("common")] == pytest.approx(1)
    assert first.within([(5000, 5999)]) == pytest.approx(0.999, abs=0.001)


def test_intarray_does_not_take_the_index_away(big, monkeypatch):
    monkeypatch.setattr(search_ways, "FEW_RELEASES", 1000)
    big.execute("create extension intarray")
    try:
        assert "release_tok" in plan_of(big, SearchQuery("unheardof"))
    finally:
        big.execute("drop extension intarray")


def test_columns_are_in_the_order_of_a_release(big):
    columns = [each.name for each in big.execute(f"select {COLUMNS} from {TABLES}").description]
    assert columns[2:] == list(Release._fields)[1:]


def test_rare_category_is_read_from_its_own_index(big):
    plan = plan_of(big, SearchQuery(categories=[1000]))
    assert "release_category_feed" in plan
    page = search(big, SearchQuery(categories=[1000], limit=2))
    assert (page.total, names(page)) == (30, ["common 1000", "common 2000"])


def test_feed_is_read_from_its_index(big, monkeypatch):
    monkeypatch.setattr(search_ways, "TOTAL_CAP", 50)
    plan = plan_of(big, SearchQuery())
    assert "release_feed" in plan
    assert "Sort" not in plan
