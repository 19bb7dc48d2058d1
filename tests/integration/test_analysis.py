"""The corpus as Parquet, and questions about it and the catalog in DuckDB."""

import io
import json
import re
import zlib
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from tests.support.indexing import GROUP, RANGE_SIZE, Group, indexer
from tests.support.recovering import mixed
from voyager_core.analysis.parquet import TABLES, path_of, write_parquet
from voyager_core.analysis.session import CATALOG_TABLES, QueryError, open_session
from voyager_core.catalog.capture import choose_spread, mark_ranges, marked_ranges, sweep
from voyager_core.catalog.connect import connect
from voyager_core.catalog.rulesets import retract_rule
from voyager_core.cli import main
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass import corpus_report
from voyager_core.header_pass.capture import capture_marked, uncaptured
from voyager_core.header_pass.run import index_stretches
from voyager_core.storage.corpus import Corpus, blocks_in

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "analysis.md"
STRETCHES = [(GROUP, 0), (GROUP, 1), (GROUP, 2)]


@pytest.fixture
def it(database, tmp_path):
    with indexer(database, tmp_path, [Group(GROUP, mixed(1, 1200))]) as made:
        made.plan()
        yield made


def tools_with_corpus(it):
    from contextlib import contextmanager
    from dataclasses import replace

    @contextmanager
    def opened():
        with it.tools() as tools:
            yield replace(tools, spool=it.resources()["spool"].open())

    return opened()


def capture(it):
    with tools_with_corpus(it) as tools:
        list(index_stretches(tools, STRETCHES))
    with it.connect() as conn:
        mark_ranges(conn, GROUP, [3, 700])
    with tools_with_corpus(it) as tools:
        return list(capture_marked(tools))


def test_ranges_that_were_read_before_they_were_marked_are_captured_byte_for_byte(it):
    first, second = capture(it)
    assert (first.span.low, first.lines, first.is_kept) == (1, 500, True)
    assert (second.span.low, second.lines, second.is_kept) == (501, 500, True)
    corpus = Corpus(it.folder / "corpus")
    with it.connect() as conn:
        assert [each.low for each in marked_ranges(conn)] == [1, 501]
    text = b"".join(
        zlib.decompress(block, wbits=47)
        for each in corpus.ranges()
        for block in blocks_in(each.folder)
    )
    lines = [line for line in text.split(b"\r\n") if line not in {b"", b"."}]
    assert lines == mixed(1, 1000)
    asked = it.server.count("XOVER")
    with tools_with_corpus(it) as tools:
        assert uncaptured(tools, corpus) == []
        assert list(capture_marked(tools)) == []
    assert it.server.count("XOVER") == asked


def test_a_full_corpus_keeps_nothing_more(it):
    from dataclasses import replace

    with it.connect() as conn:
        mark_ranges(conn, GROUP)
    spool = it.resources()["spool"].open()
    spool.corpus = Corpus(it.folder / "corpus", max_bytes=4000)
    with it.tools() as tools:
        reports = list(index_stretches(replace(tools, spool=spool), STRETCHES))
        assert not any(each.failures for each in reports)
        assert spool.corpus.blocks.usage.used() <= 4000
        kept = list(capture_marked(replace(tools, spool=spool)))
    assert [each.is_kept for each in kept] == [False]


def test_a_sweep_spreads_over_groups_and_eras(it):
    with tools_with_corpus(it) as tools:
        list(index_stretches(tools, STRETCHES))
    with it.connect() as conn:
        assert len(sweep(conn, 1)) == 1
        assert len(sweep(conn, 5)) == 1  # The third range is not done.
        assert sweep(conn, 5) == []
        assert len(marked_ranges(conn)) == 2


class Row:
    def __init__(self, group, low, capture=False):
        self.range_id, self.group, self.low, self.high, self.capture = (
            low,
            group,
            low,
            low + 9,
            capture,
        )


