"""Fills an installation with the ledger and the Dagster history of a whole pass."""

import csv
import json
import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import psycopg

from tests.support.indexing import Indexer, uploads
from tests.support.newsserver import Group, NewsServer
from voyager_assets.partitions import add_stretches
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.groups import import_groups
from voyager_core.catalog.stretches import all_stretches
from voyager_core.domain.ranges import partition_key
from voyager_core.header_pass.plan import refresh_groups
from voyager_core.nntp.overview import GroupMarks

LIST_2016 = Path(__file__).resolve().parents[2] / "shared/data/groups"
FILE_2016 = "list_active_2016_alt.binaries.tsv"
TEMPLATE = "alt.binaries.test"
RANGE = 2_000_000
TOGETHER = 4


@dataclass(frozen=True)
class MadeGroup:
    name: str
    low: int
    high: int


def group_list(ranges: int, groups: int = 1000) -> list[MadeGroup]:
    """Returns the largest groups of 2016, or made ones, scaled to so many ranges in all."""
    file = LIST_2016 / FILE_2016
    if file.exists():
        with file.open(encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines, delimiter="\t"))[:groups]
        spans = [(row["group"], int(row["low"]), int(row["span"])) for row in rows]
    else:
        dice = random.Random(1)
        spans = [
            (f"alt.binaries.made{rank:04d}", dice.randrange(1, 10**9), int(7e10 / rank**1.1))
            for rank in range(1, groups + 1)
        ]
    factor = 1.0
    for _ in range(20):
        total = sum(_ranges(low, int(span * factor)) for _, low, span in spans)
        factor *= ranges / total
    return [MadeGroup(name, low, low + int(span * factor) - 1) for name, low, span in spans]


def _ranges(low: int, span: int) -> int:
    return (low + span - 2) // RANGE - (low - 1) // RANGE + 1


class Marks:
    """A news server that only knows water marks."""

    def __init__(self, groups: Sequence[MadeGroup]) -> None:
        self._marks = {each.name: GroupMarks(each.name, each.low, each.high) for each in groups}

    def list_active(self, pattern: str = "*") -> list[GroupMarks]:
        return list(self._marks.values())

    def group(self, name: str) -> GroupMarks:
        return self._marks[name]

    def overview(self, group: str, low: int, high: int):
        raise AssertionError


def fill_ledger(conn: Connection, groups: Sequence[MadeGroup]) -> int:
    """Plans every group as a server with these water marks would have it; returns the ranges."""
    import_groups(conn, [each.name for each in groups])
    plans = refresh_groups(conn, Marks(groups), now=datetime.now(UTC))
    return sum(each.new_ranges for each in plans)


def date_ledger(conn: Connection) -> None:
    """Gives every group the dates that planning asks for, and makes the ledger one in use."""
    conn.execute(
        "insert into group_date (newsgroup_id, number, posted_at)"
        " select newsgroup_id, low + (high - low) * step / 20,"
        "  now() - (20 - step) * interval '300 days'"
        " from newsgroup cross join generate_series(0, 19) as step where high > low + 20"
    )
    conn.execute("vacuum analyze")


def finish_ledger(conn: Connection) -> None:
    """Makes every range one that was indexed a while ago, with the counts it would have."""
    conn.execute("set statement_timeout = 0")
    conn.execute(
        "update range r set resume_at = least(r.high, n.high) + 1,"
        " state = case when r.high <= n.high then 'done' else 'partial' end,"
        " lines = 1800000, rejected = 700000, dropped = 9000, chunked_segments = 1091000,"
        " stored_at = now() - interval '2 days', done_at = now() - interval '2 days',"
        " parser_version = 1, rules_version = 1, codec_version = 1"
        " from newsgroup n where n.newsgroup_id = r.newsgroup_id"
    )
    conn.execute(
        "insert into reject_count (range_id, reason, articles)"
        " select range_id, reason, 100000 from range cross join"
        " (values ('no_counter'), ('crosspost:alt.binaries.boneless'), ('duplicate'),"
        "  ('bad_line'), ('description'), ('index_spam')) as r (reason)"
    )
    conn.execute(
        "insert into range_version (range_id, low, parser_version, rules_version, codec_version)"
        " select range_id, low, 1, 1, 1 from range"
    )
    conn.execute(
        "insert into range_rule_count (range_id, rule, articles, files)"
        " select range_id, rule, 4500, 90 from range cross join"
        " (values ('repost_remnant'), ('disguised_program')) as r (rule)"
    )
    conn.execute(
        "insert into span_drop (range_id, low, high, parser_version, versions)"
        " select range_id, low, high, 1, array[1] from range"
    )
    conn.execute(
        "insert into span_rule_count (span_drop_id, range_id, rules_version, rule, articles, files)"
        " select span_drop_id, range_id, 1, rule, 4500, 90 from span_drop cross join"
        " (values ('repost_remnant'), ('disguised_program')) as r (rule)"
    )
    conn.execute("vacuum analyze")


@dataclass(frozen=True)
class Template:
    """What one real run over a few stretches left in Dagster's tables."""

    run_id: str
    keys: Sequence[str]


