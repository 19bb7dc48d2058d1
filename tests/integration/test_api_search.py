"""Searches as clients send them, on a real catalog."""

import json
from datetime import timedelta
from email.utils import parsedate_to_datetime
from xml.etree import ElementTree as ET

import pytest

from tests.integration.api_support import BASE, NS, add_releases, open_api, shared_database
from voyager_api.routes.listing import NOT_ALL
from voyager_core.catalog import search_statistics, search_ways
from voyager_core.catalog.keys import create_key
from voyager_core.domain.tokens import matches, query_terms, token_hash

pytestmark = pytest.mark.postgres

SHOW = "Some.Show.S03E05.1080p.WEB.h264-GRP"
NEXT = "Some.Show.S03E06.720p.HDTV.x264-GRP"
PACK = "Some.Show.S03.1080p.BluRay.x264-GRP"
DAILY = "Late.Talk.2026.10.09.Guest.Name.720p.WEB.h264-GRP"
FILM = "Mr.Robots.Film.2019.2160p.UHD.BluRay.x265-GRP"
ALBUM = "Some Band - First Album (2011) FLAC"
BOOK = "Ann.Author.-.The.Title.2020.EPUB"
HASHED = "a8f7d6e5c4b3a29180f7e6d5c4b3a291"
EVERYTHING = (SHOW, NEXT, PACK, DAILY, FILM, ALBUM, BOOK, HASHED)


@pytest.fixture
def empty(database):
    with open_api(database) as api:
        yield api


@pytest.fixture(scope="module")
def shared(postgres_server):
    with shared_database(postgres_server) as database, open_api(database) as api:
        add_releases(api.conn, *EVERYTHING)
        yield api


@pytest.fixture
def api(shared):
    shared.conn.execute("update release set password = -1 where password <> -1")
    return shared


def test_nz1_names_ignore_case_order_is_free_and_empty_is_absent(api):
    for query in ("T=search&Q=&CAT=&LIMIT=2", "limit=2&minsize=&q=&t=search&unknown=x"):
        response = api.client.get(f"/api?{query}&apikey={api.key}")
        assert response.content.count(b"<item>") == 2


def test_nz9_total_is_constant_across_pages_that_do_not_overlap(api):
    pages = [api.feed(t="search", limit=3, offset=offset) for offset in (0, 3, 6, 9)]
    totals = {page.find(f"{NS}response").get("total") for page in pages}
    guids = [item.findtext("guid") for page in pages for item in page.iter("item")]
    assert totals == {"8"}
    assert len(guids) == len(set(guids)) == 8
    assert [page.find(f"{NS}response").get("offset") for page in pages] == ["0", "3", "6", "9"]


def test_an_offset_beyond_the_end_is_an_empty_page_with_the_total(api):
    channel = api.feed(t="search", offset=10**17)
    assert list(channel.iter("item")) == []
    assert channel.find(f"{NS}response").get("total") == "8"


def test_nz10_hydras_limit_of_1000_is_clamped_not_refused(empty):
    add_releases(empty.conn, *(f"Release.Number.{number}.720p" for number in range(120)))
    channel = empty.feed(t="search", limit=1000)
    assert len(list(channel.iter("item"))) == 100
    assert channel.find(f"{NS}response").get("total") == "120"


def test_nz12_the_list_is_newest_first_and_stable(api):
    assert api.titles(t="search") == list(reversed(EVERYTHING))
    first, second = (api.get("/api", t="search").content for _ in range(2))
    assert first == second


def pages_of(api, insert, **parameters):
    """Returns guids and totals of all pages, with something inserted before each further one."""
    guids, totals, offset = [], set(), 0
    while True:
        channel = api.feed(t="search", limit=20, offset=offset, **parameters)
        page = [item.findtext("guid") for item in channel.iter("item")]
        guids += page
        totals.add(channel.find(f"{NS}response").get("total"))
        offset += len(page)
        if len(page) < 20:
            return guids, totals
        insert(offset)


