"""Passwords of accounts: argon2id with the parameters of RFC 9106, section 4 (low memory)."""

import unicodedata
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

MIN_PASSWORD_CHARACTERS = 10
MAX_PASSWORD_CHARACTERS = 1024
"""A limit, because hashing takes time that a stranger may ask for."""


def hash_password(password: str) -> str:
    """Returns the form in which a password is stored: algorithm, parameters, salt and hash.

    Raises:
        ValueError: the password is too short or too long, in words for its owner.
    """
    if problem := password_problem(password):
        raise ValueError(problem)
    return _hasher().hash(_normal(password))


def password_problem(password: str) -> str:
    """Returns why a password cannot be used, in words for its owner; "" when it can."""
    text = _normal(password)
    characters = len(text)
    if characters < MIN_PASSWORD_CHARACTERS:
        return f"a password has at least {MIN_PASSWORD_CHARACTERS} characters"
    if characters > MAX_PASSWORD_CHARACTERS:
        return f"a password has at most {MAX_PASSWORD_CHARACTERS:,} characters"
    if not text.isprintable():
        return "a password holds no line breaks or other invisible characters"
    return ""


def verify_password(stored: str | None, password: str) -> bool:
    """Tells whether a password is the one that was stored.

    Args:
        stored: what `hash_password` returned; None (no such account) takes as long and fails.
        password: what was typed.
    """
    text = _normal(password)
    if len(text) > MAX_PASSWORD_CHARACTERS:
        return False
    try:
        return _hasher().verify(stored or _nobody(), text) and stored is not None
    except (VerifyMismatchError, VerificationError, InvalidHashError, UnicodeEncodeError):
        return False


def needs_rehash(stored: str) -> bool:
    """Tells whether a password was stored with weaker parameters than today's."""
    try:
        return _hasher().check_needs_rehash(stored)
    except InvalidHashError:
        return True


def _normal(password: str) -> str:
    # Keyboards differ in whether an accent is typed composed (RFC 8265, section 4.2).
    return unicodedata.normalize("NFC", password)


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher()


@cache
def _nobody() -> str:
    return _hasher().hash("nobody")
