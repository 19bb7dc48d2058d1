"""Crossposts of a removed newsgroup are taken over exactly once, and only where it left some."""

from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from tests.support.indexing import Group, counts, indexer
from voyager_assets.sensors.removed import removed_groups_sensor
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.groups import add_group, remove_group
from voyager_core.catalog.ranges import ranges_of
from voyager_core.catalog.reowned import orphaned_stretches, removed_owners
from voyager_core.catalog.rulecounts import reject_totals
from voyager_core.header_pass.reowned import take_over_stretches
from voyager_core.header_pass.run import index_stretches

pytestmark = pytest.mark.postgres
OWNER, OTHER, THIRD = "alt.owner", "alt.other", "alt.third"


def posts(places, count, name, parts=10):
    """Returns overview lines by group; `places` gives each group's first number."""
    lines = {group: [] for group in places}
    for each in range(count):
        file, part = divmod(each, parts)
        xref = " ".join(f"{group}:{low + each}" for group, low in places.items())
        posted = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=each)
        for group, low in places.items():
            lines[group].append(
                f'{low + each}\t"{name}.part{file + 1:02d}.rar" yEnc ({part + 1}/{parts})'
                f"\tjoe <joe@test.invalid>\t{posted:%a, %d %b %Y %H:%M:%S} GMT"
                f"\t<{name}.{each}@test.invalid>\t\t740000\t5700"
                f"\tXref: news.invalid {xref}".encode()
            )
    return lines


@pytest.fixture
def it(database, tmp_path):
    """`Early` lies in ranges that the owner reads; `Late` and `Third` in ranges it never reads."""
    early = posts({OWNER: 1, OTHER: 1}, 200, "Early.Show.S01E01")
    late = posts({OWNER: 501, OTHER: 501}, 200, "Late.Show.S01E02")
    third = posts({OWNER: 801, OTHER: 801, THIRD: 1}, 100, "Third.Show.S01E03")
    own = posts({OTHER: 301}, 100, "Own.Show.S01E04")
    groups = [
        Group(OWNER, early[OWNER] + late[OWNER] + third[OWNER]),
        Group(OTHER, early[OTHER] + own[OTHER] + late[OTHER] + third[OTHER]),
        Group(THIRD, third[THIRD]),
    ]
    with indexer(database, tmp_path, groups) as made:
        made.plan()
        with made.tools() as tools:
            stretches = [(OTHER, 0), (OTHER, 1), (THIRD, 0), (OWNER, 0)]
            assert not [r.failures for r in index_stretches(tools, stretches) if r.failures]
        yield made


def segments(conn, group):
    return conn.execute(
        "select coalesce(sum(r.segments), 0)::bigint from release r join newsgroup n"
        " using (newsgroup_id) where n.name = %s",
        [group],
    ).fetchone()[0]


def take_over(it, stretches=((OTHER, 0), (OTHER, 1), (THIRD, 0))):
    with it.tools() as tools:
        return [each.lines for each in take_over_stretches(tools, stretches, OWNER)]


def test_nothing_is_left_over_while_the_owner_is_indexed(it):
    with it.connect() as conn:
        assert removed_owners(conn) == []
    assert take_over(it) == [0, 0, 0]


def test_only_what_the_owner_never_read_is_taken_over_and_once(it):
    with it.connect() as conn:
        assert (segments(conn, OWNER), segments(conn, OTHER)) == (200, 100)
        remove_group(conn, OWNER)
        assert removed_owners(conn) == [OWNER]
        assert orphaned_stretches(conn, OWNER, limit=9) == [
            (OTHER, 0, 1),
            (OTHER, 1, 1),
            (THIRD, 0, 1),
        ]
    # The lines that the owner has read are left alone; of the rest, the second group now owns all.
    assert take_over(it) == [0, 300, 100]
    with it.connect() as conn:
        assert (segments(conn, OWNER), segments(conn, OTHER)) == (200, 400)
        assert segments(conn, THIRD) == 0
        assert check_catalog(conn) == []
        before = counts(conn)
        assert removed_owners(conn) == []
        left = {row.reason: row.articles for row in reject_totals(conn)}
        assert left == {f"crosspost:{OWNER}": 200, f"crosspost:{OTHER}": 100}
    assert take_over(it) == [0, 0, 0]
    with it.connect() as conn:
        assert counts(conn) == before


def test_a_group_removed_twice_is_looked_at_twice(it):
    with it.connect() as conn:
        remove_group(conn, OWNER)
    take_over(it)
    with it.connect() as conn:
        before = counts(conn)
        add_group(conn, OWNER)
        conn.execute("update newsgroup set removed_at = null where name = %s", [OWNER])
        remove_group(conn, OWNER)
        conn.execute(
            "update newsgroup set removed_at = removed_at + interval '1 hour' where name = %s",
            [OWNER],
        )
    assert sum(take_over(it)) == 0
    with it.connect() as conn:
        assert counts(conn) == before
        assert check_catalog(conn) == []


def test_the_sensor_asks_for_exactly_these_stretches(it):
    with it.connect() as conn:
        remove_group(conn, OWNER)
    with (
        dg.DagsterInstance.ephemeral() as instance,
        dg.build_sensor_context(instance=instance, resources=it.resources()) as context,
    ):
        keys = [f"{OTHER}/000000", f"{OTHER}/000001", f"{THIRD}/000000"]
        instance.add_dynamic_partitions("stretch", keys)
        asked = removed_groups_sensor(context)
        assert [each.tags["stretches"] for each in asked.run_requests] == [
            f"{OTHER}/0-1".replace("alt.binaries.", "a.b."),
            f"{THIRD}/0".replace("alt.binaries.", "a.b."),
        ]
        result = it.run(
            instance, "history", keys=keys[:2], run_config=asked.run_requests[0].run_config
        )
        assert result.success
    with it.connect() as conn:
        assert segments(conn, OTHER) == 400
        assert [row.state for row in ranges_of(conn, OTHER)] == ["done", "partial"]
