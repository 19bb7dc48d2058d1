"""Absolute addresses: built from settings, not from what a client claims."""

import pytest

from voyager_api.newznab.links import Links, base_of_request, is_loopback, parse_base


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("https://index.example", "https://index.example"),
        ("https://index.example/", "https://index.example"),
        ("https://index.example:8443/voyager/", "https://index.example:8443/voyager"),
        ("http://index.example/voyager/api", "http://index.example/voyager"),
        ("http://index.example/api/", "http://index.example"),
        ("https://käse.example/ä", "https://xn--kse-qla.example/%C3%A4"),
        ("http://[::1]:8484", "http://[::1]:8484"),
    ],
)
def test_nz18_the_configured_base_keeps_host_port_and_prefix(url, base):
    assert parse_base(url) == base


@pytest.mark.parametrize(
    "url",
    ["", "index.example", "ftp://x", "http://", "http://u:p@x", "http://x?a=b", "http://x:99999",
     "http://x/#a", "http://[::1"],
)  # fmt: skip
def test_a_base_that_cannot_work_is_refused(url):
    with pytest.raises(ValueError, match=r"."):
        parse_base(url)


def test_nz39_the_path_of_an_nzb_ends_in_nzb_and_carries_the_key():
    link = Links("https://x/p", "a b&c=d/e").nzb("0123456789abcdef00")
    assert link == "https://x/p/getnzb/0123456789abcdef00.nzb?apikey=a%20b%26c%3Dd%2Fe"


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.", "127.0.0.1", "127.9.9.9", "::1", "[::1]"]
)
def test_loopback_names_are_known(host):
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["", "example.com", "localhost.example.com", "0.0.0.0", "10.0.0.1"]
)
def test_other_names_are_not_loopback(host):
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("listen", "header", "base"),
    [
        ("127.0.0.1", "localhost:9000", "http://localhost:9000"),
        ("127.0.0.1", "[::1]:9000", "http://[::1]:9000"),
        ("127.0.0.1", "evil.example", "http://127.0.0.1:8484"),
        ("127.0.0.1", "", "http://127.0.0.1:8484"),
        ("127.0.0.1", "localhost:x", "http://127.0.0.1:8484"),
        ("127.0.0.1", "[", "http://127.0.0.1:8484"),
        ("127.0.0.1", 'localhost"><script>', "http://127.0.0.1:8484"),
        ("0.0.0.0", "localhost:9000", "http://127.0.0.1:8484"),
        ("0.0.0.0", "evil.example", "http://127.0.0.1:8484"),
    ],
)
def test_nz18_without_a_configured_base_only_loopback_hosts_count(listen, header, base):
    found = base_of_request(listen_host=listen, host_header=header, server=("127.0.0.1", 8484))
    assert found == base


def test_without_a_socket_address_the_listening_one_is_used():
    assert base_of_request(listen_host="::1", host_header="x", server=None) == "http://[::1]"