def make_template(instance: dg.DagsterInstance, dsn: str, folder: Path) -> Template:
    """Runs the header pass over a made group of its own catalog, on this Dagster instance."""
    with NewsServer([Group(TEMPLATE, uploads(1, 1200))]) as server:
        it = Indexer(dsn, server, folder, range_size=300)
        it.prepare()
        keys = it.plan()[:TOGETHER]
        result = it.run(instance, "history", keys=keys, raise_on_error=True)
    instance.delete_dynamic_partition("stretch", keys[0])
    for key in keys[1:]:
        instance.delete_dynamic_partition("stretch", key)
    return Template(result.run_id, keys)


def fill_dagster(
    instance: dg.DagsterInstance, dsn: str, conn: Connection, template: Template
) -> tuple[int, int]:
    """Adds the partitions, and copies the template's run for all of them.

    Returns:
        Partitions and runs.
    """
    keys = [partition_key(*each) for each in all_stretches(conn)]
    add_stretches(instance, keys)
    blocks = list(_blocks(keys))
    with psycopg.connect(dsn) as storage:
        _copy_runs(storage, template, blocks)
    with psycopg.connect(dsn, autocommit=True) as storage:
        storage.execute("vacuum analyze")
    return len(keys), len(blocks)


def _blocks(keys: Sequence[str]) -> Iterator[list[str]]:
    block: list[str] = []
    for key in keys:
        group = key.rpartition("/")[0]
        if block and (len(block) == TOGETHER or block[-1].rpartition("/")[0] != group):
            yield block
            block = []
        block.append(key)
    if block:
        yield block


def _copy_runs(storage, template: Template, blocks: Sequence[Sequence[str]]) -> None:
    def rows(query: str) -> list[tuple]:
        return storage.execute(query, [template.run_id]).fetchall()

    events = rows(
        "select id, event, dagster_event_type, timestamp, step_key, asset_key, partition"
        " from event_logs where run_id = %s order by id"
    )
    tags = rows(
        "select t.event_id, t.asset_key, t.key, t.value, t.event_timestamp"
        " from asset_event_tags t join event_logs e on e.id = t.event_id where e.run_id = %s"
    )
    run = rows(
        "select snapshot_id, pipeline_name, mode, status, run_body, partition, partition_set,"
        " start_time, end_time from runs where run_id = %s"
    )[0]
    run_tags = rows("select key, value from run_tags where run_id = %s")
    tags_of: dict[int, list[tuple]] = {}
    for event_id, *rest in tags:
        tags_of.setdefault(event_id, []).append(tuple(rest))
    (number,) = storage.execute("select coalesce(max(id), 0) from event_logs").fetchone()
    new_runs, new_run_tags, new_events, new_tags = [], [], [], []
    for block in blocks:
        run_id = str(uuid.uuid4())
        mapped = dict(zip(template.keys, block, strict=False))

        def changed(text, run_id=run_id, mapped=mapped):
            if text is None:
                return None
            for old, new in {**mapped, template.run_id: run_id}.items():
                text = text.replace(old, new)
            return text

        new_runs.append((run_id, *[changed(v) if isinstance(v, str) else v for v in run]))
        new_run_tags += [(run_id, key, changed(value)) for key, value in run_tags]
        for event_id, event, kind, at, step, asset, partition in events:
            if partition is not None and partition not in mapped:
                continue
            number += 1
            new_events.append(
                (number, run_id, changed(event), kind, at, step, asset, mapped.get(partition))
            )
            new_tags += [(number, *each) for each in tags_of.get(event_id, ())]
        if len(new_events) > 50_000:
            _write(storage, new_runs, new_run_tags, new_events, new_tags)
            new_runs, new_run_tags, new_events, new_tags = [], [], [], []
    _write(storage, new_runs, new_run_tags, new_events, new_tags)
    storage.execute("select setval(pg_get_serial_sequence('event_logs', 'id'), %s)", [number])


def _write(storage, runs, run_tags, events, tags) -> None:
    tables = {
        "runs (run_id, snapshot_id, pipeline_name, mode, status, run_body, partition,"
        " partition_set, start_time, end_time)": runs,
        "run_tags (run_id, key, value)": run_tags,
        "event_logs (id, run_id, event, dagster_event_type, timestamp, step_key, asset_key,"
        " partition)": events,
        "asset_event_tags (event_id, asset_key, key, value, event_timestamp)": tags,
    }
    with storage.cursor() as cursor:
        for table, rows in tables.items():
            with cursor.copy(f"copy {table} from stdin") as copy:
                for row in rows:
                    copy.write_row(row)
    storage.commit()


def table_bytes(dsn: str) -> dict[str, int]:
    """Returns what the tables of Dagster's events take, indexes included."""
    with psycopg.connect(dsn) as storage:
        return {
            name: storage.execute("select pg_total_relation_size(%s)", [name]).fetchone()[0]
            for name in ("event_logs", "asset_event_tags", "runs", "run_tags", "dynamic_partitions")
        }


def event_kinds(dsn: str, run_id: str) -> dict[str, int]:
    """Returns how many events of each kind a run stored."""
    with psycopg.connect(dsn) as storage:
        return dict(
            storage.execute(
                "select coalesce(dagster_event_type, 'log'), count(*) from event_logs"
                " where run_id = %s group by 1 order by 2 desc",
                [run_id],
            ).fetchall()
        )


def as_json(value: object) -> str:
    return json.dumps(value, indent=1, default=str)
