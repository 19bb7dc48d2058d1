"""The live tail: what was posted since the last look, in all groups at once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum

from voyager_core.catalog import stretches as ledger
from voyager_core.catalog.progress import take_samples
from voyager_core.catalog.stored_settings import cut_of_history
from voyager_core.domain.ranges import partition_key, stretch_of
from voyager_core.errors import VoyagerError
from voyager_core.header_pass.late import LateReport, ask_again
from voyager_core.header_pass.plan import GroupPlan, refresh_groups
from voyager_core.header_pass.run import PassTools, SpanOutcome, index_ranges

# The tail catches up this many article numbers by itself; where more are missing, after a
# pause or in a group that was just added, the header pass goes first.
REACH = 500_000
# A range that was brought to its end makes room for the next one of its group.
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class TailReport:
    """What one look at the server brought.

    Attributes:
        plans: what the server said about each active group.
        outcomes: what became of each span.
        touched: partition keys in which a range was begun or finished.
        late: what asking again for missing numbers brought.
    """

    plans: Sequence[GroupPlan]
    outcomes: Sequence[SpanOutcome]
    touched: Sequence[str]
    late: LateReport = field(default_factory=LateReport)

    @property
    def failures(self) -> list[tuple[str, VoyagerError]]:
        """What failed: the span's name and the error."""
        return [(str(each.span), each.error) for each in self.outcomes if each.error is not None]

    @property
    def lines(self) -> int:
        """Overview lines read."""
        return sum(each.lines for each in self.outcomes)

    @property
    def cpu_seconds(self) -> float:
        """Processor time of fetching and indexing."""
        return fsum(each.cpu_seconds for each in self.outcomes)


def follow_tail(
    tools: PassTools, *, reach: int = REACH, backfill_days: int | None = None
) -> TailReport:
    """Asks for the water marks, plans new ranges and indexes what is new.

    Args:
        tools: catalog, server, spool and rules.
        reach: article numbers that the tail catches up by itself.
        backfill_days: history of groups that have no wish of their own.

    Raises:
        VoyagerError: the server, the database or the disk cannot be used; a range's own
            failure is in the report.
    """
    plans = refresh_groups(tools.conn, tools.client, now=tools.clock(), backfill_days=backfill_days)
    outcomes: list[SpanOutcome] = []
    for _ in range(_ROUNDS):
        tried = {each.range.range_id for each in outcomes}
        found = ledger.tail_ranges(tools.conn, reach=reach)
        work = [each for each in found if each.range_id not in tried]
        if not work:
            break
        outcomes.extend(index_ranges(tools, work))
    late = ask_again(tools)
    take_samples(tools.conn, at=tools.clock())
    size, per_partition = cut_of_history(tools.conn)
    touched = {
        (each.span.group, stretch_of(each.range.low, size=size, ranges_per_partition=per_partition))
        for each in outcomes
        if each.stored and (each.span.low == each.range.low or each.span.high == each.range.high)
    }
    return TailReport(plans, outcomes, [partition_key(*each) for each in sorted(touched)], late)
