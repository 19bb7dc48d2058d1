"""Voyager's settings: environment variables `VOYAGER_…` and a `.env` file.

Nested settings join their names with two underscores: `VOYAGER_NEWS__URL`.
A variable with the prefix that names no setting is an error, since it is nearly always a typo.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from voyager_core.env_file import check_file, check_lines
from voyager_core.errors import SettingsError, reason_of

PREFIX = "VOYAGER_"
# Written by `voyager up` for the processes that it starts; they are no settings of a person.
RESERVED = frozenset({"VOYAGER_ENV_FILE", "VOYAGER_COMPUTE_LOGS"})
RESERVED_PREFIXES = ("VOYAGER_PG_", "VOYAGER_TEST_")


# Whoever means "no end" writes a large number; beyond these, times and integers overflow.
MOST_SECONDS = 1_000_000_000
MOST_DAYS = 100_000
MOST_BYTES = 10**18
MOST_COUNT = 2**31 - 1


def _address(*schemes: str) -> AfterValidator:
    """Returns a check for an address with a secret in it, which no message may show."""

    def check(value: SecretStr) -> SecretStr:
        try:
            parts = urlsplit(value.get_secret_value())
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in schemes or not parts.hostname:
            msg = f"is no address that begins with {' or '.join(f'{each}://' for each in schemes)}"
            raise ValueError(msg)
        return value

    return AfterValidator(check)


def _at_home(value: Any) -> Any:
    """Returns a path with a leading `~` as a shell would: none has seen a line of `.env`."""
    if not isinstance(value, str) or not value.startswith("~"):
        return value
    try:
        return str(Path(value).expanduser())
    except RuntimeError:
        msg = "the home folder of this user is not known; write the whole path"
        raise ValueError(msg) from None


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NewsSettings(_Section):
    """The news account that headers come from."""

    url: SecretStr | None = Field(
        default=None,
        description="nntps://user:password@host:563?connections=50 (percent-encode the password)",
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = Field(
        default=60.0, description="deadline of one command; a stalled server is given up after it"
    )
    connections: Annotated[int, Field(ge=1, le=500)] | None = Field(
        default=None, description="overrides the number of connections in the URL"
    )
    shares: str | None = Field(
        default=None,
        description="least and most connections of a purpose, as tail=2-10,history=1-50,probe=0-8; "
        "unset: a tenth for the tail, up to a fifth for probing, the rest for history",
    )


class SpoolSettings(_Section):
    """Overview blocks on disk, between the news server and the header pass."""

    max_bytes: Annotated[int, Field(ge=1_000_000, le=MOST_BYTES)] = Field(
        default=10_000_000_000,
        description="most bytes that fetched, not yet indexed blocks may use",
    )
    block_size: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=50_000, description="article numbers asked for in one command"
    )
    min_free_bytes: Annotated[int, Field(ge=0, le=MOST_BYTES)] = Field(
        default=1_000_000_000, description="fetching stops below this much free space"
    )
    url: Annotated[str, BeforeValidator(_at_home)] | None = Field(
        default=None,
        description="a folder, or s3://bucket/prefix?endpoint=http://host:9000 that several "
        "machines share; unset: <data_dir>/spool",
    )
    fetcher: Literal["on", "off"] = Field(
        default="on",
        description="off: `voyager up` starts no fetcher, and every run fetches for itself",
    )
    max_mbit_per_second: Annotated[float, Field(gt=0, le=1_000_000)] | None = Field(
        default=None, description="most that one run reads from the spool in a second, in Mbit"
    )


class CatalogSettings(_Section):
    """How history is cut; stored with the catalog when it is created."""

    range_size: Annotated[int, Field(ge=1, le=1_000_000_000)] = Field(
        default=2_000_000, description="article numbers in a range"
    )
    ranges_per_partition: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=1, description="ranges in a Dagster partition (64 for the full target)"
    )
    backfill_days: Annotated[int, Field(ge=0, le=MOST_DAYS)] | None = Field(
        default=None, description="unset: all of the server's retention"
    )
    settle_after_seconds: Annotated[int, Field(ge=0, le=MOST_SECONDS)] = Field(
        default=86_400, description="a release settles when no chunk arrived for this long"
    )


class ApiSettings(_Section):
    """The Newznab API and the web page."""

    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: Annotated[int, Field(ge=1, le=65535)] = Field(
        default=8484, description="port to listen on"
    )
    external_url: Annotated[str, Field(pattern=r"^\s*(https?://[^\s\"'<>]+)?\s*$")] | None = Field(
        default=None, description="how clients reach the API, for links: https://host/prefix"
    )
    login: Literal["on", "off"] = Field(
        default="on",
        description="off: pages are open to everybody who reaches them, as behind a proxy "
        "that asks for a password itself",
    )
    workers_pool_size: Annotated[int, Field(ge=1, le=200)] = Field(
        default=10, description="most database connections of the API"
    )
    requests_per_day: Annotated[int, Field(ge=0, le=MOST_COUNT)] = Field(
        default=0, description="requests a key may make in a rolling 24 hours; 0 = no limit"
    )
    grabs_per_day: Annotated[int, Field(ge=0, le=MOST_COUNT)] = Field(
        default=0, description="NZBs a key may fetch in a rolling 24 hours; 0 = no limit"
    )
    requests_per_minute: Annotated[int, Field(ge=0, le=MOST_COUNT)] = Field(
        default=0, description="requests and NZBs of a key in a minute, in a burst; 0 = no limit"
    )
    metrics: bool = Field(
        default=False, description="whether /metrics tells Prometheus, and anybody, its counts"
    )


class DagsterSettings(_Section):
    """The Dagster webserver."""

    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: Annotated[int, Field(ge=1, le=65535)] = Field(
        default=3000, description="port to listen on"
    )
    external_url: Annotated[str, Field(pattern=r"^https?://[^\s\"'<>]+$")] | None = Field(
        default=None, description="how a browser reaches it, for links on the web page"
    )


class AlertSettings(_Section):
    """When a person is told, and how."""

    lag_seconds: Annotated[int, Field(ge=0, le=MOST_SECONDS)] = Field(
        default=7200, description="a newsgroup that is this far behind is told of; 0: never"
    )
    url: Annotated[SecretStr, _address("https", "http")] | None = Field(
        default=None,
        description="https://… that alerts are posted to as JSON; a failed run shows them anyway",
    )


class ClusterSettings(_Section):
    """Redis, for runs on several machines."""

    broker: Annotated[SecretStr, _address("redis", "rediss")] | None = Field(
        default=None, description="redis://host:6379/0, which Celery workers take runs from"
    )
    backend: Annotated[SecretStr, _address("redis", "rediss")] | None = Field(
        default=None, description="redis://host:6379/1, where they say how far they are"
    )


class Settings(BaseSettings):
    """Everything that can be set, with its default.

    Raises:
        pydantic.ValidationError: use `load_settings` for a message that a person can read.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_file=".env",
        env_file_encoding="utf-8",
        env_ignore_empty=True,  # `VOYAGER_NEWS__URL=` takes a value back
        extra="ignore",  # a .env file may hold other programs' variables; see unknown_variables
        frozen=True,
        hide_input_in_errors=True,
    )

    data_dir: Annotated[Path, BeforeValidator(_at_home)] = Field(
        default=Path(".voyager"), description="Postgres data, spool, corpus, Dagster's home, logs"
    )
    database_url: SecretStr | None = Field(
        default=None, description="postgresql://… of a server of your own; unset: embedded Postgres"
    )
    dagster_database_url: SecretStr | None = Field(
        default=None, description="Dagster's own database; unset: `<catalog>_dagster` beside it"
    )
    corpus_dir: Annotated[Path, BeforeValidator(_at_home)] | None = Field(
        default=None, description="captured ranges; unset: <data_dir>/corpus"
    )
    corpus_max_bytes: Annotated[int, Field(ge=0, le=MOST_BYTES)] = Field(
        default=20_000_000_000, description="most bytes of captured ranges"
    )
    news: NewsSettings = NewsSettings()
    spool: SpoolSettings = SpoolSettings()
    catalog: CatalogSettings = CatalogSettings()
    api: ApiSettings = ApiSettings()
    dagster: DagsterSettings = DagsterSettings()
    alerts: AlertSettings = AlertSettings()
    cluster: ClusterSettings = ClusterSettings()

    @field_validator("database_url", "dagster_database_url")
    @classmethod
    def _is_database_url(cls, value: SecretStr | None) -> SecretStr | None:
        """Refuses what PostgreSQL cannot read, whose own message would show the password."""
        if value is not None:
            from psycopg import ProgrammingError  # noqa: PLC0415 - half a second of `--help`
            from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

            try:
                host = conninfo_to_dict(value.get_secret_value()).get("host")
                # libpq takes the end of a password with an unencoded @ for the host.
                usable = "@" not in str(host)
            except (ProgrammingError, UnicodeEncodeError):
                usable = False
            if not usable:
                msg = (
                    "is no address of a database; it looks like "
                    "postgresql://user:password@host:5432/voyager, with reserved characters of "
                    "the password percent-encoded"
                )
                raise ValueError(msg)
        return value

    @property
    def spool_dir(self) -> Path:
        """Where fetched blocks wait."""
        return self.data_dir / "spool"

    @property
    def corpus_path(self) -> Path:
        """Where captured ranges stay."""
        return self.corpus_dir or self.data_dir / "corpus"

    @property
    def parquet_path(self) -> Path:
        """Where captured ranges are as Parquet, for DuckDB."""
        return self.corpus_path.with_name(f"{self.corpus_path.name}_parquet")


