"""The session's checkpoints: periodic ones in the background, the last one waited for, each told when it is durable.

Which of them counts is said by the directory's rule (docs/explanation/checkpoints.md), whose base the scheduler names:
it alone knows what was reported to it. Rank 0 writes; every rank reads. Where nodes hold copies in their memory
(replica.py), saves go there, too, and are read from there first.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from typing import Any, Callable, List, Optional, Set, Tuple

from .atomic_file import make_durable_folder
from .environment import Environment
from .errors import CheckpointError
from .replica import Memory, Replicas

KEEP_DEFAULT = 3
_ATTEMPT = re.compile(r"attempt-([0-9]{1,9})")

# report(path, step, bytes, duration_ms), from any thread
Report = Callable[[str, int, int, int], Any]
# report_failure(step, error), from any thread
ReportFailure = Callable[[int, Exception], Any]


class Saves:
    """Used by the training thread; has one thread for each save that nobody waits for, at most one at a time."""

    def __init__(self, root: str, environment: Environment, report: Report, report_failure: ReportFailure) -> None:
        """`root`: the checkpoints' directory; empty: saves and restores nothing but GLIM_RESUME_PATH."""
        self._root = os.path.abspath(root) if root else ""
        self._env = environment
        self._report = report
        self._report_failure = report_failure
        self._attempt = environment.attempt
        self._saver: Any = None
        self._begun = False
        self._replicas = Replicas(environment)
        self._base: Optional[str] = None  # what this attempt goes on from
        self._base_is_elsewhere = False  # it came from a neighbour's memory
        self._pending: Optional[threading.Thread] = None
        self._durable = threading.Event()  # nothing waits for the disk
        self._durable.set()
        self._room_is_told = False
        self._durable_step: Optional[int] = None  # of the newest; while a save is pending, its thread's
        self._missing: Optional[ImportError] = None  # the compiled part, without which nothing is saved or read

    @property
    def can_save(self) -> bool:
        return bool(self._root) and self._missing is None

    def prepare(self) -> None:
        """Loads the compiled part, which every save needs, so that its absence is known at once. In Glim a job
        goes on without, and is told what that means; restore() fails where there is a save to go on from. Elsewhere
        raises ImportError."""
        try:
            from . import checkpoint  # noqa: F401
        except ImportError as error:
            if not self._is_told:
                raise
            self._missing = error
            if self._env.is_rank_zero:
                print(
                    f"glim: NOTHING IS SAVED: {error}. The training goes on; an interrupt or a dead node costs all "
                    "its steps",
                    file=sys.stderr,
                    flush=True,
                )

    @property
    def is_used(self) -> bool:
        return bool(self._root or self._env.resume_path)

    @property
    def is_busy(self) -> bool:
        """A save, or its copy, is on its way in the background."""
        return self._pending is not None and self._pending.is_alive()

    def restore(self) -> Optional[Tuple[str, int, Any]]:
        """(path, step, state) to go on from: the one that the scheduler names, or, if that one is corrupt, the best of
        the others that count. None: from the beginning. All ranks of a job get the same: the first publishes its choice
        as the base of this attempt. Where each node has a directory of its own, that choice would be no other node's:
        there the named one is taken, or none. Raises CheckpointError if there should be one and none is good, and for a
        directory or an attempt that is not this job's to write."""
        if self._missing is not None:
            if self._env.resume_path:
                raise CheckpointError(f"{self._env.resume_path}: cannot be read: {self._missing}", "UNIMPLEMENTED")
            return None
        told: Set[str] = set()
        for tries_left in (2, 1, 0):
            try:
                with self._replicas.memory() as memory:
                    return self._restore_once(memory, told)
            except CheckpointError as error:
                # An older attempt that still runs may have removed what was just read.
                if error.code != "NOT_FOUND" or not tries_left:
                    raise
        raise AssertionError("unreachable")

    def _restore_once(self, memory: Memory, told: Set[str]) -> Optional[Tuple[str, int, Any]]:
        from .checkpoint import first_good, split_path

        found = None
        paths = self._candidates()
        if paths:
            checkpoint, state = first_good(
                paths,
                lambda one: one.load_state(),
                lambda path, error: _tell_of_corrupt(path, error, told),
                memory.load,
            )
            found = (checkpoint.path, checkpoint.step, state)
            self._base, self._base_is_elsewhere = checkpoint.path, bool(checkpoint.peers)
        if self._root and (self._env.is_rank_zero or found and self._is_told):
            decided = self._begin()
            split = split_path(found[0]) if found else None
            is_own = split is not None and split[1] == self._attempt
            if self._is_told and found and not is_own and decided and decided != found[0]:
                if self._env.checkpoint_local:
                    raise CheckpointError(
                        f"{found[0]}: this node's part of attempt {self._attempt} goes on from " f"{decided}", "ABORTED"
                    )
                checkpoint, state = first_good([decided], lambda one: one.load_state(), elsewhere=memory.load)
                found = (checkpoint.path, checkpoint.step, state)
        return found

    def save(self, step: int, state: Callable[[], Any], wait: bool) -> Optional[str]:
        """The checkpoint's folder; None where there is no directory, or nothing to write with. What `state` gives may
        change when this returns; without `wait` it is durable later, and reported then. Waits for the save before.
        Raises what cannot be saved, and, with `wait`, what went wrong; the scheduler has been told of it."""
        if not self._root:
            return None
        if self._missing is not None:
            self._report_failure(step, self._missing)
            return None
        try:
            return self._save(step, state(), wait)
        except Exception as error:
            self._report_failure(step, error)
            raise

    def _save(self, step: int, state: Any, wait: bool) -> str:
        from .checkpoint import path_of

        self._wait_for_all()
        if step == self._durable_step:  # a checkpoint never changes
            return path_of(self._root, self._attempt, step)
        handle = self._writer().save_state_async(step, state)
        if wait:
            self._finish(step, handle)
            if self._replicas.is_written:
                self._go_on(self._follow_replica, step, handle)
        else:
            self._durable.clear()
            self._go_on(self._finish_in_background, step, handle)
        return path_of(self._root, self._attempt, step)

    def path_of(self, step: int) -> str:
        """Of a save of this attempt."""
        from .checkpoint import path_of

        self._writer()
        return path_of(self._root, self._attempt, step)

    def wait(self) -> None:
        """Until what was saved is durable; its copy may be on its way. What went wrong has been told on stderr."""
        self._durable.wait()

    def close(self) -> None:
        self._wait_for_all()
        if self._saver is not None:
            self._saver.close()
            self._saver = None

    def _go_on(self, target: Callable[..., None], step: int, handle: Any) -> None:
        # Not a daemon: the interpreter's end waits for it, so a save that was begun is not lost.
        self._pending = threading.Thread(target=target, args=(step, handle), name="glim-save")
        self._pending.start()

    def _wait_for_all(self) -> None:
        if self._pending is not None:
            self._pending.join()
            self._pending = None

    @property
    def _is_told(self) -> bool:
        """Whether the scheduler says what this attempt goes on from, if from anything."""
        return bool(self._env.socket_path or self._env.resume_path)

    def _candidates(self) -> List[str]:
        """Folders to restore from, best first."""
        from .checkpoint import split_path

        told = self._env.resume_path
        if not told:
            return [] if self._is_told else _listed(self._root)
        where = split_path(told)
        told = os.path.abspath(told)
        if self._env.checkpoint_local:
            return [told]
        return [told, *(path for path in _listed(where[0] if where else self._root) if path != told)]

    def _begin(self) -> Optional[str]:
        """What was decided. A disk that is full now need not be so at the first save: only a refusal is raised."""
        try:
            return self._begin_now(is_told=True)
        except CheckpointError as error:
            if error.code in ("FAILED_PRECONDITION", "NOT_FOUND"):
                raise
            print(f"glim: the attempt's base could not be written: {error}", file=sys.stderr, flush=True)
            return None

    def _begin_now(self, is_told: bool) -> Optional[str]:
        from .checkpoint import begin_attempt, split_path

        make_durable_folder(os.path.dirname(self._root))
        if not self._attempt:
            self._attempt = _next_attempt(self._root)
        where = split_path(self._base) if self._base else None
        is_here = where is not None and where[0] == self._root and where[1] < self._attempt
        decided = begin_attempt(
            self._root,
            self._job,
            self._attempt,
            is_told=is_told,
            base=self._base if is_here else None,
            is_elsewhere=self._base_is_elsewhere,
        )
        self._begun = True
        return decided

    @property
    def _job(self) -> str:
        return self._env.job_id or "local"

    def _writer(self) -> Any:
        from .checkpoint import Checkpointer

        if not self._begun:
            told = self._env.resume_path
            if self._base is None and told and os.path.isfile(os.path.join(told, "manifest.json")):
                self._base = os.path.abspath(told)  # the script has restored by itself, or not at all
            self._begin_now(self._is_told or self._base is not None)
        if self._saver is None:
            self._saver = Checkpointer(
                self._root,
                job=self._job,
                attempt=self._attempt,
                keep=self._env.checkpoint_keep or KEEP_DEFAULT,
                replica=self._replicas,
            )
        return self._saver

    def _finish(self, step: int, handle: Any) -> None:
        report = handle.wait()
        self._durable_step = step
        if report.made_room and not self._room_is_told:
            self._room_is_told = True
            tell_of_room(step, self._root)
        self._report(report.path, step, report.bytes, round(report.durable_micros / 1000))

    def _finish_in_background(self, step: int, handle: Any) -> None:
        try:
            self._finish(step, handle)
        except Exception as error:
            tell_of_failure(step, error)
            self._report_failure(step, error)
            return
        finally:
            self._durable.set()
        if self._replicas.is_written:
            self._follow_replica(step, handle)

    def _follow_replica(self, step: int, handle: Any) -> None:
        self._replicas.saved(step, handle.wait_for_replica())


