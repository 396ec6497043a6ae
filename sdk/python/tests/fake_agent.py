"""An agent for tests: the other side of docs/protocols/task-socket.md over a real Unix socket, strict about every line.

With `world` set it also plays the scheduler: once every rank of it has answered the interrupt, it tells S = max(hold).
"""

from __future__ import annotations

import json
import os
import socket
import threading
from typing import Any, Callable, Dict, List, Optional

from bounds import BOUND_S

NUMBER = (int,)
FIELDS: Dict[str, Dict[str, tuple]] = {
    "progress": {"step": NUMBER, "step_ms": NUMBER},
    "ack": {"agreement": NUMBER},
    "needs": {"agreement": NUMBER, "seconds": NUMBER},
    "saved": {
        "step": NUMBER,
        "path": (str,),
        "bytes": NUMBER,
        "shard": NUMBER,
        "shards": NUMBER,
        "duration_ms": NUMBER,
    },
    "save_failed": {"step": NUMBER, "error": (str,)},
    "restored": {"step": NUMBER, "duration_ms": NUMBER},
    "restore_failed": {"step": NUMBER, "path": (str,), "error": (str,)},
    "leaving": {"agreement": NUMBER},
    "finished": {},
}


class Rank:
    """What the agent knows of one rank. It outlives connections and the agent's restarts."""

    def __init__(self) -> None:
        self.seq = 0
        self.messages: List[Dict[str, Any]] = []
        self.received = 0  # lines, repeats included
        self.connection: Optional[socket.socket] = None
        self.hellos: List[Dict[str, Any]] = []


