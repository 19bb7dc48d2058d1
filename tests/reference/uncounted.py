"""Why a subject without any counter is in no file: hidden by a tool, or written by people."""

import re


def reason(subject: bytes, message_id: bytes) -> str:
    """Returns `random_subject`, `obfuscated_subject` or `no_counter`."""
    if not subject.isascii():
        return "no_counter"
    if not re.search(rb"[ \t(\[{</|\\.:]", subject):
        is_own_id = subject != b"" and message_id.startswith(subject + b"@")
        return "random_subject" if is_own_id or _is_random(subject) else "no_counter"
    words = [word for word in re.split(rb"[^A-Za-z0-9_-]", subject) if word.strip(b"-_")]
    if not all(map(_says_nothing, words)):
        return "no_counter"
    return "obfuscated_subject" if any(map(_is_random, words)) else "no_counter"


def _is_random(word: bytes) -> bool:
    if len(word) < 16:
        return False
    digits = len(re.findall(rb"[0-9]", word))
    inner = len(re.findall(rb"(?<=[a-z])[A-Z]", word))
    return len(word) >= 24 or digits >= 2 or inner >= 3


def _says_nothing(word: bytes) -> bool:
    return _is_random(word) or word.lower() == b"yenc" or re.search(rb"[A-Za-z]", word) is None
