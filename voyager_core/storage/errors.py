"""What can go wrong with the blocks on disk.

```
├── SpoolFull (TransientError)         the cap, the free-space guard, or the disk itself
├── BlockMissing (TransientError)      a block is not there (any more); fetch the span again
│   └── BlockDamaged                   it was there but is torn; it is gone now, fetch it again
└── StorageUnusable (PermanentError)   no permission, read-only, no folder
```
"""

import errno
from pathlib import Path

from voyager_core.errors import PermanentError, TransientError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_UNUSABLE = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOTDIR,
        errno.EEXIST,
        errno.ENAMETOOLONG,
        errno.ELOOP,
    }
)


class SpoolFull(TransientError):  # noqa: N818 - the name of the interface
    """There is no room for a block; nothing of it was written."""


class BlockMissing(TransientError):  # noqa: N818 - the name of the interface
    """A block of a span is not on disk; fetching the span again brings it."""


class BlockDamaged(BlockMissing):
    """A block did not match its checksum and was removed."""


class StorageUnusable(PermanentError):  # noqa: N818 - the name of the interface
    """The folder cannot be used until a person changes something."""


def storage_error(error: OSError, path: Path, *, doing: str) -> TransientError | PermanentError:
    """Returns the error to raise for what the operating system said.

    Args:
        error: what it said.
        path: the file or folder.
        doing: what was tried, as in `writing a block`.
    """
    said = error.strerror or str(error)
    if error.errno in _FULL:
        return SpoolFull(f"the disk is full while {doing} at {path} ({said}); make room on it")
    if error.errno in _UNUSABLE:
        msg = f"{doing} at {path} is not possible ({said}); check the folder and its owner"
        return StorageUnusable(msg)
    return TransientError(f"{doing} at {path} failed ({said}); it is tried again")
