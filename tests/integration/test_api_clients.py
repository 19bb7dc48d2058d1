"""Models of the strict clients against the running API."""

import pytest

from tests.integration.api_support import add_releases, open_api, shared_database
from tests.integration.client_models import Hydra, Prowlarr, Sonarr

pytestmark = pytest.mark.postgres

SHOWS = [
    f"Some.Show.S{number // 20 + 1:02}E{number % 20 + 1:02}.1080p.WEB.h264-GRP"
    for number in range(240)
]
FILMS = ["Avengers.Film.2012.1080p.BluRay.x264-GRP", "Avengers.Film.2012.720p.BluRay.x264-GRP"]


@pytest.fixture(scope="module")
def api(postgres_server):
    with shared_database(postgres_server) as database, open_api(database) as api:
        add_releases(api.conn, *SHOWS, *FILMS)
        yield api


@pytest.fixture
def fetch(api):
    def ask(parameters):
        response = api.client.get("/api", params={"apikey": api.key} | parameters)
        assert response.status_code == 200
        return response.content

    return ask


def test_sonarrs_test_is_satisfied(fetch):
    assert Sonarr(fetch).test() == ""


def test_nz20_sonarrs_test_names_an_empty_catalog(database):
    with open_api(database) as api:
        sonarr = Sonarr(lambda query: api.get("/api", **query).content)
        assert sonarr.test() == "no results in the configured categories"


@pytest.mark.parametrize(("function", "categories"), [("movie", "2000,2040"), ("tvsearch", "5040")])
def test_radarr_and_sonarr_page_through_everything_without_doubles(fetch, function, categories):
    found = Sonarr(fetch, categories, function).search()
    wanted = FILMS if function == "movie" else SHOWS
    assert {one.title for one in found} == set(wanted)
    assert len(found) == len(wanted)


def test_sonarr_follows_the_newest_only_as_far_as_it_knows_them(fetch):
    everything = Sonarr(fetch).newest()
    assert len(everything) == 100
    dates = [one.published for one in everything]
    assert dates == sorted(dates, reverse=True)
    assert len(Sonarr(fetch).newest(since=dates[5])) == 100


def test_sonarr_finds_an_episode_and_a_season(fetch):
    sonarr = Sonarr(fetch)
    (episode,) = sonarr.search(q="some show", season=3, ep=5)
    assert episode.title == "Some.Show.S03E05.1080p.WEB.h264-GRP"
    assert len(sonarr.search(q="some show", season=3)) == 20


def test_hydra_pages_through_everything(fetch):
    assert len(Hydra(fetch).search(t="search", q="some show")) == 240


def test_nz25_hydra_finds_no_id_supported(fetch):
    assert Hydra(fetch).supported_ids() == []


def test_nz31_hydra_finds_both_forms_of_exclusion_supported(fetch):
    assert Hydra(fetch).excludes_by("1080p") == ["--", "!"]


def test_prowlarr_maps_the_standard_names(fetch):
    names = Prowlarr(fetch).categories()
    assert names["TV"] == 5000
    assert names["TV/HD"] == 5040
    assert names["Movies/UHD"] == 2045
    assert names["Audio/Lossless"] == 3040
    assert names["Books/EBook"] == 7020
    assert names["Other/Misc"] == 8010


def test_prowlarrs_test_and_automatic_searches_keep_items(fetch):
    prowlarr = Prowlarr(fetch)
    assert prowlarr.kept({2000, 5000}, t="search")
    kept = prowlarr.kept({5000, 5040}, t="tvsearch", cat="5000", q="some show", season="00")
    assert kept == []
    assert len(prowlarr.kept({5040}, t="tvsearch", cat="5040", q="some show", season=1)) == 20
