"""Blocks in S3-compatible storage, so that fetchers and workers share a spool across machines.

One object a block: `<group>/<range>/<low>-<high>.zz`, the manifest in front of the block, so that
a block is written in one step, whole or not at all. Credentials come from the environment, as for
every other program that uses such storage (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`).
"""

import logging
import re
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from isal import isal_zlib

from voyager_core.domain.ranges import Span, range_low
from voyager_core.errors import SettingsError, TransientError
from voyager_core.storage.blocks import FOLDER_SIZE, BlockFacts, BlockInfo
from voyager_core.storage.errors import BlockDamaged, BlockMissing, SpoolFull, StorageUnusable
from voyager_core.storage.files import folder_name
from voyager_core.storage.usage import BLOCK_SUFFIX

if TYPE_CHECKING:
    from obstore.store import ObjectStore

logger = logging.getLogger(__name__)

_MAGIC = b"VYB1"
_HEAD = struct.Struct(">4sI")
# Manifests are smaller; a longer one is read in a second request.
_HEAD_BYTES = 2048
_MOST_MANIFEST_BYTES = 65_536
_NAME = re.compile(r"(\d{1,19})-(\d{1,19})")
# The sum of all sizes needs a listing; what this process adds or removes is known at once.
_USAGE_SECONDS = 5.0
_MANY_FOLDERS = 64
_OPTIONS = {
    "endpoint": "aws_endpoint",
    "region": "aws_region",
    "virtual_hosted": "aws_virtual_hosted_style_request",
}


