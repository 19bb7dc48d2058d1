"""The models of strict clients do what the real ones were measured to do, and take our feeds whole.

The variations are those of the measured matrix: a client that is stricter than its model would
make the tests of our feeds worthless.
"""

import re
from datetime import timedelta

import pytest

from tests.unit.api.samples import LINKS, POSTED_AT, make_feed, make_item, make_sparse_item
from tests.unit.api.strict_readers import Kept, Rejected, hydra, nzbget, sonarr
from voyager_api.newznab.errors import error_xml, limit_reached, wrong_credentials
from voyager_api.newznab.results import feed_xml

READERS = {"sonarr": sonarr, "hydra": hydra, "nzbget": nzbget}
GOOD = feed_xml(make_feed(make_item()), LINKS)


def swap(pattern, new, *, count=0):
    return re.sub(pattern, new, GOOD.decode(), count=count).encode()


VARIATIONS = {
    "well formed": GOOD,
    "value before name": swap(r'attr (name="[^"]*") (value="[^"]*")', r"attr \2 \1"),
    "another prefix": swap("newznab:", "nn:").replace(b"xmlns:newznab", b"xmlns:nn"),
    "default namespace": GOOD.replace(b"<rss ", b'<rss xmlns="http://x.example/" '),
    "byte order mark": b"\xef\xbb\xbf" + GOOD,
    "newline first": b"\n" + GOOD,
    "control character": GOOD.replace(b"<title>Some.Show", b"<title>\x1bSome.Show"),
    "GMT": swap(r"(<pubDate>[^<]*) \+0000", r"\1 GMT"),
    "UTC": swap(r"(<pubDate>[^<]*) \+0000", r"\1 UTC"),
    "UTC everywhere": swap(r"\+0000", "UTC"),
    "wrong weekday": swap("Tue, ", "Mon, "),
    "no enclosure": swap("<enclosure[^>]*/>", ""),
    "no type": swap(' type="application/x-nzb"', ""),
    "files n/a": swap('name="files" value="42"', 'name="files" value="n/a"'),
    "length empty": swap('length="[0-9]+"', 'length=""'),
    "no response": swap("<newznab:response[^>]*/>", ""),
    "response without offset": swap('response offset="0"', "response"),
    "no items": feed_xml(make_feed(), LINKS),
    "error 100": error_xml(wrong_credentials()),
    "error 500": error_xml(limit_reached(10)),
}
OK, NONE = "ok", "none"
MATRIX = {
    # What Sonarr, Hydra and NZBGet make of it; None was not measured.
    "well formed": (OK, OK, OK),
    "value before name": (OK, OK, "no attributes"),
    "another prefix": (OK, OK, "no attributes"),
    "default namespace": (NONE, Rejected, OK),
    "byte order mark": (Rejected, Rejected, OK),
    "newline first": (Rejected, Rejected, Rejected),
    "control character": (OK, Rejected, Rejected),
    "GMT": (OK, OK, "no date"),
    "UTC": (OK, OK, "no date"),
    "UTC everywhere": (NONE, "no date", "no date"),
    "wrong weekday": (NONE, "no date", OK),
    "no enclosure": (NONE, Rejected, OK),
    "no type": (NONE, OK, OK),
    "files n/a": (OK, Rejected, OK),
    "length empty": (OK, Rejected, None),
    "no response": (OK, Rejected, OK),
    "response without offset": (OK, Rejected, OK),
    "no items": (NONE, NONE, NONE),
    "error 100": (Rejected, Rejected, NONE),
    "error 500": (Rejected, Rejected, NONE),
}


def outcome(kept: list[Kept]) -> str:
    if not kept:
        return NONE
    (item,) = kept
    assert item.title == "Some.Show.S03E05.1080p.WEB.h264-GRP"
    assert item.url == LINKS.nzb("0123456789abcdef00")
    assert item.size == 1_500_000_123
    if item.published is None:
        return "no date"
    return OK if item.categories else "no attributes"


@pytest.mark.parametrize(
    ("variation", "client"),
    [(name, at) for name, row in MATRIX.items() for at in range(3) if row[at] is not None],
)
def test_a_model_does_what_its_client_was_measured_to_do(variation, client):
    expected = MATRIX[variation][client]
    read = list(READERS.values())[client]
    if expected is Rejected:
        with pytest.raises(Rejected):
            read(VARIATIONS[variation])
    else:
        assert outcome(read(VARIATIONS[variation])) == expected


@pytest.mark.parametrize("read", READERS.values(), ids=list(READERS))
def test_every_client_keeps_all_of_our_items(read):
    items = [make_item(), make_sparse_item(), make_item(size_bytes=0, files=0, name="A & B")]
    kept = read(feed_xml(make_feed(*items), LINKS))
    assert [one.size for one in kept] == [item.size_bytes for item in items]
    assert all(one.url == LINKS.nzb(item.release_id) for one, item in zip(kept, items, strict=True))
    assert all(one.published in {POSTED_AT, POSTED_AT + timedelta(minutes=20)} for one in kept)


def test_sonarr_tells_a_bad_key_from_a_limit():
    with pytest.raises(Rejected, match="key"):
        sonarr(error_xml(wrong_credentials()))
    with pytest.raises(Rejected, match="limit"):
        sonarr(error_xml(limit_reached(1)))


def test_astral_characters_survive_sonarrs_cleaning():
    (kept,) = sonarr(feed_xml(make_feed(make_item(name="Film 😀 2019")), LINKS))
    assert kept.title == "Film 😀 2019"
