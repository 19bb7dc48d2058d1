"""Status codes become classes; texts of real servers decide where a code means several things."""

import pytest

from voyager_core.errors import PermanentError, TransientError
from voyager_core.nntp import errors
from voyager_core.nntp.errors import refusal


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        (400, "too many connections", errors.TooManyConnections),
        (400, "service temporarily unavailable", errors.TooManyConnections),
        (400, "idle timeout, closing connection", errors.Cut),
        (403, "internal fault", errors.ServerTrouble),
        (411, "no such group", errors.GroupGone),
        (420, "no current article", errors.ArticleMissing),
        (423, "no such number", errors.ArticleMissing),
        (430, "no such article", errors.ArticleMissing),
        (451, "removed by notice", errors.ArticleMissing),
        (480, "authentication required", errors.AuthFailed),
        (481, "authentication rejected", errors.AuthFailed),
        (481, "Max connections of 20 reached for your user", errors.TooManyConnections),
        (482, "too many connections for your account", errors.TooManyConnections),
        (482, "authentication rejected", errors.AuthFailed),
        (483, "strong encryption required", errors.AuthFailed),
        (500, "what?", errors.Unsupported),
        (501, "syntax error in range", errors.Unsupported),
        (502, "Exceeded maximum number of connections", errors.TooManyConnections),
        (502, "connection limit reached", errors.TooManyConnections),
        (502, "access denied, your account has expired", errors.AuthFailed),
        (502, "no permission", errors.TooManyConnections),
        (503, "program fault", errors.ServerTrouble),
        (211, "1 2 3 group", errors.ProtocolError),
        (599, "", errors.ProtocolError),
    ],
)
def test_a_refusal_has_the_class_of_its_category(code, text, kind):
    error = refusal(asked="GROUP a.b.c", server="h:119", code=code, text=text)
    assert type(error) is kind
    assert error.code == code
    assert "GROUP a.b.c" in str(error)
    assert "h:119" in str(error)
    assert str(code) in str(error)


def test_a_refused_login_with_502_blames_the_login():
    error = refusal(asked="AUTHINFO PASS", server="h", code=502, text="no", login=True)
    assert type(error) is errors.AuthFailed


def test_a_long_text_is_cut_in_the_message():
    error = refusal(asked="DATE", server="h", code=500, text="x" * 5000)
    assert len(str(error)) < 400


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (errors.ConnectFailed, TransientError),
        (errors.TooManyConnections, TransientError),
        (errors.NewsTimeout, TransientError),
        (errors.Cut, TransientError),
        (errors.Garbage, TransientError),
        (errors.WrongOverview, TransientError),
        (errors.ProtocolError, TransientError),
        (errors.ServerTrouble, TransientError),
        (errors.AuthFailed, PermanentError),
        (errors.TlsFailed, PermanentError),
        (errors.GroupGone, PermanentError),
        (errors.ArticleMissing, PermanentError),
        (errors.Unsupported, PermanentError),
        (errors.UnusableName, PermanentError),
    ],
)
def test_each_class_says_whether_another_try_makes_sense(kind, base):
    assert issubclass(kind, base)
    other = PermanentError if base is TransientError else TransientError
    assert not issubclass(kind, other)


def test_who_has_sent_a_login_is_not_told_to_give_one():
    asked = {"asked": "AUTHINFO PASS", "server": "news.example:563", "code": 480, "text": "no"}
    refused = refusal(**asked, login=True)
    assert isinstance(refused, errors.AuthFailed)
    assert "check user and password" in str(refused)
    assert "put user and password" in str(refusal(**asked))
