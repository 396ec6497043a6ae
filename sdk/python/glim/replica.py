"""Copies of a job's checkpoints in other nodes' memory, which `glim-replica` holds (docs/explanation/checkpoints.md).

    from glim.replica import Access, Replica, ReplicaSource

    access = Access(token=token)                                   # of attempt 2
    saver = Checkpointer(folder, attempt=2, replica=Replica(peer, access))   # each save goes there, too
    with ReplicaSource([peer], access, attempt=2) as source:
        state = source.open(path).load_state()                                          # no disk is read

A session does all of that by itself (Replicas). Copies are for speed: what counts is the disk's, and no failure of a
replica fails a save or a restore.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Callable, List, Optional, Sequence, Tuple

from .environment import Environment

TIMEOUT_S = 5.0  # a dead node costs a restore so long, and a save so long in the background
PAUSE_S = 60.0
# When it is loaded UCX takes SIGHUP and the fatal signals for its own, unless its variables say otherwise.
_SIGNALS_ARE_OURS = {"UCX_HANDLE_ERRORS": "none", "UCX_DEBUG_SIGNO": "0"}


@dataclass(frozen=True)
class Access:
    """How a job comes to its copies. Without another word in their descriptions, options are UCX's."""

    token: str = field(repr=False)  # of one attempt: what is in the file of GLIM_REPLICA_TOKEN_FILE
    tls: str = "all"  # transports: one of the service's at least
    device: str = ""  # network devices; empty: the interface towards the service, and InfiniBand
    service_level: int = -1  # InfiniBand's, 0 to 15; -1: the device's
    timeout_s: float = TIMEOUT_S  # without any progress
    pause_s: float = PAUSE_S  # of a writer that could not reach its service: saves go without meanwhile

    def options(self, attempt: int, rank: int = 0, world: int = 1) -> Any:
        options = extension().ReplicaOptions()
        options.token = self.token
        options.attempt, options.rank, options.world = attempt, rank, world
        options.tls, options.device, options.service_level = self.tls, self.device, self.service_level
        options.timeout_ms, options.pause_ms = round(self.timeout_s * 1000), round(self.pause_s * 1000)
        return options


@dataclass(frozen=True)
class Replica:
    """Where a Checkpointer puts a copy of each save: the service at `peer` (KEY@HOST:PORT, as GLIM_REPLICA_PEER)."""

    peer: str
    access: Access

    def writer(self, attempt: int, rank: int, world: int) -> Any:
        """For the Checkpointer. Raises CheckpointError: INVALID_ARGUMENT, or UNIMPLEMENTED for a build without UCX."""
        return extension().make_writer(self.peer, self.access.options(attempt, rank, world))


class ReplicaSource:
    """The copies that services hold of one job. Close it when the load is over: a save that needs the place of what was
    opened is refused meanwhile. One thread uses it."""

    def __init__(self, peers: Sequence[str], access: Access, attempt: int = 0) -> None:
        """attempt: the token's, from whose first contact on the services refuse older ones; 0: it only reads.
        Raises CheckpointError: UNAVAILABLE if none of the peers answers, UNAUTHENTICATED for a wrong token."""
        self._source = extension().ReplicaSource(list(peers), access.options(attempt))

    def __enter__(self) -> "ReplicaSource":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def whole(self) -> List[Tuple[int, int]]:
        """(attempt, step) of the checkpoints of which the peers together hold every rank's shard, oldest first. Whether
        they count is for the disk's directory to say."""
        return self._source.whole()

    def open(self, path: "str | os.PathLike[str]") -> Any:
        """The Checkpoint that the path names, DIR/attempt-N/step-S, which need not be on the disk; of use until this is
        closed. Raises CheckpointError: NOT_FOUND if the peers do not hold all of it."""
        from .checkpoint import Checkpoint, CheckpointError, _checkpoint, split_path

        where = split_path(path)
        if where is None:
            raise CheckpointError(f"{os.fspath(path)}: is no checkpoint's folder", "NOT_FOUND")
        reader = _checkpoint.Reader(self._source, *where[1:])
        return Checkpoint(os.path.abspath(os.fspath(path)), *where[1:], reader, tuple(self._source.holders()))

    @property
    def failures(self) -> List[str]:
        """What was wrong with the peers that did not answer."""
        return self._source.failures

    def close(self) -> None:
        """Again: nothing happens."""
        self._source.close()


