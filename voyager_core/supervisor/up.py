"""`voyager up`: the real thing, with a news account."""

import threading

from voyager_core.catalog.connect import connect
from voyager_core.catalog.groups import list_groups
from voyager_core.catalog.keys import list_keys
from voyager_core.settings import Settings
from voyager_core.supervisor.children import StopRequestedError
from voyager_core.supervisor.installation import Addresses, Installation
from voyager_core.supervisor.interrupts import Interrupts
from voyager_core.supervisor.terminal import Terminal

_WATCH_SECONDS = 1.0


def run_up(settings: Settings, *, terminal: Terminal | None = None) -> int:
    """Runs everything until Ctrl-C or SIGTERM; returns 0 when it was stopped that way.

    Raises:
        AlreadyRunningError: another process runs on the same data directory.
        ServiceError: a service does not start, or dies again and again; all others were stopped.
        VoyagerError: settings, database or ports cannot be used.
    """
    terminal = terminal or Terminal()
    terminal.line("Voyager")
    terminal.step(f"data in {settings.data_dir.absolute()}")
    with (
        Interrupts() as stopping,
        Installation(settings, terminal.step, stopping) as installation,
    ):
        try:
            installation.check_ports()
            dsn = installation.start_database()
            addresses = installation.start_services(fetcher=has_fetcher(settings))
            terminal.line()
            for hint in missing(settings, dsn):
                terminal.step(hint)
            show_addresses(terminal, addresses)
            terminal.line()
            terminal.line("Ctrl-C stops everything.")
            watch(installation, stopping)
        except StopRequestedError:
            terminal.line()
    terminal.step("stopped")
    return 0


def has_fetcher(settings: Settings) -> bool:
    """Tells whether this installation fetches ahead in a process of its own."""
    return settings.news.url is not None and settings.spool.fetcher == "on"


def watch(installation: Installation, stopping: threading.Event) -> None:
    """Waits until a stop is asked for; what dies meanwhile is started again.

    Raises:
        ServiceError: a service dies again and again.
    """
    while not stopping.wait(_WATCH_SECONDS):
        installation.keep_running()


def missing(settings: Settings, dsn: str) -> list[str]:
    """Returns what still has to be done before anything can be found and fetched."""
    hints = []
    if settings.news.url is None:
        hints.append(
            "no news account yet: set VOYAGER_NEWS__URL=nntps://user:password@host:563"
            " in .env and start again"
        )
    with connect(dsn) as conn:
        if not list_groups(conn):
            hints.append("no newsgroups yet: voyager groups add alt.binaries.…")
        if not any(key.revoked_at is None for key in list_keys(conn)):
            hints.append("no API key yet: voyager keys create NAME")
    return hints


def show_addresses(terminal: Terminal, addresses: Addresses) -> None:
    """Writes where the installation answers."""
    terminal.line(f"  Dagster: ranges, runs, checks   {addresses.dagster}")
    terminal.line(f"  Search page and Newznab API     {addresses.api}")
