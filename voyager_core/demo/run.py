"""`voyager demo`: sample posts on a loopback news server, indexed by the real thing."""

import time
from dataclasses import replace

from pydantic import SecretStr

from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.connect import Connection, connect
from voyager_core.catalog.errors import CatalogUnavailable
from voyager_core.catalog.groups import add_group
from voyager_core.catalog.keys import create_key, verify_key
from voyager_core.catalog.progress import GroupStatus, group_status
from voyager_core.catalog.ranges import ranges_of
from voyager_core.catalog.releases import counts
from voyager_core.catalog.rulecounts import reject_totals
from voyager_core.demo.client import Newznab
from voyager_core.demo.compare import differences, match
from voyager_core.demo.posts import build_corpus
from voyager_core.demo.state import DemoState, choose_ports, read_state, write_state
from voyager_core.demo.summary import (
    Outcome,
    progress_text,
    show_found,
    show_materialised,
    show_use,
)
from voyager_core.demo.truth import Truth, expected
from voyager_core.errors import TransientError
from voyager_core.settings import Settings
from voyager_core.supervisor.children import Service, StopRequestedError
from voyager_core.supervisor.environment import is_listening, news_url, with_changes
from voyager_core.supervisor.installation import Installation
from voyager_core.supervisor.interrupts import Interrupts
from voyager_core.supervisor.programs import STAGE_NEWS, python_program
from voyager_core.supervisor.terminal import Terminal
from voyager_core.supervisor.up import watch

RANGE_SIZE = 500
BLOCK_SIZE = 200
EXIT_INTERRUPTED = 130
# Any login opens the sample server; it is there so that the client has one to send.
_USER, _PASSWORD = "demo", "sample"
_KEY_LABEL = "demo"
_POLL_SECONDS = 1.0
# Without any progress for this long, what is missing is reported as missing.
_PATIENCE_SECONDS = 240.0


def run_demo(settings: Settings, *, once: bool, terminal: Terminal | None = None) -> int:
    """Indexes the sample posts with everything running.

    Args:
        settings: data directory and ports; the account and the databases are the demo's own.
        once: verify, print, stop, instead of running until Ctrl-C.
        terminal: where to write.

    Returns:
        0 when everything posted was found exactly (or, without `once`, after Ctrl-C); 1 with
        `once` when something differs; 130 with `once` when it was interrupted.

    Raises:
        AlreadyRunningError: another process runs on the same data directory.
        ServiceError: a service does not start, or dies again and again; all others were stopped.
        VoyagerError: the data directory, the database or a port cannot be used.
    """
    terminal = terminal or Terminal()
    terminal.line("Voyager demo: sample posts on a news server of its own, indexed like real ones")
    terminal.step(f"data in {settings.data_dir.absolute()}")
    truth = expected(build_corpus())
    with (
        Interrupts() as stopping,
        Installation(settings, terminal.step, stopping) as installation,
    ):
        try:
            outcome = _run(terminal, installation, truth)
            code = 1 if once and outcome.problems else 0
            if once:
                terminal.line("All of it stops now; `voyager demo` goes on with this data.")
            else:
                terminal.line("Ctrl-C stops everything; the next start goes on with this data.")
                watch(installation, stopping)
        except StopRequestedError:
            terminal.line()
            code = EXIT_INTERRUPTED if once else 0
    terminal.step("stopped")
    return code


def _run(terminal: Terminal, installation: Installation, truth: Truth) -> Outcome:
    """Starts everything, waits for the index, prints what was found."""
    data_dir = installation.settings.data_dir
    # Only now: the lock is held, so that nobody else uses the state.
    state = choose_ports(read_state(data_dir), installation.settings)
    installation.settings = demo_settings(installation.settings, state)
    with connect(installation.start_database()) as conn:
        state = prepare_catalog(conn, truth, state)
    write_state(data_dir, state)
    addresses = installation.start_services((news_service(state.news_port),))
    api = Newznab(addresses.api, state.api_key)
    outcome = index(terminal, installation, truth, api)
    show_found(terminal, truth, outcome)
    show_materialised(terminal, addresses)
    matched = match(truth, outcome.found)
    first = next((one for release in truth.releases for one in matched[release.slug]), None)
    news = f"127.0.0.1:{state.news_port}"
    show_use(terminal, addresses, api, news=news, found=first, data_dir=data_dir)
    return outcome


