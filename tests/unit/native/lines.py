"""Overview lines for tests, as a news server writes them."""

import polars as pl

import voyager_native

GROUP = "alt.binaries.test"


def line(
    number: int,
    subject: str,
    *,
    message_id: str | None = None,
    poster: str = "poster <poster@example.invalid>",
    date: str = "Sun, 25 Sep 2022 03:03:36 GMT",
    size: int | str = 740_000,
    xref: str | None = None,
) -> bytes:
    """Returns one overview line with its line end."""
    message_id = f"id{number}@example.invalid" if message_id is None else message_id
    xref = f"Xref: e {GROUP}:{number}" if xref is None else xref
    fields = [str(number), subject, poster, date, f"<{message_id}>", "", str(size), "5600", xref]
    return "\t".join(fields).encode() + b"\r\n"


class Indexed:
    """The tables of some lines as polars frames."""

    def __init__(self, *blocks: bytes, low: int = 0, high: int = 0, **groups: int) -> None:
        owners = {name.replace("__", "."): priority for name, priority in groups.items()}
        indexer = voyager_native.SpanIndexer(
            GROUP, low, high, groups=owners, now=1_900_000_000, keep_articles=True
        )
        self.reports = [indexer.feed(block) for block in blocks]
        tables = indexer.finish()
        self.files = pl.DataFrame(tables.files).sort("name", "subject", "generation")
        self.articles = pl.DataFrame(tables.articles)
        self.rejects = dict(pl.DataFrame(tables.rejects).select("reason", "count").iter_rows())
        self.stats = tables.stats

    def only(self) -> dict[str, object]:
        """Returns the one file."""
        assert self.files.height == 1, self.files
        return self.files.row(0, named=True)

    def parts(self, row: int = 0) -> list[tuple[int, str]]:
        """Returns part and message-id of the segments of a file."""
        payload = self.files["payload"][row]
        table = pl.DataFrame(voyager_native.decode_segments(payload))
        return list(table.select("part", "message_id").iter_rows())
