"""A search takes the cheapest way, through an index, and every way finds the same."""

import re
from dataclasses import replace
from datetime import date

import pytest
from psycopg import ClientCursor

from tests.integration.test_search import names
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
def test_a_season_without_words_is_merged_from_its_episodes(big, monkeypatch):
    """Each category by itself would be walked to another moment."""
    monkeypatch.setattr(search_ways, "_FEW_WALKED", 10)
    query = SearchQuery(season=8, categories=[1000, 5000], limit=1000)
    big.execute("update release set episode = null where name in ('common 7', 'common 2007')")
    big.execute("update release set season_last = 9 where name in ('common 6', 'common 1006')")
    try:
        plan = plan_of(big, query)
        expected = big.execute(
            "select name, feed_at, release_id from release where 8 between season and season_last"
            " order by feed_at desc, release_id desc limit 50"
        ).fetchall()
        for most in (module.MOST_EPISODES, 2):
            monkeypatch.setattr(module, "MOST_EPISODES", most)
            assert names(search(big, query)) == [name for name, _, _ in expected]
            for at in (0, 1, 20):
                rest = names(search(big, replace(query, before=expected[at][1:])))
                assert rest[: 49 - at] == [name for name, _, _ in expected[at + 1 :]]
    finally:
        big.execute("update release set episode = 1 where episode is null")
        big.execute("update release set season_last = season where season_last > season")
    assert "Merge Append" in plan
    assert set(re.findall(r"release_[a-z_]+", plan)) - {"release_id"} == {
        "release_episode",
        "release_episode_range",
    }


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