def demo_settings(settings: Settings, state: DemoState) -> Settings:
    """Returns the settings of the demo: small ranges, its own news server and databases."""
    url = news_url(state.news_port, user=_USER, password=_PASSWORD, connections=4)
    changed = with_changes(
        settings,
        {
            "news": {"url": SecretStr(url), "connections": None},
            "catalog": {
                "range_size": RANGE_SIZE,
                "ranges_per_partition": 1,
                "backfill_days": None,
                "settle_after_seconds": 0,
            },
            "spool": {"block_size": BLOCK_SIZE, "min_free_bytes": 50_000_000},
            "api": {"port": state.api_port, "external_url": None},
            "dagster": {"port": state.dagster_port},
        },
    )
    return changed.model_copy(
        update={"database_url": None, "dagster_database_url": None, "corpus_dir": None}
    )


def prepare_catalog(conn: Connection, truth: Truth, state: DemoState) -> DemoState:
    """Adds the sample's groups and makes a key, unless a start before did."""
    for name, priority in truth.priorities.items():
        add_group(conn, name, priority=priority)
    if state.api_key and verify_key(conn, state.api_key) is not None:
        return state
    return replace(state, api_key=create_key(conn, _KEY_LABEL))


def news_service(port: int) -> Service:
    """Returns the sample news server as a service."""
    return Service(
        name="news-server",
        command=python_program("voyager_core.demo.server", "--port", str(port)),
        is_ready=lambda: is_listening(port),
        address=f"127.0.0.1:{port}",
        stage=STAGE_NEWS,
    )


def index(terminal: Terminal, installation: Installation, truth: Truth, api: Newznab) -> Outcome:
    """Waits until Dagster has indexed the sample and everything is found, or nothing moves.

    Raises:
        CatalogUnavailable: the database does not come back.
        ServiceError: a service dies again and again.
        StopRequestedError: a stop was asked for.
    """
    terminal.line()
    terminal.line("Dagster materialises the ranges")
    seen, moved_at = "", time.monotonic()
    while time.monotonic() - moved_at < _PATIENCE_SECONDS:
        installation.keep_running()
        try:
            # A connection would not outlive a database that is started again.
            with connect(installation.catalog_dsn) as conn:
                now, outcome = _look(conn, truth, api)
        except CatalogUnavailable:
            now, outcome = "the database does not answer", None
        terminal.progress(now)
        if outcome is not None and not outcome.problems:
            return outcome
        if now != seen:
            seen, moved_at = now, time.monotonic()
        installation.stopping.wait(_POLL_SECONDS)
    with connect(installation.catalog_dsn) as conn:
        outcome = verify(conn, truth, api)
        return Outcome(outcome.found, [*failures(conn, truth), *outcome.problems])


def _look(conn: Connection, truth: Truth, api: Newznab) -> tuple[str, Outcome | None]:
    """Returns how far the index is, in words, and what was found once every article was read."""
    groups = group_status(conn)
    now = progress_text(groups, sum(truth.lines.values()))
    if not all(is_caught_up(group, truth) for group in groups):
        return now, None
    outcome = verify(conn, truth, api)
    differ = len(outcome.problems)
    more = f"{differ} things still differ" if differ else "everything is found"
    return f"{now} · {more}", outcome


def failures(conn: Connection, truth: Truth) -> list[str]:
    """Returns what the ledger says about ranges that could not be indexed."""
    return [
        f"range {row.group} {row.low}-{row.high} ({row.state}): {row.error}"
        for group in truth.priorities
        for row in ranges_of(conn, group)
        if row.error is not None
    ]


def is_caught_up(group: GroupStatus, truth: Truth) -> bool:
    """Tells whether every article that the server lists in a group was read."""
    return group.lines >= truth.lines.get(group.group, 0)


def verify(conn: Connection, truth: Truth, api: Newznab) -> Outcome:
    """Compares what the API offers and what the ledger counted with what was posted."""
    try:
        found = tuple(api.releases())
    except TransientError as error:
        return Outcome((), [str(error)])
    problems = differences(truth, found)
    for group, reasons in truth.counted.items():
        counted = {total.reason: total.articles for total in reject_totals(conn, group)}
        if counted != reasons:
            problems.append(f"{group}: counted {counted}, expected {dict(reasons)}")
    for progress in group_status(conn):
        wanted = truth.lines.get(progress.group)
        if progress.lines != wanted:
            problems.append(f"{progress.group}: {progress.lines} lines read, {wanted} are there")
    posted = sum(1 for release in truth.releases for _ in release.segments)
    if (held := counts(conn).segments) != posted:
        problems.append(f"the catalog states {held} segments, {posted} were posted")
    problems += (f"the catalog contradicts itself: {finding}" for finding in check_catalog(conn))
    return Outcome(found, problems)