def known_variables() -> dict[str, str]:
    """Returns every environment variable that is a setting, with its description."""
    found: dict[str, str] = {}
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, _Section):
            for inner, inner_field in section.model_fields.items():
                found[f"{PREFIX}{name}__{inner}".upper()] = inner_field.description or ""
        else:
            found[f"{PREFIX}{name}".upper()] = field.description or ""
    return found


def shown_values(settings: Settings) -> dict[str, str]:
    """Returns the value of every setting by its variable, secrets as `**********`."""
    shown: dict[str, str] = {}
    for name in Settings.model_fields:
        value = getattr(settings, name)
        if isinstance(value, _Section):
            for inner in type(value).model_fields:
                shown[f"{PREFIX}{name}__{inner}".upper()] = _shown(getattr(value, inner))
        else:
            shown[f"{PREFIX}{name}".upper()] = _shown(value)
    return shown


def _shown(value: object) -> str:
    return "" if value is None else str(value)


def unknown_variables(names: Mapping[str, object]) -> list[str]:
    """Returns the names with Voyager's prefix that are no setting."""
    known = known_variables()
    return sorted(
        name
        for name in names
        if name.upper().startswith(PREFIX)
        and name.upper() not in known
        and name.upper() not in RESERVED
        and not name.upper().startswith(RESERVED_PREFIXES)
    )


