"""Readers of feeds as Sonarr, NZBHydra2 and NZBGet are, written anew from what each was seen to do.

Each returns what the client keeps of a feed, or raises `Rejected` where the client gives up on it.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from xml.etree import ElementTree as ET

NS = "{http://www.newznab.com/DTD/2010/feeds/attributes/}"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_NUMERIC = re.compile(r"(?P<day>\w{3}), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", re.ASCII)
_NAMED = re.compile(r"(?P<day>\w{3}), \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", re.ASCII)


class Rejected(Exception):  # noqa: N818 - named as what the client does
    """The client takes nothing of this document."""


@dataclass(frozen=True)
class Kept:
    """An item as a client keeps it; None and 0 are what it could not read."""

    title: str
    url: str | None
    size: int
    published: datetime | None
    categories: tuple[int, ...] = ()


def _root(document: bytes) -> ET.Element:
    try:
        return ET.fromstring(document)
    except ET.ParseError as error:
        raise Rejected(str(error)) from error


def _date(text: str | None, *patterns: re.Pattern[str], weekday: bool = True) -> datetime | None:
    found = next((one for one in (p.fullmatch(text or "") for p in patterns) if one), None)
    if found is None:
        return None
    moment = parsedate_to_datetime(text or "").astimezone(UTC)
    return moment if not weekday or _DAYS[moment.weekday()] == found["day"] else None


def _attributes(item: ET.Element) -> list[tuple[str, str]]:
    return [(one.get("name", ""), one.get("value", "")) for one in item.findall(f"{NS}attr")]


def sonarr(document: bytes) -> list[Kept]:
    """Reads a feed as Sonarr, Radarr, Lidarr and Readarr do."""
    if not document.startswith(b"<?xml"):
        raise Rejected("something before the declaration")
    # Its cleaning takes out what XML cannot hold, and raw characters above U+FFFF.
    text = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\U00010000-\U0010ffff]", "", document.decode())
    root = _root(text.encode())
    if root.tag == "error":
        code = int(root.attrib["code"])
        limit = root.attrib["description"] == "Request limit reached"
        raise Rejected("key" if 100 <= code < 200 else "limit" if limit else "failure")
    kept = []
    for item in root.findall("channel/item") if root.tag == "rss" else []:
        values = dict(_attributes(item))
        told = values.get("usenetdate") or item.findtext("pubDate")
        if not told:
            raise Rejected("an item without a date")
        enclosure = item.find("enclosure[@type='application/x-nzb']")
        published = _date(told, _NUMERIC, _NAMED)
        if enclosure is None or published is None:
            continue
        size = int(values.get("size") or enclosure.get("length") or 0)
        categories = tuple(int(v) for n, v in _attributes(item) if n == "category")
        title = item.findtext("title") or ""
        kept.append(Kept(title, enclosure.get("url"), size, published, categories))
    return kept


def hydra(document: bytes) -> list[Kept]:
    """Reads a feed as NZBHydra2 does."""
    if not document.startswith(b"<?xml"):
        raise Rejected("something before the declaration")
    root = _root(document)
    if root.tag == "error":
        raise Rejected(f"error {root.attrib['code']}")
    response = root.find(f"channel/{NS}response")
    if root.tag != "rss" or response is None or not {"offset", "total"} <= set(response.attrib):
        raise Rejected("no response element")
    kept = []
    for item in root.findall("channel/item"):
        enclosure = item.find("enclosure")
        if enclosure is None:
            raise Rejected("an item without an enclosure")
        try:
            numbers = {
                name: int(value)
                for name, value in _attributes(item)
                if name in {"size", "files", "grabs", "comments", "category"}
            }
            length = int(enclosure.attrib["length"])
        except (KeyError, ValueError) as error:
            raise Rejected(f"no number: {error}") from error
        dates = dict(_attributes(item)).get("usenetdate") or item.findtext("pubDate")
        published = _date(dates, _NUMERIC, _NAMED)
        categories = (numbers["category"],) if "category" in numbers else ()
        title = (item.findtext("title") or "").replace("&", "")
        kept.append(Kept(title, enclosure.get("url"), length, published, categories))
    return kept


def nzbget(document: bytes) -> list[Kept]:
    """Reads a feed as NZBGet does: attributes by their text, dates only with a numeric zone."""
    if document.startswith((b"\n", b" ")):
        raise Rejected("something before the declaration")
    # It knows no namespaces.
    root = _root(re.sub(rb' xmlns="[^"]*"', b"", document))
    kept = []
    texts = re.findall(rb"<item>.*?</item>", document, re.DOTALL)
    for item, text in zip(root.iter("item"), texts, strict=False):
        attributes = dict(re.findall(rb'<newznab:attr name="([^"]*)" value="([^"]*)"', text))
        enclosure = item.find("enclosure")
        length = 0 if enclosure is None else int(enclosure.get("length") or 0)
        url = item.findtext("link") if enclosure is None else enclosure.get("url")
        size = int(attributes.get(b"size", 0)) or length
        category = attributes.get(b"category")
        published = _date(item.findtext("pubDate"), _NUMERIC, weekday=False)
        title = item.findtext("title") or ""
        kept.append(Kept(title, url, size, published, (int(category),) if category else ()))
    return kept
