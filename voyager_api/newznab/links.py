"""Absolute addresses in answers (NZ-12, NZ-18, NZ-39)."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlsplit

_HOST: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Links:
    """Makes links below one base; those to NZBs carry the caller's key.

    Attributes:
        base: scheme, host, port and path prefix, without a slash at the end.
        key: the key of the caller, "" on pages without one.
    """

    base: str
    key: str = ""

    @property
    def home(self) -> str:
        """The start page."""
        return f"{self.base}/"

    @property
    def api(self) -> str:
        """The address of the API, without a key."""
        return f"{self.base}/api"

    def details(self, release_id: str) -> str:
        """The page of a release; it ends in the id, which Hydra cuts out of it."""
        return f"{self.base}/details/{release_id}"

    def nzb(self, release_id: str) -> str:
        """The NZB of a release; NZBGet needs a path that ends in `.nzb` when headers get lost."""
        return f"{self.base}/getnzb/{release_id}.nzb?apikey={quote(self.key, safe='')}"


def parse_base(url: str) -> str:
    """Returns a configured base address in the form that links are built from.

    A trailing slash and a trailing `/api`, which people copy along, are cut off.

    Raises:
        ValueError: naming what is wrong.
    """
    text = url.strip()
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("an address begins with http:// or https:// and a host name")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("a base address has no user, no question mark and no #")
    _ = parts.port
    host = parts.netloc.rpartition("@")[2].encode("idna").decode("ascii")
    path = quote(parts.path, safe="/%-._~").rstrip("/").removesuffix("/api").rstrip("/")
    return f"{parts.scheme}://{host}{path}"


def is_loopback(host: str) -> bool:
    """Returns whether a host name or address can only mean this machine."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def base_of_request(
    *, listen_host: str, host_header: str, server: tuple[str, int | None] | None
) -> str:
    """Returns the base address where none is configured.

    The Host header is the client's to choose, so it counts only where both the listening address
    and the named host are this machine itself (a tunnel to another port works). Otherwise the
    address of the socket that the request came in on is used.
    """
    named = _HOST.fullmatch(host_header)
    if named and is_loopback(listen_host) and is_loopback(named["host"]):
        return f"http://{named[0]}"
    host, number = server or (listen_host, None)
    return f"http://{_host(host)}" + (f":{number}" if number else "")


def _host(name: str) -> str:
    return f"[{name}]" if ":" in name else name
