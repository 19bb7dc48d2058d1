"""The account's connections, shared by processes through the catalog."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.indexing import indexer
from voyager_core.catalog import connection_shares
from voyager_core.catalog.connect import connect
from voyager_core.catalog.connection_shares import count_holders, join_lane, leave_lane
from voyager_core.header_pass.sharing import HISTORY, TAIL, connections_for, shared_connections
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.client import NewsClient


@given(total=st.integers(4, 500), holders=st.integers(1, 40))
def test_all_together_stay_within_the_account(total, holders):
    each = connections_for(HISTORY, total, holders)
    tail = connections_for(TAIL, total, 1)
    assert each >= 1
    assert tail >= 1
    if each > 1:
        assert each * holders + tail < total


@pytest.mark.parametrize(
    ("total", "holders", "history", "tail"),
    [(50, 1, 44, 5), (50, 4, 11, 5), (10, 1, 8, 1), (4, 1, 2, 1), (1, 1, 1, 1), (2, 3, 1, 1)],
)
def test_usual_accounts(total, holders, history, tail):
    assert connections_for(HISTORY, total, holders) == history
    assert connections_for(TAIL, total, 1) == tail


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
            with shared_connections(second, other, HISTORY):
                assert other.pool.limit == 9
                adjust()
                assert one.pool.limit == 9
            adjust()
            assert one.pool.limit == 18