def test_marks_lie_apart_and_every_group_gets_some():
    rows = [Row(group, low) for group in "abc" for low in range(1, 1000, 10)]
    chosen = choose_spread(rows, 12)
    assert {each.group for each in chosen} == set("abc")
    for group in "abc":
        lows = sorted(each.low for each in chosen if each.group == group)
        assert len(lows) == 4
        assert min(b - a for a, b in pairwise(lows)) > 100
    assert len(choose_spread(rows, 10_000)) == len(rows)
    assert choose_spread([], 5) == []


def test_parquet_holds_every_line_once_in_hive_folders_with_the_encodings(it):
    import pyarrow.parquet as pq

    capture(it)
    root = it.folder / "parquet"
    for captured in Corpus(it.folder / "corpus").ranges():
        written = write_parquet(captured, root)
        assert written.rows["parsed_headers"] == 1000
        path = path_of(root, "parsed_headers", captured)
        assert path.relative_to(root).parts[:3] == (
            "parsed_headers",
            f"group={GROUP}",
            f"range={captured.span.low}",
        )
        columns = pq.ParquetFile(path).metadata.row_group(0)
        encodings = {
            columns.column(n).path_in_schema: columns.column(n).encodings
            for n in range(columns.num_columns)
        }
        assert "DELTA_BYTE_ARRAY" in encodings["subject"]
        assert "DELTA_BINARY_PACKED" in encodings["number"]
        assert "RLE_DICTIONARY" in encodings["poster"]
        assert columns.column(0).compression == "ZSTD"
        # What is up to date is left alone, and other rules make it anew.
        assert write_parquet(captured, root).rows == {}
        assert write_parquet(captured, root, rules=RuleSet().without("disguised_program")).rows
        assert sorted(path.parent.iterdir()) == [path]
    lines = pl.read_parquet(root / "parsed_headers" / "**" / "*.parquet")
    assert sorted(lines["number"]) == list(range(1, 1001))
    assert lines["file_key"].null_count() == 0
    assert {each.name for each in root.iterdir()} == set(TABLES)


def test_the_job_marks_captures_and_writes_what_is_new(it):
    keys = it.plan()
    with dg.DagsterInstance.ephemeral() as instance:
        assert it.run(instance, "history", keys=keys).success
        config = {"ops": {"captured_ranges": {"config": {"sweep": 1}}}}
        result = it.run(instance, "capture", run_config=config)
        assert result.success
        (event,) = result.asset_materializations_for_node("captured_ranges")
        assert event.metadata["captured_by_this_run"].value == 1
        assert event.metadata["lines"].value == 500
        assert event.metadata["not_captured"].value == 0
        (event,) = result.asset_materializations_for_node("corpus_parquet")
        assert event.metadata["lines_written"].value == 500
        result = it.run(instance, "capture")
        (event,) = result.asset_materializations_for_node("corpus_parquet")
        assert event.metadata["ranges_written"].value == 0


def test_the_report_has_figures_plots_and_checks_that_can_fail(it, monkeypatch):
    capture(it)
    with dg.DagsterInstance.ephemeral() as instance:

        def run():
            result = it.run(instance, "replay_corpus")
            assert result.success
            (event,) = result.asset_materializations_for_node("corpus_report")
            checks = {each.check_name: each for each in result.get_asset_check_evaluations()}
            return event.metadata, {name: each.passed for name, each in checks.items()}

        first, passed = run()
        assert set(passed.values()) == {True}
        assert first["lines"].value == 1000
        assert "█" in first["plots"].value
        assert Path(first["page"].value).exists()
        it.now += timedelta(days=1)
        second, passed = run()
        assert second["changed_split"].value == second["changed_renamed"].value == 0
        assert set(passed.values()) == {True}
        # A name that changes without a new version is noticed.
        renamed = corpus_report.replayed

        def other(*arguments, **options):
            totals, built = renamed(*arguments, **options)
            name = pl.concat_str(pl.lit("Other "), "name")
            return totals, replace(built, releases=built.releases.with_columns(name=name))

        monkeypatch.setattr(corpus_report, "replayed", other)
        it.now += timedelta(days=1)
        third, passed = run()
        assert third["changed_renamed"].value > 0
        assert passed["the_same_build_finds_the_same"] is False
        # A rule that is retracted explains what changed.
        with it.connect() as conn:
            retract_rule(conn, "disguised_program")
        it.now += timedelta(days=1)
        fourth, passed = run()
        assert fourth["changed_new_in_a_release"].value > 0
        assert passed["the_same_build_finds_the_same"] is True
        assert len(list((it.folder / "corpus_reports").glob("*.html"))) == 4


