"""Feeds: a page of releases as RSS with Newznab attributes (NZ-3 to NZ-9, NZ-19)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from voyager_api.newznab.dates import rfc2822
from voyager_api.newznab.links import Links
from voyager_api.newznab.xml import XmlWriter, clean_line

NZB_TYPE: Final = "application/x-nzb"

_NAMESPACES: Final = (
    ("version", "2.0"),
    ("xmlns:atom", "http://www.w3.org/2005/Atom"),
    ("xmlns:newznab", "http://www.newznab.com/DTD/2010/feeds/attributes/"),
)


@dataclass(frozen=True, slots=True)
class Category:
    """Where an item is filed: `TV`/5000 and `HD`/5040; the child is None for a bare parent.

    Attributes:
        traits: further numbers of the parent that were asked for and hold the item too.
    """

    parent_id: int
    parent_name: str
    child_id: int | None = None
    child_name: str = ""
    traits: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """`TV > HD`, which SABnzbd and NZBGet filter by."""
        return f"{self.parent_name} > {self.child_name}" if self.child_name else self.parent_name

    @property
    def ids(self) -> tuple[int, ...]:
        """The parent first; Hydra shows the largest."""
        child = () if self.child_id is None else (self.child_id,)
        return (self.parent_id, *child, *self.traits)


@dataclass(frozen=True, slots=True)
class Item:
    """One release as clients see it; None = not known, and then left out.

    Attributes:
        release_id: the public id, stable for ever.
        listed_at: when it came into the list.
        posted_at: when its first article was posted.
        password: 0 = none, 1 = encrypted.
        completion: percent of the expected articles that are there.
    """

    release_id: str
    name: str
    category: Category
    listed_at: datetime
    posted_at: datetime
    size_bytes: int
    files: int
    group: str
    poster: str | None = None
    grabs: int = 0
    season: int | None = None
    episode: int | None = None
    password: int | None = None
    completion: int | None = None
    year: int | None = None
    resolution: int | None = None
    language: str | None = None
    team: str | None = None


@dataclass(frozen=True, slots=True)
class ApiLimits:
    """What a key has used in the last 24 hours, and how much it may; None = no limit.

    Attributes:
        oldest_request_at: when the oldest counted request was made; after 24 hours it is free.
        oldest_grab_at: likewise for downloads.
    """

    requests: int
    grabs: int
    max_requests: int | None = None
    max_grabs: int | None = None
    oldest_request_at: datetime | None = None
    oldest_grab_at: datetime | None = None

    def attributes(self) -> list[tuple[str, str | int]]:
        """Returns the numbers in the lower-case spelling that Hydra reads; [] without limits."""
        told: list[tuple[str, str | int]] = []
        if self.max_requests is not None:
            told += [("apicurrent", self.requests), ("apimax", self.max_requests)]
            if self.oldest_request_at is not None:
                told.append(("apioldesttime", rfc2822(self.oldest_request_at)))
        if self.max_grabs is not None:
            told += [("grabcurrent", self.grabs), ("grabmax", self.max_grabs)]
            if self.oldest_grab_at is not None:
                told.append(("graboldesttime", rfc2822(self.oldest_grab_at)))
        return told


@dataclass(frozen=True, slots=True)
class Feed:
    """One page of a list.

    Attributes:
        total: how many items the whole list has, 5,000 at most (`search_ways.TOTAL_CAP`).
        nzb_links: False = items link to their page, as `/rss` without `dl=1` wants it.
    """

    title: str
    items: tuple[Item, ...] = ()
    total: int = 0
    offset: int = 0
    limits: ApiLimits | None = None
    nzb_links: bool = True
    description: str = field(default="A Usenet index made from article headers")

    @property
    def told_total(self) -> int:
        """The total that clients can page by: never below what they have seen (NZ-9)."""
        seen = self.offset + len(self.items) if self.items else 0
        return max(self.total, seen)


def attributes_of(item: Item) -> Iterator[tuple[str, str]]:
    """Yields the attributes of an item as (name, value); absent ones are left out (NZ-8)."""
    for number in item.category.ids:
        yield "category", str(number)
    yield "size", str(item.size_bytes)
    yield "guid", item.release_id
    yield "files", str(item.files)
    if item.poster and (poster := clean_line(item.poster).strip()):
        yield "poster", poster
    if group := clean_line(item.group).strip():
        yield "group", group
    yield "usenetdate", rfc2822(item.posted_at)
    yield "grabs", str(item.grabs)
    yield "comments", "0"
    numbers = {
        "season": item.season,
        "episode": item.episode,
        "password": item.password,
        "completion": item.completion,
        "year": item.year,
    }
    for name, value in numbers.items():
        if value is not None:
            yield name, str(value)
    if item.resolution is not None:
        yield "resolution", f"{item.resolution}p"
    for name, text in (("language", item.language), ("team", item.team)):
        if text and (line := clean_line(text).strip()):
            yield name, line


def summary_of(item: Item) -> str:
    """Returns what an item is in one line for people."""
    parts = [f"{item.files} file" + ("s" if item.files != 1 else "")]
    if item.completion is not None:
        parts.append(f"{item.completion} % complete")
    return ", ".join([*parts, item.group] if item.group else parts)


def feed_xml(feed: Feed, links: Links) -> bytes:
    """Returns the feed as every reader of the reference takes it."""
    writer = XmlWriter()
    with writer.element("rss", _NAMESPACES), writer.element("channel"):
        writer.empty(
            "atom:link",
            [("href", links.api), ("rel", "self"), ("type", "application/rss+xml")],
        )
        writer.leaf("title", feed.title)
        writer.leaf("description", feed.description)
        writer.leaf("link", links.home)
        writer.leaf("language", "en-gb")
        writer.leaf("category", "usenet")
        # Hydra guesses the server by this text: none of the names that it knows may be in it.
        writer.leaf("generator", "voyager")
        if feed.limits is not None and (numbers := feed.limits.attributes()):
            writer.empty("newznab:apilimits", numbers)
        writer.empty("newznab:response", [("offset", feed.offset), ("total", feed.told_total)])
        for item in feed.items:
            _write_item(writer, item, links, nzb_links=feed.nzb_links)
    return writer.to_bytes()


def _write_item(writer: XmlWriter, item: Item, links: Links, *, nzb_links: bool) -> None:
    page, nzb = links.details(item.release_id), links.nzb(item.release_id)
    with writer.element("item"):
        writer.leaf("title", item.name)
        writer.leaf("guid", page, [("isPermaLink", "true")])
        # Headphones takes links by position: link before enclosure (NZ-5).
        writer.leaf("link", nzb if nzb_links else page)
        writer.leaf("comments", f"{page}#comments")
        writer.leaf("pubDate", rfc2822(item.listed_at))
        writer.leaf("category", item.category.label)
        writer.leaf("description", summary_of(item))
        writer.empty("enclosure", [("url", nzb), ("length", item.size_bytes), ("type", NZB_TYPE)])
        for name, value in attributes_of(item):
            # NZBGet and Medusa match this text: the prefix, and name before value (NZ-4).
            writer.named("newznab:attr", name, value)


def feed_json(feed: Feed, links: Links) -> dict[str, object]:
    """Returns the feed in the classic JSON shape; numbers are texts and `item` is a list."""
    items = [
        {
            "title": clean_line(item.name),
            "guid": links.details(item.release_id),
            "link": (links.nzb if feed.nzb_links else links.details)(item.release_id),
            "comments": f"{links.details(item.release_id)}#comments",
            "pubDate": rfc2822(item.listed_at),
            "category": item.category.label,
            "description": summary_of(item),
            "enclosure": {
                "@attributes": {
                    "url": links.nzb(item.release_id),
                    "length": str(item.size_bytes),
                    "type": NZB_TYPE,
                }
            },
            "attr": [
                {"@attributes": {"name": name, "value": value}}
                for name, value in attributes_of(item)
            ],
        }
        for item in feed.items
    ]
    response = {"offset": str(feed.offset), "total": str(feed.told_total)}
    channel: dict[str, object] = {
        "title": feed.title,
        "description": feed.description,
        "link": links.home,
        "response": {"@attributes": response},
        "item": items,
    }
    if feed.limits is not None and (numbers := feed.limits.attributes()):
        channel["apilimits"] = {"@attributes": {name: str(value) for name, value in numbers}}
    return {"@attributes": {"version": "2.0"}, "channel": channel}
