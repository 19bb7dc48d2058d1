"""Counts instructions of the engine per 100,000 lines and compares them with committed counts.

Times differ from machine to machine and from minute to minute; the number of instructions of the
same program over the same bytes does not. Needs valgrind and a Rust toolchain.

    python benches/instructions.py            # fails where a count is more than 3 % above
    python benches/instructions.py --update   # writes benches/instructions.json anew
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
COUNTS = HERE / "instructions.json"
NATIVE = HERE.parent / "voyager_native"
MIXES = ("boneless", "ath", "modern", "classic")
STAGES = ("inflate", "lines", "finish", "chunks")
LINES = 100_000
TOLERANCE = 0.03
"""Compilers and C libraries differ a little; a change of the program shows above that."""


def main() -> int:
    """Counts, and returns 1 when a count is off."""
    options = _options()
    if shutil.which("valgrind") is None:
        print("valgrind is not installed", file=sys.stderr)
        return 2
    program = _build()
    counts = {mix: _count(program, mix) for mix in options.mix or MIXES}
    for mix, stages in counts.items():
        listed = ", ".join(f"{stage} {count / 1e6:.2f}" for stage, count in stages.items())
        print(f"{mix}: million instructions per {LINES} lines: {listed}")
    if options.update:
        known = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
        COUNTS.write_text(json.dumps(known | counts, indent=1, sort_keys=True) + "\n")
        return 0
    worse = False
    for complaint, is_worse in _complaints(counts, json.loads(COUNTS.read_text())):
        print(complaint, file=sys.stderr)
        worse |= is_worse
    return 1 if worse else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--mix", action="append", choices=MIXES, help="default: all")
    parser.add_argument("--update", action="store_true", help="write the counts instead")
    return parser.parse_args()


def _complaints(
    counts: dict[str, dict[str, int]], committed: dict[str, dict[str, int]]
) -> Iterator[tuple[str, bool]]:
    """Yields what is off, and whether that is for the worse; else the committed counts are old."""
    for mix, stages in counts.items():
        total, known = sum(stages.values()), sum(committed[mix].values())
        if abs(total / known - 1) <= TOLERANCE:
            continue
        worst = ", ".join(
            f"{stage} {count / max(committed[mix].get(stage, 0), 1) - 1:+.1%}"
            for stage, count in stages.items()
        )
        advice = "" if total > known else "; write the better counts down with --update"
        yield f"{mix}: {total / known - 1:+.1%} instructions ({worst}){advice}", total > known


def _build() -> Path:
    command = ["cargo", "build", "--quiet", "--release", "--example", "instructions"]
    command += ["--package", "voyager-engine", "--message-format", "json"]
    # Valgrind runs what every machine has; a build for this one would count something else.
    built = subprocess.run(command, cwd=NATIVE, check=True, capture_output=True, text=True)
    for line in reversed(built.stdout.splitlines()):
        path = json.loads(line).get("executable")
        if path:
            return Path(path)
    raise SystemExit("cargo told no program")


def _count(program: Path, mix: str) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        blocks, out = Path(folder, "blocks"), Path(folder, "callgrind.out")
        subprocess.run([program, "write", mix, str(LINES), blocks], check=True)
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        command += ["--compress-strings=no", str(program), "run", mix, str(blocks)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{mix}: {done.stderr}")
        return _inclusive(out.read_text())


def _inclusive(callgrind: str) -> dict[str, int]:
    """Returns the instructions of each stage with all that it calls, from the calls of it."""
    counts = dict.fromkeys(STAGES, 0)
    callee = None
    lines = iter(callgrind.splitlines())
    for line in lines:
        if line.startswith("cfn="):
            named = re.search(r"counted_(\w+?)(?:17h[0-9a-f]{16}E)?$", line)
            callee = named[1] if named else None
            continue
        if line.startswith("calls="):
            cost = next(lines).split()[1]
            if callee in counts:
                counts[callee] += int(cost)
            callee = None
    if not all(counts.values()):
        raise SystemExit(f"stages are missing from the counts: {counts}")
    return counts


if __name__ == "__main__":
    sys.exit(main())