def test_without_a_corpus_the_report_says_what_to_do(it):
    with dg.DagsterInstance.ephemeral() as instance:
        result = it.run(instance, "replay_corpus")
        assert not result.success
        (failure,) = [each for each in result.all_events if each.is_step_failure]
        assert "voyager corpus mark" in str(failure.step_failure_data.user_failure_data)


def queries():
    return re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_every_query_of_the_page_answers(it):
    capture(it)
    root = it.folder / "parquet"
    for captured in Corpus(it.folder / "corpus").ranges():
        write_parquet(captured, root)
    assert len(queries()) == 10
    empty = set()
    with open_session(root, lambda: connect(it.dsn, application_name="test")) as session:
        for number, query in enumerate(queries()):
            names, rows = session.query(query)
            assert names
            if not rows:
                empty.add(number)
        (row,) = session.query("select sum(articles) from rule_counts where rule like 'disg%'")[1]
        with it.connect() as conn:
            dropped = conn.execute("select sum(articles) from range_rule_count").fetchone()
        assert int(row[0]) == int(dropped[0])
    # Nothing here lacks a counter or a segment, and nothing was posted twice.
    assert empty <= {2, 3, 4}


def test_every_query_answers_without_any_corpus_too(it, tmp_path):
    with open_session(tmp_path / "none", lambda: connect(it.dsn, application_name="t")) as session:
        for query in queries():
            session.query(query)


def test_every_catalog_table_can_be_read_and_none_can_be_changed(it, tmp_path):
    capture(it)
    with it.connect() as conn:
        retract_rule(conn, "garbage")
        tables = {
            name
            for (name,) in conn.execute(
                "select table_name from information_schema.tables where table_schema = 'public'"
            ).fetchall()
        }
        kept = {
            name: conn.execute(f'select count(*) from "{name}"').fetchone()[0]
            for name in CATALOG_TABLES
        }
    assert tables >= set(CATALOG_TABLES)
    with open_session(tmp_path / "none", lambda: connect(it.dsn, application_name="t")) as session:
        for name in CATALOG_TABLES:
            assert session.query(f'select count(*) from "{name}"')[1] == [(kept[name],)], name
        assert session.query("select typeof(tok) from release limit 1")[1] == [("INTEGER[]",)]
        assert session.query("select min(payload_bytes) > 0 from chunk")[1] == [(True,)]
        shares = session.query("select distinct content->>'remnant_share' from ruleset")[1]
        assert shares == [("0.1",)], shares
        session.query("delete from release")
    with it.connect() as conn:
        assert conn.execute("select count(*) from release").fetchone()[0] == kept["release"]


@pytest.mark.parametrize("query", ["selec", "select * from nowhere", "select 1/'x'", "\0", ";;"])
def test_a_wrong_query_is_an_error_with_the_reason(it, tmp_path, query):
    with open_session(tmp_path / "none") as session:
        if query == ";;":
            assert session.query(query) == ([], [])
            return
        with pytest.raises(QueryError):
            session.query(query)


