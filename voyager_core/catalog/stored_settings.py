"""Settings that a catalog is created with and keeps: how history is cut."""

from collections.abc import Mapping

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import SettingMismatch, catalog_errors
from voyager_core.settings import CatalogSettings

PINNED = ("range_size", "ranges_per_partition")


def pin_settings(conn: Connection, settings: CatalogSettings) -> None:
    """Stores the settings that can never change, or checks them against what is stored.

    Raises:
        SettingMismatch: the catalog was created with another value; says how to go on.
        CatalogUnavailable: the database does not answer.
    """
    pin(conn, {name: str(getattr(settings, name)) for name in PINNED})


def pin(conn: Connection, values: Mapping[str, str]) -> None:
    """Stores values under their names; names stored already must have the same value.

    Raises:
        SettingMismatch: one has another value; nothing is stored then.
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("storing the catalog's settings"), conn.transaction():
        for name in sorted(values):
            conn.execute(
                "insert into setting (name, value) values (%s, %s) on conflict (name) do nothing",
                [name, values[name]],
            )
        stored = stored_settings(conn)
        wrong = {name: value for name, value in values.items() if stored[name] != value}
        if wrong:
            hint = "; ".join(
                f"{name} is {value}, the catalog was created with {stored[name]} "
                f"(set VOYAGER_CATALOG__{name.upper()}={stored[name]})"
                for name, value in wrong.items()
            )
            msg = f"{hint}. To use another value start a new catalog"
            raise SettingMismatch(msg)


def stored_settings(conn: Connection) -> dict[str, str]:
    """Returns every stored setting by name.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("reading the catalog's settings"):
        return dict(conn.execute("select name, value from setting limit 1000").fetchall())


def cut_of_history(conn: Connection) -> tuple[int, int]:
    """Returns the stored range size in article numbers and the ranges in a partition.

    Raises:
        SettingMismatch: the catalog was never given them (see `pin_settings`).
    """
    stored = stored_settings(conn)
    try:
        return int(stored["range_size"]), int(stored["ranges_per_partition"])
    except KeyError as error:
        msg = f"the catalog has no {error} yet: run `voyager migrate`"
        raise SettingMismatch(msg) from error
