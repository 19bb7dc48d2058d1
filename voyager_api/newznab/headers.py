"""Headers of an NZB download (NZ-17, NZ-39 and the reference on downloads).

Names come from posters, so every value is cleaned of what could end a header.
"""

import unicodedata
from typing import Final
from urllib.parse import quote

from voyager_api.newznab.xml import clean_line

_MAX_NAME_BYTES: Final = 196
# Proxies and HTTP libraries refuse an answer for a header of some thousands of bytes.
_MAX_VALUE_BYTES: Final = 1000
# SABnzbd names the file that it keeps an NZB in by X-DNZB-Name, and loses it at a backslash.
_NOT_IN_JOB_NAMES: Final = dict.fromkeys(map(ord, '"\\/:*?<>|'), " ")
_NOT_IN_FILE_NAMES: Final = dict.fromkeys(map(ord, '"\\/:*?<>|;%'), " ")


def content_disposition(name: str, *, fallback: str = "download") -> bytes:
    """Returns the value that names the download `<name>.nzb`.

    The plain form comes first: NZBGet takes only the first, skips the download when the extended
    form precedes it or a quote is escaped, and names the job after the raw extended form when it
    is alone.

    Args:
        name: of the release.
        fallback: the plain name where ASCII would keep less than half of the letters and digits.
    """
    wide = _file_name(name)
    plain = _file_name(unicodedata.normalize("NFKD", wide).encode("ascii", "ignore").decode())
    if 2 * sum(map(str.isalnum, plain)) < sum(map(str.isalnum, wide)):
        plain = fallback
    extended = quote(f"{wide or fallback}.nzb", safe="")
    return f"attachment; filename=\"{plain or fallback}.nzb\"; filename*=UTF-8''{extended}".encode()


def _file_name(name: str) -> str:
    text = _without(_NOT_IN_FILE_NAMES, name)
    cut = text.encode("utf-8", "ignore")[:_MAX_NAME_BYTES].decode("utf-8", "ignore")
    return cut.strip(" .")


def _without(characters: dict[int, str], name: str) -> str:
    return " ".join(clean_line(name).translate(characters).split()).strip(" .")


def dnzb_headers(*, name: str, category: str, details_url: str) -> list[tuple[bytes, bytes]]:
    """Returns the X-DNZB headers in the exact case that NZBGet compares.

    A value that is not Latin-1 is left out, since downloaders decode headers as that and
    Content-Disposition carries the name anyway.
    """
    values = {
        "X-DNZB-Name": _without(_NOT_IN_JOB_NAMES, name),
        "X-DNZB-Category": category,
        "X-DNZB-Details": details_url,
        "X-DNZB-RCode": "200",
        "X-DNZB-RText": "OK",
    }
    headers = []
    for header, value in values.items():
        try:
            encoded = clean_line(value).encode("latin-1").strip()[:_MAX_VALUE_BYTES].strip()
        except UnicodeEncodeError:
            continue
        if encoded:
            headers.append((header.encode(), encoded))
    return headers