def _listed(root: str) -> List[str]:
    """The checkpoints that count, newest first; none where there is no directory."""
    from .checkpoint import checkpoints

    try:
        return list(reversed(checkpoints(root))) if root else []
    except CheckpointError as error:
        if error.code == "NOT_FOUND":
            return []
        raise


def _next_attempt(root: str) -> int:
    """Off the cluster nobody counts attempts: each run is one."""
    names = os.listdir(root) if os.path.isdir(root) else []
    return 1 + max((int(match[1]) for match in map(_ATTEMPT.fullmatch, names) if match), default=0)


def tell_of_failure(step: int, error: Exception) -> None:
    """A save that fails must not end the training: the one before still counts."""
    print(f"glim: step {step} could not be saved: {error}", file=sys.stderr, flush=True)


def tell_of_room(step: int, root: str) -> None:
    """Fewer are kept than the job asks for, and nothing else would say so."""
    print(
        f"glim: step {step} could not be saved beside the checkpoints before it: {root} is full. The oldest was "
        "removed, and the save was made; later saves do the same. Free room there, or lower checkpoint.keep",
        file=sys.stderr,
        flush=True,
    )


def _tell_of_corrupt(path: str, error: Exception, told: Set[str]) -> None:
    if path in told:  # a restore tries more than once
        return
    told.add(path)
    print(f"glim: {path} is not used: {error}", file=sys.stderr, flush=True)
