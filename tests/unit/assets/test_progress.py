from voyager_assets.assets.header_pass import Progress, stage_of
from voyager_core.catalog.stretches import OpenRange
from voyager_core.domain.ranges import Span
from voyager_core.header_pass.run import SpanOutcome, Stage


def outcome(number):
    place = OpenRange(number, "a.b.c", 1, 10, 1, 10, newest=10, stored_at=None, capture=False)
    return SpanOutcome(place, Span("a.b.c", 1, 10), lines=1000)


def test_long_work_is_told_of_once_a_minute():
    said, times = [], iter([0.0, 10.0, 59.0, 61.0, 61.0, 100.0, 122.0, 122.0])
    progress = Progress(said.append, lambda: next(times))
    for number in range(5):
        progress.tell(outcome(number))
    assert said == [
        "3 ranges, 3,000 lines so far; at a.b.c 1-10",
        "5 ranges, 5,000 lines so far; at a.b.c 1-10",
    ]


def test_the_last_three_stages_are_stored_together():
    assert stage_of({"spooled_overview"}) is Stage.FETCH
    assert stage_of({"parsed_headers"}) is Stage.PARSE
    assert stage_of({"spooled_overview", "parsed_headers"}) is Stage.PARSE
    for stage in ("releases", "chunks", "probe_candidates"):
        assert stage_of({"spooled_overview", stage}) is Stage.STORE
