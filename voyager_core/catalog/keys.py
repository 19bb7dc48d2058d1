"""Keys of the API: random, shown once, stored as a hash; their uses in a rolling day."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors

KEY_BYTES = 16
"""128 random bits, written as the 32 hexadecimal digits that Newznab clients expect."""

MAX_KEY_CHARACTERS = 200
DAY_SECONDS = 86_400
BUCKET_SECONDS = 10
"""Uses are counted by this much time, so that a busy key has 8,640 rows a day at most."""

REQUEST = "request"
GRAB = "grab"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key of the API, without the key itself.

    Attributes:
        api_key_id: its number.
        label: whose it is.
        created_at: when it was made.
        revoked_at: since when it is refused, None while it is good.
        last_used_at: the last counted use, to ten seconds.
        requests_per_day: its own limit, None for the installation's, 0 for none.
        grabs_per_day: likewise for NZBs.
    """

    api_key_id: int
    label: str
    created_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None
    requests_per_day: int | None
    grabs_per_day: int | None


@dataclass(frozen=True, slots=True)
class Use:
    """Uses of a key in the last 24 hours.

    Attributes:
        allowed: False when this use was over the limit, and not counted.
        used: uses in the last 24 hours, this one included when it was allowed.
        limit: the limit that applied, 0 for none.
        oldest_at: the oldest of them, to ten seconds; None when there is none.
        retry_after_seconds: how long until one is free again, at least 1; 0 when allowed.
    """

    allowed: bool
    used: int
    limit: int
    oldest_at: datetime | None
    retry_after_seconds: int


_COLUMNS = (
    "api_key_id, label, created_at, revoked_at, last_used_at, requests_per_day, grabs_per_day"
)
# An answer must not wait for the disk, and a lost minute of counts harms nobody.
_DO_NOT_WAIT = "set local synchronous_commit = off"


def create_key(
    conn: Connection,
    label: str,
    *,
    requests_per_day: int | None = None,
    grabs_per_day: int | None = None,
) -> str:
    """Makes a key and returns it; it cannot be read again afterwards.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    plain = secrets.token_hex(KEY_BYTES)
    with catalog_errors("creating a key"):
        conn.execute(
            "insert into api_key (label, key_hash, requests_per_day, grabs_per_day)"
            " values (%s, %s, %s, %s)",
            [label.replace("\0", "")[:200], _hash(plain), requests_per_day, grabs_per_day],
        )
    return plain


def verify_key(conn: Connection, plain: str) -> ApiKey | None:
    """Returns the key that this text is, or None when there is none or it is revoked.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    if not plain or len(plain) > MAX_KEY_CHARACTERS:
        return None
    wanted = _hash(plain.strip())
    with catalog_errors("checking a key"):
        row = conn.execute(
            f"select key_hash, {_COLUMNS} from api_key"
            " where key_hash = %s and revoked_at is null limit 1",
            [wanted],
        ).fetchone()
    # The index is asked with a hash, so its timing tells nothing of the key; this comparison
    # keeps it so whatever the database does.
    if row is None or not hmac.compare_digest(bytes(row[0]), wanted):
        return None
    return ApiKey(*row[1:])


def list_keys(conn: Connection) -> list[ApiKey]:
    """Returns every key, revoked ones included, oldest first.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("listing the keys"):
        return (
            conn.cursor(row_factory=class_row(ApiKey))
            .execute(f"select {_COLUMNS} from api_key order by api_key_id limit 10000")
            .fetchall()
        )


def revoke_key(conn: Connection, api_key_id: int) -> bool:
    """Refuses a key from now on; False when there is none or it was revoked before.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"revoking key {api_key_id}"):
        done = conn.execute(
            "update api_key set revoked_at = now() where api_key_id = %s and revoked_at is null",
            [api_key_id],
        )
        return done.rowcount == 1


