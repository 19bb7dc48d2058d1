"""A whole indexer in one process for tests: news server, catalog, spool, Dagster instance."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg

from tests.support.newsserver import Group, NewsServer, made_lines
from voyager_assets.build import build_definitions
from voyager_assets.partitions import add_stretches
from voyager_assets.resources import Catalog, Clock, OverviewSpool
from voyager_assets.resources import NewsServer as NewsResource
from voyager_core.catalog.connect import Connection, connect
from voyager_core.catalog.groups import add_group
from voyager_core.catalog.stored_settings import pin
from voyager_core.catalog.stretches import all_stretches
from voyager_core.domain.ranges import partition_key
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.fetch import FetchOptions
from voyager_core.header_pass.plan import refresh_groups
from voyager_core.header_pass.run import PassTools, Stage, versions_of
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.client import NewsClient
from voyager_core.nntp.connection import Deadlines
from voyager_core.nntp.pool import BackOff, Pool
from voyager_core.settings import Settings
from voyager_core.storage.spool import Spool

GROUP = "alt.binaries.test"
RANGE_SIZE = 500
BLOCK_SIZE = 200
NOW = datetime(2025, 1, 2, tzinfo=UTC)

# Waits between attempts are no part of what is tested.
NO_WAIT = BackOff(0.001, 1.0, 0.001)


def uploads(low: int, count: int, *, group: str = GROUP, parts: int = 25) -> list[bytes]:
    """Returns overview lines of complete files, one after the other, from an article number on."""
    lines = []
    for number in range(low, low + count):
        file, part = divmod(number - 1, parts)
        set_number, index = divmod(file, 4)
        posted = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
        lines.append(
            f'{number}\t[{index + 1}/4] - "Great.Show.S01E{set_number:02d}.part{index + 1}.rar"'
            f" yEnc ({part + 1}/{parts})\tjoe <joe@test.invalid>\t"
            f"{posted:%a, %d %b %Y %H:%M:%S} GMT\t<{number:x}.{file:x}@test.invalid>\t\t740000\t"
            f"5700\tXref: news.test.invalid {group}:{number}".encode()
        )
    return lines


@dataclass
class Indexer:
    """A catalog and a scripted news server, ready to be indexed.

    Attributes:
        dsn: the catalog.
        server: the news server.
        folder: spool, corpus and others.
        now: what the clock says.
    """

    dsn: str
    server: NewsServer
    folder: Path
    now: datetime = NOW
    range_size: int = RANGE_SIZE
    per_partition: int = 1
    settle_after_seconds: int = 0
    extra: dict[str, object] = field(default_factory=dict)

    def prepare(self) -> None:
        """Stores the cut of history and adds the server's groups to the catalog."""
        with self.connect() as conn:
            values = {"range_size": self.range_size, "ranges_per_partition": self.per_partition}
            pin(conn, {name: str(value) for name, value in values.items()})
            for name in self.server.groups:
                add_group(conn, name)

    def connect(self) -> Connection:
        return connect(self.dsn, application_name="test")

    def spool(self) -> Spool:
        return Spool(self.folder / "spool")

    def account(self) -> NewsAccount:
        return NewsAccount.from_url(self.server.url("connections=2"))

    @contextmanager
    def tools(
        self, stage: Stage = Stage.STORE, rules: RuleSet | None = None
    ) -> Iterator[PassTools]:
        """Yields what the core's pass works with; waits and deadlines are short."""
        rules = rules or RuleSet()
        account = self.account()

        def pool() -> Pool:
            return Pool(account, deadlines=Deadlines.of(5), back_off=NO_WAIT, connect_attempts=2)

        with self.connect() as conn, NewsClient(account, pool=pool) as news:
            yield PassTools(
                conn=conn,
                news=news,
                spool=self.spool(),
                rules=rules,
                versions=versions_of(rules),
                clock=lambda: self.now,
                options=FetchOptions(block_size=BLOCK_SIZE, attempts=2, back_off=NO_WAIT),
                stage=stage,
            )

    def plan(self) -> list[str]:
        """Plans ranges from the server's water marks; returns the partition keys."""
        with self.tools() as tools:
            refresh_groups(tools.conn, tools.news, now=self.now)
            return [partition_key(*each) for each in all_stretches(tools.conn)]

    def resources(self) -> dict[str, object]:
        """Returns the Dagster resources of this indexer."""
        return {
            "news": NewsResource(url=self.server.url("connections=2"), timeout_seconds=5),
            "catalog": Catalog(
                database_url=self.dsn, settle_after_seconds=self.settle_after_seconds
            ),
            "spool": OverviewSpool(
                root=str(self.folder / "spool"),
                corpus=str(self.folder / "corpus"),
                min_free_bytes=0,
                block_size=BLOCK_SIZE,
            ),
            "clock": Clock(stands_at=self.now.isoformat()),
            **self.extra,
        }

    def definitions(self) -> dg.Definitions:
        """Returns Voyager's definitions with these resources."""
        settings = Settings(_env_file=None, data_dir=self.folder)
        return build_definitions(settings, resources=self.resources())

    def run(
        self,
        instance: dg.DagsterInstance,
        job: str,
        *,
        keys: Sequence[str] = (),
        selection: Sequence[str] | None = None,
        run_config: dict[str, object] | None = None,
        raise_on_error: bool = False,
    ) -> dg.ExecuteInProcessResult:
        """Runs a job in this process, over a range of partitions when keys are given."""
        tags = {}
        if keys:
            add_stretches(instance, list(keys))
            tags = {
                "dagster/asset_partition_range_start": keys[0],
                "dagster/asset_partition_range_end": keys[-1],
            }
        return (
            self.definitions()
            .resolve_job_def(job)
            .execute_in_process(
                instance=instance,
                tags=tags,
                run_config=run_config,
                asset_selection=selection and [dg.AssetKey(each) for each in selection],
                raise_on_error=raise_on_error,
            )
        )


@contextmanager
def indexer(
    dsn: str, folder: Path, groups: Sequence[Group] | None = None, **options: object
) -> Iterator[Indexer]:
    """Yields an indexer whose server carries the groups (one with 1,200 articles by default)."""
    server_options = {
        name: options.pop(name)
        for name in ("user", "password", "rules", "compress")
        if name in options
    }
    if groups is None:
        groups = [Group(GROUP, uploads(1, 1200))]
    with NewsServer(groups, **server_options) as server:
        made = Indexer(dsn, server, folder, **options)
        made.prepare()
        yield made


def counts(conn: Connection) -> dict[str, int]:
    """Returns what is in the catalog, for comparing two ways of getting there."""
    row = conn.execute(
        "select (select count(*) from release), (select count(*) from chunk),"
        " (select coalesce(sum(segments), 0) from chunk)::bigint,"
        " (select coalesce(sum(size_bytes), 0) from chunk)::bigint,"
        " (select coalesce(sum(lines), 0) from range)::bigint,"
        " (select count(*) from fragment), (select count(*) from candidate)"
    ).fetchone()
    names = ("releases", "chunks", "segments", "bytes", "lines", "fragments", "candidates")
    return dict(zip(names, row, strict=True))


__all__ = ["GROUP", "Group", "Indexer", "counts", "indexer", "made_lines", "uploads"]
