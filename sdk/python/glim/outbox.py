"""What the agent has not acknowledged yet: numbering, repeats, coalescing and the bound. No I/O, no lock, no clock."""

from __future__ import annotations

import json
from collections import deque
from typing import Any, Deque, Dict, List, Optional

LINE_BYTES_MAX = 64 * 1024
PENDING_MAX = 1000
# Given up first when the agent is away for very long: newer ones of their kind say more. Answers are never given up.
_EXPENDABLE = ("progress", "saved", "save_failed", "restored", "needs")


class Entry:
    """A message on its way. `seq` is given when it is first sent on a connection, not when it is queued: numbers that
    were never on the wire must not be mistaken for taken in."""

    __slots__ = ("message", "seq", "done")

    def __init__(self, message: Dict[str, Any]) -> None:
        self.message = message
        self.seq: Optional[int] = None
        self.done = False  # the agent has taken it in; stays false if it was given up


class Outbox:
    """Not thread-safe: the client's lock guards it."""

    def __init__(self) -> None:
        self._pending: Deque[Entry] = deque()
        self._unsent = 0  # that many at the tail were not sent on this connection
        self._next_seq = 1
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, message: Dict[str, Any]) -> Entry:
        """Queues it. Raises ValueError if it can never be a line of the protocol."""
        if len(json.dumps(message).encode()) + 32 > LINE_BYTES_MAX:
            raise ValueError(f"{message['type']}: longer than a line's {LINE_BYTES_MAX} bytes; shorten its text")
        for entry in self._pending:
            if entry.message == message and message["type"] == "ack":
                return entry  # a repeated interrupt; the answer is on its way already
        if message["type"] == "progress":
            self._remove(next((e for e in self._pending if e.message["type"] == "progress"), None))
        if len(self._pending) >= PENDING_MAX:
            self._remove(next((e for e in self._pending if e.message["type"] in _EXPENDABLE), self._pending[0]))
            self.dropped += 1
        entry = Entry(message)
        self._pending.append(entry)
        self._unsent += 1
        return entry

    def welcome(self, seq: int) -> None:
        """A connection is up, and the agent has taken in everything up to `seq`. The rest is sent again, renumbered
        from there: the identity, unless this process or the agent has begun anew or a progress was replaced."""
        self.taken_in(seq)
        for entry in self._pending:
            entry.seq = None
        self._unsent = len(self._pending)
        self._next_seq = seq + 1

    def taken_in(self, seq: int) -> None:
        while self._pending and self._pending[0].seq is not None and self._pending[0].seq <= seq:
            self._pending.popleft().done = True

    def next_lines(self, bytes_max: int) -> bytes:
        """The next unsent messages as lines; at least one if there is any."""
        lines: List[bytes] = []
        size = 0
        while self._unsent and size < bytes_max:
            entry = self._pending[len(self._pending) - self._unsent]
            entry.seq = self._next_seq
            self._next_seq += 1
            self._unsent -= 1
            line = json.dumps({"type": entry.message["type"], "seq": entry.seq, **entry.message}).encode() + b"\n"
            lines.append(line)
            size += len(line)
        return b"".join(lines)

    def _remove(self, entry: Optional[Entry]) -> None:
        if entry is None:
            return
        index = self._pending.index(entry)
        if index >= len(self._pending) - self._unsent:
            self._unsent -= 1
        del self._pending[index]
