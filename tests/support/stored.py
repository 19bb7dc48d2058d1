"""What a catalog holds, to compare before and after."""

from typing import Any

from voyager_core.catalog.checks import (
    Finding,
    check_generations,
    check_lines,
    check_ranges,
    check_sums,
)

TABLES = (
    "release",
    "release_alias",
    "repost",
    "chunk",
    "fragment",
    "candidate",
    "range_rule_count",
    "rule_sample",
    "reject_count",
)


def everything(conn) -> dict[str, list[Any]]:
    """Returns what storing writes, to compare before and after."""
    found = {
        table: conn.execute(f"select t::text from {table} t order by 1").fetchall()
        for table in TABLES
    }
    found["range"] = conn.execute("select r::text from range r order by 1").fetchall()
    return found


def outline(conn) -> set[Any]:
    """Returns the releases with their chunks, whatever their numbers and generations."""
    rows = conn.execute(
        "select r.release_key, r.name, r.poster, r.posted_at, r.last_posted_at, r.files,"
        " r.files_expected, r.segments, r.segments_expected, r.size_bytes, r.has_par2,"
        " r.is_readable, r.category, r.season, r.tok, n.name,"
        " array(select g.name from group_name g where g.group_name_id = any (r.group_ids)"
        "  order by 1),"
        " array(select encode(c.payload, 'escape') from chunk c"
        "  where c.release_id = r.release_id order by 1),"
        " array(select c.message_id from candidate c where c.release_id = r.release_id order by 1)"
        " from release r join newsgroup n using (newsgroup_id)"
    ).fetchall()
    return {tuple(tuple(v) if isinstance(v, list) else v for v in row) for row in rows}


def differences(conn) -> list[Finding]:
    return [
        *check_ranges(conn),
        *check_lines(conn),
        *check_sums(conn),
        *check_generations(conn),
    ]
