"""What the demo tells about its progress and its result."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.core.demo.test_compare import ONE, TRUTH, TWO
from voyager_core.catalog.progress import GroupStatus
from voyager_core.demo.client import Newznab
from voyager_core.demo.run import is_caught_up
from voyager_core.demo.summary import Outcome, progress_text, show_found, show_use
from voyager_core.supervisor.installation import Addresses
from voyager_core.supervisor.terminal import Terminal


def progress(group: str = "alt.a", **changes) -> GroupStatus:
    values = {
        "group": group,
        "priority": 1,
        "state": "ok",
        "note": None,
        "low": 1,
        "high": 1100,
        "checked_at": None,
        "indexed_to": 1100,
        "lag": 0,
        "lag_seconds": 0.0,
        "ranges": 3,
        "done": 2,
        "parked": 0,
        "numbers": 1500,
        "indexed": 1100,
        "lines": 1000,
        "backlog": 0,
        "rate": None,
        "posting_rate": None,
        "eta_seconds": 0.0,
        "holes": 0,
        "stored_at": None,
    }
    return GroupStatus(**{**values, **changes})


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        ([], "0 of 9 articles · 0 ranges: 0 done, 0 read to their newest article"),
        (
            [progress(), progress("alt.b", indexed_to=1099, lag=1, lines=5)],
            "1,005 of 9 articles · 6 ranges: 4 done, 1 read to their newest article",
        ),
        (
            [progress(ranges=0, done=0, indexed_to=None, high=None, parked=2, lines=0)],
            "0 of 9 articles · 0 ranges: 0 done, 0 read to their newest article, 2 failed",
        ),
        (
            [progress(done=3)],
            "1,000 of 9 articles · 3 ranges: 3 done, 0 read to their newest article",
        ),
    ],
)
def test_progress_tells_done_open_and_failed_ranges(groups, text):
    assert progress_text(groups, 9) == text


def test_a_group_is_caught_up_when_every_listed_line_was_read():
    assert not is_caught_up(progress(lines=5), TRUTH)
    assert is_caught_up(progress(lines=6), TRUTH)


def written(show) -> str:
    output = io.StringIO()
    show(Terminal(output))
    return output.getvalue()


def test_a_right_result_is_called_verified():
    counted = replace(TRUTH, counted={"alt.b": {"crosspost:alt.a": 3, "no_counter": 2}})
    text = written(lambda t: show_found(t, counted, Outcome([ONE, TWO], [])))
    assert "Verified: 2 releases, 3 files and 6 segments are exactly those posted." in text
    assert "in no file of alt.b: 3 crossposts of alt.a, 2 no counter" in text
    assert "4/4" in text
    assert "2/3" in text


def test_a_wrong_result_lists_the_differences():
    problems = [f"problem {number}" for number in range(100)]
    text = written(lambda t: show_found(t, TRUTH, Outcome([ONE], problems)))
    assert "NOT as posted, 100 differences:" in text
    assert "  problem 0\n" in text
    assert "Verified" not in text


def test_nothing_found_is_told_without_a_table():
    text = written(lambda t: show_found(t, TRUTH, Outcome([], ["x"])))
    assert "0 releases in 6 articles of 1 newsgroups" in text
    assert "RELEASE" not in text


def test_the_command_that_fetches_an_nzb_has_the_key_and_the_id():
    api = Newznab("http://127.0.0.1:8484", "key")
    addresses = Addresses(dagster="http://127.0.0.1:3000", api=api.base)
    folder = Path("/home/some one/demo")
    text = written(
        lambda t: show_use(t, addresses, api, news="127.0.0.1:119", found=ONE, data_dir=folder)
    )
    assert (
        f"curl -o demo.nzb 'http://127.0.0.1:8484/api?t=get&id={ONE.public_id}&apikey=key'" in text
    )
    assert "http://127.0.0.1:3000" in text
    # Without the folder a command would look into another catalog, which is empty.
    assert f"VOYAGER_DATA_DIR='/home/some one/demo' .venv/bin/voyager nzb {ONE.public_id}" in text
    assert "curl" not in written(
        lambda t: show_use(t, addresses, api, news="127.0.0.1:119", found=None, data_dir=folder)
    )
