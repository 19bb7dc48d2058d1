"""The exceptions that Voyager raises.

```
VoyagerError
├── TransientError     may succeed when it is tried again later
└── PermanentError     will not succeed until a person changes something
    └── SettingsError  the configuration is unusable
```

Packages add their own branches below these two; a caller that only wants to know
whether another try makes sense catches `TransientError`.
"""

import json
from pathlib import Path


class VoyagerError(Exception):
    """Base of everything that Voyager raises on purpose."""


class TransientError(VoyagerError):
    """The same call may succeed later (a server is down, a disk is full)."""


class PermanentError(VoyagerError):
    """The same call fails until a person changes something."""


class SettingsError(PermanentError):
    """A setting is missing, misspelt or out of range."""


def reason_of(error: BaseException, path: Path | None = None) -> str:
    """Returns in a person's words why something failed, for the end of a message.

    Args:
        error: what was raised.
        path: the file that the message names already.
    """
    if isinstance(error, OSError) and error.strerror is not None:
        other = error.filename is not None and str(error.filename) != str(path)
        return f"{error.strerror} ({error.filename})" if other else error.strerror
    if isinstance(error, UnicodeDecodeError):
        return f"it is no UTF-8 text (byte {error.start + 1})"
    if isinstance(error, json.JSONDecodeError):
        return f"it is no JSON (line {error.lineno}: {error.msg})"
    if isinstance(error, KeyError):
        return f"it lacks {error.args[0]}"
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
