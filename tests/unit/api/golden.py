"""Compares documents with the committed ones in tests/golden/newznab."""

import os
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "newznab"


def assert_golden(name: str, document: bytes) -> None:
    """Fails unless the document is the committed one, byte for byte.

    `VOYAGER_TEST_UPDATE_GOLDEN=1` writes it instead; look at the difference before committing.
    """
    path = GOLDEN / name
    if os.environ.get("VOYAGER_TEST_UPDATE_GOLDEN"):
        path.write_bytes(document)
    assert document.decode() == path.read_bytes().decode()
