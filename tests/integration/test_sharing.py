"""The account's connections, shared by processes through the catalog."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.indexing import indexer
from voyager_core.catalog import connection_shares
from voyager_core.catalog.connect import connect
from voyager_core.catalog.connection_shares import count_holders, join_lane, leave_lane
from voyager_core.errors import SettingsError
from voyager_core.header_pass.sharing import (
    HISTORY,
    TAIL,
    Shares,
    shared_connections,
)
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.client import NewsClient


@given(total=st.integers(4, 500), holders=st.integers(1, 40))
def test_all_together_stay_within_the_account(total, holders):
    each = Shares.of(total).each(HISTORY, {HISTORY: holders})
    tail = Shares.of(total).each(TAIL, {TAIL: 1})
    assert each >= 1
    assert tail >= 1
    if each > 1:
        assert each * holders + tail < total


@pytest.mark.parametrize(
    ("total", "holders", "history", "tail"),
    [(50, 1, 44, 5), (50, 4, 11, 5), (10, 1, 8, 1), (4, 1, 2, 1), (1, 1, 1, 1), (2, 3, 1, 1)],
)
def test_usual_accounts(total, holders, history, tail):
    assert Shares.of(total).each(HISTORY, {HISTORY: holders}) == history
    assert Shares.of(total).each(TAIL, {TAIL: 1}) == tail


@pytest.mark.postgres
def test_holders_are_counted_by_lane_until_they_leave_or_die(catalog, database):
    with connect(database) as second:
        first_place = join_lane(catalog, HISTORY)
        assert join_lane(second, HISTORY) != first_place
        assert join_lane(second, TAIL) == 0
        assert (count_holders(catalog, HISTORY), count_holders(catalog, TAIL)) == (2, 1)
        leave_lane(catalog, HISTORY, first_place)
        assert count_holders(catalog, HISTORY) == 1
        # Waits until the session is gone.
        catalog.execute("select pg_terminate_backend(%s, 5000)", [second.info.backend_pid])
    assert (count_holders(catalog, HISTORY), count_holders(catalog, TAIL)) == (0, 0)


@pytest.mark.postgres
def test_a_full_lane_gives_no_place_and_harms_nobody(catalog, database, monkeypatch):
    monkeypatch.setattr(connection_shares, "MOST_HOLDERS", 1)
    with connect(database) as second:
        assert join_lane(catalog, HISTORY) == 0
        assert join_lane(second, HISTORY) is None


@pytest.mark.postgres
def test_a_pass_gives_connections_up_as_another_one_comes_and_takes_them_back(database, tmp_path):
    with indexer(database, tmp_path) as it:
        account = NewsAccount.from_url(it.server.url("connections=21"))
        with (
            it.connect() as first,
            it.connect() as second,
            NewsClient(account) as one,
            NewsClient(account) as other,
            shared_connections(first, one, HISTORY) as adjust,
        ):
            assert one.pool.limit == 18
            with shared_connections(second, other, HISTORY) as adjust_other:
                adjust()
                adjust_other()
                assert (one.pool.limit, other.pool.limit) == (9, 9)
            adjust()
            assert one.pool.limit == 18


@pytest.mark.postgres
def test_nobody_opens_a_connection_that_another_one_still_has(database, tmp_path):
    with indexer(database, tmp_path) as it:
        account = NewsAccount.from_url(it.server.url("connections=21"))
        with (
            it.connect() as first,
            it.connect() as second,
            NewsClient(account) as one,
            NewsClient(account) as other,
            shared_connections(first, one, HISTORY) as adjust_one,
        ):
            with shared_connections(second, other, HISTORY) as adjust_other:
                # 21, of which the first one still has 18.
                assert (one.pool.limit, other.pool.limit) == (18, 3)
                adjust_one()
                adjust_other()
                assert (one.pool.limit, other.pool.limit) == (9, 9)
            adjust_one()
            assert one.pool.limit == 18
            # A killed holder gives back what it had.
            with shared_connections(second, other, HISTORY):
                adjust_one()
                first.execute("select pg_terminate_backend(%s, 5000)", [second.info.backend_pid])
                adjust_one()
                assert one.pool.limit == 18


@given(
    total=st.integers(5, 500),
    present=st.fixed_dictionaries(
        {lane: st.integers(0, 12) for lane in ("tail", "history", "probe", "fetcher")}
    ),
)
def test_every_purpose_has_its_share_and_the_sum_fits(total, present):
    shares = Shares.of(total)
    working = {"tail": max(1, present["tail"])}
    working["fetcher" if present["fetcher"] else "history"] = (
        present["fetcher"] or present["history"]
    )
    working["probe"] = present["probe"]
    each = {lane: shares.each(lane, present) for lane, count in working.items() if count}
    # One connection a process is the least, however small the account.
    sums = [each[lane] * working[lane] for lane in each if each[lane] > 1]
    assert sum(sums) < total
    _, high = shares.bounds["probe"]
    assert each.get("probe", 1) <= max(1, high)
    assert each.get("tail", 1) >= shares.bounds["tail"][0] // working["tail"]


def test_a_setting_divides_the_account_otherwise():
    shares = Shares.of(50, "tail=2-10, probe=4-8")
    assert shares.each("tail", {"tail": 1, "history": 1}) == 10
    assert shares.each("history", {"tail": 1, "history": 1}) == 39
    assert shares.each("probe", {"history": 1, "probe": 1}) == 4
    assert shares.each("probe", {"history": 0, "probe": 1}) == 8
    # Fetchers fetch for the passes, which then open nothing.
    assert shares.each("fetcher", {"history": 5, "fetcher": 3}) == 13


@pytest.mark.parametrize(
    "text",
    [
        *("tail", "tail=9-2", "nobody=1-2", "tail=60-70", "tail=-1-2", "x" * 99),
        *("tail=1-2,tail=3-4", "tail=\uff11-2"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(text):
    with pytest.raises(SettingsError, match="VOYAGER_NEWS__SHARES"):
        Shares.of(50, text)
