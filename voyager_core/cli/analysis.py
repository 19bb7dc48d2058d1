"""`voyager corpus`, `sql` and `notebook`: captured ranges, and questions about them."""

import argparse
import csv
import math
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from voyager_core.cli.arguments import text, whole_number
from voyager_core.cli.output import json_text, printable, printable_lines, readable_size, table
from voyager_core.errors import PermanentError, VoyagerError
from voyager_core.settings import Settings, load_settings

if TYPE_CHECKING:
    from voyager_core.analysis.session import Session
    from voyager_core.storage.corpus import Corpus

# The catalog's numbers have 63 bits.
MAX_NUMBER = 2**63 - 1
MAX_RANGES = 1_000_000
EXTRA = "pip install 'voyager-indexer[analysis]'"

_QUOTED = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|\$\$.*?\$\$", re.DOTALL
)
_OPEN_QUOTE = re.compile(r"['\"]|/\*|\$\$")


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands."""
    corpus = commands.add_parser("corpus", help="captured ranges, to judge rules and parsers on")
    actions = corpus.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = actions.add_parser("list", help="what was captured")
    show.add_argument("--json", action="store_true", help="print one JSON object a range")
    show.set_defaults(run=_list)
    for name, text_of in (("mark", "capture ranges"), ("unmark", "capture them no more")):
        mark = actions.add_parser(name, help=f"{text_of} of a newsgroup when they are read")
        mark.add_argument("group", type=text)
        mark.add_argument(
            "numbers",
            nargs="*",
            type=whole_number(0, MAX_NUMBER),
            help="article numbers in them (default: all ranges)",
        )
        mark.set_defaults(run=_mark, capture=name == "mark")
    sweep = actions.add_parser("sweep", help="mark more, spread over groups and eras")
    sweep.add_argument("ranges", type=whole_number(1, MAX_RANGES), help="how many")
    sweep.set_defaults(run=_sweep)
    parquet = actions.add_parser("parquet", help="write captured ranges as Parquet for DuckDB")
    parquet.set_defaults(run=_parquet)
    sql = commands.add_parser("sql", help="DuckDB over corpus, catalog and rule counts")
    sql.add_argument("query", nargs="?", type=text, help="without one: read from standard input")
    form = sql.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object a row")
    form.add_argument("--csv", action="store_true", help="print comma-separated values")
    sql.set_defaults(run=_sql)
    notebook = commands.add_parser("notebook", help="plots of the corpus in a browser (marimo)")
    notebook.add_argument(
        "--edit",
        action="store_true",
        help="with the code, to change it; a copy in the data directory",
    )
    notebook.add_argument("--export", type=Path, help="only write it as HTML into this file")
    notebook.set_defaults(run=_notebook)


def _list(options: argparse.Namespace) -> int:
    from voyager_core.storage.corpus import Corpus

    corpus = Corpus(load_settings(options.env_file).corpus_path)
    rows = list(corpus.ranges())
    if options.json:
        for each in rows:
            print(
                json_text(
                    {
                        "group": each.span.group,
                        "low": each.span.low,
                        "high": each.span.high,
                        "lines": each.lines,
                        "blocks": each.blocks,
                        "complete": each.complete,
                        "folder": str(each.folder),
                    }
                )
            )
        return 0
    if not rows:
        print(_nothing_captured(corpus))
        return 0
    cells = [(r.span.group, r.span.low, r.span.high, r.lines, r.blocks) for r in rows]
    print(table(("group", "low", "high", "lines", "blocks"), cells))
    print(f"{len(rows)} ranges, {readable_size(corpus.blocks.usage.used())}")
    return 0


def _nothing_captured(corpus: "Corpus") -> str:
    return f"nothing was captured yet in {corpus.root}; mark ranges with `voyager corpus mark`"


def _mark(options: argparse.Namespace) -> int:
    from voyager_core.catalog.capture import mark_ranges
    from voyager_core.catalog.groups import get_group
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        if get_group(conn, options.group) is None:
            msg = f"no newsgroup is called {printable(options.group)}; see `voyager groups list`"
            raise PermanentError(msg)
        changed = mark_ranges(conn, options.group, options.numbers or None, capture=options.capture)
    print(f"{changed} ranges of {options.group} {'marked' if options.capture else 'unmarked'}")
    if options.capture and changed:
        print(
            "blocks are kept as ranges are read; those read before are fetched by the job capture",
            file=sys.stderr,
        )
    return 0


def _sweep(options: argparse.Namespace) -> int:
    from voyager_core.catalog.capture import sweep
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        chosen = sweep(conn, options.ranges)
    for each in chosen:
        print(f"{each.group} {each.low}-{each.high}")
    print(f"{len(chosen)} ranges marked", file=sys.stderr)
    return 0


def _parquet(options: argparse.Namespace) -> int:
    with _extra():
        from voyager_core.analysis.parquet import write_parquet
    from voyager_core.storage.corpus import Corpus

    settings = load_settings(options.env_file)
    corpus = Corpus(settings.corpus_path)
    captured_ranges = list(corpus.ranges())
    if not captured_ranges:
        print(_nothing_captured(corpus))
    for captured in captured_ranges:
        written = write_parquet(captured, settings.parquet_path)
        size = readable_size(written.bytes_written)
        what = f"{written.rows['parsed_headers']:,} lines, {size}" if written.rows else "up to date"
        print(f"{captured.span}: {what}")
    return 0


def _sql(options: argparse.Namespace) -> int:
    with _extra():
        from voyager_core.analysis.session import open_session

    settings = load_settings(options.env_file)
    with open_session(settings.parquet_path, lambda: _catalog(settings)) as session:
        if options.query is not None:
            _answer(session, options.query, options)
            return 0
        return _converse(session, options)


def _converse(session: "Session", options: argparse.Namespace) -> int:
    """Answers statements from standard input, each as it ends; a wrong one ends a pipe."""
    code = 0
    for statement in _statements(sys.stdin, prompt=sys.stdin.isatty()):
        try:
            _answer(session, statement, options)
        except VoyagerError as error:
            print(f"voyager: {printable_lines(str(error))}", file=sys.stderr)
            code = 1
            if not sys.stdin.isatty():
                break
        sys.stdout.flush()
    return code


def _statements(lines: TextIO, *, prompt: bool) -> Iterator[str]:
    """Yields statements that end with a semicolon at the end of a line, and the last one.

    Raises:
        PermanentError: the input is no text.
    """
    pending: list[str] = []

    def ask() -> None:
        if prompt:
            print("     -> " if pending else "voyager> ", end="", flush=True)

    ask()
    for line in lines:
        if not line.isascii() and any("\ud800" <= each <= "\udfff" for each in line):
            msg = "the input is no UTF-8 text"
            raise PermanentError(msg)
        pending.append(line)
        if _is_whole("".join(pending)):
            yield "".join(pending)
            pending = []
        elif not "".join(pending).strip():
            pending = []
        ask()
    if "".join(pending).strip():
        yield "".join(pending)
    if prompt:
        print()


def _is_whole(statement: str) -> bool:
    """Tells whether a statement ends here: with a semicolon that is in no quotes or comment."""
    rest = _QUOTED.sub(" ", statement)
    return rest.rstrip().endswith(";") and not _OPEN_QUOTE.search(rest)


def _answer(session: "Session", query: str, options: argparse.Namespace) -> None:
    from voyager_core.analysis.session import as_rows

    names, rows = session.query(query)
    if options.json:
        for row in as_rows(names, rows):
            print(json_text(_json(row), allow_nan=False))
    elif options.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        # A program gets the values as they are.
        clean = _printable_row if sys.stdout.isatty() else list
        writer.writerow(clean(names))
        writer.writerows(clean(row) for row in rows)
    elif names:
        print(table([printable(name) for name in names], _cells(rows)))
        print(f"{len(rows)} rows", file=sys.stderr)


def _json(value: Any) -> Any:
    """Returns a value of a query as JSON can say it: no NaN, bytes in hexadecimal digits."""
    if isinstance(value, dict):
        return {str(key): _json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, str | int) else str(value)


def _printable_row(row: Iterable[object]) -> list[str]:
    return ["" if cell is None else printable(str(cell)) for cell in row]


def _cells(rows: Iterable[tuple[Any, ...]]) -> list[tuple[object, ...]]:
    return [tuple("-" if cell is None else cell for cell in row) for row in rows]


def _notebook(options: argparse.Namespace) -> int:
    import subprocess
    import tempfile
    from importlib.util import find_spec

    if find_spec("marimo") is None:
        msg = "the notebook needs marimo and altair: pip install 'voyager-indexer[notebook]'"
        raise PermanentError(msg)
    import voyager_core.analysis

    if options.export is not None and options.export.is_dir():
        msg = f"{options.export} is a folder; name the file to write, such as corpus.html"
        raise PermanentError(msg)
    source = Path(voyager_core.analysis.__file__).with_name("notebook.py")
    with tempfile.TemporaryDirectory(prefix="voyager-notebook-") as folder:
        # marimo keeps things beside the page, which is no place of ours to write to.
        page = Path(folder) / source.name
        if options.edit:
            page = load_settings(options.env_file).data_dir.absolute() / source.name
        if not page.exists():
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_bytes(source.read_bytes())
        if options.export is not None:
            action = ["export", "html", str(page), "-o", str(options.export.absolute())]
        else:
            action = ["edit" if options.edit else "run", str(page)]
        command = [sys.executable, "-m", "marimo", *action]
        return subprocess.run(command, check=False).returncode  # noqa: S603 - our own page


def _catalog(settings: Settings) -> Any:
    from voyager_core.cli.session import catalog_session

    return catalog_session(settings)


class _extra:  # noqa: N801 - reads as a keyword
    """Turns a missing library into what to do about it."""

    def __enter__(self) -> None:
        """Does nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Says which extra to install.

        Raises:
            PermanentError: a library of the extra is missing.
        """
        if isinstance(error, ModuleNotFoundError):
            msg = f"this needs the library {error.name}: {EXTRA}"
            raise PermanentError(msg) from error
