"""`python -m tests.quality`: prints every figure; fails when one is below its bar."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.quality import categories, files, folds, generated, names, releases
from tests.quality.data import QualityData
from tests.quality.report import Result, print_results

# One module a subject; each has `results(data)`.
_MODULES: dict[str, Callable[[QualityData], Iterator[Result]]] = {
    "files": files.results,
    "releases": releases.results,
    "names": names.results,
    "categories": categories.results,
    "generated": generated.results,
    "folds": folds.results,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the figures; returns 1 when one is below its bar."""
    parser = argparse.ArgumentParser(prog="tests.quality", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="real headers")
    parser.add_argument("--only", choices=sorted(_MODULES), action="append", help="one subject")
    parser.add_argument("--shown", type=int, default=5, help="failing cases printed of a figure")
    options = parser.parse_args(arguments)
    if not options.data.is_dir():
        sys.stdout.write(f"skipped: there are no real headers in {options.data}\n")
        return 0
    data = QualityData(options.data)
    below = 0
    for name, results in _MODULES.items():
        if not options.only or name in options.only:
            sys.stdout.write(f"{name}\n")
            sys.stdout.flush()
            below += print_results(results(data), sys.stdout, shown=options.shown)
    sys.stdout.write(f"{below} below the bar\n" if below else "all at or above their bars\n")
    return 1 if below else 0


if __name__ == "__main__":
    raise SystemExit(main())