class Replicas:
    """A session's copies, where the scheduler says. The first of several failures in a row is told on stderr, and
    none is the save's or the restore's. Any thread, one at a time."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment
        self._save_failed = False
        self._restore_failed = False
        self.is_written = False  # saves are copied, or it is tried

    def writer(self, attempt: int, rank: int, world: int) -> Any:
        """For the Checkpointer; None: no copies."""
        from .checkpoint import CheckpointError

        try:
            access = self._access() if self._env.replica_peer else None
            if access is None:
                return None
            writer = Replica(self._env.replica_peer, access).writer(attempt, rank, world)
            self.is_written = True
            return writer
        except (CheckpointError, OSError, ImportError) as error:
            _tell(f"saves have no copy in a neighbour's memory: {error}")
            return None

    def saved(self, step: int, report: Any) -> None:
        """What became of a save's copy."""
        if report.replica_error and not self._save_failed:
            _tell(f"step {step} has no copy in a neighbour's memory: {report.replica_error}")
        self._save_failed = bool(report.replica_error)

    def memory(self) -> "Memory":
        """For one restore."""
        return Memory(self._env.replica_sources, self._access, self._env.attempt, self._not_restored)

    def _not_restored(self, path: str, error: Exception) -> None:
        if not self._restore_failed:
            _tell(f"{path} is not taken from a neighbour's memory: {error}")
        self._restore_failed = True

    def _access(self) -> Optional[Access]:
        """None: the scheduler gives no token. Raises OSError."""
        env = self._env
        if not env.replica_token_file:
            return None
        with open(env.replica_token_file) as file:
            token = file.read().strip()
        return Access(token, env.replica_tls or "all", env.replica_device, env.replica_service_level)


class Memory:
    """Where a restore looks before it reads the disk. Connects when it is asked first."""

    def __init__(
        self,
        peers: Sequence[str],
        access: Callable[[], Optional[Access]],
        attempt: int,
        failed: Callable[[str, Exception], None],
    ) -> None:
        self._peers, self._access, self._attempt, self._failed = peers, access, attempt, failed
        self._source: Optional[ReplicaSource] = None

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
        self._peers = ()

    def load(self, path: str) -> Optional[Tuple[Any, Any]]:
        """(checkpoint, its state); None: the disk is to be read. After a failure nothing is tried again."""
        from .checkpoint import CheckpointError

        if not self._peers:
            return None
        began = time.monotonic()
        try:
            if self._source is None:
                access = self._access()
                if access is None:
                    return None
                self._source = ReplicaSource(self._peers, access, self._attempt)
            checkpoint = self._source.open(path)
            state = checkpoint.load_state()
        except (CheckpointError, OSError, ImportError) as error:
            self._failed(path, error)
            self.close()
            return None
        _tell(
            f"restored step {checkpoint.step} from a neighbour's memory ({', '.join(checkpoint.peers)}), "
            f"{time.monotonic() - began:.2f} s"
        )
        return checkpoint, state


def extension() -> Any:
    """The compiled part, and with it UCX, which most jobs do without. Raises ImportError."""
    from .compiled import load

    given = {name: os.environ.get(name) for name in _SIGNALS_ARE_OURS}
    try:
        for name, value in _SIGNALS_ARE_OURS.items():
            os.environ.setdefault(name, value)
        _replica = load("_replica", "glim.replica", "saves go to the disk alone, none into a neighbour's memory")
    finally:
        for name, before in given.items():
            if before is None:
                del os.environ[name]
    return _replica


def _tell(text: str) -> None:
    print(f"glim: {text}", file=sys.stderr, flush=True)
