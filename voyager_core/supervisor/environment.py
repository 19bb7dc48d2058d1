"""What the processes of an installation get: environment, Dagster's home, free ports."""

import errno
import json
import os
import socket
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict
from pydantic import BaseModel, SecretStr

from voyager_core.errors import SettingsError, reason_of
from voyager_core.settings import PREFIX, Settings

ASSETS = "voyager_assets"
LOCATION = "voyager"
_LAST_PORT = 65_535
DAGSTER_YAML = "dagster.yaml"
_NOTE = "# Copied by Voyager from the project; edits here are overwritten at the next start.\n"


def child_environment(settings: Settings, *, catalog_dsn: str, dagster_dsn: str) -> dict[str, str]:
    """Returns the environment of every child process.

    The settings in force are written out, so that a child sees the same ones whatever its
    `.env` or its parent's options say; Dagster's storage gets the parts of its DSN.

    Raises:
        SettingsError: Dagster's DSN names no server by TCP.
    """
    home = dagster_home(settings)
    base = {
        name: value
        for name, value in os.environ.items()  # noqa: TID251 - handed on, not read
        if not name.upper().startswith((PREFIX, "DAGSTER_"))
    }
    bin_dir = str(Path(sys.executable).parent)
    return {
        **base,
        **settings_environment(settings),
        "PATH": f"{bin_dir}{os.pathsep}{base.get('PATH', os.defpath)}",
        "PYTHONUNBUFFERED": "1",
        # The frames of a range are too small to gain from more threads, and runs share the cores.
        "POLARS_MAX_THREADS": base.get("POLARS_MAX_THREADS", "1"),
        "VOYAGER_ENV_FILE": os.devnull,
        "VOYAGER_DATABASE_URL": catalog_dsn,
        "VOYAGER_DAGSTER_DATABASE_URL": dagster_dsn,
        **_storage_environment(dagster_dsn),
        "VOYAGER_COMPUTE_LOGS": str(home / "compute_logs"),
        "DAGSTER_HOME": str(home),
        "DAGSTER_DISABLE_TELEMETRY": "yes",
    }


def settings_environment(settings: Settings) -> dict[str, str]:
    """Returns the variables that make `load_settings` return these settings (secrets too)."""
    found: dict[str, str] = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, BaseModel):
            for inner in type(value).model_fields:
                _put(found, f"{PREFIX}{name}__{inner}", getattr(value, inner))
        else:
            _put(found, f"{PREFIX}{name}", value)
    return found


def _put(found: dict[str, str], name: str, value: object) -> None:
    if value is None:
        return
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    elif isinstance(value, Path):
        value = value.absolute()
    simple = isinstance(value, str | int | float | Path) and not isinstance(value, bool)
    found[name.upper()] = str(value) if simple else json.dumps(value)


def _storage_environment(dagster_dsn: str) -> dict[str, str]:
    """Returns the parts of Dagster's DSN: its configuration has no place for a whole one."""
    parts = {name: str(value) for name, value in conninfo_to_dict(dagster_dsn).items()}
    host = parts.get("host", "")
    if not host or host.startswith("/"):
        msg = (
            "Dagster's storage needs a server that is reached by TCP: name a host in "
            "VOYAGER_DAGSTER_DATABASE_URL (or VOYAGER_DATABASE_URL)"
        )
        raise SettingsError(msg)
    return {
        "VOYAGER_PG_HOST": host,
        "VOYAGER_PG_PORT": parts.get("port", "5432"),
        "VOYAGER_PG_USER": parts.get("user", ""),
        "VOYAGER_PG_PASSWORD": parts.get("password", ""),
        "VOYAGER_PG_DAGSTER_DB": parts.get("dbname", ""),
    }


def dagster_home(settings: Settings) -> Path:
    """Returns the folder of Dagster's configuration and logs, absolute."""
    return settings.data_dir.absolute() / "dagster"


def prepare_dagster_home(settings: Settings, source: Path | None = None) -> Path:
    """Makes Dagster's home and copies the project's dagster.yaml into it when it differs.

    Args:
        settings: where the home is.
        source: the file to copy; None finds the installed one.

    Raises:
        SettingsError: there is no such file, or the home cannot be written.
    """
    source = source or find_dagster_yaml()
    home = dagster_home(settings)
    target = home / DAGSTER_YAML
    try:
        wanted = _NOTE + source.read_text(encoding="utf-8")
        (home / "compute_logs").mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text(encoding="utf-8") != wanted:
            temporary = target.with_suffix(".new")
            temporary.write_text(wanted, encoding="utf-8")
            temporary.replace(target)
    except OSError as error:
        msg = f"Dagster's home {home} cannot be prepared: {reason_of(error)}"
        raise SettingsError(msg) from error
    return home


def find_dagster_yaml() -> Path:
    """Returns the project's dagster.yaml: in the installed package, or beside it in a checkout.

    Raises:
        SettingsError: there is none, or the assets are not installed.
    """
    spec = find_spec(ASSETS)
    if spec is None or spec.origin is None:
        msg = f"{ASSETS} is not installed: pip install 'voyager-indexer[assets,api]'"
        raise SettingsError(msg)
    package = Path(spec.origin).parent
    for place in (package / DAGSTER_YAML, package.parent / DAGSTER_YAML):
        if place.is_file():
            return place
    msg = f"no {DAGSTER_YAML} in {package} or beside it: the installation is incomplete"
    raise SettingsError(msg)


def choose_code_port(home: Path) -> int:
    """Returns the port of Dagster's code server: the last one, or a free one, which is kept.

    Runs that wait in Dagster's queue remember the port of the code server that they came from.
    """
    file = home / "code_port"
    try:
        port = int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        port = 0
    if not 0 < port <= _LAST_PORT or not is_port_free("127.0.0.1", port):
        port = free_port()
        file.write_text(f"{port}\n", encoding="ascii")
    return port


def write_workspace(home: Path, code_port: int) -> Path:
    """Writes where webserver and daemon find the code server, and returns the file.

    The location has a name of its own: Dagster keeps what it knows of sensors and schedules
    under it, and would make one up of the port.
    """
    file = home / "workspace.yaml"
    server = f"{{host: 127.0.0.1, port: {code_port}, location_name: {LOCATION}}}"
    file.write_text(f"load_from:\n  - grpc_server: {server}\n", encoding="utf-8")
    return file


def is_port_free(host: str, port: int) -> bool:
    """Tells whether a server can listen there now."""
    try:
        try_to_listen(host, port)
    except OSError:
        return False
    return True


def try_to_listen(host: str, port: int) -> None:
    """Takes a port of an address and gives it back.

    Raises:
        OSError: it cannot be taken; with EADDRINUSE another program has it.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except UnicodeError:
        raise OSError(errno.EINVAL, "no name of a host") from None
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)


def is_listening(port: int) -> bool:
    """Tells whether something accepts connections on a port of 127.0.0.1."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def free_port(host: str = "127.0.0.1") -> int:
    """Returns a port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
    return port


def news_url(port: int, *, user: str, password: str, connections: int) -> str:
    """Returns the URL of the sample news server on loopback."""
    return f"nntp://{quote(user)}:{quote(password)}@127.0.0.1:{port}?connections={connections}"


def with_changes(settings: Settings, changes: Mapping[str, Mapping[str, object]]) -> Settings:
    """Returns the settings with sections changed: `{"api": {"port": 9000}}`."""
    sections = {
        name: getattr(settings, name).model_copy(update=dict(values))
        for name, values in changes.items()
    }
    return settings.model_copy(update=sections)
