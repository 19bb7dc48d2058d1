"""`voyager keys`, `rules`, `search`, `nzb` and `check` on a real catalog."""

import xml.etree.ElementTree as ET

import pytest

from tests.integration.api_uploads import Upload, index_uploads
from tests.support.spans import START, add_ranges, built, release, store
from voyager_core.catalog.keys import verify_key

pytestmark = pytest.mark.postgres


def ids_found(run, *words):
    """The release ids that a search lists."""
    lines = run("search", *words).out.splitlines()
    return [line.split()[0] for line in lines[2:-1]]


def test_a_key_is_printed_alone_so_that_a_script_can_take_it(voyager, catalog):
    made = voyager("keys", "create", "  sonarr at home ")
    assert made.code == 0
    key = made.out.strip()
    assert made.out == f"{key}\n"
    assert "shown once" in made.err
    assert verify_key(catalog, key).label == "sonarr at home"


def test_keys_are_listed_without_themselves_and_revoked_by_number(voyager, catalog):
    assert "voyager keys create" in voyager("keys", "list").out
    key = voyager("keys", "create", "radarr").out.strip()
    listed = voyager("keys", "list").out
    assert key not in listed
    (row,) = listed.splitlines()[2:]
    assert row.split()[1] == "radarr"
    assert row.endswith("never      good")
    number = row.split()[0]
    assert voyager("keys", "revoke", number).out == f"key {number} is refused from now on\n"
    assert voyager("keys", "list").out.rstrip().endswith("revoked")
    assert verify_key(catalog, key) is None
    again = voyager("keys", "revoke", number)
    assert again.code == 1
    assert "no good key" in again.err


@pytest.mark.parametrize("number", ["999", "9223372036854775807"])
def test_a_key_number_that_never_was_is_an_error(voyager, number):
    ran = voyager("keys", "revoke", number)
    assert ran.code == 1
    assert f"no good key with number {number}" in ran.err


@pytest.mark.parametrize("label", ["", "  ", "a\nb", "\x1b[31m", "\udcff", "x" * 101, "a\u202eb"])
def test_a_label_that_nobody_can_read_is_wrong_usage(voyager, label):
    ran = voyager("keys", "create", label)
    assert (ran.code, ran.out) == (2, "")
    assert "label" in ran.err
    assert "no keys" in voyager("keys", "list").out


def test_a_search_lists_what_matches_newest_first(voyager, catalog):
    (range_id,) = add_ranges(catalog)
    rows = [
        release(1, 0, name="Old.Show.S01E01"),
        release(2, 5, name="Old.Show.S01E02"),
        release(3, 9, name="Other.Film.2020"),
    ]
    store(catalog, range_id, 1, 100, built(rows))
    lines = voyager("search", "old", "SHOW").out.splitlines()
    assert lines[0].split() == ["release", "posted", "size", "files", "state", "name"]
    assert [line.split()[-1] for line in lines[2:4]] == ["Old.Show.S01E02", "Old.Show.S01E01"]
    assert lines[2].split()[1:5] == ["2024-03-01", "7.0", "MB", "2"]
    assert lines[4] == "2 of 2"
    assert voyager("search", "show", "--limit", "1").out.splitlines()[-1] == "1 of 2"
    assert voyager("search", "--", "old", "-s01e01").out.splitlines()[-1] == "1 of 1"


@pytest.mark.parametrize("words", ["'; drop table release", '"', "(((", "%", "_", "\x1b[31m", ""])
def test_odd_words_find_nothing_and_break_nothing(voyager, catalog, words):
    (range_id,) = add_ranges(catalog)
    store(catalog, range_id, 1, 100, built([release(1, name="Some.Show")]))
    ran = voyager("search", words, "nothingofthekind")
    assert (ran.code, ran.out, ran.err) == (0, "nothing found\n", "")
    assert len(ids_found(voyager, "some")) == 1


def test_a_name_cannot_write_to_the_terminal(voyager, catalog):
    (range_id,) = add_ranges(catalog)
    hostile = "Show \x1b[31m\u202egnp.exe\r"
    store(catalog, range_id, 1, 100, built([release(1, name=hostile)]))
    out = voyager("search", "show").out
    assert "Show" in out
    assert not {"\x1b", "\u202e", "\r"} & set(out)


@pytest.mark.parametrize("limit", ["0", "-5", "x", "", "99999999999999999999", "1001", "٣"])
def test_a_limit_that_is_none_is_wrong_usage(voyager, limit):
    ran = voyager("search", "a", f"--limit={limit}")
    assert ran.code == 2
    assert "no number from 1 to 1000" in ran.err


def test_an_nzb_has_every_segment_and_nothing_else_is_printed(voyager, catalog):
    upload = Upload("Great.Show.S01E01.720p")
    index_uploads(catalog, [upload], posted_at=START)
    (number,) = ids_found(voyager, "great", "show")
    ran = voyager("nzb", number)
    assert (ran.code, ran.err) == (0, "")
    segments = [
        segment.text
        for segment in ET.fromstring(ran.out.encode()).iter()
        if segment.tag.endswith("}segment")
    ]
    assert len(segments) == 12
    assert set(segments) == upload.message_ids
    assert '<meta type="category">TV &gt; HD</meta>' in ran.out


@pytest.mark.parametrize("number", ["", "0123456789abcdef00", "x", "\x1b[31m", "9" * 5000])
def test_an_unknown_release_is_a_short_readable_error(voyager, number):
    ran = voyager("nzb", number)
    assert (ran.code, ran.out) == (1, "")
    assert "there is no release" in ran.err
    assert "\x1b" not in ran.err
    assert len(ran.err) < 200


def test_a_sound_catalog_has_no_difference_and_a_spoilt_one_fails(voyager, catalog):
    index_uploads(catalog, [Upload("Great.Show.S01E01.720p")], posted_at=START)
    assert voyager("check", "catalog") == (0, "no difference\n", "")
    catalog.execute("update release set segments = segments + 1")
    spoilt = voyager("check", "catalog")
    assert spoilt.code == 1
    assert spoilt.out.splitlines()[-1].endswith("1 difference")
