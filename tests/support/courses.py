"""Random courses of indexing one newsgroup, and what the catalog holds at their end.

A course cuts the group into ranges and spans, reads them in any order, sends spans twice (as
after a kill between two transactions), finds articles late, and merges and settles in between.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import polars as pl

import voyager_native
from tests.support.spans import VERSIONS
from tests.support.uploads import START, Upload, interleaved, volumes
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.groups import add_group
from voyager_core.catalog.holes import due_holes, store_late
from voyager_core.catalog.ranges import RangeRow, plan, ranges_of
from voyager_core.catalog.releases import chunks
from voyager_core.catalog.spans import store_span
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.late import _as_fragments, keep_open
from voyager_core.header_pass.parse import parse_span
from voyager_core.header_pass.settle import merge_ready_fragments, settle_releases

GROUP = "alt.binaries.test"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2200, 1, 1, tzinfo=UTC)
FIRST = 1
LAST = 2
RANDOM = "kq83hd82hd"

D1 = '[{p}/{parts}] - "{name}" yEnc ({p}/{parts})'
D2 = '[{i}/{n}] - "{name}" yEnc ({i}/{n})'
F4 = '[{i}/{n}] "{name}" yEnc ({p}/{parts})'


def uploads(chance: random.Random, *, again: bool, recounted: bool = False) -> list[Upload]:
    """Returns a few uploads of the kinds that a cut may confuse.

    Args:
        chance: which ones.
        again: some of them are posted a second time.
        recounted: these count one file more, and no article is sent again.
    """
    kinds = [
        Upload("film", [("Some.Film.2010.720p-GRP.mkv", 40)], '"{name}" yEnc ({p}/{parts})'),
        Upload("set", volumes("Other.Show.S02E03.720p-GRP", 4, parts=6)),
        Upload("d1", [("e17a881978b12c92", 25)], D1),
        Upload("d2", [(f"{n}{RANDOM}{n}.bin", 1) for n in range(1, 13)], D2),
        Upload("f4", [(f"Great.Show.S01E0{n}.rar", 9) for n in range(1, 10)], F4),
        Upload("program", [("Fine.Film.2011.mkv", 5), ("Fine.Film.2011.mkv.exe", 4)]),
        Upload("posters", volumes("Third.Show.S02E04.720p-GRP", 3), poster=lambda i: f"{i}@x"),
    ]
    chosen = chance.sample(kinds, chance.randint(1, 4))
    # The newest posts settle when later ones are there, in a range of their own.
    posted = [Upload("later", [("Later.Film.2012.mkv", LAST)], at=START + timedelta(days=10))]
    for upload in chosen:
        at = START + timedelta(seconds=chance.randint(0, 20))
        posted.append(replace(upload, at=at))
        if again and chance.random() < 0.5:
            later = at + chance.choice([timedelta(minutes=9), timedelta(hours=30)])
            total = len(upload.files) + 1 if recounted else None
            posted.append(replace(upload, at=later, salt="again", total=total))
        elif not recounted and chance.random() < 0.6:
            # The poster got no answer for an article and sent it again.
            i, (_, parts) = chance.choice(list(enumerate(upload.files, upload.first)))
            part = chance.randint(1, parts)
            rest = frozenset(
                (j, p)
                for j, (_, parts) in enumerate(upload.files, upload.first)
                for p in range(1, parts + 1)
                if (j, p) != (i, part)
            )
            soon = at + timedelta(seconds=chance.randint(5, 60))
            posted.append(replace(upload, at=soon, salt="retry", missing=rest))
    return posted


@dataclass
class Course:
    """One newsgroup with its lines, and a catalog to read it into."""

    conn: Connection
    lines: list[bytes]
    rules: RuleSet
    group: str = GROUP

    def plan(self, bounds: Sequence[tuple[int, int]]) -> None:
        """Plans ranges with these bounds."""
        newsgroup = add_group(self.conn, self.group)
        plan(self.conn, newsgroup.newsgroup_id, list(bounds))
        self.conn.execute("update newsgroup set state = 'ok'")

    def ranges(self) -> list[RangeRow]:
        """Returns the ranges."""
        return ranges_of(self.conn, self.group)

    def read(self, row: RangeRow, high: int, *, missing: frozenset[int] = frozenset()) -> bool:
        """Reads a range from its resume point on; articles that are missing have not arrived."""
        span = Span(self.group, row.resume_at, high)
        numbers = [number for number in range(span.low, high + 1) if number <= len(self.lines)]
        text = b"".join(self.lines[number - 1] for number in numbers if number not in missing)
        parsed = parse_span(span, [text], groups={}, now=NOW)
        holes = [(number, number) for number in numbers if number in missing]
        built = build_span(keep_open(parsed, holes), self.rules, now=NOW)
        stored = store_span(
            self.conn,
            span,
            built,
            range_id=row.range_id,
            read_lines=parsed.stats["lines"],
            versions=VERSIONS,
            rejects=dict(parsed.rejects.select("reason", "count").iter_rows()),
            holes=holes,
            ask_again_at=NOW,
        )
        return stored.stored

    def ask_again(self) -> None:
        """Adds all articles that arrived late."""
        for hole in due_holes(self.conn, at=LATER, limit=100):
            numbers = [number for low, high in hole.missing for number in range(low, high + 1)]
            text = b"".join(self.lines[number - 1] for number in numbers)
            span = Span(hole.group, hole.low, hole.high)
            parsed = parse_span(span, [text], groups={}, now=NOW)
            parsed = replace(parsed, files=_as_fragments(parsed.files, span.low, span.high))
            store_late(
                self.conn,
                hole,
                build_span(parsed, self.rules, now=NOW),
                found=[(number, number) for number in numbers],
                read_lines=parsed.stats["lines"],
                rejects=dict(parsed.rejects.select("reason", "count").iter_rows()),
                versions=VERSIONS,
                next_at=None,
            )

    def look(self, chance: random.Random) -> None:
        """Merges, settles, or does nothing."""
        what = chance.randrange(4)
        if what == 0:
            patience = chance.choice([0, 10**8])
            merge_ready_fragments(
                self.conn, now=datetime.now(UTC), patience_seconds=patience, rules=self.rules
            )
        if what == 1:
            settle_releases(self.conn, now=LATER, settle_after_seconds=0, rules=self.rules)

    def end(self) -> None:
        """Lets everything come to its end."""
        self.ask_again()
        for _ in range(2):
            merge_ready_fragments(self.conn, now=LATER, patience_seconds=0, rules=self.rules)
            settle_releases(self.conn, now=LATER, settle_after_seconds=0, rules=self.rules)


def whole(course: Course) -> None:
    """Reads everything as one span."""
    count = len(course.lines)
    course.plan([(FIRST, count - LAST), (count - LAST + 1, count)])
    for row in course.ranges():
        assert course.read(row, row.high)
    course.end()


def disturbed(course: Course, chance: random.Random, *, late: bool) -> None:
    """Reads everything in pieces and in any order.

    Args:
        course: what is read.
        chance: where it is cut, and what happens in between.
        late: some articles arrive after higher numbers.
    """
    count = len(course.lines) - LAST
    cuts = sorted(chance.sample(range(2, count), min(chance.randint(0, 4), count - 2)))
    starts = [1, *cuts, count + 1]
    ends = [*(cut - 1 for cut in cuts), count, count + LAST]
    course.plan(list(zip(starts, ends, strict=True)))
    missing = frozenset(chance.sample(range(1, count + 1), 3 if late else 0))
    while open_ := [row for row in course.ranges() if row.resume_at <= row.high]:
        row = chance.choice([open_[0], open_[-1], chance.choice(open_)])
        high = chance.choice([row.high, chance.randint(row.resume_at, row.high)])
        assert course.read(row, high, missing=missing)
        if chance.random() < 0.3:
            assert not course.read(row, high, missing=missing)
        course.look(chance)
        if chance.random() < 0.2:
            course.ask_again()
    course.end()


def made(chance: random.Random, *, again: bool, recounted: bool = False) -> list[bytes]:
    """Returns the lines of a random group, numbered from 1."""
    text, _ = interleaved(
        uploads(chance, again=again, recounted=recounted),
        seed=chance.randrange(1000),
        first_number=FIRST,
    )
    return text.splitlines(keepends=True)


def articles_of(lines: Sequence[bytes]) -> dict[str, bytes]:
    """Returns the subject of each message-id, for groups in which nothing is posted again."""
    fields = [line.split(b"\t") for line in lines]
    return {each[4].strip(b"<>").decode(): each[1] for each in fields}


def outcome(conn: Connection, names: Mapping[str, bytes]) -> set[object]:
    """Returns the releases as sets of files; those that only the whole upload tells as one.

    A file is its parts with their articles, whatever it is called.

    Args:
        conn: the catalog.
        names: what stands for a message-id; itself where there is nothing.
    """
    found: set[object] = set()
    for release_id, name in conn.execute("select release_id, name from release").fetchall():
        files: dict[int, set[tuple[int, str | bytes]]] = defaultdict(set)
        for payload in chunks(conn, release_id):
            decoded = voyager_native.decode_chunk(payload)
            keys = pl.DataFrame(decoded.files)["file_key"].to_list()
            for place, part, message_id, _ in pl.DataFrame(decoded.segments).iter_rows():
                files[keys[place]].add((part, names.get(message_id, message_id)))
        content = frozenset(frozenset(parts) for parts in files.values())
        found |= set(content) if RANDOM in name else {content}
    return found
