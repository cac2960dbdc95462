"""The driver's end of a pipe: the worker's end is a Connection, and nothing blocks."""

from __future__ import annotations

import os
import socket
import threading
from multiprocessing.connection import Connection

import pytest

from exec.backends.channel import Channel

SIZES = (0, 1, 100, 16_384, 16_385, 65_535, 65_536, 70_000, 3_000_000)


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    channel, connection = Channel(ours), Connection(theirs.detach())
    yield channel, connection
    channel.close()
    connection.close()


def messages() -> list[bytes]:
    return [bytes([size % 251]) * size for size in SIZES]


def test_what_is_sent_arrives_in_order_though_nobody_reads_at_first(ends):
    channel, connection = ends
    for message in messages():
        channel.send(message)
    assert channel.pending
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.extend(connection.recv_bytes() for _ in SIZES))
    reader.start()
    while reader.is_alive():
        channel.flush()
        reader.join(0.001)
    assert received == messages()
    assert not channel.pending


def test_messages_that_arrive_in_parts_are_kept_until_they_are_complete(ends):
    channel, connection = ends
    writer = threading.Thread(target=lambda: [connection.send_bytes(message) for message in messages()])
    writer.start()
    received: list[bytes] = []
    while len(received) < len(SIZES):
        found, is_open = channel.receive()
        assert is_open
        received += found
    writer.join()
    assert received == messages()
    assert channel.receive() == ([], True)


def test_the_end_comes_after_what_was_written_before_it(ends):
    channel, connection = ends
    connection.send_bytes(b"last words")
    connection.close()
    assert channel.receive() == ([b"last words"], False)
    with pytest.raises(OSError):
        channel.send(b"too late")


def test_a_message_that_was_cut_off_is_not_delivered(ends):
    channel, connection = ends
    os.write(connection.fileno(), b"\x00\x00\x00\x09half")
    connection.close()
    assert channel.receive() == ([], False)
