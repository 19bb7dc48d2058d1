"""Error documents and the status that goes with them."""

import xml.etree.ElementTree as ET

import pytest

from tests.unit.api.golden import assert_golden
from voyager_api.newznab import errors
from voyager_api.newznab.errors import error_json, error_xml, http_status


def test_errors_are_the_golden_ones():
    assert_golden("error_credentials.xml", error_xml(errors.wrong_credentials()))
    assert_golden("error_limit.xml", error_xml(errors.limit_reached(5)))
    assert_golden("error_function.xml", error_xml(errors.no_such_function("<dance>")))


def test_nz15_the_limit_has_the_exact_text_and_whole_seconds_of_at_least_one():
    error = errors.limit_reached(0.2)
    root = ET.fromstring(error_xml(error))
    assert root.attrib == {"code": "500", "description": "Request limit reached"}
    assert error.retry_after_seconds == 1
    assert errors.limit_reached(-5).retry_after_seconds == 1
    assert errors.limit_reached(59.1).retry_after_seconds == 60
    assert http_status(error, download=False) == http_status(error, download=True) == 429


@pytest.mark.parametrize(
    ("error", "search", "download"),
    [
        (errors.wrong_credentials(), 200, 401),
        (errors.missing_parameter("id"), 200, 400),
        (errors.incorrect_parameter("limit"), 200, 400),
        (errors.no_such_item(), 200, 404),
        (errors.unavailable(5), 503, 503),
        (errors.unknown_error(), 500, 500),
    ],
)
def test_nz27_searches_answer_200_and_downloads_the_true_status(error, search, download):
    assert http_status(error, download=False) == search
    assert http_status(error, download=True) == download


def test_nz27_both_attributes_are_always_there():
    for error in (errors.no_such_function("\x00"), errors.unknown_error()):
        assert set(ET.fromstring(error_xml(error)).attrib) == {"code", "description"}


def test_json_errors_are_texts():
    assert error_json(errors.wrong_credentials()) == {
        "code": "100",
        "description": "Incorrect user credentials",
    }