def open_store(url: str) -> "tuple[ObjectStore, str]":
    """Returns the storage of a URL such as `s3://bucket/prefix?endpoint=http://10.0.0.1:9000`.

    Options: `endpoint` (a server of your own), `region`, `virtual_hosted` (true, false).

    Returns:
        The storage, and the URL without options, for messages.

    Raises:
        SettingsError: the URL cannot be used, or obstore is not installed.
    """
    try:
        from obstore.exceptions import BaseError  # noqa: PLC0415 - only where it is used
        from obstore.store import S3Store  # noqa: PLC0415
    except ImportError:
        msg = "a spool in S3 needs obstore: pip install 'voyager-indexer[s3]'"
        raise SettingsError(msg) from None
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    if unknown := sorted(set(options) - set(_OPTIONS)):
        msg = (
            f"VOYAGER_SPOOL__URL has an unknown option {unknown[0][:40]!r}; known: endpoint, region"
        )
        raise SettingsError(msg)
    if not parts.netloc or "@" in parts.netloc:
        msg = (
            "VOYAGER_SPOOL__URL looks like s3://bucket/prefix?endpoint=http://host:9000; the "
            "credentials are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
        raise SettingsError(msg)
    config = {_OPTIONS[name]: value for name, value in options.items()}
    plain = options.get("endpoint", "").startswith("http://")
    try:
        store = S3Store(
            parts.netloc,
            prefix=parts.path.strip("/") or None,
            config={"aws_region": "us-east-1", **config},  # type: ignore[arg-type]
            client_options={"allow_http": plain, "timeout": "120s", "connect_timeout": "10s"},
            retry_config={"max_retries": 4},
        )
    except (ValueError, TypeError, OSError, BaseError) as error:
        msg = f"VOYAGER_SPOOL__URL cannot be used: {_first_line(error)}"
        raise SettingsError(msg) from None
    return store, f"s3://{parts.netloc}{parts.path}"


class BlockObjects:
    """The blocks below one prefix; the same interface as `BlockFolder`."""

    def __init__(
        self,
        store: "ObjectStore",
        name: str,
        *,
        max_bytes: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Uses a storage.

        Args:
            store: of obstore.
            name: how messages call it.
            max_bytes: most bytes that the blocks may use; None = no bound.
            clock: seconds, for how long a sum of sizes is believed.
        """
        self.name = name
        self._store = store
        self._max_bytes = max_bytes
        self._clock = clock
        self._manifests: dict[str, tuple[str, BlockInfo]] = {}
        self._used: tuple[float, int] | None = None

    def infos(self, span: Span) -> list[BlockInfo]:
        """Returns the blocks that lie wholly in a span, by first number.

        Raises:
            TransientError: the storage does not answer.
            StorageUnusable: it refuses.
        """
        import obstore  # noqa: PLC0415

        found: list[BlockInfo] = []
        with self._errors(f"listing the blocks of {span}"):
            for prefix in _prefixes(span):
                for batch in obstore.list(self._store, prefix):
                    for each in batch:
                        info = self._info(each["path"], each["size"], str(each["e_tag"]), span)
                        if info is not None:
                            found.append(info)
        return sorted(found, key=lambda info: (info.low, -info.high))

    def write(self, span: Span, data: bytes, facts: BlockFacts) -> BlockInfo:
        """Writes a block and its manifest as one object.

        Raises:
            SpoolFull: no room; nothing was written.
            StorageUnusable: the storage refuses.
            TransientError: it does not answer.
        """
        import obstore  # noqa: PLC0415

        info = BlockInfo(span.group, span.low, span.high, len(data), isal_zlib.crc32(data), facts)
        manifest = info.to_json()
        self.check_room(len(data))
        with self._errors(f"writing the block {span}"):
            body = _HEAD.pack(_MAGIC, len(manifest)) + manifest + data
            try:
                obstore.put(self._store, _path(span), body, use_multipart=False)
            except FileNotFoundError as error:
                msg = f"{self.name} does not exist: {_first_line(error)}"
                raise StorageUnusable(msg) from error
        self._count(len(body))
        return info

    def read(self, info: BlockInfo) -> bytes:
        """Returns a block whose checksum is right.

        Raises:
            BlockMissing: it is gone.
            BlockDamaged: it is torn; it was removed.
            StorageUnusable: the storage refuses.
            TransientError: it does not answer.
        """
        import obstore  # noqa: PLC0415

        path = _path(info.span)
        try:
            with self._errors(f"reading the block {info.span}"):
                body = bytes(obstore.get(self._store, path).bytes())
        except FileNotFoundError:
            msg = f"the block {info.span} is not in {self.name} any more; it is fetched again"
            raise BlockMissing(msg) from None
        data = body[len(body) - info.size_bytes :]
        if len(data) != info.size_bytes or isal_zlib.crc32(data) != info.crc32:
            self.remove([info])
            msg = f"the block {info.span} in {self.name} was damaged and is removed"
            raise BlockDamaged(msg)
        return data

    def is_whole(self, info: BlockInfo) -> bool:
        """Tells whether a block is there; its storage has checked it when it was written."""
        return info.crc32 >= 0

    def remove(self, infos: Iterable[BlockInfo]) -> int:
        """Removes blocks; returns the bytes freed.

        Raises:
            StorageUnusable: the storage refuses.
            TransientError: it does not answer.
        """
        import obstore  # noqa: PLC0415

        gone = {_path(info.span): info.size_bytes for info in infos}
        if not gone:
            return 0
        with self._errors("removing blocks"):
            obstore.delete(self._store, list(gone))
        for path in gone:
            self._manifests.pop(path, None)
        self._count(-sum(gone.values()))
        return sum(gone.values())

    def used(self) -> int:
        """Returns how many bytes all blocks use, as of some seconds ago.

        Raises:
            StorageUnusable: the storage refuses.
            TransientError: it does not answer.
        """
        import obstore  # noqa: PLC0415

        if self._used is None or self._clock() - self._used[0] > _USAGE_SECONDS:
            with self._errors("adding up the blocks"):
                sizes = (each["size"] for batch in obstore.list(self._store) for each in batch)
                self._used = (self._clock(), sum(sizes))
        return self._used[1]

    def check_room(self, size_bytes: int) -> None:
        """Refuses when so many more bytes would be over the cap.

        Raises:
            SpoolFull: naming the numbers.
        """
        if self._max_bytes is None:
            return
        used = self.used()
        if used + size_bytes > self._max_bytes:
            msg = (
                f"{self.name} holds {used} bytes and may hold {self._max_bytes}: no room for "
                f"{size_bytes} more; index what is spooled, or raise VOYAGER_SPOOL__MAX_BYTES"
            )
            raise SpoolFull(msg)

    def sweep(self, *, forget_before: float | None = None) -> int:
        """Removes blocks written before a time; returns how many.

        Raises:
            StorageUnusable: the storage refuses.
            TransientError: it does not answer.
        """
        import obstore  # noqa: PLC0415

        if forget_before is None:
            return 0
        limit = datetime.fromtimestamp(forget_before, UTC)
        with self._errors("sweeping"):
            old = [
                each["path"]
                for batch in obstore.list(self._store)
                for each in batch
                if each["path"].endswith(BLOCK_SUFFIX) and each["last_modified"] < limit
            ]
            if old:
                obstore.delete(self._store, old)
        self._used = None
        return len(old)

    def _info(self, path: str, size: int, tag: str, span: Span) -> BlockInfo | None:
        folder, _, file = path.rpartition("/")
        match = _NAME.fullmatch(file.removesuffix(BLOCK_SUFFIX))
        if match is None or not file.endswith(BLOCK_SUFFIX):
            return None
        low, high = int(match[1]), int(match[2])
        if low < span.low or high > span.high or high < low or size <= _HEAD.size:
            return None
        known = self._manifests.get(path)
        if known is not None and known[0] == tag:
            return known[1]
        info, length = self._manifest(path)
        if info is None or (info.group, info.low, info.high) != (span.group, low, high):
            logger.warning("%s/%s in %s is no block", folder, file, self.name)
            return None
        if _HEAD.size + length + info.size_bytes != size:
            return None
        self._manifests[path] = (tag, info)
        return info

    def _manifest(self, path: str) -> tuple[BlockInfo | None, int]:
        import obstore  # noqa: PLC0415

        try:
            head = bytes(obstore.get_range(self._store, path, start=0, length=_HEAD_BYTES))
        except FileNotFoundError:
            return None, 0
        if len(head) < _HEAD.size:
            return None, 0
        magic, length = _HEAD.unpack_from(head)
        if magic != _MAGIC or length > _MOST_MANIFEST_BYTES:
            return None, 0
        if length > len(head) - _HEAD.size:
            head = bytes(obstore.get_range(self._store, path, start=0, length=_HEAD.size + length))
        return BlockInfo.from_json(head[_HEAD.size : _HEAD.size + length]), length

    def _count(self, change: int) -> None:
        if self._used is not None:
            self._used = (self._used[0], max(0, self._used[1] + change))

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        from obstore.exceptions import (  # noqa: PLC0415
            BaseError,
            PermissionDeniedError,
            UnauthenticatedError,
        )

        try:
            yield
        except FileNotFoundError:
            raise
        except (PermissionDeniedError, UnauthenticatedError) as error:
            msg = f"{doing} in {self.name} is not allowed: {_first_line(error)}"
            raise StorageUnusable(msg) from error
        except (BaseError, OSError) as error:
            msg = f"{doing} in {self.name} failed ({_first_line(error)}); it is tried again"
            raise TransientError(msg) from error


def _path(span: Span) -> str:
    low = range_low(span.low, size=FOLDER_SIZE)
    folder = f"{folder_name(span.group)}/{low}-{low + FOLDER_SIZE - 1}"
    return f"{folder}/{span.low}-{span.high}{BLOCK_SUFFIX}"


def _prefixes(span: Span) -> list[str]:
    first = range_low(span.low, size=FOLDER_SIZE)
    if span.high - first >= _MANY_FOLDERS * FOLDER_SIZE:
        return [folder_name(span.group)]
    lows = range(first, span.high + 1, FOLDER_SIZE)
    return [f"{folder_name(span.group)}/{low}-{low + FOLDER_SIZE - 1}" for low in lows]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
