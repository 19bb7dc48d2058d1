"""Voyager beside other indexers on the same kind of lines, as ratios to a plain Python split.

The other programs are not needed to repeat this. Their CPU was measured once on two files of
200,000 lines (`classic` and `modern`), together with a plain Python loop over the same files; the
ratio to that loop is what is comparable. Here the same loop and the header pass run on made-up
lines of the same kinds, in one process.

    python benches/rivals.py                 # prints the table
    python benches/rivals.py --write         # and writes benches/rivals.md
"""

import argparse
import sys
import time
from pathlib import Path

import voyager_native
from voyager_core.header_pass.bench_measure import Blocks, measure

HERE = Path(__file__).resolve().parent
LINES = 200_000
REPEATS = 5
MIXES = ("classic", "modern")

# CPU seconds per million headers, least and most of the runs.
PLAIN = {"classic": (2.8, 3.5), "modern": (2.1, 2.6)}
RIVALS = (
    ("nZEDb", "lines, parts, collection regexes, cleaner", (5.8, 9.5), (4.6, 7.3)),
    ("NNTmux 2026", "the same stages", (55, 73), (12, 26)),
    ("pynab", "decode, split, dates, part regex, hashes", (14, 18), (28, 28)),
    ("goindex", "overview and subject parser", (28, 32), (16, 19)),
    ("GoNZB", "matcher", (218, 262), (166, 187)),
    ("nzbidx", "title normaliser and tags", (133, 140), (43, 58)),
    ("polars alone", "read_csv, extract_groups, group_by", (2.6, 3.9), (1.4, 1.7)),
)


def main() -> int:
    """Prints the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--write", action="store_true", help="write benches/rivals.md too")
    options.add_argument("--lines", type=int, default=LINES)
    chosen = options.parse_args()
    ours = {mix: compare(mix, chosen.lines) for mix in MIXES}
    text = table(ours, chosen.lines)
    print(text, end="")
    if chosen.write:
        (HERE / "rivals.md").write_text(HEAD + text)
    return 0


def compare(mix: str, lines: int) -> dict[str, float]:
    """Returns the CPU of the pass to that of the plain loop over the same lines."""
    overview = voyager_native.synthesize_overview(mix, lines, seed=3)
    text = b"".join(map(voyager_native.inflate, overview.blocks))
    plain = min(plain_seconds(text) for _ in range(REPEATS))
    costs = measure(Blocks(overview.group, overview.groups, overview.blocks), repeats=REPEATS)
    return {"plain": plain, "files": costs.engine / plain, "releases": costs.total / plain}


def plain_seconds(text: bytes) -> float:
    """Returns the CPU seconds of splitting lines, finding the last counter, and grouping by it."""
    start = time.process_time()
    files: dict[bytes, list[tuple[int, bytes, int]]] = {}
    for line in text.split(b"\r\n"):
        fields = line.split(b"\t")
        if len(fields) < 8:
            continue
        subject = fields[1]
        opening = subject.rfind(b"(")
        slash = subject.find(b"/", opening)
        closing = subject.find(b")", slash)
        if 0 <= opening < slash < closing and subject[opening + 1 : slash].isdigit():
            part = int(subject[opening + 1 : slash])
            key = subject[:opening] + subject[slash:closing]
        else:
            part, key = 0, subject
        size = int(fields[6]) if fields[6].isdigit() else 0
        files.setdefault(key, []).append((part, fields[4], size))
    spent = time.process_time() - start
    if not files:
        raise SystemExit("the plain loop found nothing")
    return spent


def table(ours: dict[str, dict[str, float]], lines: int) -> str:
    """Returns the comparison in Markdown."""
    rows = [
        "| indexer | what was run | classic | modern |",
        "| --- | --- | --- | --- |",
        "| plain Python loop | split, last counter, dict | 1 | 1 |",
    ]
    for name, what, classic, modern in RIVALS:
        shares = [
            _share(spent, PLAIN[mix]) for mix, spent in zip(MIXES, (classic, modern), strict=True)
        ]
        rows.append(f"| {name} | {what} | {shares[0]} | {shares[1]} |")
    for stage, what in (
        ("files", "inflate, lines to files, segments encoded"),
        ("releases", "the same, releases, names, chunks"),
    ):
        shares = [f"**{ours[mix][stage]:.2f}**" for mix in MIXES]
        rows.append(f"| **Voyager** | {what} | {shares[0]} | {shares[1]} |")
    return (
        "\n".join(rows) + f"\n\nVoyager and the plain loop: {lines:,} made-up lines of each kind.\n"
    )


def _share(spent: tuple[float, float], plain: tuple[float, float]) -> str:
    middle = sum(plain) / 2
    low, high = (each / middle for each in spent)
    return f"{low:.1f}" if low == high else f"{low:.1f} to {high:.1f}"


HEAD = """# Beside other indexers

CPU to turn overview lines into files and releases, to that of a plain Python loop over the same
lines (`split`, the last counter of the subject, a dictionary): less is better. `python
benches/rivals.py --write` makes this page.

The figures of the others are from one run of each program's own parsing code, without a database
and a network, over two files of 200,000 lines; the loop took 2.8 to 3.5 (`classic`) and 2.1 to 2.6
CPU seconds per million lines then, and the middle of that is the divisor. Voyager's include
inflating the compressed blocks and encoding all segments, which no other does at this point.

"""

if __name__ == "__main__":
    sys.exit(main())
