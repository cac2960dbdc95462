"""The driver's end of a worker's pipe, which never blocks.

A worker may be stopped, or be slow to read, with the pipe full: the driver has other workers and queries to attend to, so what it
cannot write now waits here, and what has arrived in part waits for its rest. The worker's end is a
`multiprocessing.connection.Connection`; the framing is the one that it documents by behaviour: a length of four bytes in
network order, -1 for a length of eight bytes that follows.
"""

from __future__ import annotations

import socket
import struct
from collections import deque

_READ = 1 << 16
_SHORT, _LONG = struct.Struct("!i"), struct.Struct("!Q")
_LARGEST_SHORT = 0x7FFFFFFF


class Channel:
    """Messages of bytes over a socket that this takes over."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._out: deque[memoryview] = deque()
        self._in = bytearray()

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def pending(self) -> bool:
        """Whether something waits to be written."""
        return bool(self._out)

    def send(self, data: bytes) -> None:
        """Write a message, or keep it for `flush`. Raises OSError if the other end is gone."""
        head = _SHORT.pack(len(data)) if len(data) <= _LARGEST_SHORT else _SHORT.pack(-1) + _LONG.pack(len(data))
        self._out.append(memoryview(head + data if len(data) < _READ else head))
        if len(data) >= _READ:
            self._out.append(memoryview(data))
        self.flush()

    def flush(self) -> None:
        """Write as much as the other end takes. Raises OSError if it is gone."""
        while self._out:
            try:
                written = self._socket.send(self._out[0])
            except BlockingIOError:
                return
            rest = self._out[0][written:]
            if rest:
                self._out[0] = rest
            else:
                self._out.popleft()

    def receive(self) -> tuple[list[bytes], bool]:
        """The messages that are complete by now, and whether more may come: False at the end of the pipe."""
        is_open = True
        while True:
            try:
                data = self._socket.recv(_READ)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                is_open = False
                break
            self._in += data
        return self._complete(), is_open

    def _complete(self) -> list[bytes]:
        messages = []
        at = 0
        while len(self._in) - at >= _SHORT.size:
            (length,) = _SHORT.unpack_from(self._in, at)
            start = at + _SHORT.size
            if length == -1:
                if len(self._in) - start < _LONG.size:
                    break
                (length,) = _LONG.unpack_from(self._in, start)
                start += _LONG.size
            if len(self._in) - start < length:
                break
            messages.append(bytes(self._in[start : start + length]))
            at = start + length
        del self._in[:at]
        return messages

    def close(self) -> None:
        self._socket.close()
