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


class VoyagerError(Exception):
    """Base of everything that Voyager raises on purpose."""


class TransientError(VoyagerError):
    """The same call may succeed later (a server is down, a disk is full)."""


class PermanentError(VoyagerError):
    """The same call fails until a person changes something."""


class SettingsError(PermanentError):
    """A setting is missing, misspelt or out of range."""
