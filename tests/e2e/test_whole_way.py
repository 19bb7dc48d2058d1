"""From a real news server to the bytes that a real client downloads.

INN2 is the server, Nyuu posts, a proxy adds the compression that INN2 lacks, `voyager up`
indexes through Dagster, NZBGet and FlexGet use the Newznab API.
"""

import hashlib
import random
import shutil
import subprocess
import tempfile
import urllib.parse
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import nyuu
from tests.support.gzproxy import CompressingProxy
from tests.support.inn2 import HOST, Inn2
from tests.support.installation import VoyagerUp
from tests.support.nzbget import Nzbget

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("e2e"),  # one worker, so that each world is set up once
]

GROUP, OTHER_GROUP = "alt.binaries.test", "alt.binaries.boneless"
READABLE = "Voyager.Sample.S01E02.1080p.WEB.H264-DEMO"
_NEWZNAB = "{http://www.newznab.com/DTD/2010/feeds/attributes/}"


@dataclass
class Upload:
    """What was posted: the files, Nyuu's NZB of them, and words that find the release."""

    words: str
    files: list[Path]
    nzb: bytes


@dataclass
class World:
    """The running server and Voyager beside it."""

    server: Inn2
    voyager: VoyagerUp
    key: str
    uploads: dict[str, Upload]

    def search(self, words: str) -> list[ET.Element]:
        """Returns the items of a Newznab search."""
        query = urllib.parse.urlencode({"t": "search", "q": words, "apikey": self.key})
        return list(ET.fromstring(self.voyager.get(f"/api?{query}")).iter("item"))


def _make_files(folder: Path, stem: str, seed: int) -> list[Path]:
    """Makes a split archive with par2 files and an nfo, all with real content."""
    folder.mkdir()
    content = random.Random(seed).randbytes(900_000)
    (folder / f"{stem}.mkv").write_bytes(content)
    _run(folder, "7zz", "a", "-mx0", "-v300k", f"{stem}.7z", f"{stem}.mkv")
    (folder / f"{stem}.mkv").unlink()
    volumes = sorted(path.name for path in folder.glob("*.7z.*"))
    assert len(volumes) == 3
    _run(folder, "par2", "create", "-q", "-r10", "-s20000", f"{stem}.par2", *volumes)
    (folder / f"{stem}.nfo").write_text(f"{stem}\nmade for a test\n")
    return sorted(folder.iterdir())


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)


def _post_all(server: Inn2, folder: Path) -> dict[str, Upload]:
    uploads = {}
    files = _make_files(folder / "readable", READABLE, seed=1)
    nzb = folder / "readable.nzb"
    subject = '[{0filenum}/{files}] - "{filename}" yEnc ({part}/{parts}) {filesize}'
    nyuu.post(server, [GROUP, OTHER_GROUP], files, nzb, subject=subject)
    uploads["readable"] = Upload(READABLE.replace(".", " "), files, nzb.read_bytes())

    stem = hashlib.md5(b"obfuscated").hexdigest()
    files = _make_files(folder / "obfuscated", stem, seed=2)
    nzb = folder / "obfuscated.nzb"
    nyuu.post(server, [GROUP], files, nzb, subject=subject, poster="${rand(12)} <${rand(9)}@x.y>")
    uploads["obfuscated"] = Upload(stem, files, nzb.read_bytes())
    return uploads


