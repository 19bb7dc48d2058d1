"""`/metrics` is there when it is wanted, well formed, and tells nothing secret."""

import re

import httpx
import pytest

from tests.integration.api_support import add_releases, open_api, serving
from voyager_core.catalog.groups import add_group, record_water_marks
from voyager_core.settings import ApiSettings, Settings

pytestmark = pytest.mark.postgres

LINE = re.compile(r'[a-z_]+(\{[a-z]+="([^"\\\n]|\\.)*"(,[a-z]+="([^"\\\n]|\\.)*")*\})? [-+0-9.e]+')


def test_without_the_setting_there_is_no_such_page(database):
    with open_api(database) as api:
        assert api.client.get("/metrics").status_code == 404


def test_what_was_answered_is_counted_by_function_and_status(database):
    with open_api(database, metrics=True) as api:
        add_releases(api.conn, "Some.Show.S01E01.720p")
        record_water_marks(api.conn, {"alt.binaries.test": (1, 5000)}, api.now[0])
        for _ in range(3):
            api.feed(t="search")
        api.error(t="get", id="0" * 18)
        api.get("/api", t="<x>")
        api.client.get("/api/v1/releases")
        api.client.get("/nowhere")
        response = api.client.get("/metrics")
        text = response.text
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = text.splitlines()
    assert 'voyager_api_requests_total{function="search",status="200"} 3' in lines
    assert 'voyager_api_requests_total{function="get",status="404"} 1' in lines
    assert 'voyager_api_requests_total{function="unknown",status="200"} 1' in lines
    assert 'voyager_api_requests_total{function="v1",status="400"} 1' in lines
    assert 'voyager_api_requests_total{function="page",status="404"} 1' in lines
    assert 'voyager_api_request_seconds_count{function="search"} 3' in lines
    assert 'voyager_api_request_seconds_bucket{function="search",le="+Inf"} 3' in lines
    assert 'voyager_group_lag{group="alt.binaries.test"} 4000' in lines
    assert "voyager_releases 1" in lines
    assert "voyager_catalog_up 1" in lines
    assert 'voyager_api_pool{kind="max"} 10' in lines
    assert api.key not in text
    for line in lines:
        assert line.startswith("# ") or LINE.fullmatch(line), line


def test_a_group_with_an_odd_name_is_escaped(database):
    with open_api(database, metrics=True) as api:
        add_group(api.conn, 'alt."quoted"')
        text = api.client.get("/metrics").text
    assert 'voyager_group_parked{group="alt.\\"quoted\\""} 0' in text.splitlines()


def test_a_catalog_that_is_gone_is_told_and_the_rest_goes_on():
    made = Settings(
        _env_file=None,
        database_url="postgresql://x:hidden@127.0.0.1:1/x",
        api=ApiSettings(metrics=True),
    )
    with serving(made, pool_timeout_seconds=0.2) as address:
        response = httpx.get(f"{address}/metrics")
    assert response.status_code == 200
    assert "voyager_catalog_up 0" in response.text
    assert "hidden" not in response.text