@pytest.fixture
def voyager(it, monkeypatch, capsys):
    monkeypatch.chdir(it.folder)
    monkeypatch.setenv("VOYAGER_DATABASE_URL", it.dsn)
    monkeypatch.setenv("VOYAGER_CORPUS_DIR", str(it.folder / "corpus"))

    def run(*arguments, stdin=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = main(arguments)
        return code, *capsys.readouterr()

    return run


def test_the_commands_mark_list_write_and_ask(it, voyager):
    capture(it)
    code, out, _ = voyager("corpus", "list", "--json")
    assert [json.loads(line)["lines"] for line in out.splitlines()] == [1000]
    assert "1,000 lines" in voyager("corpus", "parquet")[1]
    assert "up to date" in voyager("corpus", "parquet")[1]
    assert "1 ranges" in voyager("corpus", "mark", GROUP, "1150")[1]
    assert "3 ranges" in voyager("corpus", "unmark", GROUP)[1]
    assert voyager("corpus", "mark", "alt.none")[0] == 1
    assert len(voyager("corpus", "sweep", "1")[1].splitlines()) == 1
    code, out, _ = voyager("sql", "select count(*) as lines from parsed_headers")
    assert out.splitlines()[2].strip() == "1000"
    code, out, _ = voyager("sql", "--json", "select name, low from newsgroup")
    assert json.loads(out) == {"name": GROUP, "low": 1}
    code, out, _ = voyager("sql", "--csv", "select 1 as a, 'x,y' as b")
    assert out == 'a,b\n1,"x,y"\n'
    code, out, err = voyager(
        "sql", stdin="select 1 as one;\n\nselect 2\n as two;\nselect 3 as three"
    )
    assert (code, [line for line in out.split() if line.isdigit()]) == (0, ["1", "2", "3"])
    code, out, err = voyager("sql", stdin="select 1;\nselect nothing;\nselect 2 as two;")
    assert (code, "two" in out, "nothing" in err) == (1, False, True)
    assert RANGE_SIZE == 500


def test_the_notebook_runs_from_its_first_to_its_last_cell(it, voyager):
    pytest.importorskip("marimo", reason="the notebook extra is not installed")
    capture(it)
    voyager("corpus", "parquet")
    page = it.folder / "corpus.html"
    code, _, err = voyager("notebook", "--export", str(page))
    assert code == 0, err
    assert GROUP in page.read_text()
    assert not (ROOT / "voyager_core/analysis/__marimo__").exists()


def test_an_empty_text_of_the_catalog_is_no_null(it, tmp_path):
    with it.connect() as conn:
        conn.execute("update newsgroup set note = ''")
        conn.execute("insert into newsgroup (name, priority) values ('alt.other', 77)")
    with open_session(tmp_path / "none", it.connect) as session:
        _, rows = session.query("select note from newsgroup order by name = 'alt.other'")
    assert rows == [("",), (None,)]


def test_a_corpus_in_a_folder_with_wildcards_in_its_name_can_be_asked(it, tmp_path):
    root = tmp_path / "it's [1]*? ü" / "parquet"
    captured = capture(it)
    for each in Corpus(it.folder / "corpus").ranges():
        write_parquet(replace(each, span=replace(each.span, group="alt.a%41b")), root)
    with open_session(root) as session:
        assert session.query('select "group", count(*) from parsed_headers group by all')[1] == [
            ("alt.a%41b", sum(each.lines for each in captured))
        ]


def test_a_damaged_file_of_the_corpus_is_named_and_written_again(it, tmp_path):
    root = tmp_path / "parquet"
    capture(it)
    ranges = list(Corpus(it.folder / "corpus").ranges())
    for each in ranges:
        write_parquet(each, root)
    for broken in root.rglob("*.parquet"):
        broken.write_bytes(b"no parquet")
    with (
        pytest.raises(QueryError, match=r"cannot be read.*voyager corpus parquet"),
        open_session(root),
    ):
        pass
    assert all(write_parquet(each, root).rows for each in ranges)
    with open_session(root) as session:
        assert session.query("select count(*) > 0 from parsed_headers")[1] == [(True,)]
