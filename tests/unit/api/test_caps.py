"""Caps: texts that Sonarr compares exactly."""

import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime

from tests.unit.api.golden import assert_golden
from tests.unit.api.samples import LINKS
from voyager_api.newznab.caps import Caps, CapsCategory, CapsGroup, caps_json, caps_xml

CAPS = Caps(
    categories=(
        CapsCategory(2000, "Movies", ((2030, "SD"), (2040, "HD"))),
        CapsCategory(5000, "TV", ((5030, "SD"), (5040, "HD"))),
    ),
    groups=(
        CapsGroup(1, "alt.binaries.example", datetime(2026, 11, 10, 12, tzinfo=UTC)),
        CapsGroup(2, "alt.binaries.<new>", None),
    ),
    retention_days=6000,
)


def root():
    return ET.fromstring(caps_xml(CAPS, LINKS))


def test_caps_are_the_golden_ones():
    assert_golden("caps.xml", caps_xml(CAPS, LINKS))


def test_nz10_both_limits_are_100():
    assert root().find("limits").attrib == {"max": "100", "default": "100"}


def test_nz11_lists_are_lower_case_without_blanks_and_available_is_yes_or_no():
    for search in root().find("searching"):
        assert search.get("available") == "yes"
        parameters = search.get("supportedParams")
        assert parameters == parameters.lower()
        assert " " not in parameters
        assert parameters.split(",")[0] == "q"


def test_nz11_every_category_has_an_integer_id_and_a_name():
    for element in [*root().iter("category"), *root().iter("subcat")]:
        assert int(element.get("id")) > 0
        assert element.get("name")


def test_nz25_no_id_is_advertised_and_sonarrs_minimum_is():
    offered = {element.tag: element.get("supportedParams") for element in root().find("searching")}
    assert offered["tv-search"] == "q,season,ep"
    assert offered["audio-search"] == offered["music-search"] == "q,artist,album"
    assert offered["book-search"] == "q,title,author"
    assert not any("id" in parameters.split(",") for parameters in offered.values())
    assert not any("tvdbid" in parameters for parameters in offered.values())


def test_retention_is_left_out_while_unknown():
    document = caps_xml(Caps(categories=()), LINKS)
    assert ET.fromstring(document).find("retention") is None


def test_json_mirrors_the_xml():
    document = json.loads(json.dumps(caps_json(CAPS, LINKS)))
    assert document["limits"] == {"@attributes": {"max": "100", "default": "100"}}
    assert document["categories"]["category"][1]["subcat"][1] == {
        "@attributes": {"id": "5040", "name": "HD"}
    }
    assert document["searching"]["tv-search"]["@attributes"]["supportedParams"] == "q,season,ep"
