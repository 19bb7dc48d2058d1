"""The pool on a real socket: limits, servers that are down, cancellation."""

import asyncio
import random
import socket

import pytest

from tests.support.newsserver import Group, NewsServer, Rule, made_lines, silent_server
from tests.unit.core.nntp.served import HIGH, LOW, group, on, overview, text_of
from tests.unit.core.nntp.wire import inflate
from voyager_core.nntp import errors
from voyager_core.nntp.back_off import BackOff

# No way to the server.


def test_a_closed_port_is_given_up_after_the_attempts():
    with NewsServer() as server:
        url = server.url()
    with pytest.raises(errors.ConnectFailed, match="3 attempts"):
        on(url, overview, connect_attempts=3)


def test_everybody_who_waits_learns_that_the_server_is_down():
    with NewsServer() as server:
        url = server.url("connections=5")

    async def work(pool):
        return await asyncio.gather(*(overview(pool) for _ in range(20)), return_exceptions=True)

    found = on(url, work, connect_attempts=3)
    assert {type(each) for each in found} == {errors.ConnectFailed}


def test_a_host_that_does_not_exist_is_named(monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(errors.ConnectFailed, match=r"nowhere\.invalid .* not found"):
        on("nntp://nowhere.invalid", overview, connect_attempts=1)


def test_an_address_that_refuses_is_passed_over(monkeypatch):
    def several(host, port, *_, **__):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in addresses]

    addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.1"]
    with NewsServer([group()]) as server:
        monkeypatch.setattr(socket, "getaddrinfo", several)
        assert on(server.url(host="news.invalid"), overview).lines == 100
        addresses.pop()
        with pytest.raises(errors.ConnectFailed, match="no connection to"):
            on(server.url(host="news.invalid"), overview, connect_attempts=1)
        addresses.clear()
        with pytest.raises(errors.ConnectFailed, match="has no address"):
            on(server.url(host="news.invalid"), overview, connect_attempts=1)


def test_a_server_that_never_greets_is_given_up():
    with silent_server() as url, pytest.raises(errors.ConnectFailed, match="did not answer"):
        on(url, overview, command_seconds=0.05, connect_attempts=2)


def test_a_server_that_comes_back_is_used():
    rules = [Rule("connect", "close"), Rule("connect", "raw", b"garbage\r\n")]
    with NewsServer([group()], rules=rules) as server:
        assert on(server, overview).lines == 100


# Limits of connections.


def test_no_more_connections_are_opened_than_allowed():
    with NewsServer([group()]) as server:

        async def work(pool):
            await asyncio.gather(*(overview(pool) for _ in range(30)))

        on(server, work, options="connections=3")
        assert server.most_open == 3


def test_the_pool_lives_with_fewer_connections_than_it_wants():
    with NewsServer([group()], max_connections=2) as server:

        async def work(pool):
            return await asyncio.gather(*(overview(pool) for _ in range(30)))

        blocks = on(server, work, options="connections=10")
    assert [block.lines for block in blocks] == [100] * 30


def test_a_server_that_refuses_every_connection_is_a_transient_error():
    with (
        NewsServer(max_connections=0) as server,
        pytest.raises(errors.TooManyConnections, match="2 attempts"),
    ):
        on(server, overview, connect_attempts=2)


def test_the_pool_shrinks_when_it_is_told_to():
    with NewsServer([group()]) as server:

        async def work(pool):
            await asyncio.gather(*(overview(pool) for _ in range(10)))
            before = pool.open_connections
            pool.resize(2)
            after = pool.open_connections
            await asyncio.gather(*(overview(pool) for _ in range(10)))
            return before, after, pool.open_connections

        before, after, later = on(server, work, options="connections=5")
    assert before > 2
    assert (after, later) == (2, 2)


def test_connections_stay_with_their_group():
    groups = [Group(f"alt.g{n}", made_lines(1, 10)) for n in range(2)]
    with NewsServer(groups) as server:

        async def work(pool):
            await asyncio.gather(*(pool.overview(f"alt.g{n}", 1, 10) for n in range(2)))
            for _ in range(10):
                for n in range(2):
                    await pool.overview(f"alt.g{n}", 1, 10)

        on(server, work, options="connections=2")
        assert server.count("GROUP") == 2


# Cancellation.


@pytest.mark.parametrize("part", [0, 0.5])
def test_a_cancelled_command_closes_its_connection(part):
    with NewsServer([group()], rules=[Rule("XOVER", "stall", part)]) as server:

        async def work(pool):
            task = asyncio.create_task(overview(pool))
            await asyncio.to_thread(server.wait_for, "XOVER")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            open_after = pool.open_connections
            block = await overview(pool)
            return open_after, block

        open_after, block = on(server, work, options="connections=1")
        assert server.connections == 2
    assert open_after == 0
    assert inflate(block.raw) == text_of(LOW, HIGH)


def test_cancelled_waiters_leave_no_trace():
    with NewsServer([group()]) as server:

        async def work(pool):
            for _ in range(20):
                tasks = [asyncio.create_task(overview(pool)) for _ in range(12)]
                for _ in range(random.randrange(12)):
                    await asyncio.sleep(0)
                for task in tasks[::2]:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            return await overview(pool), pool.open_connections

        block, connections = on(server, work, options="connections=3")
        assert server.most_open <= 6
    assert inflate(block.raw) == text_of(LOW, HIGH)
    assert connections <= 3


def test_closing_the_pool_ends_what_runs():
    with NewsServer([group()], rules=[Rule("XOVER", "stall", 0.5)]) as server:

        async def work(pool):
            task = asyncio.create_task(overview(pool))
            await asyncio.to_thread(server.wait_for, "XOVER")
            await pool.close()
            with pytest.raises(errors.Cut):
                await task
            with pytest.raises(errors.Cut, match="closed"):
                await overview(pool)
            return True

        assert on(server, work)


def test_waits_grow_and_stay_below_the_longest():
    rng = random.Random(7)
    waits = [BackOff(1.0, 2.0, 10.0).delay(n, rng) for n in range(1, 200)]
    assert all(0.5 <= wait <= 10.0 for wait in waits)
    assert waits[0] <= 1.0
    assert min(waits[5:]) >= 5.0
    assert len(set(waits)) == len(waits)
