"""News URLs: what they mean, and that a wrong one says what is wrong without showing it."""

import pytest
from pydantic import SecretStr

from voyager_core.errors import PermanentError
from voyager_core.nntp.account import AccountError, Compression, NewsAccount


def test_a_full_url_gives_every_field(tmp_path):
    ca = tmp_path / "ca.pem"
    ca.write_text("x")
    account = NewsAccount.from_url(
        f"nntps://joe:pa%40ss@news.example:8563?connections=50&compress=xzver&ca={ca}&verify=off"
    )
    assert (account.host, account.port, account.tls) == ("news.example", 8563, True)
    assert account.user.get_secret_value() == "joe"
    assert account.password.get_secret_value() == "pa@ss"
    assert account.connections == 50
    assert account.compress is Compression.XZVER
    assert account.ca_file == ca
    assert account.verify is False


@pytest.mark.parametrize(
    ("url", "host", "port", "tls"),
    [
        ("nntp://news.example", "news.example", 119, False),
        ("nntps://news.example", "news.example", 563, True),
        ("NNTPS://News.Example/", "news.example", 563, True),
        ("nntp://[::1]:1119", "::1", 1119, False),
        ("  nntp://127.0.0.1:8119\n", "127.0.0.1", 8119, False),
    ],
)
def test_scheme_decides_port_and_encryption(url, host, port, tls):
    account = NewsAccount.from_url(url)
    assert (account.host, account.port, account.tls) == (host, port, tls)
    assert account.user is None
    assert account.password is None


def test_an_argument_wins_over_the_number_of_connections_in_the_url():
    account = NewsAccount.from_url("nntp://h?connections=3", connections=7)
    assert account.connections == 7


def test_a_secret_url_is_read():
    assert NewsAccount.from_url(SecretStr("nntp://h")).host == "h"


def test_neither_repr_nor_str_shows_user_or_password():
    account = NewsAccount.from_url("nntps://joejoe:hunter22@news.example:563")
    for shown in (repr(account), str(account), f"{account}"):
        assert "hunter22" not in shown
        assert "joejoe" not in shown
    assert str(account) == "news.example:563"
    assert str(NewsAccount.from_url("nntp://[::1]")) == "[::1]:119"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "must begin with"),
        ("news.example:563", "must begin with"),
        ("nntsp://u:secret@h", "did you mean nntps"),
        ("https://u:secret@h", "not with nntps"),
        ("nntps://", "no usable host"),
        ("nntps://u:secret@", "no usable host"),
        ("nntps://u:secret@h:0", "port 0"),
        ("nntps://u:secret@h:99999", "1 to 65535"),
        ("nntps://u:secret@h:5g3", "1 to 65535"),
        ("nntps://u:sec#ret@h:563", "percent-encode"),
        ("nntps://u:sec/ret@h:563", "percent-encode"),
        ("nntps://u:sec?ret@h:563", "percent-encode"),
        ("nntps://u:12/secret@h:563", "percent-encode"),
        ("nntps://joe@h", "no password"),
        ("nntps://:secret@h", "no user"),
        ("nntps://u:secret%0d%0aQUIT@h", "line break"),
        ("nntps://u:secret%ff@h", "not UTF-8"),
        ("nntps://u:secret@h/path", "after host and port"),
        ("nntps://u:secret@h#part", "after host and port"),
        ("nntps://u:secret@h?conections=5", "did you mean connections"),
        ("nntps://u:secret@h?tls=1", "known: connections"),
        ("nntps://u:secret@h?connections=5&connections=6", "twice"),
        ("nntps://u:secret@h?connections=", "1 to 500"),
        ("nntps://u:secret@h?connections=many", "1 to 500"),
        ("nntps://u:secret@h?connections=0", "1 to 500"),
        ("nntps://u:secret@h?connections=501", "1 to 500"),
        ("nntps://u:secret@h?compress=zip", "gzip-terminator"),
        ("nntps://u:secret@h?ca=/no/such/file", "no file"),
        ("nntps://u:secret@h?verify=maybe", "neither on nor off"),
        ("nntps://u:secret@[::1", "1 to 65535"),
    ],
)
def test_a_wrong_url_is_explained_and_not_shown(url, says):
    with pytest.raises(AccountError) as caught:
        NewsAccount.from_url(url)
    assert says in str(caught.value)
    assert isinstance(caught.value, PermanentError)
    for secret in ("secret", "sec#ret", "ret@h", "hunter"):
        assert secret not in str(caught.value)


def test_connections_given_by_settings_are_checked_as_well():
    with pytest.raises(AccountError, match="1 to 500"):
        NewsAccount.from_url("nntp://h", connections=0)


def test_the_file_of_certificates_may_be_in_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "ca.pem").write_text("")
    account = NewsAccount.from_url("nntps://host?ca=~/ca.pem")
    assert account.ca_file == tmp_path / "ca.pem"
    for url in ("nntps://host?ca=~/none.pem", "nntps://host?ca=~nobody-of-that-name/ca.pem"):
        with pytest.raises(AccountError, match="ca= in the news URL names no file: ~"):
            NewsAccount.from_url(url)
