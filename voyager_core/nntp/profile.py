"""What a server turned out to know: probed once, remembered for all its connections."""

import asyncio
import logging
from dataclasses import dataclass, field

from voyager_core.nntp.account import Compression

logger = logging.getLogger(__name__)

# Best first: a stream that is kept as received costs nothing to compress again, which RFC 8054
# does, since it compresses the connection and not the reply.
PREFERENCE = (
    Compression.GZIP_TERMINATOR,
    Compression.GZIP,
    Compression.XZVER,
    Compression.DEFLATE,
    Compression.NONE,
)
# Damaged replies in a row before a form of compression is given up for this server.
_PATIENCE = 3
# Connections that may break while a form is probed before it is given up.
_PROBES = 2


@dataclass(slots=True)
class ServerProfile:
    """What one server knows.

    Attributes:
        wanted: what the account asks for; anything but AUTO is the only form tried.
        compression: the form in use; None until it was probed.
        mode_reader: whether MODE READER is needed; None until it was probed.
        overview_verb: XOVER or OVER; None until one of them answered.
        probing: held while the first connection probes, so that the others wait for its result.
    """

    wanted: Compression = Compression.AUTO
    compression: Compression | None = None
    mode_reader: bool | None = None
    overview_verb: str | None = None
    probing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _given_up: set[Compression] = field(default_factory=set)
    _broken_probes: dict[Compression, int] = field(default_factory=dict)
    _damaged_in_a_row: int = 0

    def candidates(self) -> list[Compression]:
        """Returns the forms to try on a new connection, best first."""
        if self.wanted is not Compression.AUTO:
            return [self.wanted]
        left = [form for form in PREFERENCE if form not in self._given_up]
        if self.compression in left:
            left.remove(self.compression)
            left.insert(0, self.compression)
        return left

    def give_up(self, *forms: Compression) -> None:
        """Does not try these forms again."""
        self._given_up.update(forms)
        if self.compression in forms:
            self.compression = None

    def note_probe_failed(self, form: Compression) -> None:
        """Records that the connection broke when a form was probed: some servers hang up."""
        self._broken_probes[form] = self._broken_probes.get(form, 0) + 1
        if self._broken_probes[form] >= _PROBES and form is not Compression.NONE:
            self.give_up(form)

    def note_whole(self, form: Compression) -> None:
        """Records that a reply in this form was whole."""
        if form is self.compression:
            self._damaged_in_a_row = 0

    def note_damaged(self, form: Compression) -> bool:
        """Records a damaged reply; after a few in a row the server is asked for plain ones.

        Returns:
            Whether compression was given up, so that connections that use it are to be closed.
        """
        if form is not self.compression or form is Compression.NONE:
            return False
        self._damaged_in_a_row += 1
        if self.wanted is not Compression.AUTO or self._damaged_in_a_row < _PATIENCE:
            return False
        logger.warning(
            "%d damaged replies in a row with compression %s; going on without compression",
            self._damaged_in_a_row,
            form.value,
        )
        self.give_up(*(each for each in PREFERENCE if each is not Compression.NONE))
        self._damaged_in_a_row = 0
        return True
