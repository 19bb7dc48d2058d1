"""Posting with Nyuu (npm), whose own NZB is the right answer."""

import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from tests.support.inn2 import HOST, Inn2

_NZB = "{http://www.newzbin.com/DTD/2003/nzb}"


def missing_parts() -> str | None:
    """Returns why Nyuu cannot run here, or None when it can."""
    if shutil.which("nyuu") is None:
        return "Nyuu is not installed (npm package nyuu)"
    return None


def post(
    server: Inn2,
    groups: Sequence[str],
    files: Sequence[Path],
    nzb: Path,
    *,
    poster: str = "poster <poster@test.invalid>",
    subject: str | None = None,
    article_size: str = "100K",
) -> None:
    """Posts files and writes Nyuu's NZB of them.

    Raises:
        AssertionError: Nyuu failed, with what it said.
    """
    command = ["nyuu", "-h", HOST, "-P", str(server.port), "-u", server.user, "-p", server.password]
    command += ["-n", "4", "-g", ",".join(groups), "-f", poster, "-a", article_size]
    command += ["-o", str(nzb), "-O"]
    if subject is not None:
        command += ["-s", subject]
    done = subprocess.run(
        [*command, *map(str, files)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def segments(nzb: bytes) -> dict[str, list[tuple[int, str]]]:
    """Returns (part number, message-id) of each file, in order, under the file's quoted name."""
    found: dict[str, list[tuple[int, str]]] = {}
    for file in ET.fromstring(nzb).iter(f"{_NZB}file"):
        subject = file.get("subject", "")
        name = subject.split('"')[1] if subject.count('"') > 1 else subject
        found[name] = sorted(
            (int(segment.get("number", "0")), segment.text or "")
            for segment in file.iter(f"{_NZB}segment")
        )
    return found
