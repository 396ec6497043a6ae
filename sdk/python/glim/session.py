"""The session: what a training script talks to."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
import traceback
from typing import Any, Dict, Iterable, Iterator, Optional

from . import stacks
from .client import Client
from .environment import Environment
from .errors import CheckpointError, RestoreFailed
from .hold_point import HoldPoint
from .interrupt import Interrupt
from .loop import Loop
from .nccl_waits import NcclWaits
from .place import NextStep
from .saves import Saves
from .watch import Watch

# Exit code 0 without an acknowledged `leaving` looks like success: an agent that just restarts is worth a wait.
LEAVE_WITHIN_S = 60.0
FINISH_WITHIN_S = 2.0
_REASON_MAX = 2000  # characters; the agent keeps 512 bytes
_NOT_THE_SAVES = ("FAILED_PRECONDITION", "INVALID_ARGUMENT")  # faults of another kind than a save that cannot be had
CHECKPOINT_EVERY_MS = 300_000  # where nobody says


class Session:
    """One rank's connection to Glim; use it as a context manager. Off the cluster (no GLIM_SOCKET) every method
    is harmless: `steps()` just iterates, and saves go to `checkpoint_dir` if there is one.

    High level: track(), restore(), steps() or epochs(), progress(). At the agreed step, steps() ends on every rank
    after rank 0 has saved; leaving the `with` block tells the scheduler, and the script then exits with 0. Ask
    `run.interrupted()` or `run.stopped` to skip what comes after the training.

    Low level: begin_step() before each step, or should_stop_after() after it, then save, checkpoint_saved(), leave(),
    exit. The first begin_step(), should_stop_after() or steps() says that this rank has boundaries to stop at; a
    process that calls none of them sees interrupted(), but never takes part in an agreement.

    Training-thread methods must be called from one thread; interrupted(), progress() and extend() from any. A forked
    child (a DataLoader worker) must not use it.
    """

    def __init__(self, checkpoint_dir: Optional[str] = None, environment: Optional[Environment] = None) -> None:
        self.environment = env = Environment.read() if environment is None else environment
        self._hold = HoldPoint(is_rank_zero=env.is_rank_zero, may_agree=not env.launched_workers)
        self._state: Any = None  # glim.torch.TorchState once something is tracked
        self._watch = Watch(self)
        self._loop = Loop(self, self._hold, self._save_now, self._watch.readers)
        self.loss: Optional[float] = None  # the newest that progress() was given
        self._left = False
        self._closed = False
        self._notice_lock = threading.Lock()
        self._notice: Optional[Dict[str, Any]] = None
        self._alive_at = time.monotonic()  # the last sign of life
        self._nccl = NcclWaits(lambda: time.monotonic() - self._alive_at)
        if env.socket_path:
            stacks.open_door()
            self._nccl.start()
        self._saves = Saves(env.checkpoint_dir or checkpoint_dir or "", env, self._report_save, self.checkpoint_failed)
        self._client = Client(env.socket_path, env.declared_rank, self._on_message) if env.speaks else None
        if self._client is not None:
            self._client.start()

    # ---- high level

    def track(self, *, sampler: Any = None, seed: Optional[int] = None, reseed: bool = True, **objects: Any) -> None:
        """Names what a save consists of: anything with state_dict() and load_state_dict() (model=, optim=, ...); dicts,
        lists, sets, deques, arrays, tensors and objects of the script's own classes, which are put back in place, with
        such and models that they hold; and the sampler, whose set_epoch() steps() then calls. Needs torch and the
        compiled part of glim.checkpoint; without that a job of Glim is told so here, and goes on without saves. Raises
        TypeError that names what a checkpoint cannot keep.

        Before each step (of steps(), or of a loop that asks begin_step() or should_stop_after()) the generators of
        torch, numpy and Python, and those of the script, are seeded from (seed, rank, step), and before each fetch from
        (seed, rank, epoch, position), so that a resumed rank goes on with exactly the numbers that it would have had.
        `seed` is torch.initial_seed() if not given; `reseed=False` leaves
        the generators alone."""
        from .torch import TorchState

        if self._saves.is_used:
            self._saves.prepare()
        if self._state is None:
            self._state = TorchState(self.environment.rank, self.environment.world_size)
        self._state.track(objects, sampler, seed, reseed)

    def restore(self) -> int:
        """Puts the tracked objects back as the checkpoint has them that the scheduler names (GLIM_RESUME_PATH); if that
        one is corrupt, which is told on stderr, as the best other one that counts. Returns the next step to do: 0 when
        there is nothing to go on from. With nothing tracked it only returns that number, and steps() skips as many
        items of its iterable: read `run.resume_path` yourself.
        Off the cluster the newest checkpoint under `checkpoint_dir` counts. Raises CheckpointError, a RuntimeError, if
        none is good; RestoreFailed if the scheduler named one: it has then been told, and tries the job elsewhere."""
        began = time.monotonic()
        step = self.environment.resume_step
        if self._state is not None:
            try:
                found = self._saves.restore()
                if (
                    found is not None
                    and step >= 0
                    and found[1] != step
                    and found[0] == os.path.abspath(self.resume_path)
                ):
                    raise CheckpointError(
                        f"{found[0]}: holds step {found[1]}, but GLIM_RESUME_STEP is {step}", "NOT_FOUND"
                    )
            except CheckpointError as error:
                if error.code in _NOT_THE_SAVES or not self.resume_path or self._client is None:
                    raise
                raise self._restore_failure(error) from None
            if found is not None:
                path, _, state = found
                self._loop.go_on_from(**self._state.put_back(path, state))
                self._state.go_on_by_hand(self._loop.next_step, sys._getframe(1))
                self._watch.is_resumed = True
        elif step >= 0:
            self._loop.go_on_from(step, epoch=0, position=step + 1)
        if self._loop.next_step > 0:
            self.restored(self._loop.next_step - 1, duration_ms=round((time.monotonic() - began) * 1000))
        return NextStep(self._loop.next_step, self._loop)

    def steps(
        self,
        source: Iterable[Any],
        *,
        epochs: Optional[int] = None,
        start: Optional[int] = None,
        save_every: Optional[int] = None,
    ) -> Iterator[Any]:
        """Iterates over a loader or any iterable, one item a step, until its end or the agreed stop.

        epochs: go over `source` that many times, all in one loop; without it, once. After a restore, calls that were
        over give nothing, and the items already done of a broken-off epoch are fetched and dropped, unless `source` or
        the tracked sampler brings itself back. start: number from here instead, dropping nothing. save_every: rank 0
        saves after every so many steps; default: every GLIM_CHECKPOINT_EVERY_MS, or five minutes. Such a save stops the
        training only while it copies; it is written in the background. Raises ValueError for an iterator that is to be
        gone over more than once; at the steps RuntimeError, for an epoch without an item, for a call inside of a step,
        and in another thread than the session's. docs/reference/training-loops.md has what each form of loop gets."""
        if save_every is not None and save_every < 1:
            raise ValueError(f"save_every: {save_every} is no number of steps; give 1 or more, or leave it out")
        frame = sys._getframe(1)
        self._watch.look_around(frame)
        site = (frame.f_code, frame.f_lasti)
        return self._loop.steps(source, epochs, start, save_every, self._watch, site)

    def epochs(self, total: int) -> Iterator[int]:
        """The epochs still to do, for scripts with something between them: `for epoch in run.epochs(10): for batch in
        run.steps(loader): ...`. Ends at a stop. Until the body has ended, the epoch is not over: an attempt that goes
        on from a save in it leaves out the steps that are done, and runs the rest of the body again."""
        self._watch.look_around(sys._getframe(1))
        return self._loop.epochs(total)

    def save(self, step: Optional[int] = None, *, wait: bool = True) -> Optional[str]:
        """Saves the tracked objects as of the last complete step (or `step`); the scheduler is told when that is
        durable, and of a failure. In a step the save is made at its end; where the script has changed what is tracked
        since the last loop, when the body of the epoch ends, the next loop begins, or the `with` block ends. Without
        `wait` this returns as soon as they are copied, and a failure is else only told on stderr. Returns the
        checkpoint's folder; None on every rank but 0, and where there is no directory. steps() calls it by itself.
        """
        if self._state is None or not self.is_rank_zero:
            return None
        if self._saves.can_save and self._loop.must_wait(step):
            return self._saves.path_of(self._loop.owe(wait))
        return self._save_now(self._loop.next_step - 1 if step is None else int(step), wait)

    def _save_now(self, step: int, wait: bool) -> Optional[str]:
        """The same, in the state in which all is at this moment; for the loop."""
        if self._state is None or not self.is_rank_zero or step < 0:
            return None
        self._watch.before_save()
        return self._saves.save(step, lambda: self._state.state({"step": step, **self._loop.cursor()}), wait)

    def progress(self, step: Optional[int] = None, loss: Optional[float] = None) -> None:
        """Tells the last complete step; inside steps() that happens by itself, and `step` need not be given. The
        platform keeps steps, not losses: `loss` is accepted for the script's own use as `run.loss`."""
        self._alive_at = time.monotonic()
        if loss is not None:
            self.loss = loss
        if step is not None and self._client is not None:
            self._client.post_progress(int(step), self._hold.step_ms())

    # ---- low level

    def interrupted(self) -> Optional[Interrupt]:
        """The interrupt that is up, or None. It stays up until this process exits, unless it is withdrawn."""
        with self._notice_lock:
            notice = None if self._notice is None else dict(self._notice)
        if notice is None:
            return None
        return Interrupt(stop_step=self._hold.stop_step, no_agreement=self._hold.no_agreement, **notice)

    def begin_step(self, step: int) -> bool:
        """Ask before each step, with growing numbers. False: do not start it; save, leave(), exit. It may wait a
        moment while the ranks agree on the last step, or for as long as the scheduler is away."""
        if not self._hold.participates:
            self._hold.join(step)
            self.answer_interrupt()
        self._alive_at = time.monotonic()
        if self._state is not None:
            self._state.begin_step_by_hand(step, sys._getframe(1))
        return self._hold.begin_step(step)

    def should_stop_after(self, step: int) -> bool:
        """The same question at the other end: `step` is done; is it the last one? Reports the progress, too. A rank
        that asks this takes step + 1 as started when the answer is False."""
        self.progress(step)
        return not self.begin_step(step + 1)

    def checkpoint_saved(
        self,
        path: "str | os.PathLike[str]",
        step: int,
        *,
        bytes: int = 0,
        shard: int = 0,
        shards: int = 1,
        duration_ms: int = 0,
    ) -> Any:
        """This rank's shard of a save is durable (synced, under its final name). The save counts once all `shards`
        were reported; every shard names the same `path`. Call it for periodic saves and at a stop."""
        if not 0 <= shard < shards:
            raise ValueError(f"shard: {shard} is not one of {shards}; count from 0")
        return self._post(
            {
                "type": "saved",
                "step": int(step),
                "path": os.fspath(path),
                "bytes": int(bytes),
                "shard": int(shard),
                "shards": int(shards),
                "duration_ms": int(duration_ms),
            }
        )

    def checkpoint_failed(self, step: int, error: "Exception | str") -> None:
        """A save of your own as of that step could not be made. `glim status` says so, and why, until this rank tells
        of the next durable one. The training goes on. steps() and save() tell of theirs by themselves."""
        why = str(error) or type(error).__name__
        self._post({"type": "save_failed", "step": int(step), "error": why[:_REASON_MAX]})

    def restored(self, step: int, *, duration_ms: int = 0) -> None:
        """This rank goes on from the save of that step. restore() says it by itself."""
        self._post({"type": "restored", "step": int(step), "duration_ms": int(duration_ms)})

    def restore_failed(self, error: str, *, timeout_s: float = LEAVE_WITHIN_S) -> bool:
        """This rank cannot go on from `resume_path`, which the scheduler named. Waits at most `timeout_s` until the
        agent has taken it in, and returns whether it has; then exit with an error: the job is tried elsewhere.
        restore() does all of it by itself."""
        self._post(
            {
                "type": "restore_failed",
                "step": self.environment.resume_step,
                "path": self.resume_path,
                "error": (error or "not said")[:_REASON_MAX],
            }
        )
        return self._client is None or self._client.flush(timeout_s)

    def extend(self, seconds: float) -> bool:
        """Asks for a grace of `seconds` in all, counted from the request, cut to the job's max_grace. False: there is
        no interrupt."""
        notice = self.interrupted()
        if notice is not None:
            self._post({"type": "needs", "agreement": notice.agreement, "seconds": max(1, math.ceil(seconds))})
        return notice is not None

    def leave(self, timeout_s: float | None = None) -> bool:
        """The answer to an interrupt (or a yield): this process exits now, saved or not. Waits until the agent has
        taken in everything, as long as that takes: an agent that is away comes back, and the node is nobody else's
        meanwhile. Then exit with 0, on every rank. What is being saved is waited for before.

        With a `timeout_s`: waits no longer, and returns whether the agent has taken it in. If not, exit with another
        code than 0: who exits with 0 and was not heard counts as done."""
        self._saves.wait()
        if not self._left:
            self._left = True
            notice = self.interrupted()
            self._post({"type": "leaving", "agreement": notice.agreement if notice else 0})
        return self._client is None or self._client.flush(timeout_s)

    def yield_now(self) -> None:
        """Give the nodes back unasked. The loop ends after the current step, and it is saved, as at an interrupt. Call
        it on every rank in the same step."""
        self._hold.yield_after_this_step()

    @contextlib.contextmanager
    def critical(self) -> Iterator[None]:
        """Inside, an interrupt is visible but not answered, so this rank goes on past its boundaries. An agreement
        reached before stands. Keep it short: ranks that do not answer within the agreement's seconds (10 at most)
        leave only rank 0's lone save."""
        self._hold.enter_critical()
        try:
            yield
        finally:
            if self._hold.leave_critical():
                self.answer_interrupt()

    def finish(self) -> None:
        """This rank's steps are over: any stop step suits it. steps(epochs=...), epochs() and the end of the `with`
        block say it by themselves."""
        if not self._hold.finished and self._hold.participates:
            self._hold.finish()
            self._post({"type": "finished"})

    # ---- both

    @property
    def resume_path(self) -> str:
        """The save to go on from; empty: from the beginning."""
        return self.environment.resume_path

    @property
    def stopped(self) -> bool:
        """The loop was stopped early, by an interrupt or a yield."""
        return self._hold.stopped

    @property
    def step(self) -> int:
        """Inside of a step its number, over all epochs and attempts; outside that of the next one."""
        return self._loop.next_step

    @property
    def is_rank_zero(self) -> bool:
        return self.environment.is_rank_zero

    @property
    def checkpoint_every_ms(self) -> int:
        return self.environment.checkpoint_every_ms or CHECKPOINT_EVERY_MS

    @property
    def saves(self) -> Saves:
        return self._saves

    @property
    def state(self) -> Any:
        return self._state

    def answer_interrupt(self) -> None:
        """Lets the socket's thread answer an interrupt that could not be answered before."""
        if self._client is not None and self.interrupted() is not None:
            self._client.poke()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            ended_well = kind is None or (kind is SystemExit and getattr(error, "code", error) in (None, 0))
            if ended_well:
                self._loop.settle()
            if ended_well and self._hold.stopped:
                self.leave()
            elif ended_well and not self._left:
                self.finish()
            elif kind is not None and issubclass(kind, Exception) and self._hold.no_agreement:
                # Peers leave at boundaries of their own, so a collective breaks: that is no failure of the program.
                print("glim: stopped by an interrupt without an agreement; what broke meanwhile:", file=sys.stderr)
                traceback.print_exception(kind, error, trace)
                self.leave()
                raise SystemExit(0) from error
        finally:
            self.close()

    def close(self) -> None:
        """Waits for what is being saved, sends what is left, within two seconds, and ends the connection. The `with`
        block does it."""
        if not self._closed:
            self._saves.close()
            self._nccl.stop()
            self._closed = True
            if self._client is not None:
                self._client.close(FINISH_WITHIN_S)

    # ---- socket's thread

    def _on_message(self, message: Dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "interrupt":
            notice: Dict[str, Any] = {
                "agreement": int(message["agreement"]),
                "reason": str(message.get("reason", "")),
                "preemptor": str(message.get("preemptor", "")),
                "deadline": time.monotonic() + max(0, int(message["grace_left_ms"])) / 1000,
            }
            with self._notice_lock:
                if self._notice is not None and notice["agreement"] < self._notice["agreement"]:
                    return
                self._notice = notice
            self._answer(notice["agreement"])
        elif kind == "stop_at":
            self._hold.stop_at(int(message["agreement"]), int(message["step"]))
        elif kind == "stop_now":
            self._hold.stop_now(int(message["agreement"]))
        elif kind == "withdrawn":
            if self._hold.withdrawn(int(message["agreement"])):
                with self._notice_lock:
                    self._notice = None
        elif kind == "poke":
            with self._notice_lock:
                agreement = 0 if self._notice is None else self._notice["agreement"]
            if agreement:
                self._answer(agreement)

    def _answer(self, agreement: int) -> None:
        hold = self._hold.interrupt(agreement)
        if hold is not None:
            self._post({"type": "ack", "agreement": agreement, "hold": hold})
        elif self._hold.finished:
            self._post({"type": "ack", "agreement": agreement, "finished": True})

    def _restore_failure(self, error: CheckpointError) -> RestoreFailed:
        """Tells the scheduler, and returns what to raise."""
        said = (
            "the scheduler has been told, and will try the job elsewhere"
            if self.restore_failed(str(error))
            else "the scheduler could not be told: the node's agent did not answer"
        )
        return RestoreFailed(f"{error}; {said}", error.code, error.reason, error.field)

    def _report_save(self, path: str, step: int, size: int, duration_ms: int) -> None:
        self.checkpoint_saved(path, step, bytes=size, duration_ms=duration_ms)

    def _post(self, message: Dict[str, Any]) -> Any:
        return self._client.post(message) if self._client is not None and not self._closed else None


def session(checkpoint_dir: Optional[str] = None) -> Session:
    """Opens this rank's session: `with glim.session() as run:`. One a process. `checkpoint_dir` is where saves go off
    the cluster; on it, the job's checkpoint folder counts."""
    return Session(checkpoint_dir)
