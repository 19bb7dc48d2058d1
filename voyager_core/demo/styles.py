"""How posting tools write subjects, message-ids, senders and dates.

Each style imitates what the named tool puts on the wire; the group, host and people are invented.
"""

import string
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from random import Random

_LOWER = string.ascii_lowercase
_MIXED = string.ascii_letters + string.digits
_BASE36 = string.digits + string.ascii_uppercase
_HEX = "0123456789abcdef"
_BASE32 = string.ascii_lowercase + "234567"
_TAG = _MIXED + "&$"


@dataclass(frozen=True, slots=True)
class Slot:
    """What a tool knows about the article that it posts.

    `index` and `part` count from 1; `size` is the file's in bytes; `posted_at` is epoch seconds;
    `file_tag` is constant for a file, `set_name` for an upload.
    """

    title: str
    poster: str
    file: str
    index: int
    files: int
    part: int
    parts: int
    size: int
    posted_at: int
    file_tag: str
    set_name: str


Writer = Callable[[Slot, Random], str]


@dataclass(frozen=True, slots=True)
class Style:
    """A posting tool: what it writes into the headers of an article."""

    name: str
    subject: Writer
    message_id: Writer
    poster: Writer = lambda slot, _: slot.poster
    date: Writer = lambda slot, _: long_date(slot.posted_at)


def _pick(random: Random, alphabet: str, length: int) -> str:
    return "".join(random.choices(alphabet, k=length))


def long_date(at: int) -> str:
    """Returns a Date header for epoch seconds, as RFC 5322 writes it."""
    return format_datetime(datetime.fromtimestamp(at, UTC), usegmt=True)


def _server_date(slot: Slot, _: Random) -> str:
    """Returns the date as a server renders it that was sent none: a two-digit year, `UTC`."""
    return datetime.fromtimestamp(slot.posted_at, UTC).strftime("%a, %d %b %y %H:%M:%S UTC")


def _scattered_date(slot: Slot, random: Random) -> str:
    """Returns a date within the six hours before posting, as postie scatters them."""
    return long_date(slot.posted_at - random.randrange(6 * 3600))


def _counter(slot: Slot) -> str:
    width = len(str(slot.files))
    return f"[{slot.index:0{width}d}/{slot.files}]"


def _size_with_comma(size: int) -> str:
    unit, value = ("MB", size / 1e6) if size >= 1_000_000 else ("KB", size / 1e3)
    return f"{value:.2f} {unit}".replace(".", ",")


def _nyuu_subject(slot: Slot, _: Random) -> str:
    counter = f"{_counter(slot)} - " if slot.files > 1 else ""
    return f'{counter}"{slot.file}" yEnc ({slot.part}/{slot.parts}) {slot.size}'


def _nyuu_id(slot: Slot, random: Random) -> str:
    letters = "".join(
        letter.upper() if at % 2 == 0 else letter
        for at, letter in enumerate(_pick(random, _LOWER, 24))
    )
    return f"{letters}-{slot.posted_at}{random.randrange(1000):03d}@nyuu"


def _camel_subject(slot: Slot, _: Random) -> str:
    segment = f"({slot.part}/{slot.parts})"
    return f'(????) {_counter(slot)} - "{slot.file}" yEnc {segment} {segment}'


def _powerpost_subject(slot: Slot, _: Random) -> str:
    width = len(str(slot.parts))
    segment = f"({slot.part:0{width}d}/{slot.parts})"
    return f'{slot.title} {_counter(slot)} - "{slot.file}" yEnc {segment}'


def _powerpost_id(host: str) -> Writer:
    return lambda slot, _: f"part{slot.part}of{slot.parts}.{slot.file_tag}@{host}"


def _jbinup_subject(slot: Slot, _: Random) -> str:
    width = len(str(slot.files))
    return (
        f'{slot.title} ({slot.index:0{width}d}/{slot.files}) "{slot.file}" - '
        f"{_size_with_comma(slot.size)} - yEnc ({slot.part}/{slot.parts})"
    )


def _newsup_subject(slot: Slot, _: Random) -> str:
    return f'{slot.title} [{slot.index}/{slot.files}] - "{slot.file}" ({slot.part}/{slot.parts})'


def _newsup_id(slot: Slot, random: Random) -> str:
    local = f"{slot.posted_at}{random.randrange(10**6):06d}.{_pick(random, _BASE36, 10)}"
    return f"{local}@{_pick(random, _BASE36, 6)}.newsup"


def _request_subject(slot: Slot, _: Random) -> str:
    width = len(str(slot.parts))
    return (
        f"[{slot.set_name}]-[FULL]-[#voyager.demo@IRC]-[ {slot.title} ]-{_counter(slot)} - "
        f'"{slot.file}" yEnc ({slot.part:0{width}d}/{slot.parts})'
    )


