"""The sample news server as a process, over real sockets."""

import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from voyager_core.demo import content
from voyager_core.demo.posts import build_corpus


@contextmanager
def running(*arguments: str):
    process = subprocess.Popen(
        [sys.executable, "-m", "voyager_core.demo.server", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        greeting = process.stdout.readline()
        yield process, int(re.search(r":(\d+)$", greeting.strip())[1])
    finally:
        process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=20)[0]
    assert (process.returncode, rest) == (0, "")


@pytest.fixture(scope="module")
def server():
    with running() as (_, port):
        yield port


class Reader:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.file = self.socket.makefile("rwb")
        self.greeting = self.file.readline()

    def ask(self, command: str) -> bytes:
        self.file.write(command.encode() + b"\r\n")
        self.file.flush()
        return self.file.readline()

    def text(self) -> bytes:
        lines = []
        while (line := self.file.readline()) != b".\r\n":
            assert line, "the server closed the connection inside a text"
            lines.append(line[1:] if line.startswith(b".") else line)
        return b"".join(lines)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()


def test_every_article_is_fetched_unchanged(server):
    corpus = build_corpus()
    with Reader(server) as reader:
        assert reader.greeting.startswith(b"201")
        for message_id, article in corpus.by_id.items():
            assert reader.ask(f"ARTICLE <{message_id}>").startswith(b"220")
            assert reader.text() == article.text


def test_commands_may_be_pipelined(server):
    with Reader(server) as reader:
        reader.file.write(f"DATE\r\nGROUP {content.VIDEO}\r\nXOVER 101-102\r\nDATE\r\n".encode())
        reader.file.flush()
        assert reader.file.readline().startswith(b"111")
        assert reader.file.readline().startswith(b"211")
        assert reader.file.readline().startswith(b"224")
        assert reader.text().count(b"\r\n") == 2
        assert reader.file.readline().startswith(b"111")


def test_readers_at_the_same_time_do_not_mix(server):
    corpus = build_corpus()
    wanted = [article for article in corpus.by_id.values() if article.upload][:60]
    wrong = []

    def read(share):
        with Reader(server) as reader:
            for article in share:
                reader.ask(f"BODY <{article.message_id}>")
                if reader.text() != article.text.partition(b"\r\n\r\n")[2]:
                    wrong.append(article.message_id)

    threads = [threading.Thread(target=read, args=(wanted[at::6],)) for at in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_endless_command_ends_the_connection_and_no_other(server):
    with Reader(server) as reader:
        reader.file.write(b"x" * 20_000)
        reader.file.flush()
        assert reader.file.readline().startswith(b"501")
        assert reader.file.read() == b""
    with Reader(server) as reader:
        assert reader.ask("DATE").startswith(b"111")


def test_a_reader_that_leaves_inside_a_reply_disturbs_nobody(server):
    for _ in range(5):
        with Reader(server) as reader:
            reader.ask(f"GROUP {content.VIDEO}")
            reader.file.write(b"XOVER 101-1106\r\n" * 20)
            reader.file.flush()
    with Reader(server) as reader:
        assert reader.ask("QUIT").startswith(b"205")
        assert reader.file.read() == b""


def test_a_login_is_asked_for_when_one_is_given():
    with running("--user", "joe", "--password", "secret") as (_, port), Reader(port) as reader:
        assert reader.ask("LIST").startswith(b"480")
        assert reader.ask("AUTHINFO USER joe").startswith(b"381")
        assert reader.ask("AUTHINFO PASS secret").startswith(b"281")
        assert reader.ask("LIST").startswith(b"215")


def test_a_taken_port_is_told(server):
    done = subprocess.run(
        [sys.executable, "-m", "voyager_core.demo.server", "--port", str(server)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert f"cannot listen on port {server}" in done.stderr
    assert "Traceback" not in done.stderr


def test_it_stops_while_readers_are_connected():
    with running() as (process, port), Reader(port) as reader:
        reader.ask("DATE")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