@pytest.mark.parametrize("parameters", [{}, {"q": "number"}, {"cat": "8000,5000,2000"}])
def test_nz9_pages_agree_while_releases_come_in(empty, parameters):
    add_releases(empty.conn, *(f"Release.Number.{number}.720p" for number in range(50)))
    expected = [item.findtext("guid") for item in empty.feed(t="search", **parameters).iter("item")]

    def insert(at):
        empty.conn.execute(
            "insert into release (release_key, generation, newsgroup_id, category, posted_at,"
            " last_posted_at, listed_at, changed_at, files, segments, size_bytes, has_par2,"
            " is_readable, group_ids, tok, name) select %s, 1, newsgroup_id, category, now(),"
            " now(), now(), now(), files, segments, size_bytes, has_par2, is_readable,"
            " group_ids, tok, name from release limit 7 on conflict do nothing",
            [at],
        )

    guids, totals = pages_of(empty, insert, **parameters)
    assert guids == expected
    assert len(set(guids)) == 50
    assert totals == {"50"}
    # The first page is always of now, and so is a later one when the list was forgotten.
    assert empty.feed(t="search", **parameters).find(f"{NS}response").get("total") == "52"
    empty.now[0] += timedelta(minutes=6)
    channel = empty.feed(t="search", offset=20, **parameters)
    assert channel.find(f"{NS}response").get("total") == "52"


def test_nz9_keys_page_through_lists_of_their_own(empty):
    add_releases(empty.conn, *(f"Release.Number.{number}.720p" for number in range(5)))
    other = create_key(empty.conn, "other")
    empty.feed(t="search", limit=2)
    empty.conn.execute("delete from release where name like '%Number.4%'")
    page = empty.feed(t="search", limit=2, offset=2, apikey=other)
    assert page.find(f"{NS}response").get("total") == "4"
    assert empty.feed(t="search", limit=2, offset=2).find(f"{NS}response").get("total") == "5"


def test_nz9_a_later_page_leaves_out_what_has_only_the_hash_of_a_word(empty):
    assert token_hash("plumless") == token_hash("buckeroo")
    words = ("Plumless", "Plumless", "Buckeroo", "Plumless", "Buckeroo", "Plumless", "Plumless")
    add_releases(empty.conn, *(f"{word}.{at}" for at, word in enumerate(words)))
    found, totals = [], []
    for offset in (0, 2, 4):
        channel = empty.feed(t="search", q="plumless", limit=2, offset=offset)
        found += [item.findtext("title") for item in channel.iter("item")]
        totals.append(channel.find(f"{NS}response").get("total"))
    assert found == [f"Plumless.{at}" for at in (6, 5, 3, 1, 0)]
    assert totals == ["7", "5", "5"]


def test_a_feed_says_when_older_releases_were_not_looked_through(empty, monkeypatch):
    add_releases(empty.conn, *(f"Release.Number.{number}.720p" for number in range(9)))
    empty.conn.execute("update release set size_bytes = release_id; analyze release")
    search_statistics.forget()
    pages = [{"offset": 0}, {"offset": 1}]
    for page in pages:
        channel = empty.feed(t="search", minsize=4, limit=1, **page)
        assert NOT_ALL not in channel.findtext("description")
    monkeypatch.setattr(search_ways, "REACH_OF_FILTERS", 3)
    for page in pages:
        channel = empty.feed(t="search", minsize=4, limit=1, maxage=5000, **page)
        assert NOT_ALL in channel.findtext("description")
        assert channel.find(f"{NS}response").get("total") == "3"
        assert NOT_ALL not in empty.feed(t="search", **page).findtext("description")


@pytest.mark.parametrize("count", [4, 5])
def test_nz9_the_total_ends_with_what_is_counted(empty, monkeypatch, count):
    monkeypatch.setattr(search_ways, "TOTAL_CAP", 4)
    add_releases(empty.conn, *(f"Release.Number.{number}.720p" for number in range(count)))
    for query in ("", "number"):
        for offset in (0, 2):
            channel = empty.feed(t="search", q=query, limit=2, offset=offset)
            assert channel.find(f"{NS}response").get("total") == "4"


@pytest.mark.parametrize(
    "q",
    [
        *("nothing like this", "Some Show S09E01", "zzz"),
        *("???", "\U0001f600", '"', "-", "!", "*", "%", "\\"),
    ],
)
def test_nz13_no_match_is_a_valid_empty_feed(api, q):
    channel = api.feed(t="search", q=q)
    assert list(channel.iter("item")) == []
    assert channel.find(f"{NS}response").attrib == {"offset": "0", "total": "0"}


