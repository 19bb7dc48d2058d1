"""What assets work with, as Dagster resources: news server, catalog, spool, clock.

Each resource only holds settings and makes the object of `voyager_core` when an asset asks for
it, so loading the code location needs no server, no database and no disk. Secrets come in as
`EnvVar`, so that Dagster shows the variable's name and never its value.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
from pydantic import Field, SecretStr

from voyager_core.catalog.connect import Connection, connect, database_dsn
from voyager_core.catalog.rulesets import rules_in_force
from voyager_core.errors import SettingsError
from voyager_core.header_pass.fetch import FetchOptions
from voyager_core.header_pass.late import LONGEST_WAIT
from voyager_core.header_pass.run import PassTools, SpanOutcome, Stage, versions_of
from voyager_core.header_pass.sharing import HISTORY, Shares, present, shared_connections
from voyager_core.header_pass.wait import fetcher_lives
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.client import NewsClient
from voyager_core.nntp.connection import Deadlines
from voyager_core.settings import Settings
from voyager_core.storage.corpus import Corpus
from voyager_core.storage.spool import Spool

NEWS_URL = "VOYAGER_NEWS__URL"
DATABASE_URL = "VOYAGER_DATABASE_URL"
ALERTS_URL = "VOYAGER_ALERTS__URL"

HOLE_PATIENCE_SECONDS = 3600


def _nothing() -> None:
    """Does nothing."""


class NewsServer(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The news account that headers come from."""

    url: str | None = Field(default=None, description="nntps://user:password@host:563")
    connections: int | None = Field(
        default=None, description="connections of one run; unset: those of the URL"
    )
    timeout_seconds: float = Field(default=60.0, description="deadline of one command")
    shares: str | None = Field(
        default=None, description="least and most connections of a purpose: tail=2-10,probe=0-8"
    )

    def account(self) -> NewsAccount:
        """Returns the account.

        Raises:
            SettingsError: there is none, or its URL cannot be used.
        """
        if self.url is None:
            msg = f"no news account: set {NEWS_URL}=nntps://user:password@host:563"
            raise SettingsError(msg)
        return NewsAccount.from_url(self.url, connections=self.connections)

    @contextmanager
    def open(self) -> Iterator[NewsClient]:
        """Yields a client; its connections are closed at the end.

        Raises:
            SettingsError: there is no account, or its URL cannot be used.
            TlsFailed: the file with trusted certificates cannot be used.
        """
        deadlines = Deadlines.of(self.timeout_seconds)
        with NewsClient(self.account(), deadlines=deadlines) as client:
            yield client

    @contextmanager
    def join(
        self, conn: Connection, lane: str
    ) -> Iterator[tuple[NewsClient | None, Callable[[], None]]]:
        """Yields a client that shares the account, and what adjusts its connections.

        Without an account there is no client: the process works on what fetchers bring.

        Args:
            conn: the pass's connection to the catalog.
            lane: what the connections are for.

        Raises:
            SettingsError: the account or its division cannot be used.
            CatalogUnavailable: the database does not answer.
        """
        if self.url is None and lane == HISTORY and fetcher_lives(conn):
            with present(conn, lane):
                yield None, _nothing
            return
        with self.open() as client:
            shares = Shares.of(client.account.connections, self.shares)
            with shared_connections(conn, client, lane, shares=shares) as adjust:
                yield client, adjust


