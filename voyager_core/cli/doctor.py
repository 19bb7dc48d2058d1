"""What a working set-up needs, what is there, and what to do about the rest."""

import importlib.util
import shutil
import socket
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from voyager_core.catalog.connect import connect, database_dsn, describe
from voyager_core.catalog.embedded import embedded_postgres
from voyager_core.catalog.groups import list_groups
from voyager_core.catalog.keys import list_keys
from voyager_core.catalog.migrate import check_schema
from voyager_core.catalog.postgres_programs import find_programs
from voyager_core.cli.output import readable_size
from voyager_core.errors import VoyagerError
from voyager_core.nntp.client import NewsClient
from voyager_core.settings import Settings, load_settings

_ENOUGH_FREE_BYTES = 5_000_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        what: the thing.
        ok: whether Voyager works with it as it is.
        found: what is there.
        advice: what to do; empty when nothing needs doing.
    """

    what: str
    ok: bool
    found: str
    advice: str = ""

    @property
    def mark(self) -> str:
        """A tick, or a cross when something needs attention."""
        return "✓" if self.ok else "✗"


def examine(env_file: Path | None = None) -> list[Finding]:
    """Looks at everything that `voyager up` needs; never raises, never changes anything."""
    findings = [_python(), _native()]
    try:
        settings = load_settings(env_file)
    except VoyagerError as error:
        findings.append(
            Finding("settings", ok=False, found=str(error), advice="mend .env or the environment")
        )
        return findings
    findings.append(
        Finding("settings", ok=True, found="every VOYAGER_ variable is a known setting")
    )
    parts: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
        _data_dir,
        _packages,
        _postgres,
        _news,
        _ports,
    )
    for part in parts:
        findings.extend(part(settings))
    return findings


def _python() -> Finding:
    found = sys.version.split()[0]
    ok = sys.version_info >= (3, 11)
    return Finding("Python", ok, found, "" if ok else "install Python 3.11 or newer")


def _native() -> Finding:
    advice = "run `make setup`"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            import voyager_native
        except ImportError as error:
            return Finding("native core", ok=False, found=str(error), advice=advice)
    if any(issubclass(warning.category, RuntimeWarning) for warning in caught):
        return Finding(
            "native core", ok=False, found="a debug build, many times slower", advice=advice
        )
    version = f"parser {voyager_native.PARSER_VERSION}, codec {voyager_native.CODEC_VERSION}"
    return Finding("native core", ok=True, found=version)


def _data_dir(settings: Settings) -> Iterator[Finding]:
    folder = settings.data_dir.absolute()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        free = shutil.disk_usage(existing).free
    except OSError as error:
        yield Finding(
            "data folder", ok=False, found=f"{folder}: {error}", advice="mend VOYAGER_DATA_DIR"
        )
        return
    enough = free >= max(_ENOUGH_FREE_BYTES, settings.spool.min_free_bytes)
    yield Finding(
        "data folder",
        enough,
        f"{folder}, {readable_size(free)} free",
        "" if enough else "free some space, or set VOYAGER_DATA_DIR to a folder on a larger disk",
    )


def _packages(settings: Settings) -> Iterator[Finding]:
    del settings
    needed = {"dagster_webserver": "assets", "dagster_postgres": "assets", "fastapi": "api"}
    missing = {extra for name, extra in needed.items() if importlib.util.find_spec(name) is None}
    yield Finding(
        "Dagster and API packages",
        not missing,
        f"missing: {', '.join(sorted(missing))}" if missing else "installed",
        "run `make setup`" if missing else "",
    )


def _postgres(settings: Settings) -> Iterator[Finding]:
    try:
        if settings.database_url is None:
            programs = find_programs()
            yield Finding("PostgreSQL programs", ok=True, found=str(programs.bindir))
            if embedded_postgres(settings).pid is None:
                yield Finding(
                    "catalog",
                    ok=True,
                    found="the embedded server is not running; `voyager up` starts it",
                )
                return
        dsn = database_dsn(settings)
        with connect(dsn, application_name="voyager doctor") as conn:
            check_schema(conn)
            groups, keys = list_groups(conn), list_keys(conn)
    except VoyagerError as error:
        yield Finding(
            "catalog",
            ok=False,
            found=str(error),
            advice="see VOYAGER_DATABASE_URL, or run `voyager migrate`",
        )
        return
    yield Finding("catalog", ok=True, found=describe(dsn))
    yield Finding(
        "newsgroups",
        bool(groups),
        f"{len(groups)} indexed",
        "" if groups else "add one: `voyager groups add alt.binaries.…`",
    )
    good = sum(key.revoked_at is None for key in keys)
    yield Finding(
        "API keys",
        bool(good),
        f"{good} in use",
        "" if good else "make one for each program: `voyager keys create sonarr`",
    )


def _news(settings: Settings) -> Iterator[Finding]:
    try:
        client = NewsClient.from_settings(settings.news)
        if client is None:
            yield Finding(
                "news account",
                ok=False,
                found="none",
                advice="set VOYAGER_NEWS__URL=nntps://user:password@host:563 in .env",
            )
            return
        with client:
            date = client.date()
            yield Finding(
                "news account",
                ok=True,
                found=f"the server answers, its clock says {date:%Y-%m-%d %H:%M} UTC",
            )
    except VoyagerError as error:
        yield Finding("news account", ok=False, found=str(error), advice="mend VOYAGER_NEWS__URL")


def _ports(settings: Settings) -> Iterator[Finding]:
    for what, host, port, name in (
        ("API port", settings.api.host, settings.api.port, "VOYAGER_API__PORT"),
        ("Dagster port", settings.dagster.host, settings.dagster.port, "VOYAGER_DAGSTER__PORT"),
    ):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                yield Finding(
                    what,
                    ok=False,
                    found=f"{host}:{port}: {error.strerror}",
                    advice=f"fine when Voyager itself is running; else set {name}",
                )
            else:
                yield Finding(what, ok=True, found=f"{host}:{port} is free")
