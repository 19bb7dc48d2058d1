"""`voyager keys`, `search`, `nzb` and `check`: what the catalog holds."""

import argparse
import sys
from typing import TYPE_CHECKING

from voyager_core.cli.arguments import MAX_ID, label, limit, text, whole_number
from voyager_core.cli.output import printable, readable_size, shortened, table
from voyager_core.errors import PermanentError
from voyager_core.settings import load_settings

if TYPE_CHECKING:
    from voyager_core.catalog.releases import Release


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands."""
    keys = commands.add_parser("keys", help="keys of the API")
    actions = keys.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="make a key and print it once")
    create.add_argument("label", type=label, help="whose it is, such as sonarr")
    create.set_defaults(run=_create_key)
    show = actions.add_parser("list", help="the keys, without the keys themselves")
    show.set_defaults(run=_list_keys)
    revoke = actions.add_parser("revoke", help="refuse a key from now on")
    revoke.add_argument(
        "number", type=whole_number(1, MAX_ID), help="its number in `voyager keys list`"
    )
    revoke.set_defaults(run=_revoke_key)

    search = commands.add_parser("search", help="find releases by the words of their names")
    search.add_argument("words", nargs="+", type=text, metavar="QUERY")
    search.add_argument("--limit", type=limit, default=20, help="most rows to show (default: 20)")
    search.set_defaults(run=_search)

    nzb = commands.add_parser("nzb", help="print a release's NZB: voyager nzb RELEASE > f.nzb")
    nzb.add_argument("release", type=text, help="its id, as `voyager search` prints it")
    nzb.set_defaults(run=_nzb)

    check = commands.add_parser("check", help="compare the catalog with what it was made from")
    what = check.add_subparsers(dest="action", metavar="WHAT", required=True)
    sums = what.add_parser("catalog", help="sums, gaps and round trips; must find no difference")
    sums.set_defaults(run=_check_catalog)


def _create_key(options: argparse.Namespace) -> int:
    from voyager_core.catalog.keys import create_key
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        print(create_key(conn, options.label))
    print("this key is shown once; Voyager keeps only its hash", file=sys.stderr)
    return 0


def _list_keys(options: argparse.Namespace) -> int:
    from voyager_core.catalog.keys import list_keys
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        keys = list_keys(conn)
    rows = [
        (
            key.api_key_id,
            key.label,
            f"{key.created_at:%Y-%m-%d}",
            f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never",
            "revoked" if key.revoked_at else "good",
        )
        for key in keys
    ]
    if not rows:
        print("no keys yet; make one with `voyager keys create sonarr`")
        return 0
    print(table(("number", "label", "made", "last used", "state"), rows))
    return 0


def _revoke_key(options: argparse.Namespace) -> int:
    from voyager_core.catalog.keys import revoke_key
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        if not revoke_key(conn, options.number):
            msg = f"there is no good key with number {options.number}; see `voyager keys list`"
            raise PermanentError(msg)
    print(f"key {options.number} is refused from now on")
    return 0


def _search(options: argparse.Namespace) -> int:
    from voyager_core.catalog.search import SearchQuery, search
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        page = search(conn, SearchQuery(text=" ".join(options.words), limit=options.limit))
    rows = [
        (
            release.public_id,
            f"{release.posted_at:%Y-%m-%d}",
            readable_size(release.size_bytes),
            release.files,
            _state_of(release),
            release.name,
        )
        for release in page.items
    ]
    if not rows:
        print("nothing found")
        return 0
    print(table(("release", "posted", "size", "files", "state", "name"), rows))
    print(f"{len(rows)} of {page.total}{' or more' if page.is_least else ''}")
    return 0


def _state_of(release: "Release") -> str:
    """Returns whether all of a release is there, with the share where something is missing."""
    state = str(release.completeness)
    percent = release.completion
    return state if percent in (None, 100) else f"{state} ({percent} %)"


def _nzb(options: argparse.Namespace) -> int:
    from voyager_core.catalog.releases import chunks, get_release
    from voyager_core.cli.session import catalog_session
    from voyager_core.domain.category_names import category_label
    from voyager_core.nzb.writer import build_nzb

    with catalog_session(load_settings(options.env_file)) as conn:
        release = get_release(conn, options.release)
        if release is None:
            msg = f"there is no release {shortened(options.release)}; see `voyager search`"
            raise PermanentError(msg)
        payloads = chunks(conn, release.release_id)
    category = category_label(release.category)
    sys.stdout.buffer.write(build_nzb(release, payloads, category=category))
    return 0


def _check_catalog(options: argparse.Namespace) -> int:
    from voyager_core.catalog.checks import check_catalog
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        findings = check_catalog(conn)
    for finding in findings:
        print(printable(str(finding)))
    found = len(findings)
    print(f"{found} difference{'s' if found > 1 else ''}" if findings else "no difference")
    return 1 if findings else 0
