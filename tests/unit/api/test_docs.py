"""docs/newznab.md names everything that a client can send."""

import re
from pathlib import Path

import pytest

from voyager_api.newznab import functions, requests
from voyager_api.newznab.errors import ErrorCode

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "newznab.md").read_text("utf-8")
NAMED = set(re.findall(r"`([^`\s]+)`", TEXT))


@pytest.mark.parametrize("name", sorted(functions._OFFERED | dict.fromkeys(functions._NOT_OFFERED)))
def test_every_function_is_documented(name):
    # The one-letter and older names of what is not offered go without saying.
    assert name in NAMED or (name in functions._NOT_OFFERED and len(name) < 5)


@pytest.mark.parametrize(
    "name",
    ["q", "cat", "limit", "offset", "maxage", "minage", "minsize", "maxsize", "group", "poster",
     "season", "ep", "episode", "password", "o", "t", "num", "dl", "apikey", "r", "api_token",
     *sorted({name for names in requests._WORD_PARAMETERS.values() for name in names})],
)  # fmt: skip
def test_every_parameter_is_documented(name):
    assert name in NAMED


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_error_code_is_documented(code):
    assert re.search(rf"^\| .*\b{int(code)}\b", TEXT, re.MULTILINE)
