"""Real NZBGet and FlexGet against the running API, without a news server."""

import os
import shutil
import subprocess
import time
from datetime import UTC, datetime

import pytest
import rnzb

from tests.integration.api_support import open_api, shared_database
from tests.integration.api_uploads import Upload, index_uploads
from tests.support import nzbget
from tests.support.nzbget import Nzbget

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(240)]

SHOW = Upload("Some.Show.S01E02.1080p.WEB.h264-GRP")
WIDE = Upload("Größe \u2013 Der \u202eFilm (2019) 720p", files=2)
HOSTILE = Upload('<script>&"x"; ..%2f 2160p S02E03', files=1)
POSTED_AT = datetime(2024, 3, 1, 12, tzinfo=UTC)


def needs(reason):
    if reason and os.environ.get("VOYAGER_TEST_REQUIRE_E2E"):
        pytest.fail(f"this must run here, but {reason}")
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def api(postgres_server):
    with (
        shared_database(postgres_server) as database,
        open_api(database, external_url=None) as api,
    ):
        index_uploads(api.conn, [SHOW, WIDE, HOSTILE], posted_at=POSTED_AT)
        yield api


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    needs(nzbget.missing_parts())
    with Nzbget(tmp_path_factory.mktemp("nzbget"), news_port=1) as client:
        client.call("pausedownload")
        yield client


def address(api, path):
    return str(api.client.base_url).rstrip("/") + path


def preview(client, url, filter_text=""):
    """Returns the items of a feed by title, as NZBGet reads it."""
    found = client.call(
        "previewfeed", 0, "f", url, filter_text, False, False, "", 0, 0, "", True, 0, ""
    )
    assert found is not None, client.log()[-2000:]
    return {item["Title"]: item for item in found}


def test_nzbget_reads_every_item_of_the_feed(api, client):
    items = preview(client, address(api, f"/rss?t=0&dl=1&r={api.key}"))
    assert len(items) == 3
    item = items[SHOW.name]
    assert item["URL"] == api.feed(t="search", q=SHOW.name).findtext("item/link")
    assert item["SizeLo"] + (item["SizeHi"] << 32) == sum(size for *_, size in SHOW.articles())
    assert item["Category"].replace(" ", "") == "TV>HD"
    listed = api.conn.execute("select feed_at from release where name = %s", [SHOW.name])
    assert item["Time"] == int(listed.fetchone()[0].timestamp())


def test_nzbgets_filters_see_the_attributes(api, client):
    url = address(api, f"/api?t=search&apikey={api.key}")
    for text, expected in (
        ("A: attr-season:1", {SHOW.name}),
        ("A: attr-episode:3", {HOSTILE.name}),
        ("A: size:>1TB", set()),
    ):
        items = preview(client, url, text)
        accepted = {title for title, item in items.items() if item["Status"] != "UNKNOWN"
                    and item["Match"] == "ACCEPTED"}  # fmt: skip
        assert len(accepted) == len(expected), (text, items)


def queued(client):
    """Returns the jobs whose NZB has been fetched."""
    return [job for job in client.call("listgroups", 0) if job["Kind"] == "NZB"]


@pytest.mark.parametrize("upload", [SHOW, WIDE, HOSTILE], ids=["plain", "wide", "hostile"])
def test_nzbget_queues_the_nzb_of_any_name(api, client, upload):
    words = upload.name.split()[0] if upload is not HOSTILE else "script 2160p"
    (item,) = api.feed(t="search", q=words).iter("item")
    before = len(queued(client))
    client.fetch_url(item.findtext("link"))
    deadline = time.monotonic() + 60
    while len(queued(client)) == before:
        assert time.monotonic() < deadline, client.log()[-3000:]
        time.sleep(0.05)
    job = queued(client)[-1]
    assert job["FileCount"] == upload.files
    assert job["NZBName"]
    assert not set(job["NZBName"]) & set('/\\<>"')
    if upload is SHOW:
        assert job["NZBName"] == SHOW.name
        values = {one["Name"].lower(): one["Value"] for one in job["Parameters"]}
        assert SHOW.name in values.values(), values


def test_flexget_follows_the_feed_and_saves_the_nzb(api, tmp_path):
    flexget = shutil.which("flexget")
    needs(None if flexget else "FlexGet is not installed (flexget, from PyPI)")
    url = address(api, f"/rss?t=5000&dl=1&i=1&r={api.key}")
    config = tmp_path / "config.yml"
    config.write_text(
        f"tasks:\n  follow:\n    rss: '{url}'\n    regexp:\n      accept: [Some.Show]\n"
        f"    download: {tmp_path}/found\n"
    )
    (tmp_path / "found").mkdir()
    done = subprocess.run(
        [flexget, "-c", str(config), "execute", "--tasks", "follow"],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    saved = list((tmp_path / "found").iterdir())
    assert len(saved) == 1, done.stdout + done.stderr
    found = rnzb.Nzb.from_str(saved[0].read_text())
    assert {s.message_id for file in found.files for s in file.segments} == SHOW.message_ids