class Catalog(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The catalog in Postgres, and how history is cut in it."""

    database_url: str | None = Field(
        default=None, description="unset: the embedded server of the data directory"
    )
    data_dir: str = Field(default=".voyager", description="where the embedded server lives")
    backfill_days: int | None = Field(
        default=None, description="history to index; unset: all of the server's retention"
    )
    settle_after_seconds: int = Field(
        default=86_400, description="a release settles when nothing arrived for this long"
    )

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Yields a connection, outside any transaction.

        Raises:
            CatalogUnavailable: there is no database, or it does not answer.
            CatalogRefused: it refuses the login.
        """
        with connect(self.dsn(), application_name="voyager dagster") as conn:
            yield conn

    def dsn(self) -> str:
        """Returns the address of the database.

        Raises:
            CatalogUnavailable: none is set and the embedded server does not run.
        """
        if self.database_url is not None:
            return self.database_url
        return database_dsn(Settings.model_construct(data_dir=Path(self.data_dir)))


class OverviewSpool(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Where fetched overview blocks wait, and how they are fetched."""

    root: str = Field(
        default=".voyager/spool", description="folder of the blocks, or s3://bucket/prefix"
    )
    corpus: str = Field(default=".voyager/corpus", description="folder of captured ranges")
    corpus_max_bytes: int = Field(
        default=20_000_000_000, description="most bytes of captured ranges"
    )
    max_bytes: int = Field(default=10_000_000_000, description="most bytes of waiting blocks")
    min_free_bytes: int = Field(default=1_000_000_000, description="free space that stays free")
    block_size: int = Field(default=50_000, description="article numbers asked for at a time")
    max_mbit_per_second: float | None = Field(
        default=None, description="most that one run reads in a second, in Mbit"
    )

    def open(self) -> Spool:
        """Returns the spool; its folder is made when the first block is written.

        Raises:
            SettingsError: the URL cannot be used.
        """
        mbit = self.max_mbit_per_second
        return Spool.at(
            self.root,
            max_bytes=self.max_bytes,
            min_free_bytes=self.min_free_bytes,
            corpus=Corpus(
                Path(self.corpus),
                max_bytes=self.corpus_max_bytes,
                min_free_bytes=self.min_free_bytes,
            ),
            bytes_per_second=None if mbit is None else mbit * 125_000,
        )

    @property
    def reports_path(self) -> Path:
        """Where the reports on the corpus are kept."""
        corpus = Path(self.corpus)
        return corpus.with_name(f"{corpus.name}_reports")

    @property
    def parquet_path(self) -> Path:
        """Where captured ranges are as Parquet."""
        corpus = Path(self.corpus)
        return corpus.with_name(f"{corpus.name}_parquet")

    def options(self, lane: str = HISTORY) -> FetchOptions:
        """Returns how spans are fetched.

        Args:
            lane: what for; only long blocks of the history are left unread.
        """
        return FetchOptions(block_size=self.block_size, unread=lane == HISTORY)


class Alerts(dg.ConfigurableResource):  # type: ignore[type-arg]
    """When a person is told, and how."""

    lag_seconds: int = Field(default=7200, description="lag that is told of; 0: never")
    url: str | None = Field(default=None, description="where alerts are posted to as JSON")


class Clock(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The time, in one place."""

    stands_at: str | None = Field(
        default=None, description="an ISO time at which the clock stands still, for tests"
    )

    def now(self) -> datetime:
        """Returns the time (UTC)."""
        if self.stands_at is not None:
            return datetime.fromisoformat(self.stands_at).astimezone(UTC)
        return datetime.now(UTC)  # noqa: TID251 - the place where assets get the time from


@contextmanager
def open_pass(
    news: NewsServer,
    catalog: Catalog,
    spool: OverviewSpool,
    clock: Clock,
    *,
    lane: str,
    stage: Stage = Stage.STORE,
    after_span: Callable[[SpanOutcome], None] | None = None,
) -> Iterator[PassTools]:
    """Yields what a pass works with; connections are closed at the end.

    Args:
        news: the account.
        catalog: the catalog.
        spool: where blocks wait.
        clock: the time.
        lane: with whom the account's connections are shared (`sharing.TAIL` or `HISTORY`).
        stage: how far the pass goes.
        after_span: called with what became of each span.

    Raises:
        VoyagerError: the account, the database or the rule set cannot be used.
    """
    with catalog.connect() as conn, news.join(conn, lane) as (client, adjust):
        rules = rules_in_force(conn)
        tools = PassTools(
            conn=conn,
            news=client,
            spool=spool.open(),
            rules=rules,
            versions=versions_of(rules),
            clock=clock.now,
            options=spool.options(lane),
            stage=stage,
            hole_patience_seconds=min(HOLE_PATIENCE_SECONDS, catalog.settle_after_seconds),
            before_span=adjust,
            # Where releases settle sooner, nothing may wait for articles that are late.
            asks_again=catalog.settle_after_seconds >= LONGEST_WAIT.total_seconds(),
            uses_fetchers=lane == HISTORY,
        )
        yield tools if after_span is None else replace(tools, after_span=after_span)


def build_resources(settings: Settings) -> dict[str, object]:
    """Returns the resources for the settings in force; secrets stay in the environment."""
    return {
        "news": NewsServer(
            url=_secret(settings.news.url, NEWS_URL),
            connections=settings.news.connections,
            timeout_seconds=settings.news.timeout_seconds,
            shares=settings.news.shares,
        ),
        "catalog": Catalog(
            database_url=_secret(settings.database_url, DATABASE_URL),
            data_dir=str(settings.data_dir.absolute()),
            backfill_days=settings.catalog.backfill_days,
            settle_after_seconds=settings.catalog.settle_after_seconds,
        ),
        "spool": OverviewSpool(
            root=settings.spool.url or str(settings.spool_dir.absolute()),
            corpus=str(settings.corpus_path.absolute()),
            corpus_max_bytes=settings.corpus_max_bytes,
            max_bytes=settings.spool.max_bytes,
            min_free_bytes=settings.spool.min_free_bytes,
            block_size=settings.spool.block_size,
            max_mbit_per_second=settings.spool.max_mbit_per_second,
        ),
        "alerts": Alerts(
            lag_seconds=settings.alerts.lag_seconds,
            url=_secret(settings.alerts.url, ALERTS_URL),
        ),
        "clock": Clock(),
    }


def _secret(value: SecretStr | None, name: str) -> str | None:
    """Returns a reference to the variable when the setting is set, so that it stays unread."""
    return None if value is None else dg.EnvVar(name)
