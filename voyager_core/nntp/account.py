"""A news account: where its server is, who logs in, and how many connections it may use."""

import difflib
import re
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import SecretStr

from voyager_core.errors import SettingsError

DEFAULT_CONNECTIONS = 10
MAX_CONNECTIONS = 500
_PORTS = {"nntp": 119, "nntps": 563}
_OPTIONS = ("connections", "compress", "ca", "verify")
_EXAMPLE = "nntps://user:password@host:563?connections=50"


class AccountError(SettingsError):
    """The URL of the news account cannot be used."""


class Compression(Enum):
    """How overview replies are compressed on the wire; the values go into `?compress=`."""

    AUTO = "auto"
    GZIP_TERMINATOR = "gzip-terminator"
    GZIP = "gzip"
    XZVER = "xzver"
    DEFLATE = "deflate"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class NewsAccount:
    """One server of one provider. Its `repr` and `str` never show the user or the password.

    Attributes:
        host: name or address, without brackets.
        port: TCP port.
        tls: whether the connection is encrypted (nntps).
        user: login name; None when the server asks for none.
        password: login password.
        connections: most connections at a time.
        compress: AUTO probes what the server knows.
        ca_file: certificates to trust instead of the system's, for a server of one's own.
        verify: False accepts any certificate.
    """

    host: str
    port: int
    tls: bool = True
    user: SecretStr | None = field(default=None, repr=False)
    password: SecretStr | None = field(default=None, repr=False)
    connections: int = DEFAULT_CONNECTIONS
    compress: Compression = Compression.AUTO
    ca_file: Path | None = None
    verify: bool = True

    def __str__(self) -> str:
        """Returns host and port, as messages show the server."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @classmethod
    def from_url(cls, url: str | SecretStr, *, connections: int | None = None) -> "NewsAccount":
        """Reads `nntps://user:password@host:563?connections=50&compress=auto`.

        `nntp://` is unencrypted (port 119), `nntps://` is TLS (port 563). Reserved
        characters in user and password are percent-encoded. Options: `connections`,
        `compress` (auto, gzip-terminator, gzip, xzver, deflate, none), `ca` (file of
        trusted certificates), `verify` (on, off).

        Args:
            url: the URL.
            connections: wins over the number in the URL.

        Raises:
            AccountError: saying what is wrong, without showing the URL.
        """
        text = (url.get_secret_value() if isinstance(url, SecretStr) else url).strip()
        scheme, authority_found, _ = text.partition("://")
        if not authority_found or scheme.lower() not in _PORTS:
            raise AccountError(_wrong_scheme(scheme, has_separator=bool(authority_found)))
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise AccountError(_unreadable_host(text)) from None
        _check_authority(text, parts.path, parts.fragment)
        if not host or re.search(r"[\s@/%\\]", host):
            msg = f"the news URL has no usable host name; it looks like {_EXAMPLE}"
            raise AccountError(msg)
        if port == 0:
            msg = "the news URL has port 0; the usual ones are 563 (nntps) and 119 (nntp)"
            raise AccountError(msg)
        user, password = _credentials(parts.username, parts.password)
        options = _options(parts.query)
        scheme = scheme.lower()
        return cls(
            host=host,
            port=port or _PORTS[scheme],
            tls=scheme == "nntps",
            user=user,
            password=password,
            connections=_count(connections, options.get("connections")),
            compress=_compression(options.get("compress", "auto")),
            ca_file=_ca_file(options.get("ca")),
            verify=_switch("verify", options.get("verify", "on")),
        )


def _wrong_scheme(scheme: str, *, has_separator: bool) -> str:
    known = "nntps:// (TLS) or nntp://"
    if not has_separator:
        return f"the news URL must begin with {known}; it looks like {_EXAMPLE}"
    near = difflib.get_close_matches(scheme.lower(), _PORTS, n=1, cutoff=0.5)
    # An unencrypted connection is never suggested to somebody who typed an s.
    meant = "nntps" if "s" in scheme.lower() else "nntp"
    guess = f"; did you mean {meant}://?" if near else ""
    return f"the news URL begins with {scheme[:20]}://, not with {known}{guess}"


def _unreadable_host(text: str) -> str:
    # A password with an unencoded / # or ? moves the rest of the authority into the path.
    if "@" in text:
        return (
            "host and port of the news URL cannot be read; percent-encode reserved characters "
            "of user and password (@ is %40, : is %3A, / is %2F, # is %23, ? is %3F), and the port "
            "is a number from 1 to 65535"
        )
    return "host and port of the news URL cannot be read; the port is a number from 1 to 65535"


def _check_authority(text: str, path: str, fragment: str) -> None:
    if "@" in path or "@" in fragment or ("@" in text.partition("?")[2]):
        raise AccountError(_unreadable_host(text))
    if path not in {"", "/"} or fragment:
        msg = f"the news URL has something after host and port; it looks like {_EXAMPLE}"
        raise AccountError(msg)


def _credentials(user: str | None, password: str | None) -> tuple[SecretStr | None, ...]:
    if not user and not password:
        return None, None
    if not user:
        msg = "the news URL has a password but no user"
        raise AccountError(msg)
    if not password:
        msg = "the news URL has a user but no password"
        raise AccountError(msg)
    found: list[SecretStr] = []
    for what, value in (("user", user), ("password", password)):
        try:
            plain = unquote(value, errors="strict")
        except UnicodeDecodeError:
            msg = f"the {what} in the news URL is not UTF-8 after percent-decoding"
            raise AccountError(msg) from None
        if re.search(r"[\x00\r\n]", plain):
            msg = f"the {what} in the news URL has a line break in it"
            raise AccountError(msg)
        found.append(SecretStr(plain))
    return tuple(found)


def _options(query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _OPTIONS:
            near = difflib.get_close_matches(name.lower(), _OPTIONS, n=1)
            guess = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(_OPTIONS)}"
            msg = f"the news URL has an unknown option {name[:40]!r}{guess}"
            raise AccountError(msg)
        if name in options:
            msg = f"the news URL has the option {name} twice"
            raise AccountError(msg)
        options[name] = value
    return options


def _count(given: int | None, option: str | None) -> int:
    if given is None and option is None:
        return DEFAULT_CONNECTIONS
    if given is None:
        if option is None or not re.fullmatch(r"\d{1,4}", option, re.ASCII):
            msg = f"connections= in the news URL is no number from 1 to {MAX_CONNECTIONS}"
            raise AccountError(msg)
        given = int(option)
    if not 1 <= given <= MAX_CONNECTIONS:
        msg = f"{given} connections to the news server; 1 to {MAX_CONNECTIONS} are possible"
        raise AccountError(msg)
    return given


def _compression(option: str) -> Compression:
    try:
        return Compression(option.lower())
    except ValueError:
        known = ", ".join(mode.value for mode in Compression)
        msg = f"compress={option[:40]!r} in the news URL is none of {known}"
        raise AccountError(msg) from None


def _ca_file(option: str | None) -> Path | None:
    if option is None:
        return None
    path = Path(option)
    with suppress(RuntimeError):
        path = path.expanduser()
    if not path.is_file():
        msg = f"ca= in the news URL names no file: {option}"
        raise AccountError(msg)
    return path


def _switch(name: str, option: str) -> bool:
    value = option.lower()
    if value in {"on", "yes", "true", "1"}:
        return True
    if value in {"off", "no", "false", "0"}:
        return False
    msg = f"{name}={option[:40]!r} in the news URL is neither on nor off"
    raise AccountError(msg)