@pytest.mark.parametrize(
    ("function", "titles"),
    [
        ("search", list(reversed(EVERYTHING))),
        ("tvsearch", [DAILY, PACK, NEXT, SHOW]),
        ("movie", [FILM]),
        ("music", [ALBUM]),
        ("book", [BOOK]),
    ],
)
def test_nz14_without_words_every_function_gives_its_newest(api, function, titles):
    assert api.titles(t=function) == titles


@pytest.mark.parametrize("alias", ["tv", "tvshows", "tv-search", "TVSearch"])
def test_aliases_of_functions_answer_alike(api, alias):
    assert api.titles(t=alias) == [DAILY, PACK, NEXT, SHOW]


def test_nz18_links_begin_with_the_configured_address_whatever_host_says(api):
    headers = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    response = api.client.get(f"/api?t=search&apikey={api.key}", headers=headers)
    assert b"evil" not in response.content
    assert response.content.count(BASE.encode()) >= 8 * 4


def test_nz18_the_prefix_may_or_may_not_be_stripped_by_the_proxy(api):
    for path in ("/api", "/voyager/api", "/voyager/api/", "/api/api"):
        assert api.get(path, t="caps").content.startswith(b"<?xml")
        assert b"<caps>" in api.get(path, t="caps").content
    assert api.client.get("/voyager").headers["content-type"].startswith("text/html")


def test_nz20_an_empty_catalog_is_an_empty_feed_and_said_so(empty):
    assert empty.titles(t="search") == []
    ready = empty.client.get("/readyz").json()
    assert (ready["status"], ready["releases"]) == ("ready", False)
    assert "Test" in ready["message"]


def test_nz22_prowlarrs_age_in_every_limit_finds_what_age_alone_finds(api):
    assert api.titles(t="search", q="some show", maxage=9000, minage=9000, maxsize=9000)


def test_nz23_passworded_releases_can_be_left_out(api):
    every = api.titles(t="search")
    api.conn.execute("update release set password = 1 where name = %s", [SHOW])
    assert api.titles(t="search", password=0) == [title for title in every if title != SHOW]
    assert SHOW in api.titles(t="search", password=1)
    assert SHOW in api.titles(t="search")


@pytest.mark.parametrize("found", [0, 1])
def test_password_is_told_only_when_it_was_looked_for(api, found):
    api.conn.execute("update release set password = %s where name = %s", [found, SHOW])
    response = api.get("/api", t="search")
    assert response.text.count('name="password"') == 1
    assert f'<newznab:attr name="password" value="{found}"/>' in response.text
    # The answer holds the key, and what is used up of its limits.
    assert response.headers["cache-control"] == "no-store"
    assert "etag" not in response.headers


@pytest.mark.parametrize("name", ["tvdbid", "rid", "imdbid", "tvmazeid", "traktid", "tmdbid"])
def test_nz24_an_id_alone_is_never_the_newest_list(api, name):
    assert api.titles(t="tvsearch", **{name: "121361"}) == []
    assert api.titles(t="movie", **{name: "tt0848228"}) == []
    assert api.titles(t="tvsearch", q="some show", season=3, ep=5, **{name: "121361"}) == [SHOW]


def test_nz26_every_category_is_in_caps(empty):
    text = empty.get("/api", t="caps").text
    for number in (2000, 2010, 2020, 2030, 2040, 2045, 2050, 2060, 5030, 5040, 7030, 8010, 8020):
        assert f'id="{number}"' in text


@pytest.mark.parametrize(
    "q", ["some show s03e05", "S03E05 SOME", "some.show_S03E05", "some-show+s03e05 [1080p]"]
)
def test_nz29_all_words_in_any_order_and_any_separator(api, q):
    assert api.titles(t="search", q=q) == [SHOW]


def test_nz31_excluded_words_exclude(api):
    assert api.titles(t="search", q="some show --1080p") == [NEXT]
    assert api.titles(t="search", q="some show !1080p") == [NEXT]
    without = [title for title in api.titles(t="search") if "show" not in title.lower()]
    assert without
    assert api.titles(t="search", q="-show") == without


@pytest.mark.parametrize(
    "q", ['show "', "- show", "show --", "! show", "*show*", "^show", "show %"]
)
def test_lone_operators_beside_words_change_nothing(api, q):
    assert api.titles(t="search", q=q) == api.titles(t="search", q="show") != []


