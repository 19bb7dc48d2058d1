"""Made-up releases in the shapes that the protocol has to carry."""

from datetime import UTC, datetime, timedelta

from voyager_api.newznab.links import Links
from voyager_api.newznab.results import Category, Feed, Item

LINKS = Links("https://index.example:8443/voyager", "k&y")
TV_HD = Category(5000, "TV", 5040, "HD")
POSTED_AT = datetime(2026, 11, 10, 12, 0, tzinfo=UTC)


def make_item(**changes) -> Item:
    """Returns an item that knows everything, with the given changes."""
    values = {
        "release_id": "0123456789abcdef00",
        "name": "Some.Show.S03E05.1080p.WEB.h264-GRP",
        "category": TV_HD,
        "listed_at": POSTED_AT + timedelta(minutes=20),
        "posted_at": POSTED_AT,
        "size_bytes": 1_500_000_123,
        "files": 42,
        "group": "alt.binaries.example",
        "poster": "Poster <poster@example.com>",
        "grabs": 3,
        "season": 3,
        "episode": 5,
        "password": 0,
        "completion": 100,
    }
    return Item(**(values | changes))


def make_sparse_item(**changes) -> Item:
    """Returns an item that knows only what every release has, with an awkward name."""
    values = {
        "release_id": "fedcba9876543210ff",
        "name": 'Mäd & "Bad" <It\'s> 😀 日本\x00\x1b',
        "category": Category(8000, "Other", 8020, "Hashed"),
        "poster": None,
        "season": None,
        "episode": None,
        "password": None,
        "completion": None,
        "grabs": 0,
        "files": 1,
    }
    return make_item(**(values | changes))


def make_feed(*items: Item, **changes) -> Feed:
    """Returns a first page that holds these items and nothing more."""
    return Feed(**({"title": "Voyager", "items": items, "total": len(items)} | changes))
