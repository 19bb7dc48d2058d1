"""Uploads that a rule drops in part, and a process of its own that recovers them."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from tests.support.indexing import GROUP, NO_WAIT, Indexer
from voyager_core.catalog.connect import Connection, connect
from voyager_core.catalog.releases import chunks
from voyager_core.catalog.rulesets import rules_in_force
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.fetch import FetchOptions
from voyager_core.header_pass.recover import recover_stretches
from voyager_core.header_pass.run import PassTools, versions_of
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.client import NewsClient
from voyager_core.storage.spool import Spool
from voyager_native import decode_chunk

ROOT = Path(__file__).resolve().parents[2]


def mixed(low: int, count: int, *, parts: int = 5, group: str = GROUP) -> list[bytes]:
    """Returns lines of uploads with files that rules drop: programs under a media name.

    Every upload has a film, a parity file and a disguised program; every third has nothing but
    programs. The files of neighbouring uploads are mixed, so that spans cut them.
    """
    names = [
        ("Film.{0}.2024.1080p.mkv", "Film.{0}.2024.1080p.vol01+02.par2", "Film.{0}.2024.mkv.exe"),
        ("Film.{0}.2024.avi.scr", "Film.{0}.2024.avi", "Film.{0}.2024.par2"),
        ("Film.{0}.mp4.exe", "Film.{0}.extra.mp4.exe", "Film.{0}.iso.scr"),
    ]
    lines = []
    for number in range(low, low + count):
        place, lane = divmod(number - 1, 2)
        file, part = divmod(place, parts)
        upload, index = divmod(file, 3)
        upload = upload * 2 + lane
        name = names[upload % 3][index].format(f"No{upload:04d}")
        # What was posted at the same moment would be in no order.
        minute, second = divmod(number, 60)
        lines.append(
            f'{number}\t[{index + 1}/3] - "{name}" yEnc ({part + 1}/{parts})\t'
            f"joe <joe@test.invalid>\tWed, 01 Jan 2025 {minute // 60:02d}:{minute % 60:02d}:"
            f"{second:02d} GMT\t<{number}.{upload}@test.invalid>\t\t740000\t5700\t"
            f"Xref: news.test.invalid {group}:{number}".encode()
        )
    return lines


def contents(conn: Connection) -> dict[str, object]:
    """Returns all that searchers and the next steps see of a catalog, in no matter how it came."""
    releases = conn.execute(
        "select r.release_id, r.release_key, r.generation, r.name, r.category, r.files,"
        " r.files_expected, r.segments, r.segments_expected, r.size_bytes, r.posted_at,"
        " r.last_posted_at, r.has_par2, r.is_readable, r.poster, r.tok from release r"
        " order by r.release_key, r.generation"
    ).fetchall()
    stored = {}
    for release_id, *_ in releases:
        segments = []
        for payload in chunks(conn, release_id):
            decoded = decode_chunk(payload)
            import polars as pl

            files = pl.DataFrame(decoded.files)
            for file, _, message_id, size in pl.DataFrame(decoded.segments).iter_rows():
                segments.append((files["subject"][file], message_id, size))
        stored[release_id] = sorted(segments)
    fragments = conn.execute(
        "select base_key, release_key, first_number, last_number, segments from fragment"
        " order by base_key, first_number"
    ).fetchall()
    counts = conn.execute(
        "select r.low, c.rule, c.signature, c.articles, c.files from range_rule_count c"
        " join range r using (range_id) order by 1, 2, 3"
    ).fetchall()
    return {
        "releases": [row[1:] for row in releases],
        "segments": [stored[row[0]] for row in releases],
        "fragments": fragments,
        "counts": counts,
    }


def candidates(conn: Connection) -> set[tuple[str, str]]:
    """Returns the articles in the probe queue."""
    return set(conn.execute("select kind, message_id from candidate").fetchall())


def start_recovery(it: Indexer, keys: list[tuple[str, int]], rule: str) -> subprocess.Popen:
    """Starts a process that recovers stretches and can be killed."""
    arguments = {"dsn": it.dsn, "url": it.server.url("connections=2"), "keys": keys, "rule": rule}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.recovering"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "SPOOL": str(it.folder / "spool")},
        text=True,
    ), json.dumps(arguments | {"spool": str(it.folder / "spool"), "now": it.now.isoformat()})


def main() -> None:
    """Recovers what standard input says."""
    from datetime import datetime

    wanted = json.loads(sys.stdin.readline())
    account = NewsAccount.from_url(wanted["url"])
    with connect(wanted["dsn"], application_name="recovery") as conn, NewsClient(account) as news:
        rules = rules_in_force(conn, replace(RuleSet()))
        tools = PassTools(
            conn=conn,
            news=news,
            spool=Spool(Path(wanted["spool"])),
            rules=rules,
            versions=versions_of(rules),
            clock=lambda: datetime.fromisoformat(wanted["now"]),
            options=FetchOptions(block_size=200, attempts=2, back_off=NO_WAIT),
        )
        keys = [(group, index) for group, index in wanted["keys"]]
        list(recover_stretches(tools, keys, wanted["rule"]))


if __name__ == "__main__":
    main()
