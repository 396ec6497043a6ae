"""The socket's thread: the rank's side of docs/protocols/task-socket.md over a Unix stream socket.

One thread owns the connection. It reconnects for as long as the process runs, sends again what was not acknowledged,
and hands what the agent says to `on_message`, on this thread. Everyone else only queues.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import sys
import threading
import time
import traceback
from typing import Any, Callable, Dict, Optional

from .outbox import LINE_BYTES_MAX, Entry, Outbox
from .version import PROTOCOL, VERSION, disagreement

PAUSE_FIRST_S, PAUSE_MAX_S = 0.05, 2.0
WELCOME_WITHIN_S = 5.0
PROGRESS_EVERY_S = 1 / 50
_SEND_BYTES = 256 * 1024


class Client:
    """Thread-safe. `on_message` gets every message but welcome and ack; what it raises is printed and forgotten."""

    def __init__(
        self,
        path: str,
        rank: int,
        on_message: Callable[[Dict[str, Any]], None],
        sdk: str = f"glim-python {VERSION}",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self._rank, self._on_message, self._sdk, self._clock = path, rank, on_message, sdk, clock
        self._changed = threading.Condition()  # guards what follows, up to the blank line
        self._outbox = Outbox()
        self._progress: Optional[Dict[str, Any]] = None
        self._progress_sent_at = -1.0
        self._flushing = 0
        self._closing = False
        self._poked = False

        self._complaint = ""  # the socket's thread alone uses it
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_read.setblocking(False)
        self._wake_write.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="glim-socket", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def post(self, message: Dict[str, Any]) -> Entry:
        """Queues a message; its `done` turns true when the agent has taken it in."""
        with self._changed:
            self._take_progress()  # what was done before is told before
            entry = self._outbox.add(message)
        self._wake()
        return entry

    def post_progress(self, step: int, step_ms: int) -> None:
        """At most 50 a second go out; the newest always does."""
        with self._changed:
            wake = self._progress is None
            self._progress = {"type": "progress", "step": step, "step_ms": step_ms}
        if wake:
            self._wake()

    def poke(self) -> None:
        """Makes the socket's thread call `on_message({"type": "poke"})` soon, connected or not."""
        with self._changed:
            self._poked = True
        self._wake()

    def flush(self, timeout_s: float | None) -> bool:
        """Waits until everything queued so far and later is acknowledged, at most `timeout_s` (None: as long as that
        takes)."""
        with self._changed:
            self._flushing += 1
            self._wake()
            try:
                return self._changed.wait_for(lambda: not self._outbox and self._progress is None, timeout_s)
            finally:
                self._flushing -= 1

    def close(self, timeout_s: float) -> bool:
        """Flushes, then ends the thread. Whether everything was acknowledged."""
        flushed = self.flush(timeout_s) if self._thread.is_alive() else False
        with self._changed:
            self._closing = True
        self._wake()
        self._thread.join(timeout=max(3.0, timeout_s))
        return flushed

    # ---- socket's thread

    def _run(self) -> None:
        pause_s = PAUSE_FIRST_S
        while not self._is_closing():
            try:
                connection = _Connection(self._path)
            except OSError:
                connection = None
            if connection is not None:
                try:
                    self._serve(connection)
                except OSError:
                    pass  # the agent is away: reconnect
                finally:
                    connection.close()
                if connection.welcomed:
                    pause_s = PAUSE_FIRST_S
            self._pause(pause_s)
            pause_s = min(PAUSE_MAX_S, pause_s * 2)
        self._wake_read.close()
        self._wake_write.close()

    def _serve(self, connection: "_Connection") -> None:
        """Runs one connection until it ends."""
        connection.queue(
            json.dumps(
                {"type": "hello", "protocol": PROTOCOL, "rank": self._rank, "pid": os.getpid(), "sdk": self._sdk}
            ).encode()
            + b"\n"
        )
        welcome_by = self._clock() + WELCOME_WITHIN_S
        with selectors.DefaultSelector() as selector:
            selector.register(connection.socket, selectors.EVENT_READ)
            selector.register(self._wake_read, selectors.EVENT_READ)
            while not self._is_closing():
                self._deliver_poke()
                wait_s = self._fill(connection)
                if not connection.welcomed:
                    wait_s = welcome_by - self._clock()
                    if wait_s <= 0:
                        return
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.has_output else 0)
                selector.modify(connection.socket, events)
                for key, mask in selector.select(wait_s):
                    if key.fileobj is self._wake_read:
                        self._drain_wake()
                        continue
                    if mask & selectors.EVENT_WRITE:
                        connection.send()
                    if mask & selectors.EVENT_READ:
                        for line in connection.receive():
                            self._take(connection, line)
                if connection.ended:
                    return

    def _fill(self, connection: "_Connection") -> Optional[float]:
        """Moves what may go out into the connection. Seconds until more may, None: until something happens."""
        if not connection.welcomed:
            return None
        with self._changed:
            wait_s = None
            if self._progress is not None:
                wait_s = self._progress_sent_at + PROGRESS_EVERY_S - self._clock()
                if wait_s <= 0 or self._flushing:
                    self._take_progress()
                    wait_s = None
            if connection.output_bytes < _SEND_BYTES:
                connection.queue(self._outbox.next_lines(_SEND_BYTES))
            return wait_s

    def _take(self, connection: "_Connection", line: bytes) -> None:
        try:
            message = json.loads(line)
            kind = message["type"]
            seq = message.get("seq", 0)
            if not isinstance(kind, str) or not isinstance(seq, int):
                raise TypeError("type or seq")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self._complain(f"the agent sent a line that is no message: {line[:100]!r}")
            return
        spoken = message.get("protocol", PROTOCOL) if kind in ("welcome", "refused") else PROTOCOL
        if spoken != PROTOCOL:
            self._complain(disagreement(spoken, message.get("version")))
            connection.ended = True  # tried again: the agent may be replaced by one that understands
            return
        if kind == "refused":
            self._complain(f"the agent refused message {seq}: {str(message.get('error'))[:500]}")
        if kind in ("welcome", "ack", "refused"):
            with self._changed:
                if kind == "welcome":
                    self._outbox.welcome(seq)
                    connection.welcomed = True
                else:
                    self._outbox.taken_in(seq)  # a refused message counts as taken in
                self._changed.notify_all()
            return
        self._call(message)

    def _call(self, message: Dict[str, Any]) -> None:
        try:
            self._on_message(message)
        except Exception:  # the thread must outlive a malformed message
            print(f"glim: could not take {str(message)[:200]}", file=sys.stderr)
            traceback.print_exc()

    def _complain(self, text: str) -> None:
        """Once: a refused hello is repeated with every reconnect, and must not fill the log."""
        if text != self._complaint:
            self._complaint = text
            print(f"glim: {text}", file=sys.stderr, flush=True)

    def _deliver_poke(self) -> None:
        with self._changed:
            poked, self._poked = self._poked, False
        if poked:
            self._call({"type": "poke"})

    def _take_progress(self) -> None:  # with the lock held
        if self._progress is not None:
            self._outbox.add(self._progress)
            self._progress = None
            self._progress_sent_at = self._clock()

    def _pause(self, seconds: float) -> None:
        """Between two attempts to connect. A poke is served meanwhile: it needs no connection."""
        until = self._clock() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_read, selectors.EVENT_READ)
            while not self._is_closing() and self._clock() < until:
                self._deliver_poke()
                if selector.select(max(0.0, until - self._clock())):
                    self._drain_wake()

    def _is_closing(self) -> bool:
        with self._changed:
            return self._closing

    def _wake(self) -> None:
        try:
            self._wake_write.send(b"w")
        except (BlockingIOError, OSError):
            pass  # full: a wake-up is pending already; closed: nobody to wake

    def _drain_wake(self) -> None:
        try:
            while self._wake_read.recv(4096):
                pass
        except BlockingIOError:
            pass


