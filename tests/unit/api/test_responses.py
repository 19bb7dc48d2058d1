"""Lengths, compression, ETags."""

import gzip

import pytest

from voyager_api import responses
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


@pytest.mark.parametrize(("size", "is_packed"), [(3, False), (499, False), (500, True)])
def test_small_answers_are_not_packed(size, is_packed):
    response = respond(Answer(b"a" * size, "text/plain"), {"accept-encoding": "gzip"})
    assert (b"Content-Encoding" in headers_of(response)) is is_packed


def test_every_answer_keeps_addresses_and_itself_to_whom_it_is_for():
    for answer in (Answer(b"x", "a/b"), Answer(b"x", "a/b", status=500, cacheable=True)):
        headers = headers_of(respond(answer, {}))
        assert headers[b"X-Content-Type-Options"] == "nosniff"
        assert headers[b"Referrer-Policy"] == "no-referrer"
        assert headers[b"X-Robots-Tag"] == "noindex, nofollow"
        assert headers[b"Content-Type"] == "a/b"


def test_the_kinds_of_answers_have_the_names_that_clients_look_for():
    assert responses.XML == "application/xml; charset=utf-8"
    assert responses.RSS == "application/rss+xml; charset=utf-8"
    assert responses.JSON == "application/json; charset=utf-8"
    assert responses.HTML == "text/html; charset=utf-8"
    assert responses.TEXT == "text/plain; charset=utf-8"


def test_json_is_compact_and_ascii():
    assert responses.json_bytes({"a": [1, "é"], "b": 2}) == b'{"a":[1,"\\u00e9"],"b":2}'


@pytest.mark.parametrize(
    "header", ["gzip", "deflate, GZIP;q=0.5", "*", "x-gzip", "br, gzip;q=1", "*;q=0, gzip"]
)
def test_gzip_is_understood(header):
    assert accepts_gzip(header)


@pytest.mark.parametrize(
    "header", ["", "identity", "br", "gzip;q=0", "gzip; q=0.000", "gzipx", "*, gzip;q=0", "*;q=0"]
)
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
    tag = headers_of(plain)[b"ETag"]
    assert headers_of(packed)[b"ETag"] == f'{tag[:-1]}-gzip"'
    # Links in it hold the caller's key.
    assert headers_of(plain)[b"Cache-Control"] == "private, no-cache"


def test_answers_with_keys_are_not_stored_by_caches():
    assert headers_of(respond(Answer(b"x", "text/plain"), {}))[b"Cache-Control"] == "no-store"
    kept = Answer(b"x", "text/plain", headers=((b"Cache-Control", b"max-age=60"),))
    assert headers_of(respond(kept, {}))[b"Cache-Control"] == "max-age=60"
