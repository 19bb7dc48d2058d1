"""A small Newznab client: lists what the API offers and reads NZBs, as any reader would."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from voyager_core.demo.compare import FoundFile, FoundRelease
from voyager_core.demo.truth import Segment
from voyager_core.supervisor.http import ClientError, fetch

_NEWZNAB = "{http://www.newznab.com/DTD/2010/feeds/attributes/}"
_NZB = "{http://www.newzbin.com/DTD/2003/nzb}"
_PAGE = 100


@dataclass(frozen=True, slots=True)
class Newznab:
    """An indexer's API at `base` (`http://host:port`), with a key."""

    base: str
    key: str

    def url(self, **parameters: str | int) -> str:
        """Returns the address of an API call with the key."""
        return f"{self.base}/api?{urlencode({**parameters, 'apikey': self.key})}"

    def releases(self) -> Iterator[FoundRelease]:
        """Yields every release that the API lists, with its NZB's files.

        Raises:
            ClientError: the API does not answer with what it should.
        """
        offset = 0
        while items := self._page(offset):
            for item in items:
                yield self._release(item)
            offset += len(items)

    def _page(self, offset: int) -> list[ET.Element]:
        root = _xml(self.url(t="search", extended=1, limit=_PAGE, offset=offset))
        if root.tag == "error":
            msg = f"the API refuses a search: {root.get('description')}"
            raise ClientError(msg)
        return root.findall("./channel/item")

    def _release(self, item: ET.Element) -> FoundRelease:
        attributes = {
            str(attr.get("name")): str(attr.get("value"))
            for attr in item.findall(f"{_NEWZNAB}attr")
        }
        public_id = attributes.get("guid", "")
        completion = attributes.get("completion")
        return FoundRelease(
            public_id=public_id,
            title=item.findtext("title") or "",
            category=item.findtext("category") or "",
            group=attributes.get("group", ""),
            size_bytes=int(attributes.get("size", "0")),
            file_count=int(attributes.get("files", "0")),
            completion=None if completion is None else int(completion),
            files=tuple(read_nzb(fetch(self.url(t="get", id=public_id)))),
        )


def read_nzb(document: bytes) -> Iterator[FoundFile]:
    """Yields the files of an NZB.

    Raises:
        ClientError: it is no NZB.
    """
    try:
        root = ET.fromstring(document)  # noqa: S314 - from the API that this process started
    except ET.ParseError as error:
        msg = f"the API answers no XML: {error}"
        raise ClientError(msg) from error
    if root.tag != f"{_NZB}nzb":
        msg = f"the API answers <{root.tag}> where an NZB is expected: {root.attrib}"
        raise ClientError(msg)
    for file in root.findall(f"{_NZB}file"):
        yield FoundFile(
            subject=file.get("subject", ""),
            groups=tuple(group.text or "" for group in file.findall(f"./{_NZB}groups/{_NZB}group")),
            segments=tuple(
                Segment(
                    part=int(segment.get("number", "0")),
                    message_id=segment.text or "",
                    size_bytes=int(segment.get("bytes", "0")),
                )
                for segment in file.findall(f"./{_NZB}segments/{_NZB}segment")
            ),
        )


def _xml(url: str) -> ET.Element:
    body = fetch(url)
    try:
        return ET.fromstring(body)  # noqa: S314 - from the API that this process started
    except ET.ParseError as error:
        msg = f"the API answers no XML: {error}"
        raise ClientError(msg) from error