@pytest.fixture(scope="module")
def folder():
    """A folder that the users of INN2 and Postgres may enter, which pytest's are not."""
    made = Path(tempfile.mkdtemp(prefix="voyager-e2e-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module", params=["gzip-terminator", "gzip"])
def world(request, folder):
    """INN2 with two uploads, and Voyager that indexes them through the compressing proxy.

    Once with ranges of 40 numbers, so that files cross their edges, and once with the
    default size, where everything is the live tail of the first range.
    """
    compress = request.param
    place = folder / compress
    place.mkdir()
    with Inn2(place / "inn", (GROUP, OTHER_GROUP)) as server:
        uploads = _post_all(server, place)
        with CompressingProxy(HOST, server.port) as proxy:
            account = f"{server.user}:{server.password}@{HOST}:{proxy.port}"
            settings = {"VOYAGER_NEWS__URL": f"nntp://{account}?connections=4&compress={compress}"}
            if compress == "gzip":
                settings["VOYAGER_CATALOG__RANGE_SIZE"] = "40"
            with VoyagerUp(place / "voyager", settings) as voyager:
                voyager.command("groups", "add", GROUP, OTHER_GROUP)
                key = voyager.command("keys", "create", "test").strip()
                world = World(server, voyager, key, uploads)
                voyager.wait_until(
                    lambda: _all_found(world), 240, "index everything that was posted"
                )
                assert proxy.compressed_replies > 0
                yield world


def _all_found(world: World) -> bool:
    for upload in world.uploads.values():
        items = world.search(upload.words)
        if len(items) != 1 or _nzb(world, items[0]) is None:
            return False
        posted, found = nyuu.segments(upload.nzb), nyuu.segments(_nzb(world, items[0]) or b"")
        if sum(map(len, found.values())) < sum(map(len, posted.values())):
            return False
    return True


def _nzb(world: World, item: ET.Element) -> bytes | None:
    enclosure = item.find("enclosure")
    assert enclosure is not None
    url = enclosure.get("url", "")
    assert url.startswith(world.voyager.url)
    return world.voyager.get(url.removeprefix(world.voyager.url))


@pytest.mark.parametrize("kind", ["readable", "obfuscated"])
def test_the_segment_list_equals_that_of_the_poster(world, kind):
    upload = world.uploads[kind]
    (item,) = world.search(upload.words)
    assert nyuu.segments(_nzb(world, item)) == nyuu.segments(upload.nzb)
    attributes = {a.get("name"): a.get("value") for a in item.iter(f"{_NEWZNAB}attr")}
    assert attributes["files"] == str(len(upload.files))


@pytest.mark.parametrize("kind", ["readable", "obfuscated"])
def test_nzbget_downloads_identical_bytes_by_the_link_of_the_api(world, kind, tmp_path):
    upload = world.uploads[kind]
    (item,) = world.search(upload.words)
    with Nzbget(tmp_path / "nzbget", world.server.port) as client:
        client.fetch_url(item.find("enclosure").get("url"))
        (download,) = client.wait_for_history()
        assert download["Status"].startswith("SUCCESS"), client.log()[-3000:]
        got = {path.name: path.read_bytes() for path in Path(download["DestDir"]).iterdir()}
    posted = {path.name: path.read_bytes() for path in upload.files}
    # NZBGet leaves par2 volumes alone while nothing is broken.
    needed = {name for name in posted if ".vol" not in name}
    assert needed <= got.keys() <= posted.keys()
    assert all(got[name] == posted[name] for name in got)


def test_flexget_finds_the_release_and_saves_its_nzb(world, tmp_path):
    upload = world.uploads["readable"]
    config = tmp_path / "config.yml"
    config.write_text(
        "tasks:\n  find:\n    discover:\n      interval: 1 seconds\n"
        "      release_estimations: ignore\n      what:\n"
        f"        - mock:\n            - {{title: '{upload.words}', url: 'http://127.0.0.1/'}}\n"
        "      from:\n        - newznab:\n"
        f"            website: {world.voyager.url}\n            apikey: {world.key}\n"
        f"            category: all\n    accept_all: yes\n    download: {tmp_path}/found\n"
    )
    (tmp_path / "found").mkdir()
    done = subprocess.run(
        [
            shutil.which("flexget"),
            "-c",
            str(config),
            "execute",
            "--tasks",
            "find",
            "--discover-now",
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    saved = list((tmp_path / "found").iterdir())
    assert len(saved) == 1, done.stdout + done.stderr
    assert saved[0].suffix == ".nzb"
    assert nyuu.segments(saved[0].read_bytes()) == nyuu.segments(upload.nzb)
    assert READABLE in saved[0].name


def test_the_catalog_agrees_with_its_chunks(world):
    assert "no difference" in world.voyager.command("check", "catalog")
