"""The benchmark measures every mix, knows the truth, and fails beyond a budget."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from voyager_core.header_pass.bench import (
    MIXES,
    BenchError,
    MixReport,
    measure_mixes,
    over_budget,
    run_bench,
)

BUDGETS = Path(__file__).parents[4] / "benches" / "budgets.toml"


@pytest.fixture(scope="module")
def report() -> MixReport:
    """A report of a small overview."""
    return next(iter(measure_mixes(["ath"], lines=4_000, repeats=1)))


def test_report_tells_what_was_measured(report):
    assert (report.mix, report.lines) == ("ath", 4_000)
    assert 0 < report.kept <= 4_000
    assert report.exact_files == 1.0
    assert 0.9 < report.payload_ratio < 1.5
    assert report.payload_bytes < report.chunk_bytes
    assert 1 < report.engine_ratio < report.pass_ratio
    assert report.inflate_seconds > 0


def test_a_value_beyond_its_budget_is_complained_of(report):
    budget = {"engine_ratio": 2.0, "exact_files": 1.0, "peak_megabytes": 50}
    fine = replace(report, engine_ratio=2.2, exact_files=1.0, peak_megabytes=None)
    assert list(over_budget(fine, budget)) == []
    slow = replace(fine, engine_ratio=2.4, exact_files=0.99, peak_megabytes=70.0)
    complaints = list(over_budget(slow, budget))
    assert [each.split()[1] for each in complaints] == list(budget)
    assert "no value of a report" in next(over_budget(report, {"speed": 1.0}))
    assert "no value of a report" in next(over_budget(report, {"mix": 1.0}))


def test_exit_code_and_lines_are_for_machines(capsys, tmp_path):
    budgets = tmp_path / "budgets.toml"
    budgets.write_text("[modern]\npayload_ratio = 0.1\n")
    outcome = run_bench(mixes=["modern"], lines=1_000, repeats=1, as_json=True, budgets=budgets)
    captured = capsys.readouterr()
    assert json.loads(captured.out)["mix"] == "modern"
    assert "payload_ratio" in captured.err
    assert outcome == 1
    assert run_bench(mixes=["modern"], lines=1_000, repeats=1) == 0
    assert "exact files 100.00%" in capsys.readouterr().out


def test_impossible_wishes_are_errors(tmp_path):
    with pytest.raises(BenchError, match="no mix nonsense"):
        run_bench(mixes=["nonsense"])
    with pytest.raises(BenchError, match="nothing to measure"):
        run_bench(mixes=["ath"], lines=0)
    with pytest.raises(BenchError, match="cannot be read"):
        run_bench(budgets=tmp_path / "absent.toml")


def test_committed_budgets_name_mixes_and_values(report):
    from tomllib import loads

    budgets = loads(BUDGETS.read_text())
    assert set(budgets) == set(MIXES)
    for budget in budgets.values():
        assert not any("no value" in each for each in over_budget(report, budget))
