"""What a second start of the demo takes over from the first: its key and its ports."""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from voyager_core.settings import Settings
from voyager_core.supervisor.environment import free_port, is_port_free

_FILE = "demo.json"


@dataclass(frozen=True, slots=True)
class DemoState:
    """The demo's key and ports; "" and 0 = not chosen yet."""

    api_key: str = ""
    news_port: int = 0
    api_port: int = 0
    dagster_port: int = 0


def read_state(data_dir: Path) -> DemoState:
    """Returns what the last start left; a damaged file counts as none."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        found = json.loads((data_dir / _FILE).read_text(encoding="utf-8"))
        ports = [int(found[name]) for name in ("news_port", "api_port", "dagster_port")]
        if all(0 <= port <= 65535 for port in ports):
            return DemoState(str(found["api_key"]), *ports)
    return DemoState()


def write_state(data_dir: Path, state: DemoState) -> None:
    """Keeps the state for the next start; the key in it is for its owner's eyes only."""
    new = data_dir / f"{_FILE}.new"
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(json.dumps(asdict(state)) + "\n")
    new.replace(data_dir / _FILE)


def choose_ports(state: DemoState, settings: Settings) -> DemoState:
    """Returns the state with a free port for each server: the last one, the usual one, or any."""
    return replace(
        state,
        news_port=_choose("127.0.0.1", state.news_port),
        api_port=_choose(settings.api.host, state.api_port, settings.api.port),
        dagster_port=_choose(settings.dagster.host, state.dagster_port, settings.dagster.port),
    )


def _choose(host: str, *wanted: int) -> int:
    return next((port for port in wanted if port and is_port_free(host, port)), 0) or free_port()
