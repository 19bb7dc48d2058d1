"""The sample is what the demo promises: styles, groups, and each kind of trouble."""

import binascii
import re
from collections import defaultdict

import pytest

from tests.support.yenc_decoder import decode_lines
from voyager_core.demo import content
from voyager_core.demo.posts import GROUPS, build_corpus
from voyager_core.demo.run import RANGE_SIZE
from voyager_core.demo.truth import expected


@pytest.fixture(scope="module")
def corpus():
    return build_corpus()


@pytest.fixture(scope="module")
def truth(corpus):
    return expected(corpus)


def test_two_builds_are_the_same(corpus):
    again = build_corpus()
    assert again.by_id.keys() == corpus.by_id.keys()
    assert {name: list(group.articles) for name, group in again.groups.items()} == {
        name: list(group.articles) for name, group in corpus.groups.items()
    }
    assert all(again.by_id[key].text == article.text for key, article in corpus.by_id.items())


def test_every_file_decodes_from_its_articles(corpus):
    pieces = defaultdict(dict)
    for article in corpus.by_id.values():
        if article.upload is None:
            continue
        body = article.text.partition(b"\r\n\r\n")[2]
        lines = body.split(b"\r\n")
        data = decode_lines(b"\r\n".join(line for line in lines if not line.startswith(b"=y")))
        stated = re.search(rb"=yend size=(\d+).*crc32=([0-9a-f]{8})", body)
        assert int(stated[1]) == len(data)
        pieces[article.upload.slug, article.file][article.part] = data
    for upload in corpus.uploads:
        for at, (name, data) in enumerate(upload.files):
            parts = pieces[upload.slug, at]
            joined = b"".join(parts[number] for number in sorted(parts))
            if any(file == at + 1 for file, _ in upload.missing):
                assert len(joined) < len(data)
            else:
                assert joined == data, name


def test_at_least_six_posting_tools_and_several_groups(truth):
    assert len({release.style for release in truth.releases}) >= 6
    assert len(truth.lines) >= 3
    assert all(count > 0 for count in truth.lines.values())


def test_an_upload_is_crossposted_between_two_indexed_groups(corpus, truth):
    shared = [
        release
        for release in truth.releases
        if len([group for group in release.groups if group in truth.lines]) > 1
    ]
    assert shared
    for segment in shared[0].segments:
        assert set(corpus.numbers[segment.message_id]) == set(shared[0].groups)
    assert shared[0].groups[0] == min(shared[0].groups, key=truth.priorities.get)


def test_one_article_is_missing_and_leaves_a_hole_in_the_numbers(corpus, truth):
    lossy = [release for release in truth.releases if release.missing]
    assert [release.missing for release in lossy] == [1]
    group = corpus.groups[lossy[0].groups[0]]
    assert len(group.articles) == group.high - group.low
    short = next(file for file in lossy[0].files if len(file.segments) < file.parts)
    assert {segment.part for segment in short.segments} < set(range(1, short.parts + 1))


def test_files_and_an_upload_cross_the_edge_of_a_range(corpus, truth):
    crossing = {"files": set(), "releases": set()}
    for release in truth.releases:
        group = release.groups[0]

        def ranges(segments, group=group):
            return {
                (corpus.numbers[segment.message_id][group] - 1) // RANGE_SIZE
                for segment in segments
            }

        if len(ranges(release.segments)) > 1:
            crossing["releases"].add(release.slug)
        crossing["files"] |= {f.name for f in release.files if len(ranges(f.segments)) > 1}
    assert crossing["files"]
    assert crossing["releases"]


def test_one_article_is_listed_twice(corpus):
    for group in corpus.groups.values():
        ids = [article.message_id for article in group.articles.values()]
        twice = len(ids) - len(set(ids))
        assert twice == (1 if group.name == content.SOUNDS else 0)


def test_a_file_is_posted_again_days_later_with_other_ids(truth):
    titles = defaultdict(list)
    for release in truth.releases:
        titles[release.title].append(release)
    first, again = next(many for title, many in titles.items() if title and len(many) > 1)
    assert [file.name for file in first.files] == [file.name for file in again.files]
    assert not {s.message_id for s in first.segments} & {s.message_id for s in again.segments}


def test_a_group_has_numbers_above_32_bits(corpus):
    assert any(group.low > 2**32 for group in corpus.groups.values())


def test_obfuscated_articles_have_a_sender_each(corpus):
    by_slug = defaultdict(set)
    for article in corpus.by_id.values():
        if article.upload is not None:
            by_slug[article.upload.slug].add(article.poster)
    assert len(by_slug["hidden-set"]) > 100
    assert len(by_slug["episode-1"]) == 1


def test_article_obfuscation_has_the_id_as_subject(corpus):
    secret = [a for a in corpus.by_id.values() if a.upload and a.upload.slug == "secret"]
    assert len({article.subject for article in secret}) == len(secret) > 10
    assert all(article.message_id.startswith(article.subject.decode()) for article in secret)


def test_truth_accounts_for_every_line(corpus, truth):
    for plan in GROUPS:
        if not plan.is_indexed:
            continue
        owned = sum(
            1
            for release in truth.releases
            if release.groups[0] == plan.name
            for _ in release.segments
        )
        counted = sum(truth.counted[plan.name].values())
        assert owned + counted == truth.lines[plan.name]


def test_truth_states_the_size_of_the_whole_article(corpus, truth):
    for release in truth.releases:
        for segment in release.segments:
            assert segment.size_bytes == len(corpus.by_id[segment.message_id].text)


def test_the_whole_file_checksum_is_the_files(corpus):
    for upload in corpus.uploads:
        for at, (_, data) in enumerate(upload.files):
            last = max(
                (a for a in corpus.by_id.values() if a.upload is upload and a.file == at),
                key=lambda article: article.part,
            )
            stated = re.search(rb"[ ]crc32=([0-9a-f]{8})\r\n$", last.text)
            assert int(stated[1], 16) == binascii.crc32(data)