def load_settings(env_file: Path | None = None, **overrides: Any) -> Settings:
    """Reads the settings from the environment and `.env`.

    Args:
        env_file: the file to read instead of `.env` in the working directory.
        overrides: values that win over both.

    Raises:
        SettingsError: naming each wrong or unknown setting, without its value.
    """
    environment = os.environ  # noqa: TID251 - the one place that reads it
    named = env_file or (
        Path(environment["VOYAGER_ENV_FILE"]) if environment.get("VOYAGER_ENV_FILE") else None
    )
    file = named or Path(".env")
    check_file(file, is_named=named is not None)
    try:
        _check_text(environment)
        check_lines(file)
        if unknown := unknown_variables({**environment, **dotenv_values(file, encoding="utf-8")}):
            hint = ", ".join(unknown)
            msg = f"unknown setting {hint}; docs/operations.md lists the known ones"
            raise SettingsError(msg)
        return Settings(_env_file=file, **overrides)
    except ValidationError as error:
        lines = [
            f"{PREFIX}{'__'.join(str(part) for part in problem['loc']).upper()}: "
            f"{problem['msg'].removeprefix('Value error, ')}"
            for problem in error.errors(include_url=False, include_input=False)
        ]
        msg = "the settings cannot be used:\n  " + "\n  ".join(lines)
        raise SettingsError(msg) from None
    except (OSError, UnicodeDecodeError) as error:
        msg = f"the settings file {file} cannot be read: {reason_of(error, file)}"
        raise SettingsError(msg) from error


def _check_text(environment: Mapping[str, str]) -> None:
    """Refuses variables of Voyager's whose bytes are no UTF-8.

    Raises:
        SettingsError: naming them, without their values.
    """
    wrong = sorted(
        name
        for name, value in environment.items()
        if name.upper().startswith(PREFIX)
        and any("\ud800" <= each <= "\udfff" for each in name + value)
    )
    if wrong:
        msg = f"{', '.join(wrong)}: its bytes are no UTF-8 text"
        raise SettingsError(msg)
