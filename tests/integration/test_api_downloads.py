"""NZBs: from overview lines through the catalog to what a downloader gets."""

import gzip
import re
import socket
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
import rnzb

from tests.integration.api_support import NS, open_api, read_error, shared_database
from tests.integration.api_uploads import Upload, index_uploads

pytestmark = pytest.mark.postgres

PLAIN = Upload("Some.Show.S01E02.1080p.WEB.h264-GRP")
WIDE = Upload("Größe \u2013 Der Film (2019) 720p", files=2)
POSTED_AT = datetime(2024, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def shared(postgres_server):
    with shared_database(postgres_server) as database, open_api(database) as api:
        index_uploads(api.conn, [PLAIN, WIDE], posted_at=POSTED_AT)
        yield api


@pytest.fixture
def api(shared):
    shared.conn.execute("delete from api_use")
    shared.conn.execute("delete from api_grab")
    shared.conn.execute("update release set grabs = 0")
    return shared


def item_of(api, upload):
    """Returns the id and the link of an upload's item; the server is asked at its own address."""
    (item,) = api.feed(t="search", q=upload.name.partition(" ")[0]).iter("item")
    link = item.find("enclosure").get("url")
    return item.findtext("guid").rpartition("/")[2], link.removeprefix("https://index.example")


def test_the_nzb_holds_exactly_the_articles_that_were_posted(api):
    for upload in (PLAIN, WIDE):
        _, link = item_of(api, upload)
        nzb = rnzb.Nzb.from_str(api.client.get(link).text)
        found = {segment.message_id for file in nzb.files for segment in file.segments}
        assert found == upload.message_ids
        assert len(nzb.files) == upload.files
        assert nzb.meta.title == upload.name


def test_size_of_item_enclosure_and_nzb_agree(api):
    (item,) = api.feed(t="search", q=PLAIN.name).iter("item")
    _, link = item_of(api, PLAIN)
    nzb = rnzb.Nzb.from_str(api.client.get(link).text)
    size = sum(size for _, _, size in PLAIN.articles())
    values = {attr.get("name"): attr.get("value") for attr in item.iter(f"{NS}attr")}
    assert values["size"] == item.find("enclosure").get("length") == str(size)
    assert sum(segment.size for file in nzb.files for segment in file.segments) == size
    assert values["files"] == "3"


def test_nz39_links_end_in_nzb_and_every_address_gives_the_same(api):
    public_id, link = item_of(api, PLAIN)
    assert urlsplit(link).path.endswith(".nzb")
    bodies = {
        api.client.get(path).content
        for path in (
            link,
            f"/getnzb/{public_id}.nzb?i=1&r={api.key}",
            f"/getnzb/{public_id}?apikey={api.key}",
            f"/getnzb?id={public_id}&r={api.key}",
            f"/api?t=get&id={public_id}&apikey={api.key}",
            f"/api?t=g&guid={public_id.upper()}&apikey={api.key}&del=1",
        )
    }
    assert len(bodies) == 1


def raw_headers(api, path):
    """Returns the header lines as they are on the wire."""
    address = urlsplit(str(api.client.base_url))
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n".encode())
        received = b""
        while piece := connection.recv(65536):
            received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    return [line.split(b": ", 1) for line in head.split(b"\r\n")[1:]], body


def test_nz17_and_nz16_headers_of_an_nzb_on_the_wire(api):
    public_id, link = item_of(api, PLAIN)
    lines, body = raw_headers(api, link)
    headers = dict(lines)
    assert headers[b"Content-Type"] == b"application/x-nzb"
    assert headers[b"Content-Length"] == str(len(body)).encode()
    assert headers[b"Content-Encoding"] == b"gzip"
    assert gzip.decompress(body).startswith(b"<?xml")
    assert headers[b"X-DNZB-Name"] == PLAIN.name.encode()
    assert headers[b"X-DNZB-Category"] == b"TV > HD"
    assert headers[b"X-DNZB-Details"].endswith(f"/voyager/details/{public_id}".encode())
    assert headers[b"X-DNZB-RCode"] == b"200"
    assert headers[b"Content-Disposition"].startswith(
        f"attachment; filename=\"{PLAIN.name}.nzb\"; filename*=UTF-8''".encode()
    )


def test_a_name_outside_latin_1_is_carried_by_the_extended_file_name(api):
    _, link = item_of(api, WIDE)
    response = api.client.get(link)
    assert "x-dnzb-name" not in response.headers
    plain, extended = response.headers["content-disposition"].split("; filename*=UTF-8''")
    assert re.fullmatch(r'attachment; filename="[ -~]+\.nzb"', plain)
    assert extended.startswith("Gr%C3%B6%C3%9Fe%20%E2%80%93%20Der")


def test_a_grab_counts_once_a_key_and_day_and_head_counts_nothing(api):
    public_id, link = item_of(api, PLAIN)
    assert api.client.head(link).status_code == 200
    for _ in range(3):
        assert api.client.get(link).status_code == 200
    (item,) = api.feed(t="details", id=public_id).iter("item")
    assert item.find(f"{NS}attr[@name='grabs']").get("value") == "1"


def test_nz15_the_limit_of_downloads_is_429_and_searches_go_on(postgres_server):
    with (
        shared_database(postgres_server) as database,
        open_api(database, grabs_per_day=2) as api,
    ):
        index_uploads(api.conn, [PLAIN], posted_at=POSTED_AT)
        _, link = item_of(api, PLAIN)
        assert [api.client.get(link).status_code for _ in range(2)] == [200, 200]
        response = api.client.get(link)
        assert read_error(response) == (429, 500, "Request limit reached")
        assert int(response.headers["retry-after"]) > 86_000
        limits = api.feed(t="search").find(f"{NS}apilimits")
        assert limits.attrib == {
            "grabcurrent": "2",
            "grabmax": "2",
            "graboldesttime": "Sat, 02 Mar 2024 00:00:00 +0000",
        }
        api.now[0] += timedelta(hours=24, seconds=11)
        assert api.client.get(link).status_code == 200


@pytest.mark.parametrize(
    "path", ["/getnzb/{id}.nzb", "/getnzb/x.nzb", "/getnzb", "/api?t=get&id={id}"]
)
def test_nz27_a_download_without_a_key_is_refused_before_anything_is_told(api, path):
    public_id, _ = item_of(api, PLAIN)
    response = api.client.get(path.format(id=public_id))
    assert read_error(response) == (400, 200, "Missing parameter (apikey)")


def test_nz27_an_unknown_release_is_404(api):
    for name in ("0123456789abcdef00.nzb", "x.nzb", "..%2f..%2fetc%2fpasswd", "%00.nzb"):
        response = api.client.get(f"/getnzb/{name}?apikey={api.key}")
        assert read_error(response)[:2] == (404, 300)


def test_a_merged_releases_old_id_still_gives_the_nzb(api):
    public_id, _ = item_of(api, PLAIN)
    (row,) = api.conn.execute("select release_id from release where name = %s", [PLAIN.name])
    api.conn.execute(
        "insert into release_alias (release_key, release_id, generation, reason)"
        " values (77, %s, 0, 'test')",
        [row[0]],
    )
    response = api.client.get(f"/getnzb/000000000000004d00.nzb?apikey={api.key}")
    assert response.status_code == 200
    assert public_id in response.headers["x-dnzb-details"]


def test_a_damaged_release_is_404_so_that_clients_take_another_and_stay(api):
    broken = Upload("Broken.Show.S01E01.720p")
    index_uploads(api.conn, [broken], posted_at=POSTED_AT, group="alt.binaries.broken")
    _, link = item_of(api, broken)
    api.conn.execute(
        "update chunk set payload = '\\xff00ff' where release_id ="
        " (select release_id from release where name like 'Broken%')"
    )
    told = (404, 300, "What is stored of it is damaged")
    assert read_error(api.client.get(link)) == told
    path = link.partition("?")[0].replace("/getnzb/", "/download/")
    page = api.client.get(path)
    assert page.status_code == 404
    assert "What is stored of it is damaged." in page.text
