"""`voyager folds`."""

import pytest

from tests.support.spans import add_ranges, built, release, store
from voyager_core.catalog.folds import apply_fold
from voyager_core.domain.folds import SHATTER

pytestmark = pytest.mark.postgres


def test_folds_are_listed_and_taken_back_once(voyager, catalog):
    assert voyager("folds", "list").out == "nothing was folded\n"
    (range_id,) = add_ranges(catalog)
    store(catalog, range_id, 1, 100, built([release(1, name="Part.One"), release(2, name="Two")]))
    one, two = (
        row[0]
        for row in catalog.execute("select release_id from release order by release_key").fetchall()
    )
    assert apply_fold(catalog, SHATTER, one, [two])
    lines = voyager("folds", "list", "--rule", "shatter").out.splitlines()
    assert lines[0].split() == ["fold", "rule", "when", "files", "release", "part", "of"]
    assert lines[2].split()[:3] == ["1", "shatter", "1"]
    assert lines[2].split()[-2:] == ["Two", "Part.One"]
    assert voyager("folds", "list", "--rule", "session").out == "nothing was folded\n"
    assert voyager("folds", "undo", "1").out == "fold 1 is taken back\n"
    assert voyager("folds", "list").out.rstrip().endswith("taken back")
    again = voyager("folds", "undo", "1")
    assert (again.code, "not in force" in again.err) == (1, True)
    assert catalog.execute("select count(*) from release").fetchone() == (2,)
