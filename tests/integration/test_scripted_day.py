"""A day with deaths and faults ends with the catalog of a quiet one."""

import pytest

from tests.support.day import Day
from tests.support.platform_day import VICTIMS, PlatformDay
from voyager_core.catalog.migrate import migrate

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(1200)]


def test_a_day_with_kills_faults_and_a_retracted_rule_ends_as_a_quiet_one(
    database, empty_database, tmp_path
):
    migrate(empty_database)
    day = Day(groups=4, ranges=3, ticks=2)
    quiet = day.run(empty_database, tmp_path / "quiet", seed=None)
    disturbed = day.run(database, tmp_path / "disturbed", seed=20_260_101)
    assert day.kills >= 4
    assert quiet["findings"] == []
    assert disturbed["findings"] == []
    assert quiet["fragments"] == disturbed["fragments"] == (0,)
    assert disturbed["releases"] == quiet["releases"]
    assert disturbed["ledger"] == quiet["ledger"]
    names = {name for _, name, *_ in quiet["releases"]}
    assert any(name.startswith("Film") for name in names)


def test_whatever_process_of_an_installation_dies_the_day_ends_as_a_quiet_one(
    empty_database, tmp_path
):
    """Postgres, daemon, webserver, code server, API, fetcher and a run worker, all killed."""
    migrate(empty_database)
    quiet = Day(groups=2, ranges=2, ticks=2).run(empty_database, tmp_path / "quiet", seed=None)
    day = PlatformDay(groups=2, ranges=2, ticks=2, deaths=len(VICTIMS))
    disturbed = day.live(tmp_path / "disturbed", seed=7)
    assert set(day.killed) == set(VICTIMS)
    assert disturbed["findings"] == quiet["findings"] == []
    assert disturbed["ledger"] == quiet["ledger"]
    assert disturbed["releases"] == quiet["releases"]
    assert disturbed["fragments"] == (0,)