def count_use(
    conn: Connection,
    api_key_id: int,
    kind: str = REQUEST,
    *,
    limit: int = 0,
    now: datetime | None = None,
) -> Use:
    """Counts one use of a key, unless the rolling day's limit is used up.

    Exact while many requests come at once: they wait for each other, a key at a time.

    Args:
        conn: the catalog.
        api_key_id: the key.
        kind: `REQUEST` or `GRAB`.
        limit: uses allowed in 24 hours; 0 for any number.
        now: the time of the use; the database's when absent.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"counting a use of key {api_key_id}"), conn.transaction():
        conn.execute(_DO_NOT_WAIT)
        row = conn.execute(
            "select coalesce(%s, now()) from api_key where api_key_id = %s for no key update",
            [now, api_key_id],
        ).fetchone()
        if row is None:
            return Use(allowed=False, used=0, limit=limit, oldest_at=None, retry_after_seconds=1)
        moment: datetime = row[0]
        used, oldest_at = _used(conn, api_key_id, kind, moment)
        if limit and used >= limit:
            age = (moment - oldest_at).total_seconds() if oldest_at is not None else 0
            wait = max(1, int(DAY_SECONDS - age) + 1)
            return Use(
                allowed=False,
                used=used,
                limit=limit,
                oldest_at=oldest_at,
                retry_after_seconds=wait,
            )
        bucket = moment.replace(
            second=moment.second // BUCKET_SECONDS * BUCKET_SECONDS, microsecond=0
        )
        conn.execute(
            "insert into api_use (api_key_id, kind, used_at, uses) values (%s, %s, %s, 1)"
            " on conflict (api_key_id, kind, used_at) do update set uses = api_use.uses + 1",
            [api_key_id, kind, bucket],
        )
        conn.execute(
            "update api_key set last_used_at = %(bucket)s where api_key_id = %(key)s"
            " and last_used_at is distinct from %(bucket)s",
            {"key": api_key_id, "bucket": bucket},
        )
        conn.execute(
            "delete from api_use where api_key_id = %s"
            " and used_at < %s::timestamptz - interval '25 hours'",
            [api_key_id, moment],
        )
    return Use(
        allowed=True,
        used=used + 1,
        limit=limit,
        oldest_at=oldest_at or bucket,
        retry_after_seconds=0,
    )


def uses(conn: Connection, api_key_id: int, kind: str, *, now: datetime | None = None) -> Use:
    """Returns the uses of a key in the last 24 hours without counting one.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"reading the uses of key {api_key_id}"):
        used, oldest_at = _used(conn, api_key_id, kind, now)
    return Use(allowed=True, used=used, limit=0, oldest_at=oldest_at, retry_after_seconds=0)


def count_grab(
    conn: Connection, api_key_id: int, release_id: int, *, now: datetime | None = None
) -> bool:
    """Counts that a key fetched a release's NZB: once a key, release and day.

    Returns:
        Whether it was counted (False: the same key had it today already).

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"counting a grab of release {release_id}"), conn.transaction():
        conn.execute(_DO_NOT_WAIT)
        done = conn.execute(
            "insert into api_grab (release_id, api_key_id, grabbed_on)"
            " select release_id, %(key)s, (coalesce(%(now)s, now()) at time zone 'UTC')::date"
            "  from release where release_id = %(release)s on conflict do nothing",
            {"release": release_id, "key": api_key_id, "now": now},
        )
        if done.rowcount == 1:
            conn.execute("update release set grabs = grabs + 1 where release_id = %s", [release_id])
            conn.execute(
                "delete from api_grab where api_key_id = %s"
                " and grabbed_on < (coalesce(%s, now()) at time zone 'UTC')::date - 1",
                [api_key_id, now],
            )
        return done.rowcount == 1


def _used(
    conn: Connection, api_key_id: int, kind: str, moment: datetime | None
) -> tuple[int, datetime | None]:
    row = conn.execute(
        "select coalesce(sum(uses), 0)::bigint, min(used_at) from api_use"
        " where api_key_id = %(key)s and kind = %(kind)s"
        " and used_at > coalesce(%(moment)s::timestamptz, now()) - interval '24 hours'",
        {"key": api_key_id, "kind": kind, "moment": moment},
    ).fetchone()
    return (int(row[0]), row[1]) if row is not None else (0, None)


def _hash(plain: str) -> bytes:
    """Returns the stored form; a key is random, so that no slow password hash is needed."""
    return hashlib.sha256(b"voyager api key\0" + plain.encode("utf-8", "replace")).digest()
