"""Lines become files by the rules of the grammar, whatever the counters claim."""

import random
import zlib

import polars as pl
import pytest

import voyager_native
from tests.unit.native.lines import GROUP, Indexed, line


def posting(count: int, *, start: int = 1, name: str = "a.rar", tag: str = "") -> list[bytes]:
    """Returns the lines of one file, in order."""
    return [
        line(start + at, f'[1/2] - "{name}" yEnc ({at + 1}/{count})', message_id=f"{tag}{at}@x")
        for at in range(count)
    ]


def test_parts_of_a_file_come_together_in_any_order():
    lines = posting(5)
    random.Random(1).shuffle(lines)
    found = Indexed(b"".join(lines))
    file = found.only()
    assert found.parts() == [(at + 1, f"{at}@x") for at in range(5)]
    assert (file["name"], file["file_index"], file["file_total"]) == ("a.rar", 1, 2)
    assert (file["parts_total"], file["parts_found"], file["size_bytes"]) == (5, 5, 3_700_000)
    assert (file["first_number"], file["last_number"]) == (1, 5)
    assert file["subject"] == '[1/2] - "a.rar" yEnc (1/5)'
    assert file["first_message_id"] == "0@x"
    assert file["group"] == file["groups"] == GROUP


def test_from_does_not_split_a_file():
    lines = [
        line(at, f'"a.rar" yEnc ({at}/3)', poster=f"p{at} <p@x>", message_id=f"{at}@x")
        for at in (3, 2, 1)
    ]
    file = Indexed(b"".join(lines)).only()
    assert (file["poster"], file["poster_constant"]) == ("p1 <p@x>", False)


def test_the_same_message_id_again_is_a_duplicate_and_the_lower_number_stays():
    lines = [*posting(3), line(9, '[1/2] - "a.rar" yEnc (2/3)', message_id="1@x")]
    for order in (lines, lines[::-1]):
        found = Indexed(b"".join(order))
        assert found.only()["generation"] == 0
        assert found.only()["last_number"] == 3
        assert found.rejects == {"duplicate": 1}
        assert found.articles.filter(pl.col("reason") == "duplicate")["number"].to_list() == [9]


def test_the_same_message_id_under_another_part_is_a_duplicate():
    lines = [*posting(3)[:2], line(9, '[1/2] - "a.rar" yEnc (3/3)', message_id="0@x")]
    found = Indexed(b"".join(lines))
    assert (found.only()["parts_found"], found.rejects) == (2, {"duplicate": 1})


def test_a_repost_is_another_generation_and_nothing_is_mixed():
    first, second = posting(4, tag="first"), posting(4, start=100, tag="second")
    # The postings overlap, and each lost a part.
    lines = first[:2] + second[1:3] + [first[3], second[3]]
    for order in (lines, lines[::-1]):
        found = Indexed(b"".join(order))
        assert found.files["generation"].to_list() == [0, 1]
        assert found.files["base_key"].n_unique() == 1
        assert found.files["file_key"].n_unique() == 2
        assert found.parts(0) == [(1, "first0@x"), (2, "first1@x"), (4, "first3@x")]
        assert found.parts(1) == [(2, "second1@x"), (3, "second2@x"), (4, "second3@x")]
        assert found.files["subject"].to_list()[1] == '[1/2] - "a.rar" yEnc (2/4)'
        keys = dict(zip(found.articles["number"], found.articles["file_key"], strict=True))
        assert keys[1] == found.files["file_key"][0]
        assert keys[102] == found.files["file_key"][1]


def test_a_part_that_is_posted_again_alone_does_not_tear_the_file():
    lines = [*posting(5), line(900, '[1/2] - "a.rar" yEnc (3/5)', message_id="again@x")]
    found = Indexed(b"".join(lines))
    assert found.files["parts_found"].to_list() == [5, 1]
    assert found.parts(1) == [(3, "again@x")]


def test_a_counter_that_runs_under_one_name_is_the_segments():
    lines = [line(at, f'[{at}/4] - "abc.bin" yEnc ({at}/4)') for at in (1, 2, 3, 4)]
    file = Indexed(b"".join(lines)).only()
    assert (file["parts_total"], file["parts_found"]) == (4, 4)
    assert (file["file_index"], file["file_total"]) == (None, None)
    assert file["flags"] & voyager_native.FILE_FLAGS["counter_is_segments"]


def test_a_counter_under_changing_names_is_the_files():
    lines = [line(at, f'[{at}/9] - "r{at}{at}.bin" yEnc ({at}/9)') for at in (2, 5, 7)]
    found = Indexed(b"".join(lines))
    assert found.files["file_index"].to_list() == [2, 5, 7]
    assert found.files["file_total"].to_list() == [9, 9, 9]
    assert found.files["parts_total"].to_list() == [1, 1, 1]
    assert found.parts(0) == [(1, "id2@example.invalid")]
    assert found.articles["part"].to_list() == [1, 1, 1]
    uncertain = voyager_native.FILE_FLAGS["counter_uncertain"]
    assert not any(flags & uncertain for flags in found.files["flags"])


