"""Lengths, compression, ETags."""

import gzip

import pytest

from voyager_api.responses import Answer, accepts_gzip, respond

BODY = b"<x>" + b"abc" * 1000 + b"</x>"


def headers_of(response):
    return {name: value.decode() for name, value in response.raw_headers}


def test_nz16_every_answer_has_its_length():
    response = respond(Answer(b"abc", "text/plain"), {})
    assert headers_of(response)[b"Content-Length"] == "3"


def test_nz16_gzip_is_used_on_request_with_the_packed_length():
    response = respond(Answer(BODY, "text/plain"), {"accept-encoding": "gzip, deflate"})
    headers = headers_of(response)
    assert headers[b"Content-Encoding"] == "gzip"
    assert headers[b"Content-Length"] == str(len(response.body))
    assert gzip.decompress(response.body) == BODY
    assert headers[b"Vary"] == "Accept-Encoding"


def test_small_answers_are_not_packed():
    response = respond(Answer(b"abc", "text/plain"), {"accept-encoding": "gzip"})
    assert b"Content-Encoding" not in headers_of(response)


@pytest.mark.parametrize("header", ["gzip", "deflate, GZIP;q=0.5", "*", "x-gzip", "br, gzip;q=1"])
def test_gzip_is_understood(header):
    assert accepts_gzip(header)


@pytest.mark.parametrize("header", ["", "identity", "br", "gzip;q=0", "gzip; q=0.000", "gzipx"])
def test_gzip_is_not_forced(header):
    assert not accepts_gzip(header)


@pytest.mark.parametrize("packed", ["", "gzip"])
def test_nz37_an_unchanged_answer_is_304(packed):
    answer = Answer(BODY, "text/plain", cacheable=True)
    first = respond(answer, {"accept-encoding": packed})
    tag = headers_of(first)[b"ETag"]
    for sent in (tag, f'W/{tag}, "x"', "*"):
        again = respond(answer, {"if-none-match": sent, "accept-encoding": packed})
        assert (again.status_code, again.body) == (304, b"")
        assert headers_of(again)[b"ETag"] == tag


def test_a_changed_answer_is_sent_whole():
    tag = headers_of(respond(Answer(BODY, "text/plain", cacheable=True), {}))[b"ETag"]
    changed = respond(Answer(BODY + b"x", "text/plain", cacheable=True), {"if-none-match": tag})
    assert changed.status_code == 200
    assert headers_of(changed)[b"ETag"] != tag


def test_the_two_codings_of_one_body_have_different_tags():
    answer = Answer(BODY, "text/plain", cacheable=True)
    plain, packed = respond(answer, {}), respond(answer, {"accept-encoding": "gzip"})
    assert headers_of(plain)[b"ETag"] != headers_of(packed)[b"ETag"]


def test_answers_with_keys_are_not_stored_by_caches():
    assert headers_of(respond(Answer(b"x", "text/plain"), {}))[b"Cache-Control"] == "no-store"
    kept = Answer(b"x", "text/plain", headers=((b"Cache-Control", b"max-age=60"),))
    assert headers_of(respond(kept, {}))[b"Cache-Control"] == "max-age=60"