@pytest.mark.parametrize(
    ("parameters", "titles"),
    [
        ({"season": "3", "ep": "5"}, [SHOW]),
        ({"season": "S03", "ep": "E05"}, [SHOW]),
        ({"season": "03"}, [PACK, NEXT, SHOW]),
        ({"season": "2026", "ep": "10/09"}, [DAILY]),
        ({"season": "2026"}, [DAILY]),
        ({"season": "4"}, []),
        ({"season": "00"}, []),
    ],
)
def test_nz32_season_and_episode(api, parameters, titles):
    assert api.titles(t="tvsearch", **parameters) == titles


@pytest.mark.parametrize(
    ("parameters", "titles"),
    [
        ({"cat": "5000"}, [DAILY, PACK, NEXT, SHOW]),
        ({"cat": "5040,2045"}, [FILM, DAILY, PACK, NEXT, SHOW]),
        ({"cat": "2000,999999"}, [FILM]),
        ({"cat": "999999"}, []),
        ({"cat": "5000", "q": "some show", "season": "3", "ep": "6"}, [NEXT]),
        ({"group": "alt.binaries.test", "q": "first album"}, [ALBUM]),
        ({"group": "alt.binaries.other,alt.binaries.test", "q": "first album"}, [ALBUM]),
        ({"group": "alt.binaries.other"}, []),
        ({"maxage": "1"}, []),
        ({"minsize": "8000000"}, []),
        ({"maxsize": "7000000", "q": "title"}, [BOOK]),
    ],
)
def test_nz35_filters_narrow(api, parameters, titles):
    assert api.titles(t="search", **parameters) == titles


def test_nz36_a_parent_finds_its_children_and_a_child_itself(api):
    (item,) = api.feed(t="search", cat="5000", q="some show s03e05").iter("item")
    values = [
        attr.get("value") for attr in item.iter(f"{NS}attr") if attr.get("name") == "category"
    ]
    assert values == ["5000", "5040"]
    assert SHOW in api.titles(t="search", cat="5040")
    assert SHOW not in api.titles(t="search", cat="5030")


@pytest.mark.parametrize(
    ("cat", "expected"),
    [
        ("2090", ["2000", "2045", "2090"]),
        ("2030,2090", ["2000", "2045", "2090"]),
        ("2045,2090", ["2000", "2045"]),
        ("2000,2090", ["2000", "2045"]),
    ],
)
def test_nz36_an_item_lists_the_trait_that_it_was_asked_by(api, cat, expected):
    (item,) = api.feed(t="search", cat=cat).iter("item")
    assert item.findtext("title") == FILM
    values = [
        attr.get("value") for attr in item.iter(f"{NS}attr") if attr.get("name") == "category"
    ]
    assert values == expected


def test_titles_of_movies_music_and_books_are_words(api):
    assert api.titles(t="movie", q="mr robots", year="2019") == [FILM]
    assert api.titles(t="music", q="", artist="Some Band", album="First Album") == [ALBUM]
    assert api.titles(t="book", author="Ann Author", title="Title") == [BOOK]
    assert api.titles(t="book", author="Somebody Else", title="Title") == []


def test_details_is_a_feed_of_one_item(api):
    (item,) = api.feed(t="search", q="some show s03e05").iter("item")
    guid = item.findtext("guid")
    for given in (guid, guid.rpartition("/")[2]):
        channel = api.feed(t="details", id=given)
        assert [one.findtext("title") for one in channel.iter("item")] == [SHOW]
        assert channel.find(f"{NS}response").attrib == {"offset": "0", "total": "1"}
    assert api.titles(t="details", guid=guid) == [SHOW]


def test_comments_of_a_release_are_an_empty_feed(api):
    (item,) = api.feed(t="search", q="some show s03e05").iter("item")
    assert api.titles(t="comments", id=item.findtext("guid")) == []


@pytest.mark.parametrize("function", ["getnfo", "gn", "n", "nfo", "info"])
def test_nz21_an_nfo_is_not_made_up(api, function):
    (item,) = api.feed(t="search", q="some show s03e05").iter("item")
    guid = item.findtext("guid")
    expected = (200, 300, "No NFO is known for this item")
    assert api.error(t=function, id=guid) == expected
    assert api.error(t=function, id=guid.rpartition("/")[2], raw=1) == expected
    assert item.find(f"{NS}attr[@name='nfo']") is None


def test_nz34_every_hit_shows_a_title_that_holds_the_words_that_found_it(api):
    for q in ("some show", "1080p", "s03e05 web", "2026 10 09", "first album", "mr robots -720p"):
        titles = api.titles(t="search", q=q)
        assert titles
        assert all(matches(title, query_terms(q)) for title in titles)