def test_a_lone_equal_pair_is_a_file_of_one_segment_and_said_to_be_uncertain():
    file = Indexed(line(1, '[12/240] - "r.bin" yEnc (12/240)')).only()
    assert (file["parts_total"], file["file_index"], file["file_total"]) == (1, 12, 240)
    assert file["flags"] & voyager_native.FILE_FLAGS["counter_uncertain"]


def test_an_equal_pair_belongs_to_the_file_that_is_there():
    lines = [line(at, f'[2/5] - "f.part1.rar" yEnc ({at}/5)') for at in (1, 2, 3, 4, 5)]
    for order in (lines, lines[::-1]):
        file = Indexed(b"".join(order)).only()
        assert (file["parts_found"], file["file_index"]) == (5, 2)


def test_one_of_one_twice_is_no_riddle():
    file = Indexed(line(1, '[1/1] - "a.nzb" yEnc (1/1)')).only()
    assert (file["parts_total"], file["file_index"], file["file_total"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("subject", "total", "found", "flag"),
    [
        ('"a.nfo" yEnc (0/0)', 0, 1, "unknown_total"),
        ('"a.par2" yEnc (1/0)', 0, 1, "unknown_total"),
        ('"a.rar" yEnc (12/3)', 3, 1, "part_over_total"),
    ],
)
def test_odd_totals_are_kept_and_flagged(subject, total, found, flag):
    file = Indexed(line(1, subject)).only()
    assert (file["parts_total"], file["parts_found"]) == (total, found)
    assert file["flags"] & voyager_native.FILE_FLAGS[flag]


@pytest.mark.parametrize(
    ("subject", "message_id", "reason"),
    [
        ('"a.rar" yEnc (0/37)', "a@x", "description"),
        ("hello there", "a@x", "no_counter"),
        ("j8QmZ2vXc0pLr7TfKd4WsN1y", "a@x", "random_subject"),
        ("83f5c794-1b1a-4bc3-88cb-87dff4060f2e", "a@x", "random_subject"),
        ("odd1", "odd1@x", "random_subject"),
        ("[a8f9e7c6d5b4a3f2] - yEnc", "a@x", "obfuscated_subject"),
        ("thanks for a8f9e7c6d5b4a3f2", "a@x", "no_counter"),
        ('"Usenet Index Post 1389796935 yEnc (01/01)"', "a@x", "index_spam"),
        ("text", "part0of7.abc@x", "description"),
    ],
)
def test_what_is_in_no_file_is_counted_under_its_reason(subject, message_id, reason):
    found = Indexed(line(1, subject, message_id=message_id))
    assert (found.files.height, found.rejects) == (0, {reason: 1})
    assert found.articles["reason"].to_list() == [reason]


def test_a_message_id_gives_part_and_total_where_the_subject_has_none():
    lines = [line(at, "no counter here", message_id=f"part{at}of3.T@x") for at in (2, 1)]
    found = Indexed(b"".join(lines))
    assert (found.only()["parts_total"], found.only()["parts_found"]) == (3, 2)
    assert found.only()["flags"] & voyager_native.FILE_FLAGS["counted_by_id"]


def test_a_clear_name_without_a_counter_is_a_file_of_one_segment():
    found = Indexed(line(1, 'the book "Author - Title.epub"'))
    assert (found.only()["name"], found.only()["parts_total"]) == ("Author - Title.epub", 1)
    assert found.only()["flags"] & voyager_native.FILE_FLAGS["single_by_name"]


def test_crossposts_of_another_owner_are_counted_for_it():
    own, other = GROUP, "alt.binaries.owner"
    xref = f"Xref: e {own}:1 {other}:7"
    groups = {own.replace(".", "__"): 5, other.replace(".", "__"): 1}
    found = Indexed(line(1, '"a.rar" (1/1)', xref=xref), **groups)
    assert (found.files.height, found.rejects) == (0, {f"crosspost:{other}": 1})
    kept = Indexed(line(1, '"a.rar" (1/1)', xref=xref), **{own.replace(".", "__"): 1})
    assert kept.only()["groups"] == f"{own} {other}"


def test_numbers_outside_the_span_are_no_progress():
    found = Indexed(b"".join(posting(5, start=8)), low=9, high=11)
    assert found.rejects == {"outside_span": 2}
    assert found.only()["parts_found"] == 3
    assert (found.reports[0].first_number, found.reports[0].last_number) == (9, 11)


def test_a_file_at_the_edge_is_a_fragment_and_one_in_the_middle_is_not():
    at_edge = Indexed(b"".join(posting(9)[:4]), low=1, high=10_000).only()
    assert at_edge["is_fragment"]
    assert (at_edge["reach_low"], at_edge["reach_high"]) == (0, 4 + 5 * 4 + 2000)
    inside = Indexed(b"".join(posting(9, start=5000)[:4]), low=1, high=10_000).only()
    assert not inside["is_fragment"]
    assert not Indexed(b"".join(posting(9)[:4])).only()["is_fragment"]


def test_dates_after_now_are_now_and_unreadable_ones_are_none():
    future = line(1, '"a.rar" (1/2)', date="Sun, 25 Sep 2099 03:03:36 GMT")
    undated = line(2, '"a.rar" (2/2)', date="samedi")
    file = Indexed(future + undated).only()
    assert file["first_posted_at"].timestamp() == 1_900_000_000
    alone = Indexed(line(2, '"b.rar" (1/1)', date="")).only()
    assert (alone["first_posted_at"], alone["last_posted_at"]) == (None, None)
    assert alone["flags"] & voyager_native.FILE_FLAGS["undated"]


def test_sizes_beyond_reason_count_as_unknown():
    lines = line(1, '"a.rar" (1/2)', size=1 << 40) + line(2, '"a.rar" (2/2)', size="")
    file = Indexed(lines).only()
    assert file["size_bytes"] == 0
    assert file["flags"] & voyager_native.FILE_FLAGS["size_unknown"]


def test_text_that_is_no_utf8_is_latin_1_and_encoded_words_are_decoded():
    raw = 'Grüße "a.rar" (1/2)'.encode("latin-1")
    block = line(1, "@", message_id="1@x").replace(b"@\t", raw + b"\t", 1)
    block += line(2, "=?ISO-8859-1?Q?Gr=FC=DFe_=22a=2Erar=22_=282/2=29?=", message_id="2@x")
    file = Indexed(block).only()
    assert (file["subject"], file["parts_found"]) == ('Grüße "a.rar" (1/2)', 2)


def test_a_block_that_cannot_be_inflated_costs_only_itself():
    good = zlib.compress(b"".join(posting(2)))
    found = Indexed(good[: len(good) // 2], good)
    assert found.reports[0].error
    assert found.reports[1].error is None
    assert found.rejects == {"undecodable_block": 1}
    assert found.only()["parts_found"] == 2


def test_every_line_has_one_row_and_is_counted_once():
    lines = [*posting(3), b"garbage\r\n", line(7, "hello"), line(1, '[1/2] - "a.rar" yEnc (1/3)')]
    found = Indexed(b"".join(lines[:3]), b"".join(lines[3:]))
    stats = found.stats
    assert found.articles.height == stats["lines"] == sum(r.lines for r in found.reports) == 6
    assert stats["lines"] == stats["kept"] + sum(found.rejects.values())
    in_files = found.articles.filter(pl.col("reason").is_null())
    assert in_files["file_key"].null_count() == 0
    assert in_files.height == found.files["parts_found"].sum() == stats["kept"]


def test_claims_do_not_cost_memory():
    lines = [line(at, f'"file{at}.rar" yEnc ({at}/4000000000)') for at in range(1, 2000)]
    lines.append(line(3000, '"x.rar" yEnc (4294967295/4294967295)'))
    lines.append(line(3001, "y" * 65_000 + ' "y.rar" yEnc (1/2)'))
    found = Indexed(b"".join(lines))
    assert found.files.height == 2001
    cut = found.files.filter(pl.col("first_number") == 3001).row(0, named=True)
    assert len(cut["subject"]) == 2000
    assert cut["flags"] & voyager_native.FILE_FLAGS["subject_cut"]


def test_an_indexer_is_used_up_by_finishing():
    indexer = voyager_native.SpanIndexer(GROUP, 0, 0, groups={}, now=0)
    tables = indexer.finish()
    with pytest.raises(RuntimeError, match="finished"):
        indexer.feed(b"")
    with pytest.raises(RuntimeError, match="finished"):
        indexer.finish()
    pl.DataFrame(tables.files)
    with pytest.raises(ValueError, match="only once"):
        pl.DataFrame(tables.files)


def test_a_span_that_ends_before_it_starts_is_refused():
    with pytest.raises(ValueError, match="before its start"):
        voyager_native.SpanIndexer(GROUP, 10, 5, groups={}, now=0)


def test_a_retry_beside_a_repost_tears_neither_post_apart():
    def post(first, salt):
        return [
            line(first + part, f'"f.rar" yEnc ({part}/30)', message_id=f"{part}.{salt}@x")
            for part in range(1, 31)
        ]

    retry = line(40, '"f.rar" yEnc (5/30)', message_id="again@x")
    found = Indexed(b"".join([*post(0, "a"), retry, *post(100, "b")]))
    files = {
        row["generation"]: (row["parts_found"], row["first_message_id"])
        for row in found.files.iter_rows(named=True)
    }
    assert files == {0: (30, "1.a@x"), 1: (30, "1.b@x"), 2: (1, "again@x")}
