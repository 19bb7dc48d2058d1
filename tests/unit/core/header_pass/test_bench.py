"""The benchmark measures every mix, knows the truth, and fails beyond a budget."""

import gzip
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import voyager_native
from voyager_core.domain.ranges import Span
from voyager_core.header_pass.bench import (
    MIXES,
    BenchError,
    MixReport,
    measure_mixes,
    over_budget,
    run_bench,
)
from voyager_core.storage.blocks import BlockFacts, BlockFolder
from voyager_core.storage.corpus import Corpus

BUDGETS = Path(__file__).parents[4] / "benches" / "budgets.toml"


@pytest.fixture(scope="module")
def report() -> MixReport:
    """A report of a small overview."""
    return next(iter(measure_mixes(["ath"], lines=4_000, repeats=1)))


def test_report_tells_what_was_measured(report):
    assert (report.mix, report.lines) == ("ath", 4_000)
    assert report.kept + report.rejected == 4_000
    assert report.exact_files == 1.0
    assert 0.9 < report.payload_over_floor < 1.5
    assert report.payload_bytes_per_segment < report.chunk_bytes_per_segment
    assert report.total_cpu_s == pytest.approx(report.ratio * report.inflate_cpu_s)
    assert 1 < report.files_ratio < report.ratio
    assert report.two_threads_ratio > 0


def test_stages_and_families_add_up(report):
    assert report.stages["inflate"] == 1.0
    assert sum(report.stages.values()) == pytest.approx(report.ratio)
    assert set(report.families) >= {"agent", "guid", "jbinup", "powerpost"}
    assert sum(each.segments for each in report.families.values()) == report.kept
    for family in report.families.values():
        assert family.floor < family.payload < family.floor + 5


def test_the_json_has_the_keys_that_tools_ask_for(report):
    assert set(asdict(report)) >= {
        *("mix", "lines", "inflate_cpu_s", "total_cpu_s", "ratio", "payload_bytes_per_segment"),
        *("floor_bytes_per_segment", "payload_over_floor", "peak_rss_mb"),
    }


def test_a_value_beyond_its_budget_is_complained_of(report):
    budget = {"ratio": 2.0, "exact_files": 1.0, "peak_rss_mb": 50}
    fine = replace(report, ratio=2.2, exact_files=1.0, peak_rss_mb=None)
    assert list(over_budget(fine, budget)) == []
    slow = replace(fine, ratio=2.4, exact_files=0.99, peak_rss_mb=70.0)
    complaints = list(over_budget(slow, budget))
    assert [each.split()[1] for each in complaints] == list(budget)
    assert "no value of a report" in next(over_budget(report, {"speed": 1.0}))
    assert "no value of a report" in next(over_budget(report, {"mix": 1.0}))


def test_exit_code_and_lines_are_for_machines(capsys, tmp_path):
    budgets = tmp_path / "budgets.toml"
    budgets.write_text("[required.modern]\npayload_over_floor = 0.1\n")
    outcome = run_bench(mixes=["modern"], lines=1_000, repeats=1, as_json=True, budgets=budgets)
    captured = capsys.readouterr()
    assert json.loads(captured.out)["mix"] == "modern"
    assert "payload_over_floor" in captured.err
    assert outcome == 1
    run = {"mixes": ["modern"], "lines": 1_000, "repeats": 1, "budgets": budgets}
    assert run_bench(**run, gate="reached") == 0
    assert "exact files 100.00%" in capsys.readouterr().out


def test_a_corpus_of_files_and_of_captured_ranges_is_measured(tmp_path):
    overview = voyager_native.synthesize_overview("ath", 900, block_lines=300)
    folder = tmp_path / "files"
    folder.mkdir()
    text = b"".join(map(voyager_native.inflate, overview.blocks))
    (folder / "a.over").write_bytes(text[: len(text) // 2])
    (folder / "b.over.gz").write_bytes(gzip.compress(text[len(text) // 2 :]))
    (report,) = measure_mixes(["corpus"], lines=1, repeats=1, corpus=folder)
    assert report.lines in (900, 901)
    assert report.floor_bytes_per_segment is None
    received = BlockFolder(tmp_path / "spool", max_bytes=None)
    infos = []
    for place, block in enumerate(overview.blocks):
        span = Span("a.b.c", place * 300 + 1, place * 300 + 300)
        facts = BlockFacts("zlib", 300, span.low, span.high, 99_999, "news.example.invalid", 1)
        infos.append(received.write(span, block, facts))
    Corpus(tmp_path / "ranges").keep(received, infos)
    (report,) = measure_mixes(["corpus"], lines=1, repeats=1, corpus=tmp_path / "ranges")
    assert report.lines == 900


def test_impossible_wishes_are_errors(tmp_path):
    with pytest.raises(BenchError, match="no mix nonsense"):
        run_bench(mixes=["nonsense"])
    with pytest.raises(BenchError, match="nothing to measure"):
        run_bench(mixes=["ath"], lines=0)
    with pytest.raises(BenchError, match="no gate"):
        run_bench(mixes=["ath"], gate="open")
    with pytest.raises(BenchError, match="a corpus is a folder"):
        run_bench(mixes=["corpus"])
    with pytest.raises(BenchError, match="no captured ranges"):
        run_bench(mixes=["corpus"], corpus=tmp_path)
    with pytest.raises(BenchError, match="cannot be read"):
        run_bench(budgets=tmp_path / "absent.toml")


def test_committed_budgets_name_mixes_and_values(report):
    from tomllib import loads

    budgets = loads(BUDGETS.read_text())
    assert set(budgets) == {"required", "reached"}
    for table in budgets.values():
        assert set(table) == set(MIXES)
        for budget in table.values():
            assert not any("no value" in each for each in over_budget(report, budget))
