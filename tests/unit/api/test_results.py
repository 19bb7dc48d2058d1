"""Feeds: what the strictest reader of each rule needs."""

import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

import feedparser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.api.golden import assert_golden
from tests.unit.api.samples import LINKS, POSTED_AT, make_feed, make_item, make_sparse_item
from voyager_api.newznab.dates import rfc2822
from voyager_api.newznab.results import ApiLimits, Category, attributes_of, feed_json, feed_xml
from voyager_api.newznab.xml import clean_line
from voyager_core.catalog.search_ways import TOTAL_CAP

NS = "{http://www.newznab.com/DTD/2010/feeds/attributes/}"
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
ANY_TEXT = st.text(alphabet=st.characters(), max_size=80)


def parse(feed):
    return ET.fromstring(feed_xml(feed, LINKS))


def attributes(item):
    return [(attr.get("name"), attr.get("value")) for attr in item.iter(f"{NS}attr")]


def test_a_feed_is_the_golden_one():
    limits = ApiLimits(requests=3, grabs=1, max_requests=100, max_grabs=50)
    feed = make_feed(make_item(), make_sparse_item(), total=207, offset=100, limits=limits)
    assert_golden("feed.xml", feed_xml(feed, LINKS))


def test_nz13_an_empty_feed_is_the_golden_one():
    assert_golden("feed_empty.xml", feed_xml(make_feed(), LINKS))


def test_nz4_no_default_namespace_and_the_literal_prefix():
    document = feed_xml(make_feed(make_item()), LINKS).decode()
    assert ' xmlns="' not in document
    assert document.count("<newznab:attr name=") == document.count("<newznab:attr ") > 10
    assert re.findall(r'<newznab:attr (?!name="[^"]*" value="[^"]*"/>)', document) == []


def test_nz5_children_of_an_item_are_in_order():
    item = parse(make_feed(make_item())).find("channel/item")
    assert [child.tag for child in item][:8] == [
        "title",
        "guid",
        "link",
        "comments",
        "pubDate",
        "category",
        "description",
        "enclosure",
    ]
    assert {child.tag for child in item[8:]} == {f"{NS}attr"}


def test_nz5_link_is_the_enclosures_address_and_guid_ends_in_the_id():
    item = parse(make_feed(make_item())).find("channel/item")
    assert item.findtext("link") == item.find("enclosure").get("url")
    assert item.findtext("guid").endswith("/0123456789abcdef00")
    assert item.find("guid").get("isPermaLink") == "true"


def test_nz6_exactly_one_enclosure_with_the_type_and_a_plain_length():
    item = parse(make_feed(make_item(size_bytes=0))).find("channel/item")
    (enclosure,) = item.findall("enclosure")
    assert list(enclosure.keys()) == ["url", "length", "type"]
    assert enclosure.get("type") == "application/x-nzb"
    assert enclosure.get("length") == "0"


@given(st.integers(min_value=946_684_800, max_value=4_102_444_800))
def test_nz7_dates_are_english_numeric_and_true(seconds):
    moment = datetime.fromtimestamp(seconds, timezone(timedelta(hours=5)))
    text = rfc2822(moment)
    assert re.fullmatch(
        r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z][a-z] \d{4} \d\d:\d\d:\d\d \+0000", text
    )
    assert parsedate_to_datetime(text) == moment
    assert text[:3] == DAYS[moment.astimezone(UTC).weekday()]


def test_nz8_numbers_are_integers_and_unknown_ones_are_left_out():
    item = parse(make_feed(make_item())).find("channel/item")
    values = dict(attributes(item))
    for name in ("size", "files", "grabs", "comments", "season", "episode", "category"):
        assert values[name].isdecimal()
    sparse = attributes(parse(make_feed(make_sparse_item(poster="\x00 "))).find("channel/item"))
    assert {name for name, _ in sparse}.isdisjoint({"poster", "season", "password", "completion"})
    assert all(value for _, value in sparse)


@pytest.mark.parametrize(
    ("total", "offset", "items", "told"),
    [(0, 0, 0, 0), (1, 0, 1, 1), (250, 100, 1, 250), (5_000, 4_999, 1, 5_000),
     (5_000, 9_000, 0, 5_000), (5, 20, 0, 5), (3, 100, 1, 101)],
)  # fmt: skip
def test_nz9_the_response_element_tells_a_total_that_can_be_paged_by(total, offset, items, told):
    feed = make_feed(*[make_item()] * items, total=total, offset=offset)
    response = parse(feed).find(f"channel/{NS}response")
    assert response.attrib == {"offset": str(offset), "total": str(told)}


