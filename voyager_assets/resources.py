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
from voyager_core.catalog.rulecounts import record_ruleset
from voyager_core.domain.rulesets import RuleSet
from voyager_core.errors import SettingsError
from voyager_core.header_pass.fetch import FetchOptions
from voyager_core.header_pass.run import PassTools, SpanOutcome, Stage, versions_of
from voyager_core.header_pass.sharing import shared_connections
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.client import NewsClient
from voyager_core.nntp.connection import Deadlines
from voyager_core.settings import Settings
from voyager_core.storage.corpus import Corpus
from voyager_core.storage.spool import Spool

NEWS_URL = "VOYAGER_NEWS__URL"
DATABASE_URL = "VOYAGER_DATABASE_URL"

HOLE_PATIENCE_SECONDS = 3600


class NewsServer(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The news account that headers come from."""

    url: str | None = Field(default=None, description="nntps://user:password@host:563")
    connections: int | None = Field(
        default=None, description="connections of one run; unset: those of the URL"
    )
    timeout_seconds: float = Field(default=60.0, description="deadline of one command")

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

    root: str = Field(default=".voyager/spool", description="folder of the blocks")
    corpus: str = Field(default=".voyager/corpus", description="folder of captured ranges")
    max_bytes: int = Field(default=10_000_000_000, description="most bytes of waiting blocks")
    min_free_bytes: int = Field(default=1_000_000_000, description="free space that stays free")
    block_size: int = Field(default=100_000, description="article numbers asked for at a time")

    def open(self) -> Spool:
        """Returns the spool; its folder is made when the first block is written."""
        return Spool(
            Path(self.root),
            max_bytes=self.max_bytes,
            min_free_bytes=self.min_free_bytes,
            corpus=Corpus(Path(self.corpus), min_free_bytes=self.min_free_bytes),
        )

    def options(self) -> FetchOptions:
        """Returns how spans are fetched."""
        return FetchOptions(block_size=self.block_size)


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
    rules = RuleSet()
    with (
        catalog.connect() as conn,
        news.open() as client,
        shared_connections(conn, client, lane) as adjust,
    ):
        record_ruleset(conn, rules.version, rules.digest, rules.content())
        tools = PassTools(
            conn=conn,
            news=client,
            spool=spool.open(),
            rules=rules,
            versions=versions_of(rules),
            clock=clock.now,
            options=spool.options(),
            stage=stage,
            hole_patience_seconds=min(HOLE_PATIENCE_SECONDS, catalog.settle_after_seconds),
            before_span=adjust,
        )
        yield tools if after_span is None else replace(tools, after_span=after_span)


def build_resources(settings: Settings) -> dict[str, object]:
    """Returns the resources for the settings in force; secrets stay in the environment."""
    return {
        "news": NewsServer(
            url=_secret(settings.news.url, NEWS_URL),
            connections=settings.news.connections,
            timeout_seconds=settings.news.timeout_seconds,
        ),
        "catalog": Catalog(
            database_url=_secret(settings.database_url, DATABASE_URL),
            data_dir=str(settings.data_dir.absolute()),
            backfill_days=settings.catalog.backfill_days,
            settle_after_seconds=settings.catalog.settle_after_seconds,
        ),
        "spool": OverviewSpool(
            root=str(settings.spool_dir.absolute()),
            corpus=str(settings.corpus_path.absolute()),
            max_bytes=settings.spool.max_bytes,
            min_free_bytes=settings.spool.min_free_bytes,
            block_size=settings.spool.block_size,
        ),
        "clock": Clock(),
    }


def _secret(value: SecretStr | None, name: str) -> str | None:
    """Returns a reference to the variable when the setting is set, so that it stays unread."""
    return None if value is None else dg.EnvVar(name)
