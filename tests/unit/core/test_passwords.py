"""Passwords."""

import pytest

from voyager_core.domain.passwords import (
    hash_password,
    needs_rehash,
    password_problem,
    verify_password,
)

PASSWORD = "p\u00e4ssw\u00f6rd with blanks "


@pytest.fixture(scope="module")
def stored():
    return hash_password(PASSWORD)


def test_a_password_is_stored_as_argon2id_with_a_salt_of_its_own(stored):
    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert hash_password(PASSWORD) != stored
    assert not needs_rehash(stored)


def test_only_the_same_password_fits(stored):
    assert verify_password(stored, PASSWORD)
    assert verify_password(stored, PASSWORD.replace("\u00e4", "a\u0308"))
    assert not verify_password(stored, PASSWORD.strip())
    assert not verify_password(stored, PASSWORD.upper())
    assert not verify_password(stored, "")


def test_an_account_that_is_not_there_fits_nothing():
    assert not verify_password(None, "nobody")
    assert not verify_password(None, PASSWORD)


@pytest.mark.parametrize("damaged", ["", "x", "$argon2id$", "$2b$12$abcdefghijklmnopqrstuv"])
def test_what_is_no_stored_password_fits_nothing(damaged):
    assert not verify_password(damaged, PASSWORD)
    assert needs_rehash(damaged)


@pytest.mark.parametrize("password", ["", "short", "x" * 1025])
def test_a_password_that_cannot_be_used_says_why(password):
    assert "characters" in password_problem(password)
    with pytest.raises(ValueError, match="characters"):
        hash_password(password)


def test_surrogates_and_nuls_of_a_form_are_no_error(stored):
    assert not verify_password(stored, "\udcff\0" * 10)
