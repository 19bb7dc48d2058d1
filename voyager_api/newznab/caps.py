"""What the server can do: `t=caps` (NZ-2, NZ-10, NZ-11, NZ-25, NZ-26).

Sonarr and its relatives compare these texts exactly and keep them for seven days; one missing
number or one blank in a list replaces the whole answer by their defaults.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from voyager_api.newznab.dates import rfc2822
from voyager_api.newznab.links import Links
from voyager_api.newznab.requests import MAX_LIMIT
from voyager_api.newznab.xml import Attributes, XmlWriter, clean_line

# Only what the catalog resolves (NZ-25): with an id in a list, Sonarr asks by nothing else.
# Lidarr and Hydra read audio-search, older clients music-search.
_SEARCHES: Final = (
    ("search", "q,group"),
    ("tv-search", "q,season,ep"),
    ("movie-search", "q"),
    ("music-search", "q,artist,album"),
    ("audio-search", "q,artist,album"),
    ("book-search", "q,title,author"),
)


@dataclass(frozen=True, slots=True)
class CapsCategory:
    """A parent category and its children as (id, name)."""

    category_id: int
    name: str
    children: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class CapsGroup:
    """An indexed newsgroup; `updated_at` is None while nothing was read from it."""

    group_id: int
    name: str
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Caps:
    """What one server tells about itself.

    Attributes:
        retention_days: the age of the oldest release; None while there is none.
    """

    categories: tuple[CapsCategory, ...]
    groups: tuple[CapsGroup, ...] = ()
    retention_days: int | None = None
    title: str = "Voyager"
    strapline: str = "A Usenet index made from article headers"


def caps_xml(caps: Caps, links: Links) -> bytes:
    """Returns the caps document; every category is listed, also those without releases."""
    writer = XmlWriter()
    with writer.element("caps"):
        for name, attributes in _simple_parts(caps, links):
            writer.empty(name, attributes)
        with writer.element("searching"):
            for name, parameters in _SEARCHES:
                writer.empty(name, [("available", "yes"), ("supportedParams", parameters)])
        with writer.element("categories"):
            for category in caps.categories:
                attributes = [*_named(category.category_id, category.name)]
                attributes.append(("description", category.name))
                with writer.element("category", attributes):
                    for number, name in category.children:
                        description = f"{category.name} {name}"
                        writer.empty(
                            "subcat", [*_named(number, name), ("description", description)]
                        )
        with writer.element("groups"):
            for group in caps.groups:
                writer.empty("group", _group(group))
        writer.empty("genres")
        writer.empty("tags")
    return writer.to_bytes()


def caps_json(caps: Caps, links: Links) -> dict[str, object]:
    """Returns the same for `o=json`, in the classic shape with `@attributes`."""
    parts: dict[str, object] = {
        name: _attributes(attributes) for name, attributes in _simple_parts(caps, links)
    }
    searching = {
        name: _attributes([("available", "yes"), ("supportedParams", parameters)])
        for name, parameters in _SEARCHES
    }
    categories = [
        _attributes([*_named(category.category_id, category.name)])
        | {"subcat": [_attributes(_named(number, name)) for number, name in category.children]}
        for category in caps.categories
    ]
    groups = [_attributes(_group(group)) for group in caps.groups]
    return parts | {
        "searching": searching,
        "categories": {"category": categories},
        "groups": {"group": groups},
        "genres": {},
        "tags": {},
    }


def _simple_parts(caps: Caps, links: Links) -> Iterable[tuple[str, list[tuple[str, str | int]]]]:
    server: list[tuple[str, str | int]] = [
        ("version", "1.0"),
        ("title", caps.title),
        ("strapline", caps.strapline),
        ("url", links.home),
        ("image", f"{links.base}/static/voyager.svg"),
    ]
    yield "server", server
    yield "limits", [("max", MAX_LIMIT), ("default", MAX_LIMIT)]
    if caps.retention_days is not None:
        yield "retention", [("days", caps.retention_days)]
    yield "registration", [("available", "no"), ("open", "no")]


def _named(number: int, name: str) -> list[tuple[str, str | int]]:
    return [("id", number), ("name", name)]


def _group(group: CapsGroup) -> list[tuple[str, str | int]]:
    attributes = [*_named(group.group_id, group.name), ("description", group.name)]
    if group.updated_at is not None:
        attributes.append(("lastupdate", rfc2822(group.updated_at)))
    return attributes


def _attributes(attributes: Attributes) -> dict[str, object]:
    return {"@attributes": {name: clean_line(str(value)) for name, value in attributes}}