def _newsmangler_id(slot: Slot, random: Random) -> str:
    return f"{slot.posted_at}.{random.randrange(10**5):05d}.{slot.part}@reader.news.example"


def _unquoted_subject(slot: Slot, _: Random) -> str:
    return f"{slot.title} - {_counter(slot)} - {slot.file} ({slot.part}/{slot.parts})"


def _banner_subject(slot: Slot, _: Random) -> str:
    return (
        f"[ PIER ]-[ www.pier.example ]-[ partner of news.example ] {_counter(slot)} - "
        f'"{slot.file}" - {_size_with_comma(slot.size)} yEnc ({slot.part}/{slot.parts})'
    )


def _private_subject(slot: Slot, _: Random) -> str:
    return (
        f"[PRiVATE]-[WtFnZb]-[{slot.file}]-[{slot.index}/{slot.files}] - "
        f'"" yEnc  {slot.size} ({slot.part}/{slot.parts})'
    )


def _scrambled_subject(slot: Slot, _: Random) -> str:
    return f'[{slot.index}/{slot.files}] "{slot.file}" - yEnc ({slot.part}/{slot.parts})'


def _scrambled_id(_: Slot, random: Random) -> str:
    host = f"{_pick(random, _MIXED, 8)}.{_pick(random, _LOWER, 3)}"
    return f"{_pick(random, _MIXED, 32)}@{host}"


def _scrambled_poster(_: Slot, random: Random) -> str:
    name = _pick(random, _MIXED, 14)
    return f"{name} <{name}@{_pick(random, _LOWER, 5)}.{_pick(random, _LOWER, 3)}>"


def _prefix_subject(slot: Slot, _: Random) -> str:
    return f'{slot.set_name}{_counter(slot)} - "{slot.file}" yEnc ({slot.part}/{slot.parts})'


def _secret_subject(slot: Slot, _: Random) -> str:
    """Returns the same text as the local part of the id: ngPost's article obfuscation."""
    return _secret(slot)


def _secret(slot: Slot) -> str:
    return _pick(Random(f"{slot.file_tag}:{slot.part}"), _HEX, 32)  # noqa: S311


NYUU = Style("Nyuu", _nyuu_subject, _nyuu_id, date=_server_date)
NGPOST = Style("ngPost", _nyuu_subject, lambda _, random: f"{_pick(random, _HEX, 32)}@ngPost")
POWERPOST = Style("PowerPost", _powerpost_subject, _powerpost_id("powerpost2000AA.local"))
CAMELSYSTEM = Style("camelsystem", _camel_subject, _powerpost_id("camelsystem-powerpost.local"))
JBINUP = Style(
    "JBinUp",
    _jbinup_subject,
    lambda slot, random: f"{_pick(random, _MIXED, 20)}_{slot.index}o{slot.files}@JBinUp.local",
)
NEWSUP = Style("NewsUP", _newsup_subject, _newsup_id)
REQUEST = Style("request bot", _request_subject, _newsmangler_id)
UNQUOTED = Style(
    "Agent, unquoted",
    _unquoted_subject,
    lambda _, random: f"{_pick(random, _BASE32, 34)}@4ax.com",
)
BANNER = Style(
    "yEncBin, banner",
    _banner_subject,
    lambda slot, random: (
        f"Part{slot.part}of{slot.parts}.{_pick(random, _HEX, 32).upper()}"
        f"@{slot.posted_at // 86400 * 86400}.local"
    ),
)
PRIVATE = Style(
    "private bot", _private_subject, lambda _, random: f"{_pick(random, _MIXED, 24)}@nyuu"
)
SCRAMBLED = Style(
    "From per article",
    _scrambled_subject,
    _scrambled_id,
    poster=_scrambled_poster,
    date=_scattered_date,
)
HASH_PREFIX = Style("hashed file names", _prefix_subject, _scrambled_id, poster=_scrambled_poster)
SECRET = Style(
    "subject per article",
    _secret_subject,
    lambda slot, _: f"{_secret(slot)}@ngPost",
    poster=lambda _, random: f"{_pick(random, _MIXED, 13)}@ngPost.com",
)
PLAIN = Style(
    "bare file name",
    lambda slot, _: f'"{slot.file}" yEnc ({slot.part}/{slot.parts})',
    _newsmangler_id,
)


def file_tag(random: Random) -> str:
    """Returns 20 characters such as PowerPost repeats in every article of a file."""
    return _pick(random, _TAG, 20)


def hex_name(random: Random) -> str:
    """Returns 32 hexadecimal digits, as obfuscated files are named."""
    return _pick(random, _HEX, 32)