class _Connection:
    """A non-blocking connection that speaks lines. Raises OSError when it breaks."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.socket.settimeout(2.0)
            self._connect(path)
            self.socket.setblocking(False)
        except OSError:
            self.socket.close()
            raise
        self.welcomed = False
        self.ended = False
        self._in = b""
        self._out = b""

    def _connect(self, path: str) -> None:
        """A socket's address holds 107 bytes; a longer path is reached through its folder."""
        if len(os.fsencode(path)) < 108:
            self.socket.connect(path)
            return
        folder = os.open(os.path.dirname(path), getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
        try:
            self.socket.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
        finally:
            os.close(folder)

    @property
    def has_output(self) -> bool:
        return bool(self._out)

    @property
    def output_bytes(self) -> int:
        return len(self._out)

    def queue(self, data: bytes) -> None:
        self._out += data

    def send(self) -> None:
        try:
            self._out = self._out[self.socket.send(self._out) :]
        except BlockingIOError:
            pass

    def receive(self) -> list:
        """The complete lines that have come. A line beyond the bound ends the connection."""
        try:
            data = self.socket.recv(LINE_BYTES_MAX)
        except BlockingIOError:
            return []
        self.ended = self.ended or not data
        *lines, self._in = (self._in + data).split(b"\n")
        if len(self._in) > LINE_BYTES_MAX or any(len(line) > LINE_BYTES_MAX for line in lines):
            print(f"glim: the agent sent a line beyond {LINE_BYTES_MAX} bytes; connecting anew", file=sys.stderr)
            self.ended = True
        return [line for line in lines if line and len(line) <= LINE_BYTES_MAX]

    def close(self) -> None:
        self.socket.close()
