"""`voyager users` on a real catalog."""

import io

import pytest

from voyager_core.catalog.accounts import check_password, stored_password

pytestmark = pytest.mark.postgres

PASSWORD = "correct horse  battery "


@pytest.fixture
def typed(monkeypatch):
    """Puts lines on the standard input, as a script does."""

    def typed(*lines):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return typed


def test_an_account_is_made_listed_given_another_password_and_removed(voyager, catalog, typed):
    assert "voyager users add" in voyager("users", "list").out
    typed(PASSWORD)
    assert voyager("users", "add", "ann").out == "ann can sign in\n"
    assert check_password(stored_password(catalog, "ann"), PASSWORD).name == "ann"
    listed = voyager("users", "list").out.splitlines()
    assert listed[-1].split()[0] == "ann"
    assert listed[-1].endswith("never")
    typed("another long one")
    assert "signed out everywhere" in voyager("users", "password", "ann").out
    assert check_password(stored_password(catalog, "ann"), PASSWORD) is None
    assert voyager("users", "remove", "ann").code == 0
    assert stored_password(catalog, "ann") is None


@pytest.mark.parametrize(
    ("name", "password", "reason"),
    [
        ("ann", "short", "at least 10 characters"),
        ("ann", "", "at least 10 characters"),
        ("ann", "\udcff\udcfe bytes of no text", "invisible characters"),
        ("a b", PASSWORD, "a name has"),
        ("-ann", PASSWORD, "a name has"),
        ("x" * 65, PASSWORD, "a name has"),
    ],
)
def test_what_cannot_be_an_account_says_why(voyager, typed, name, password, reason):
    typed(password)
    ran = voyager("users", "add", "--", name)
    assert ran.code == 1
    assert reason in ran.err
    assert "no accounts" in voyager("users", "list").out


def test_a_name_is_taken_once(voyager, typed):
    typed(PASSWORD)
    voyager("users", "add", "ann")
    typed(PASSWORD)
    ran = voyager("users", "add", "ann")
    assert (ran.code, "an account named ann already" in ran.err) == (1, True)


@pytest.mark.parametrize("action", ["password", "remove"])
def test_an_account_that_is_not_there_is_an_error(voyager, typed, action):
    typed(PASSWORD)
    ran = voyager("users", action, "nobody")
    assert ran.code == 1
    assert "no account nobody" in ran.err
