"""The history goes from the oldest era of all newsgroups on, whatever their article numbers."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from voyager_core.catalog.connect import connect
from voyager_core.catalog.eras import dated_groups, record_dates
from voyager_core.catalog.groups import add_group, import_groups
from voyager_core.catalog.stored_settings import pin
from voyager_core.catalog.stretches import open_stretches
from voyager_core.header_pass.eras import ERA, date_groups
from voyager_core.header_pass.plan import refresh_groups
from voyager_core.nntp.errors import GroupGone
from voyager_core.nntp.overview import GroupMarks

pytestmark = pytest.mark.postgres
NOW = datetime(2025, 1, 1, tzinfo=UTC)
SIZE = 100_000
HIGH = 10 * SIZE


class Server:
    """Groups with the years of their first article, posted to faster and faster."""

    def __init__(self, first_years, *, strange=None, holes=None):
        self.first_years = first_years
        self.strange = strange or {}
        self.holes = holes or {}
        self.high = HIGH
        self.asked = []
        self.widest = 0
        self.gone = set()

    def list_active(self, _pattern="*"):
        return [GroupMarks(name, 1, self.high) for name in self.first_years]

    def group(self, name):
        return GroupMarks(name, 1, self.high)

    def overview(self, group, low, high):
        """Answers with the first number of the range that has an article."""
        if group in self.gone:
            raise GroupGone(group)
        self.asked.append((group, low))
        self.widest = max(self.widest, high - low + 1)
        number = low
        for hole in self.holes.get(group, ()):
            if number in hole:
                number = hole.stop
        return (group, number) if number <= high else None

    def date_of(self, block):
        if block is None:
            return None
        group, number = block
        if group in self.strange:
            return self.strange[group](number)
        return self.true_date(group, number)

    def true_date(self, group, number):
        first = datetime(self.first_years[group], 1, 1, tzinfo=UTC)
        return first + (NOW - first) * (number / HIGH) ** 0.4


@pytest.fixture
def conn(database):
    with connect(database) as made:
        pin(made, {"range_size": str(SIZE), "ranges_per_partition": "1"})
        yield made


def planned(conn, server):
    import_groups(conn, list(server.first_years))
    refresh_groups(conn, server, now=NOW)


def order(conn, **options):
    found = open_stretches(conn, reach=0, limit=999, **options)
    return [(each.group, each.index) for each in found if not each.is_head]


def test_ranges_of_all_groups_come_in_the_order_of_their_dates(conn):
    server = Server({"alt.young": 2022, "alt.middle": 2015, "alt.old": 2008})
    planned(conn, server)
    date_groups(conn, server, now=NOW, date_of=server.date_of)
    found = order(conn)
    dates = [server.true_date(group, index * SIZE + 1) for group, index in found]
    assert len(found) == 27
    # As far as a line between two dates of an era tells.
    assert all(later > earlier - ERA for earlier, later in pairwise(dates))
    assert found[0] == ("alt.old", 0)
    assert found.index(("alt.middle", 0)) < found.index(("alt.young", 0))
    assert found.index(("alt.old", 1)) < found.index(("alt.young", 0))
    # In a group nothing goes before what is older.
    for name in server.first_years:
        mine = [index for group, index in found if group == name]
        assert mine == sorted(mine)


def test_neighbours_of_one_run_stay_side_by_side(conn):
    server = Server({"alt.one": 2010, "alt.two": 2010})
    planned(conn, server)
    date_groups(conn, server, now=NOW, date_of=server.date_of)
    found = order(conn, together=4)
    assert found[:8] == [(name, index) for name in ("alt.one", "alt.two") for index in range(4)]


def test_each_look_asks_little_and_the_next_goes_on(conn):
    server = Server({f"alt.g{number}": 2009 for number in range(20)})
    planned(conn, server)
    assert date_groups(conn, server, now=NOW, date_of=server.date_of, most=20) == 20
    # The beginning of every group comes before the middle of any.
    assert len({group for group, _ in server.asked}) == 20
    first = len(server.asked)
    total = first
    for _ in range(50):
        asked = date_groups(conn, server, now=NOW, date_of=server.date_of, most=40)
        total += asked
        if not asked:
            break
    assert asked == 0
    assert total < 20 * 40
    assert len(set(server.asked)) == len(server.asked)


def test_a_group_without_dates_is_taken_by_its_numbers(conn):
    server = Server({"alt.a": 2010, "alt.b": 2010})
    planned(conn, server)
    found = order(conn)
    assert [index for _, index in found] == sorted(index for _, index in found)
    record_dates(conn, [(1, 1, datetime(2010, 1, 1, tzinfo=UTC))])
    assert order(conn)[0] == ("alt.a", 0)


STRANGE = {
    "future": lambda _: datetime(2038, 1, 1, tzinfo=UTC),
    "broken clock": lambda _: datetime(1970, 1, 1, tzinfo=UTC),
    "none": lambda _: None,
    "backwards": lambda number: NOW - timedelta(days=number // 300),
    "at random": lambda number: NOW - timedelta(days=number * 7919 % 6000),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_strange_dates_never_put_a_later_range_before_an_earlier_one(conn, kind):
    server = Server({"alt.strange": 2010, "alt.sane": 2012}, strange={"alt.strange": STRANGE[kind]})
    planned(conn, server)
    for _ in range(5):
        date_groups(conn, server, now=NOW, date_of=server.date_of)
    assert date_groups(conn, server, now=NOW, date_of=server.date_of) == 0
    found = order(conn)
    assert len(found) == 18
    for name in server.first_years:
        mine = [index for group, index in found if group == name]
        assert mine == sorted(mine)
    for each in dated_groups(conn):
        times = [at for _, at in each.dates]
        assert times == sorted(times)
        assert all(at <= NOW for at in times)


def test_a_group_that_is_gone_does_not_keep_the_others_from_their_dates(conn):
    server = Server({"alt.gone": 2010, "alt.there": 2012})
    planned(conn, server)
    server.gone = {"alt.gone"}
    date_groups(conn, server, now=NOW, date_of=server.date_of)
    dates = {each.group: len(each.dates) for each in dated_groups(conn)}
    assert dates["alt.gone"] == 0
    assert dates["alt.there"] > 3


HOLES = {
    "the first article": [range(1, 2)],
    "the first thousands": [range(1, 5_000)],
    "the first half": [range(1, 5 * SIZE)],
    "all but the newest": [range(1, HIGH - 1)],
    "the beginning and the middle": [range(1, 200), range(4 * SIZE, 6 * SIZE)],
}


@pytest.mark.parametrize("kind", HOLES)
def test_missing_articles_do_not_make_a_group_new(conn, kind):
    holes = HOLES[kind]
    server = Server({"alt.holes": 2010, "alt.young": 2022}, holes={"alt.holes": holes})
    planned(conn, server)
    date_groups(conn, server, now=NOW, date_of=server.date_of)
    (number, posted), *others = dated_groups(conn)[0].dates
    first_there = max(hole.stop for hole in holes if hole.start == 1)
    assert (number, posted) == (1, server.true_date("alt.holes", first_there))
    for number, posted in others:
        true = server.true_date("alt.holes", number)
        beyond = [server.true_date("alt.holes", h.stop) for h in holes if number in h]
        assert posted in {true, *beyond}
    # What no server should be asked for at once, however wide the hole.
    assert server.widest <= 10_000
    assert len(server.asked) < 500


def test_a_group_without_any_article_is_asked_little(conn):
    server = Server({"alt.empty": 2010}, holes={"alt.empty": [range(1, HIGH + 1)]})
    planned(conn, server)
    assert date_groups(conn, server, now=NOW, date_of=server.date_of, most=1) == 1
    assert len(server.asked) < 40
    assert max(number for _, number in server.asked) <= HIGH
    assert [index for _, index in order(conn)] == list(range(9))


def test_numbers_that_began_again_have_no_dates_of_before(conn):
    server = Server({"alt.one": 2010, "alt.two": 2015})
    planned(conn, server)
    date_groups(conn, server, now=NOW, date_of=server.date_of)
    before = {each.group: each.dates for each in dated_groups(conn)}
    server.list_active = lambda _: [GroupMarks("alt.one", 1, 900), GroupMarks("alt.two", 1, HIGH)]
    server.group = lambda name: GroupMarks(name, 1, 900)
    refresh_groups(conn, server, now=NOW)
    # A look that began before it ends after it.
    record_dates(conn, [(1, 500, NOW)])
    del server.list_active, server.group
    server.high = HIGH + 1
    refresh_groups(conn, server, now=NOW)
    after = {each.group: each.dates for each in dated_groups(conn)}
    assert after == {"alt.one": (), "alt.two": before["alt.two"]}


@pytest.mark.parametrize("number", [HIGH, 2 * HIGH])
def test_a_date_that_is_not_below_the_newest_number_orders_nothing(conn, number):
    server = Server({"alt.a": 2010, "alt.b": 2010})
    planned(conn, server)
    record_dates(conn, [(2, 1, datetime(2020, 1, 1, tzinfo=UTC))])
    without = order(conn)
    record_dates(conn, [(1, number, datetime(2009, 1, 1, tzinfo=UTC))])
    assert order(conn) == without


def test_older_history_that_is_wanted_later_gets_a_date_too(conn):
    add_group(conn, "alt.one")
    server = Server({"alt.one": 2010})
    refresh_groups(conn, server, now=NOW)
    record_dates(conn, [(1, 5 * SIZE, server.true_date("alt.one", 5 * SIZE))])
    before = order(conn)
    date_groups(conn, server, now=NOW, date_of=server.date_of)
    (only,) = dated_groups(conn)
    assert only.dates[0] == (1, server.true_date("alt.one", 1))
    assert order(conn) == before
