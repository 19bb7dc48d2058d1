"""The demo goes on when its database dies while it waits for the index."""

import io
from types import SimpleNamespace

import pytest

from voyager_core.catalog.connect import connect
from voyager_core.catalog.groups import list_groups
from voyager_core.demo import run
from voyager_core.demo.posts import build_corpus
from voyager_core.demo.run import index, verify
from voyager_core.demo.summary import Outcome
from voyager_core.demo.truth import expected
from voyager_core.errors import TransientError
from voyager_core.supervisor.terminal import Terminal

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


class Mortal:
    """An installation whose database is away for some looks, and then is there again."""

    def __init__(self, dsn, away):
        self.catalog_dsn = dsn
        self.stopping = SimpleNamespace(wait=lambda _seconds: None)
        self.looks = 0
        self._dsn, self._away = dsn, away

    def keep_running(self):
        self.looks += 1
        with connect(self._dsn) as conn:
            conn.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            )
        nowhere = "postgresql://nobody@127.0.0.1:1/none"
        self.catalog_dsn = nowhere if self.looks in self._away else self._dsn


class Silent:
    """An API that does not answer."""

    def releases(self):
        raise TransientError("nobody there")


@pytest.fixture
def truth():
    return expected(build_corpus())


def test_the_demo_waits_for_a_database_that_is_started_again(database, truth, monkeypatch):
    installation = Mortal(database, away={2, 3})
    asked = []

    def verified(conn, *_):
        asked.append(installation.looks)
        # What is asked of a catalog that dies at this moment ends the same way.
        if len(asked) == 1:
            installation.keep_running()
        list_groups(conn)
        return Outcome((), [] if installation.looks > 6 else ["not yet"])

    monkeypatch.setattr(run, "verify", verified)
    monkeypatch.setattr(run, "is_caught_up", lambda *_: True)
    terminal = Terminal(io.StringIO())
    outcome = index(terminal, installation, truth, Silent())
    assert outcome.problems == []
    assert not {2, 3} & set(asked)
    assert installation.looks == 7


def test_a_database_that_stays_away_ends_the_wait_with_a_reason(database, truth, monkeypatch):
    monkeypatch.setattr(run, "_PATIENCE_SECONDS", 0.05)
    installation = Mortal(database, away=range(10_000))
    with pytest.raises(TransientError, match=r"connecting to 127\.0\.0\.1:1/none"):
        index(Terminal(io.StringIO()), installation, truth, Silent())


def test_an_api_that_is_cut_off_is_a_problem_and_no_fault(database, truth):
    with connect(database) as conn:
        assert verify(conn, truth, Silent()).problems == ["nobody there"]
