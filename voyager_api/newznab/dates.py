"""Dates as every reader takes them (NZ-7)."""

from datetime import UTC, datetime
from email.utils import format_datetime


def rfc2822(moment: datetime) -> str:
    """Returns `Tue, 10 Nov 2026 12:00:00 +0000`: English names, right weekday, numeric zone.

    `GMT` gives time 0 in NZBGet; `UTC` and ISO forms are dropped by Hydra.
    """
    return format_datetime(moment.astimezone(UTC))
