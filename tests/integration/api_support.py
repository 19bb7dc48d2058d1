"""A running application over a real catalog, and releases to find in it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import uvicorn
from fastapi import FastAPI

from tests.reference.facts import category_of, parse_episode
from tests.support import spans
from tests.support.postgres import TEMPLATE
from voyager_api.app import create_app
from voyager_api.server import server_config
from voyager_core.catalog.connect import Connection, connect, with_database
from voyager_core.catalog.embedded import EmbeddedPostgres
from voyager_core.catalog.keys import create_key
from voyager_core.catalog.releases import public_id
from voyager_core.settings import ApiSettings, Settings

BASE = "https://index.example/voyager"
_numbers = count(1)
NS = "{http://www.newznab.com/DTD/2010/feeds/attributes/}"


@dataclass
class Api:
    """A client of an application, its catalog, and a good key.

    `now` is the application's clock; set it to move time.
    """

    client: httpx.Client
    conn: Connection
    key: str
    now: list[datetime] = field(default_factory=list)

    def get(self, path: str, **parameters: Any) -> httpx.Response:
        """Asks with the key unless `apikey` is given (None = without)."""
        values = {"apikey": self.key} | parameters
        query = {name: value for name, value in values.items() if value is not None}
        return self.client.get(path, params=query)

    def feed(self, **parameters: Any) -> ET.Element:
        """Returns the channel of `/api` with these parameters."""
        response = self.get("/api", **parameters)
        assert response.status_code == 200, response.text
        root = ET.fromstring(response.content)
        assert root.tag == "rss", response.text
        channel = root.find("channel")
        assert channel is not None
        return channel

    def titles(self, **parameters: Any) -> list[str]:
        """Returns the titles on the page that `/api` gives."""
        return [item.findtext("title") or "" for item in self.feed(**parameters).iter("item")]

    def error(self, path: str = "/api", **parameters: Any) -> tuple[int, int, str]:
        """Returns the HTTP status, the code and the text of an error document."""
        return read_error(self.get(path, **parameters))


def read_error(response: httpx.Response) -> tuple[int, int, str]:
    """Returns the HTTP status, the code and the text of an error document."""
    assert response.headers["content-type"] == "application/xml; charset=utf-8"
    root = ET.fromstring(response.content)
    assert root.tag == "error", response.text
    assert set(root.attrib) == {"code", "description"}
    return response.status_code, int(root.attrib["code"]), root.attrib["description"]


class Server(uvicorn.Server):
    """A server that tells when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = threading.Event()

    async def startup(self, *arguments: Any, **named: Any) -> None:
        await super().startup(*arguments, **named)
        self.listening.set()


@contextmanager
def open_api(database: str, *, external_url: str | None = BASE, **settings: Any) -> Iterator[Api]:
    """Serves a database on a free port; the application's clock stands still."""
    now = [datetime(2024, 3, 2, tzinfo=UTC)]
    made = Settings(
        _env_file=None,
        database_url=database,
        api=ApiSettings(external_url=external_url, **settings),
    )
    with (
        serving(made, now=lambda: now[0]) as address,
        connect(database, application_name="test") as conn,
        httpx.Client(base_url=address, timeout=30) as client,
    ):
        yield Api(client, conn, create_key(conn, "test"), now)


@contextmanager
def shared_database(server: EmbeddedPostgres) -> Iterator[str]:
    """Makes a migrated, empty catalog that several tests read."""
    admin = server.dsn("postgres")
    name = f"api_{next(_numbers)}"
    with connect(admin) as conn:
        conn.execute(f"create database {name} template {TEMPLATE} strategy file_copy")
    yield with_database(admin, name)
    with connect(admin) as conn:
        conn.execute(f"drop database {name} with (force)")


@contextmanager
def serving(settings: Settings, *, app: FastAPI | None = None, **application: Any) -> Iterator[str]:
    """Runs the server in a thread, as the process does, and yields its address."""
    config = server_config(settings, app or create_app(settings, **application))
    config.port = 0
    server = Server(config)
    thread = threading.Thread(target=server.run, name="api", daemon=True)
    thread.start()
    try:
        assert server.listening.wait(30)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)


def add_releases(conn: Connection, *names: str, **values: Any) -> list[str]:
    """Stores releases, the last named one posted last; returns their public ids.

    Category and episode are those of the names unless given.
    """
    (range_id,) = spans.add_ranges(conn)
    rows = []
    for at, name in enumerate(names):
        episode = parse_episode(name)
        known = {
            "name": name,
            "category": category_of(name),
            "season": episode.season,
            "season_last": episode.season_last,
            "episode": episode.episode,
            "episode_last": episode.episode_last,
            "aired_on": episode.air_date,
            "year": episode.year,
        }
        rows.append(spans.release(1000 + at, at, **(known | values)))
    spans.store(conn, range_id, 1, 1000, spans.built(rows))
    return [public_id(row["release_key"], 0) for row in rows]
