"""Runs the fuzz targets: `python benches/fuzz.py [TARGET…] [--seconds N]`.

Needs cargo (stable) and a C++ compiler; libFuzzer comes with the crate. Seeds are those in
`voyager_native/fuzz/seeds/`, and what `../shared/data` offers where it lies beside the project.
What is found stops the run and is left in `findings/`; new inputs that reach new code stay in
`corpus/`, which is not committed. `--keep` begins from `seeds/` alone and puts the least set that
reaches as much there.
"""

import argparse
import gzip
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "voyager_native" / "fuzz"
SHARED = ROOT.parent / "shared" / "data"
TARGETS = ("inflate", "lines", "span", "date", "subject", "xref", "chunk", "record")
MAX_BYTES = {"date": 200, "subject": 1000, "xref": 1000}
"""Longest input of a target; 4,096 for the others."""

# What cargo-fuzz passes for coverage, less the sanitizers, which need an unstable compiler.
FLAGS = (
    "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
    " -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
    " -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
    " -Ccodegen-units=1"
)
MAX_SEEDS = 400
MAX_KEPT = 150
MAX_KEPT_BYTES = 2000


def main() -> int:
    """Builds the targets and runs them one after another; returns 0 when nothing was found."""
    parser = argparse.ArgumentParser(description="fuzz the engine's parsers of untrusted bytes")
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="all by default")
    parser.add_argument("--seconds", type=int, default=600, help="for each target (default: 600)")
    parser.add_argument("--keep", action="store_true", help="renew seeds/ by what was reached")
    options = parser.parse_args()
    triple = build()
    for target in options.targets or TARGETS:
        found = run(target, triple, options.seconds, is_own=options.keep)
        if found:
            return found
        if options.keep:
            keep(target, triple)
    return 0


def build() -> str:
    """Builds all targets and returns the triple that they were built for."""
    version = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    triple = next(line[6:] for line in version.splitlines() if line.startswith("host: "))
    # With --target the flags do not reach build scripts, which would not link with them.
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "--target", triple],
        check=True,
        cwd=HERE,
        env=os.environ | {"RUSTFLAGS": FLAGS},
    )
    return triple


def run(target: str, triple: str, seconds: int, *, is_own: bool) -> int:
    """Runs one target for so many seconds, from our own seeds or all; returns its exit code."""
    corpus, findings = corpus_of(target, is_own=is_own), HERE / "findings"
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as more:
        for at, seed in enumerate(() if is_own else shared_seeds(target)):
            (Path(more) / f"{at:04}").write_bytes(seed[: MAX_BYTES.get(target, 4096)])
        command = [
            program(target, triple),
            f"-max_total_time={seconds}",
            f"-max_len={MAX_BYTES.get(target, 4096)}",
            f"-artifact_prefix={findings}/{target}-",
            "-timeout=10",
            "-rss_limit_mb=2048",
            "-print_final_stats=1",
            "-verbosity=0",
            corpus,
            HERE / "seeds" / target,
            more,
        ]
        ended = subprocess.run(command, check=False, capture_output=True, text=True)
    runs = re.search(r"number_of_executed_units: (\d+)", ended.stderr)
    speed = f"{int(runs[1]):,} inputs" if runs else "stopped"
    print(f"{target}: {speed}, {'nothing found' if ended.returncode == 0 else 'FOUND'}")
    sys.stdout.flush()
    if ended.returncode:
        sys.stderr.write(ended.stderr[-6000:])
    return ended.returncode


def keep(target: str, triple: str) -> None:
    """Replaces a target's seeds by the fewest and shortest inputs that reach as much."""
    with tempfile.TemporaryDirectory() as least:
        subprocess.run(
            [
                program(target, triple),
                "-merge=1",
                "-verbosity=0",
                least,
                HERE / "seeds" / target,
                corpus_of(target, is_own=True),
            ],
            check=True,
            capture_output=True,
        )
        made = [file.read_bytes() for file in Path(least).iterdir()]
    folder = HERE / "seeds" / target
    short = sorted((one for one in made if len(one) <= MAX_KEPT_BYTES), key=len)[:MAX_KEPT]
    for file in folder.iterdir():
        file.unlink()
    for at, one in enumerate(short):
        (folder / f"{at:03}").write_bytes(one)


def corpus_of(target: str, *, is_own: bool) -> Path:
    """Returns the folder of new inputs; those that real headers led to are kept apart."""
    return HERE / "corpus" / ("own" if is_own else "all") / target


def program(target: str, triple: str) -> Path:
    """Returns where cargo put a target."""
    folder = os.environ.get("CARGO_TARGET_DIR", HERE / "target")
    return Path(folder) / triple / "release" / target


def shared_seeds(target: str) -> Iterator[bytes]:
    """Yields real input for a target, nothing where there is none."""
    lines: list[bytes] = []
    for file in sorted(SHARED.glob("overview/*.over*")) if SHARED.is_dir() else ():
        raw = file.read_bytes()
        lines += (gzip.decompress(raw) if file.suffix == ".gz" else raw).splitlines(keepends=True)
    step = max(1, len(lines) // MAX_SEEDS)
    for at, line in enumerate(lines[::step]):
        fields = line.split(b"\t")
        if target in {"lines", "span"}:
            yield b"".join(lines[at * step : at * step + 12])
        elif target == "inflate" and at < 20:
            yield gzip.compress(b"".join(lines[at * step : at * step + 8]))
        elif target == "subject" and len(fields) > 1:
            yield fields[1]
        elif target == "date" and len(fields) > 3:
            yield fields[3]
        elif target == "xref" and len(fields) > 8:
            yield fields[8].strip()
        elif target == "record" and len(fields) > 4:
            ids = [one.split(b"\t")[4].strip(b"<>") for one in lines[at * step : at * step + 20]]
            yield b"\n".join(ids)


if __name__ == "__main__":
    sys.exit(main())