class FakeAgent:
    """Thread-safe. `faults` collects every breach of the protocol; tests assert that it stays empty."""

    def __init__(self, path: str, world: int = 0) -> None:
        self.path, self.world = path, world
        self.changed = threading.Condition(threading.RLock())
        self.ranks: Dict[int, Rank] = {}
        self.in_force: List[Dict[str, Any]] = []
        self.faults: List[str] = []
        self.acknowledge = True  # False: takes in, but its acknowledgements are lost
        self.hello_error = ""  # set: every hello is refused with it
        self.protocol, self.version = 2, "0.1.0"
        self.welcomes_all = False  # also those who speak another protocol
        self.refused_hellos = 0
        self.agreed_step: Optional[int] = None
        self.on_progress: Optional[Callable[[int, int], None]] = None
        self._listener: Optional[socket.socket] = None
        self.start()

    def start(self) -> None:
        if os.path.exists(self.path):
            os.unlink(self.path)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        self._listener.listen(16)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        """Goes away: the listener and every connection."""
        with self.changed:
            if self._listener is not None:
                self._listener.shutdown(socket.SHUT_RDWR)
                self._listener.close()
                self._listener = None
                os.unlink(self.path)
            for rank in self.ranks.values():
                _drop(rank)

    def rank(self, number: int = 0) -> Rank:
        with self.changed:
            return self.ranks.setdefault(number, Rank())

    def drop_connection(self, number: int = 0) -> None:
        with self.changed:
            _drop(self.rank(number))

    def send_raw(self, data: bytes, number: int = 0) -> None:
        with self.changed:
            connection = self.rank(number).connection
            if connection is not None:
                connection.sendall(data)

    def tell(self, *messages: Dict[str, Any]) -> None:
        """Puts messages in force: to every connected rank now, and to each that connects later."""
        with self.changed:
            for message in messages:
                if message["type"] in ("interrupt", "withdrawn"):
                    self.in_force = []
                self.in_force.append(message)
                for rank in self.ranks.values():
                    _send(rank, message)

    def interrupt(self, agreement: int = 1, grace_left_ms: int = 60_000) -> None:
        self.tell(
            {
                "type": "interrupt",
                "agreement": agreement,
                "reason": "job 2 needs 1 node",
                "preemptor": "job 2",
                "grace_left_ms": grace_left_ms,
            }
        )

    def taken(self, kind: str, number: int = 0) -> List[Dict[str, Any]]:
        with self.changed:
            return [m for m in self.rank(number).messages if m["type"] == kind]

    def wait(self, condition: Callable[[], bool], what: str = "") -> None:
        with self.changed:
            if not self.changed.wait_for(condition, BOUND_S):
                raise AssertionError(
                    f"waited {BOUND_S} s in vain: {what}; have "
                    f"{ {n: r.messages[-8:] for n, r in self.ranks.items()} }, faults {self.faults}"
                )

    def wait_taken(self, kind: str, count: int = 1, number: int = 0) -> List[Dict[str, Any]]:
        self.wait(lambda: len(self.taken(kind, number)) >= count, f"{count} of {kind} from rank {number}")
        return self.taken(kind, number)

    # ---- connections

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        rank: Optional[Rank] = None
        number = -1
        try:
            for line in connection.makefile("rb"):
                if not line.endswith(b"\n"):
                    return  # broken off in the middle: not a line
                with self.changed:
                    message = json.loads(line)
                    if self._listener is None:
                        return  # accepted just before it went away
                    if self.hello_error:
                        self.refused_hellos += 1
                        self.changed.notify_all()
                        connection.sendall(
                            json.dumps({"type": "refused", "seq": 0, "error": self.hello_error}).encode() + b"\n"
                        )
                        return
                    if rank is None and message.get("protocol") != self.protocol and not self.welcomes_all:
                        self.refused_hellos += 1
                        self.changed.notify_all()
                        connection.sendall(
                            json.dumps(
                                {
                                    "type": "refused",
                                    "seq": 0,
                                    "protocol": self.protocol,
                                    "version": self.version,
                                    "error": "protocol: is not spoken here",
                                }
                            ).encode()
                            + b"\n"
                        )
                        return
                    if rank is None:
                        number, rank = self._hello(connection, message)
                    else:
                        self._take(number, rank, connection, message)
                    self.changed.notify_all()
        except (OSError, ValueError) as error:
            if isinstance(error, ValueError):
                self.faults.append(f"rank {number}: {error}")
        finally:
            try:
                connection.shutdown(socket.SHUT_RDWR)  # the file made of it holds it open
            except OSError:
                pass
            connection.close()

    def _hello(self, connection: socket.socket, message: Dict[str, Any]) -> Any:
        if (
            message.get("type") != "hello"
            or message.get("protocol") != 2
            or "seq" in message
            or not isinstance(message.get("rank"), int)
            or not isinstance(message.get("pid"), int)
        ):
            raise ValueError(f"not a hello: {message}")
        rank = self.rank(message["rank"])
        _drop(rank)
        rank.connection = connection
        rank.hellos.append(message)
        _send(
            rank,
            {
                "type": "welcome",
                "protocol": self.protocol,
                "version": self.version,
                "seq": rank.seq,
                "agreement": 0,
                "step": -1,
            },
        )
        for known in self.in_force:
            _send(rank, known)
        return message["rank"], rank

    def _take(self, number: int, rank: Rank, connection: socket.socket, message: Dict[str, Any]) -> None:
        if rank.connection is not connection:
            return  # replaced, or the agent is away
        rank.received += 1
        fields = FIELDS[message["type"]]
        if any(not isinstance(message.get(name), types) for name, types in fields.items()):
            self.faults.append(f"rank {number}: a field is missing or wrong: {message}")
        answered = isinstance(message.get("hold"), int) or message.get("finished") is True
        if message["type"] == "ack" and not answered:
            self.faults.append(f"rank {number}: ack without hold or finished: {message}")
        if message["seq"] > rank.seq + 1:
            self.faults.append(f"rank {number}: seq {message['seq']} after {rank.seq}")
        if message["seq"] > rank.seq:
            rank.seq = message["seq"]
            rank.messages.append(message)
            if message["type"] == "progress" and self.on_progress is not None:
                self.on_progress(number, message["step"])
            self._agree()
        if self.acknowledge:
            _send(rank, {"type": "ack", "seq": rank.seq})

    def _agree(self) -> None:
        interrupts = [m for m in self.in_force if m["type"] == "interrupt"]
        if not self.world or not interrupts or len(self.in_force) > 1:
            return
        agreement = interrupts[0]["agreement"]
        holds = []
        for number in range(self.world):
            acks = [m for m in self.taken("ack", number) if m["agreement"] == agreement]
            finished = bool(self.taken("finished", number)) or any(m.get("finished") for m in acks)
            if not acks and not finished:
                return
            holds += [m["hold"] for m in acks[-1:] if "hold" in m]
        if holds:
            self.agreed_step = max(holds)
            self.tell({"type": "stop_at", "agreement": agreement, "step": self.agreed_step})


def _send(rank: Rank, message: Dict[str, Any]) -> None:
    if rank.connection is not None:
        try:
            rank.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            rank.connection = None


def _drop(rank: Rank) -> None:
    if rank.connection is not None:
        try:
            rank.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        rank.connection = None
