"""How the strict clients read Newznab, written anew from the measured behaviour of each.

Every model is stricter than lenient: what a real client would drop, default or crash on is an
AssertionError or a missing item here.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from xml.etree import ElementTree as ET

NS = "{http://www.newznab.com/DTD/2010/feeds/attributes/}"
Fetch = Callable[[dict[str, Any]], bytes]

_DATE = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    r" \d{4} \d\d:\d\d:\d\d [+-]\d{4}"
)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True)
class Found:
    """An item as a client keeps it."""

    title: str
    url: str
    size: int
    published: datetime
    categories: tuple[int, ...]
    guid: str
    attributes: dict[str, str] = field(compare=False, default_factory=dict)


def read_feed(document: bytes) -> tuple[list[Found], int, int]:
    """Returns items, offset and total, as strictly as the strictest reader.

    Raises:
        AssertionError: some client would lose an item or the whole page.
    """
    assert document.startswith(b"<?xml"), "Sonarr and Hydra fail on anything before"
    root = ET.fromstring(document)
    assert root.tag == "rss", f"an error or a namespace: {document[:200]!r}"
    channel = root.find("channel")
    assert channel is not None
    response = channel.find(f"{NS}response")
    assert response is not None, "Hydra: null pointer"
    items = [_read_item(item) for item in channel.iter("item")]
    offset, total = int(response.attrib["offset"]), int(response.attrib["total"])
    assert total >= len(items)
    return items, offset, total


def _read_item(item: ET.Element) -> Found:
    (enclosure,) = item.findall("enclosure")
    assert enclosure.get("type") == "application/x-nzb", "Sonarr has no address without it"
    length = int(enclosure.attrib["length"])
    assert length >= 0
    attributes = [(attr.attrib["name"], attr.attrib["value"]) for attr in item.iter(f"{NS}attr")]
    values = dict(attributes)
    for name in ("size", "files", "grabs", "comments", "season", "episode", "category"):
        assert name not in values or re.fullmatch(r"\d+", values[name]), "Hydra loses the page"
    assert int(values["size"]) == length
    for text in (item.findtext("pubDate"), values.get("usenetdate")):
        assert _DATE.fullmatch(text or ""), "NZBGet and Hydra drop the date"
        assert _DAYS[parsedate_to_datetime(text).weekday()] == text[:3]
    categories = tuple(int(value) for name, value in attributes if name == "category")
    guid = item.findtext("guid") or ""
    assert guid.startswith("http")
    assert guid.rpartition("/")[2] == values["guid"]
    return Found(
        title=item.findtext("title") or "",
        url=enclosure.attrib["url"],
        size=length,
        published=parsedate_to_datetime(values["usenetdate"]).astimezone(UTC),
        categories=categories,
        guid=guid,
        attributes=values,
    )


@dataclass
class Sonarr:
    """Test, newest releases and searches as Sonarr, Radarr, Lidarr and Readarr do them."""

    fetch: Fetch
    categories: str = "5030,5040"
    function: str = "tvsearch"

    def capabilities(self) -> dict[str, list[str]]:
        """Returns the parameters of each search; anything odd would mean the defaults."""
        root = ET.fromstring(self.fetch({"t": "caps"}))
        assert root.tag == "caps"
        limits = root.find("limits")
        assert limits is not None
        self.page_size = min(100, max(int(limits.attrib["default"]), int(limits.attrib["max"])))
        for category in root.iter("category"):
            assert int(category.attrib["id"]) >= 0
            assert category.attrib["name"]
            for child in category.iter("subcat"):
                assert int(child.attrib["id"]) >= 0
                assert child.attrib["name"]
        searching = root.find("searching")
        assert searching is not None
        return {
            one.tag: one.attrib["supportedParams"].split(",")
            for one in searching
            if one.attrib["available"] == "yes"
        }

    def test(self) -> str:
        """Returns what the Test button says, "" when it is satisfied."""
        offered = self.capabilities()
        items, _, _ = read_feed(self._ask(offset=0))
        if not items:
            return "no results in the configured categories"
        if "q" not in offered.get("search", []):
            return "no text search"
        tv = offered.get("tv-search", [])
        return "" if {"q", "season", "ep"} <= set(tv) else "no episode search"

    def newest(self, since: datetime | None = None) -> list[Found]:
        """Returns what one round of following the newest releases collects."""
        return self._pages(lambda items: since is None or items[-1].published < since)

    def search(self, **parameters: Any) -> list[Found]:
        """Returns the items of all pages of a search."""
        return self._pages(lambda _: False, **parameters)

    def _pages(self, enough: Callable[[list[Found]], bool], **parameters: Any) -> list[Found]:
        self.capabilities()
        found: list[Found] = []
        for page in range(30):
            items, _, _ = read_feed(self._ask(offset=page * self.page_size, **parameters))
            known = {one.url for one in found}
            assert not any(one.url in known for one in items), "the same page again"
            found += items
            if len(items) < self.page_size or len(found) >= 1000 or enough(items):
                break
        return found

    def _ask(self, **parameters: Any) -> bytes:
        base = {"t": self.function, "cat": self.categories, "extended": 1, "limit": 100}
        return self.fetch(base | parameters)


@dataclass
class Hydra:
    """Paging and the check of abilities as NZBHydra2 does them."""

    fetch: Fetch

    def search(self, **parameters: Any) -> list[Found]:
        """Returns what paging finds; a first page that is short ends it."""
        found: list[Found] = []
        while True:
            asked = {"extended": 1, "limit": 1000, "offset": len(found), "password": 1}
            items, offset, total = read_feed(self.fetch(parameters | asked))
            assert offset == len(found)
            found += items
            if total <= len(found) or not items:
                return found
            assert len(items) >= 100, "Hydra stops paging here although there is more"

    def supported_ids(self) -> list[str]:
        """Returns the ids that answer with something; without a database of ids, none may."""
        probes = [
            ("tvsearch", "tvdbid", "121361"),
            ("tvsearch", "rid", "24493"),
            ("tvsearch", "tvmazeid", "82"),
            ("tvsearch", "traktid", "1390"),
            ("tvsearch", "imdbid", "0944947"),
            ("movie", "tmdbid", "24428"),
            ("movie", "imdbid", "0848228"),
        ]
        return [
            name
            for function, name, value in probes
            if read_feed(self.fetch({"t": function, name: value}))[0]
        ]

    def excludes_by(self, word: str) -> list[str]:
        """Returns the forms of exclusion that work, by the probe that Hydra makes."""
        works = []
        for form in ("--", "!"):
            items, _, _ = read_feed(self.fetch({"t": "search", "q": f"Avengers {form}{word}"}))
            if items and not any(word in one.title for one in items):
                works.append(form)
        return works


@dataclass
class Prowlarr:
    """Which items an automatic search keeps, and how categories are mapped."""

    fetch: Fetch

    def categories(self) -> dict[str, int]:
        """Returns the categories by the names that Prowlarr maps by."""
        root = ET.fromstring(self.fetch({"t": "caps"}))
        names: dict[str, int] = {}
        for category in root.iter("category"):
            names[category.attrib["name"]] = int(category.attrib["id"])
            for child in category.iter("subcat"):
                path = f"{category.attrib['name']}/{child.attrib['name']}"
                names[path] = int(child.attrib["id"])
        return names

    def kept(self, wanted: set[int], **parameters: Any) -> list[Found]:
        """Returns the items with a size and a category that was searched."""
        items, _, _ = read_feed(self.fetch({"extended": 1} | parameters))
        return [one for one in items if one.size and wanted & set(one.categories)]