def test_nz9_no_total_is_one_that_hydra_takes_for_an_error():
    assert TOTAL_CAP < 10_000


def test_nz12_links_of_a_release_never_change():
    first, second = (feed_xml(make_feed(make_item(grabs=g)), LINKS) for g in (1, 2))
    assert [line for line in first.splitlines() if b"<link>" in line or b"guid" in line] == [
        line for line in second.splitlines() if b"<link>" in line or b"guid" in line
    ]


def test_nz19_the_parent_category_precedes_the_child():
    item = parse(make_feed(make_item())).find("channel/item")
    assert [value for name, value in attributes(item) if name == "category"] == ["5000", "5040"]
    assert item.findtext("category") == "TV > HD"
    bare = parse(make_feed(make_item(category=Category(7000, "Books")))).find("channel/item")
    assert [value for name, value in attributes(bare) if name == "category"] == ["7000"]


def test_nz38_pubdate_is_the_listing_and_usenetdate_the_posting():
    item = parse(make_feed(make_item())).find("channel/item")
    assert item.findtext("pubDate") == "Tue, 10 Nov 2026 12:20:00 +0000"
    assert dict(attributes(item))["usenetdate"] == rfc2822(POSTED_AT)


def test_limits_are_told_in_lower_case_and_only_when_there_are_some():
    limited = parse(make_feed(limits=ApiLimits(1, 0, max_requests=10)))
    assert limited.find(f"channel/{NS}apilimits").attrib == {"apicurrent": "1", "apimax": "10"}
    assert parse(make_feed(limits=ApiLimits(1, 0))).find(f"channel/{NS}apilimits") is None


def test_the_generator_has_no_name_that_hydra_knows():
    generator = parse(make_feed()).findtext("channel/generator")
    assert not any(name in generator.lower() for name in ("newznab", "nzedb", "nntmux", "torznab"))


def test_feedparser_reads_what_sabnzbd_and_headphones_read():
    entry = feedparser.parse(feed_xml(make_feed(make_item()), LINKS)).entries[0]
    assert entry.title == "Some.Show.S03E05.1080p.WEB.h264-GRP"
    assert entry.links[0].href == LINKS.nzb("0123456789abcdef00")
    assert int(entry.links[1].length) == 1_500_000_123
    assert entry.enclosures[0].type == "application/x-nzb"
    assert entry.published_parsed[:5] == (2026, 11, 10, 12, 20)


@given(name=ANY_TEXT, poster=ANY_TEXT, group=ANY_TEXT)
def test_nz3_any_text_in_name_poster_and_group_gives_a_well_formed_feed(name, poster, group):
    item = make_item(name=name, poster=poster, group=group)
    found = parse(make_feed(item)).find("channel/item")
    assert (found.findtext("title") or "") == clean_line(name)
    assert dict(attributes(found)).get("poster", "") == clean_line(poster).strip()
    assert dict(attributes(found)).get("group", "") == clean_line(group).strip()


def test_json_has_the_classic_shape_with_a_list_even_for_one():
    feed = make_feed(make_item(), total=5, limits=ApiLimits(3, 0, max_requests=10))
    document = feed_json(feed, LINKS)
    assert document["@attributes"] == {"version": "2.0"}
    channel = document["channel"]
    assert channel["response"] == {"@attributes": {"offset": "0", "total": "5"}}
    assert channel["apilimits"] == {"@attributes": {"apicurrent": "3", "apimax": "10"}}
    assert isinstance(channel["item"], list)
    assert channel["item"][0]["enclosure"]["@attributes"]["length"] == "1500000123"
    assert {"@attributes": {"name": "season", "value": "3"}} in channel["item"][0]["attr"]
    assert feed_json(make_feed(), LINKS)["channel"]["item"] == []


def test_what_the_name_states_is_told():
    told = dict(attributes_of(make_item(year=2023, resolution=1080, language="German", team="GRP")))
    assert told["year"] == "2023"
    assert told["resolution"] == "1080p"
    assert told["language"] == "German"
    assert told["team"] == "GRP"
    assert not {"year", "resolution", "language", "team"} & set(dict(attributes_of(make_item())))