def test_caps_tell_the_age_of_the_oldest_release_as_retention(api, empty):
    root = ET.fromstring(api.get("/api", t="caps").content)
    posted = api.conn.execute("select min(posted_at) from release").fetchone()[0]
    assert root.find("retention").get("days") == str(max(1, (api.now[0] - posted).days))
    assert ET.fromstring(empty.get("/api", t="caps").content).find("retention") is None


def test_json_is_offered_for_searches_caps_and_errors(api):
    document = api.get("/api", t="search", q="some show s03e05", o="json").json()
    assert [item["title"] for item in document["channel"]["item"]] == [SHOW]
    assert api.get("/api", t="caps", o="JSON").json()["limits"]["@attributes"]["max"] == "100"
    assert api.get("/api", t="dance", o="json").json()["code"] == "202"
    feed = api.get("/rss", t="0", o="json")
    assert [item["title"] for item in feed.json()["channel"]["item"]] == list(reversed(EVERYTHING))
    assert feed.headers["etag"]
    one = api.get("/api", t="details", id=document["channel"]["item"][0]["guid"], o="json").json()
    assert [item["title"] for item in one["channel"]["item"]] == [SHOW]


def test_an_unreadable_name_is_under_hashed(api):
    assert HASHED in api.titles(t="search", cat="8020")
    assert HASHED not in api.titles(t="tvsearch")


def test_caps_name_the_indexed_groups(api):
    text = api.get("/api", t="caps").text
    assert '<group id="1" name="alt.binaries.test"' in text
    assert json.loads(api.get("/api", t="caps", o="json").text)["groups"]["group"]


@pytest.fixture(scope="module")
def names(postgres_server):
    with shared_database(postgres_server) as database, open_api(database) as api:
        add_releases(
            api.conn,
            "Grey's.Anatomy.S01E01.720p.HDTV.x264-GRP",
            "Café.Society.and.the.Rest.2016.1080p.BluRay.H.264-GRP",
            "Up.2009.1080p.BluRay.x264-GRP",
            "日本の番組 第05話 [1080p]",
            "S.W.A.T.2017.S07E01.1080p.WEB.h264-GRP",
        )
        yield api


@pytest.mark.parametrize(
    ("q", "start"),
    [
        ("greys anatomy", "Grey"),
        ("grey's anatomy", "Grey"),
        ("grey s anatomy", "Grey"),
        ("GREY\u2019S anatomy", "Grey"),
        ("cafe society & rest", "Café"),
        ("cafe society rest", "Café"),
        ("CAFÉ society and the rest", "Café"),
        ("cafe h264", "Café"),
        ("cafe h.264", "Café"),
        # Sonarr takes the dots away.
        ("SWAT 2017", "S.W.A.T"),
        ("s.w.a.t.", "S.W.A.T"),
    ],
)
def test_nz30_case_diacritics_apostrophes_initials_and_small_words_do_not_matter(names, q, start):
    (title,) = names.titles(t="search", q=q)
    assert title.startswith(start)


@pytest.mark.parametrize(("q", "start"), [("up", "Up"), ("up 2009", "Up"), ("日本", "日本")])
def test_nz33_short_words_and_other_scripts_count(names, q, start):
    (title,) = names.titles(t="search", q=q)
    assert title.startswith(start)


def test_nz38_what_is_found_late_is_listed_as_new_and_history_is_not(empty):
    add_releases(empty.conn, "History", "Posted.First", "Posted.Second")
    empty.conn.execute(
        "update release set posted_at = now() - days, listed_at = now() - ago from (values"
        " ('History', interval '300 days', interval '1 minute'),"
        " ('Posted.First', interval '3 days', interval '1 minute'),"
        " ('Posted.Second', interval '2 days', interval '2 days')) as v (name, days, ago)"
        " where release.name = v.name"
    )
    assert empty.titles(t="search") == ["Posted.First", "Posted.Second", "History"]
    items = list(empty.feed(t="search").iter("item"))
    dates = [parsedate_to_datetime(item.findtext("pubDate")) for item in items]
    assert dates == sorted(dates, reverse=True)
    posted = [item.find(f"{NS}attr[@name='usenetdate']").get("value") for item in items]
    assert parsedate_to_datetime(posted[0]) < dates[0]
    assert parsedate_to_datetime(posted[2]) == dates[2]
