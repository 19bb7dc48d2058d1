"""What a working set-up needs, what is there, and what to do about the rest."""

import errno
import importlib.util
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from voyager_core.catalog.connect import connect, database_dsn, describe
from voyager_core.catalog.embedded import embedded_postgres
from voyager_core.catalog.groups import list_groups
from voyager_core.catalog.keys import list_keys
from voyager_core.catalog.migrate import check_schema
from voyager_core.catalog.postgres_programs import find_programs
from voyager_core.cli.output import readable_size
from voyager_core.errors import TransientError, VoyagerError, reason_of
from voyager_core.header_pass.sharing import Shares
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.client import NewsClient
from voyager_core.nntp.connection import Deadlines
from voyager_core.nntp.errors import GroupGone
from voyager_core.nntp.pool import Pool
from voyager_core.settings import Settings, load_settings
from voyager_core.supervisor.environment import try_to_listen

_ENOUGH_FREE_BYTES = 5_000_000_000
_NEWS_SECONDS = 15.0
_ASK_SECONDS = 3.0
_ASK_BYTES = 65_536


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
        findings.extend(_guarded(part, settings))
    return findings


def _guarded(part: Callable[[Settings], Iterator[Finding]], settings: Settings) -> list[Finding]:
    """Returns what a part found; what it could not even look at is a finding as well."""
    found: list[Finding] = []
    try:
        found.extend(part(settings))
    except OSError as error:
        place = f"{error.filename}: " if error.filename is not None else ""
        found.append(
            Finding(
                part.__name__.strip("_").replace("_", " "),
                ok=False,
                found=f"{place}{error.strerror or error}",
                advice="check the path and its owner",
            )
        )
    return found


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
    existing = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    problem = ""
    if not existing.is_dir():
        problem = f"{existing} is no folder"
    elif not os.access(existing, os.W_OK | os.X_OK):
        problem = f"{existing} cannot be written to"
    if problem:
        advice = "mend it, or set VOYAGER_DATA_DIR to another folder"
        yield Finding("data folder", ok=False, found=problem, advice=advice)
        return
    free = shutil.disk_usage(existing).free
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
    if settings.news.url is None:
        yield Finding(
            "news account",
            ok=False,
            found="none",
            advice="set VOYAGER_NEWS__URL=nntps://user:password@host:563 in .env",
        )
        return
    deadlines = Deadlines.of(min(settings.news.timeout_seconds, _NEWS_SECONDS))
    try:
        account = NewsAccount.from_url(settings.news.url, connections=settings.news.connections)
        Shares.of(account.connections, settings.news.shares)
        account = replace(account, connections=1)
        # One attempt: a person waits for the answer.
        with NewsClient(
            account, pool=lambda: Pool(account, deadlines=deadlines, connect_attempts=1)
        ) as client:
            date = client.date()
            # The clock is told to strangers as well; a group only to who is logged in.
            with suppress(GroupGone):
                client.group("control")
    except TransientError as error:
        advice = "check host and port in VOYAGER_NEWS__URL, or look again later"
        yield Finding("news account", ok=False, found=str(error), advice=advice)
    except VoyagerError as error:
        yield Finding("news account", ok=False, found=str(error), advice="mend VOYAGER_NEWS__URL")
    else:
        found = f"the server answers, its clock says {date:%Y-%m-%d %H:%M} UTC"
        yield Finding("news account", ok=True, found=found)


def _ports(settings: Settings) -> Iterator[Finding]:
    api, dagster = settings.api, settings.dagster
    yield _port("API port", api.host, api.port, "VOYAGER_API__PORT", _is_voyager_api)
    yield _port(
        "Dagster port", dagster.host, dagster.port, "VOYAGER_DAGSTER__PORT", _is_dagster_web
    )


def _port(
    what: str, host: str, port: int, name: str, is_ours: Callable[[str, int], bool]
) -> Finding:
    try:
        try_to_listen(host, port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            found = f"{host}:{port}: {reason_of(error)}"
            setting = name.replace("PORT", "HOST")
            return Finding(what, ok=False, found=found, advice=f"mend {setting} or {name}")
        if is_ours(_reachable(host), port):
            return Finding(what, ok=True, found=f"{host}:{port} is Voyager's, which is running")
        return Finding(
            what,
            ok=False,
            found=f"{host}:{port} is taken by another program",
            advice=f"stop that program, or set {name}",
        )
    return Finding(what, ok=True, found=f"{host}:{port} is free")


def _reachable(host: str) -> str:
    """Returns where a server that listens on an address can be asked."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104


def _is_voyager_api(host: str, port: int) -> bool:
    answer = _ask(host, port, "/api?t=caps")
    return b"<caps>" in answer and b"Voyager" in answer


def _is_dagster_web(host: str, port: int) -> bool:
    return b"dagster_webserver_version" in _ask(host, port, "/server_info")


def _ask(host: str, port: int, path: str) -> bytes:
    """Returns the beginning of what a web server answers; empty when it is none."""
    connection = HTTPConnection(host, port, timeout=_ASK_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().read(_ASK_BYTES)
    except (OSError, HTTPException):
        return b""
    finally:
        connection.close()
