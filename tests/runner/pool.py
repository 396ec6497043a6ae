"""Jobs that run beside each other. A job weighs as many cores as it keeps busy, so what waits weighs little; the jobs
that run at a time weigh no more than the machine's cores."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from typing import Callable, Optional


@dataclass(eq=False)
class Job:
    """One process. `kind` says what it leaves in `report` (see outcomes.py). `wanted` is asked when the job's turn
    comes: a job that is not wanted any more is dropped. What a `quiet` one says is shown if it fails.
    `label`: of a test program, see programs.py."""

    part: str
    name: str
    argv: list
    kind: str = "command"
    report: str = ""
    weight: float = 1
    limit_s: Optional[float] = None
    env: dict = field(default_factory=dict)
    label: str = ""
    quiet: bool = False
    wanted: Callable[[], bool] = lambda: True


@dataclass(frozen=True)
class Ended:
    """`code`: the exit code, negative for a signal; None: it was killed after its limit."""

    code: Optional[int]
    said: str
    began: float
    seconds: float
    processor_s: float


class Pool:
    """`on_end(job, ended)` is called for every job, by the job's thread; `ended` is None for one that was dropped."""

    def __init__(self, cores, on_end):
        self._cores, self._on_end = cores, on_end
        self._changed = threading.Condition()
        self._queue, self._running, self._groups, self._stopped = [], [], set(), False
        self._error = None

    def add(self, jobs):
        with self._changed:
            self._queue += jobs
            self._changed.notify_all()

    def drain(self, more=lambda: False):
        """Runs jobs until none is left, and `more` says that none is to come."""
        try:
            while True:
                with self._changed:
                    if self._error:
                        raise self._error
                    job, fits = self._take()
                    if job is None:
                        if not self._queue and not self._running and not more():
                            return
                        self._changed.wait(0.2)
                        continue
                if fits:
                    threading.Thread(target=self._run, args=[job], daemon=True).start()
                else:
                    self._on_end(job, None)
        except BaseException:
            self.stop()
            raise

    def _take(self):
        """(the first job of the queue that there is room for, True), (one that is not wanted, False), or (None, _)."""
        busy = sum(job.weight for job in self._running)
        for at, job in enumerate(self._queue):
            if not self._running or busy + job.weight <= self._cores + 0.01:
                del self._queue[at]
                if not job.wanted():
                    return job, False
                self._running.append(job)
                return job, True
        return None, False

    def _run(self, job):
        try:
            try:
                ended = run_process(job.argv, job.env, job.limit_s, self._groups)
            except OSError as error:
                ended = Ended(127, f"{job.argv[0]} cannot be started: {error}\n", time.monotonic(), 0, 0)
            if not self._stopped:
                self._on_end(job, ended)
        except BaseException as error:
            self._error = error
        finally:
            with self._changed:
                self._running.remove(job)
                self._changed.notify_all()

    def stop(self):
        """Ends what runs: as Ctrl-C does, and, what does not end by that within half a minute, at once."""
        with self._changed:
            self._stopped = True
            self._queue.clear()
        for number in (signal.SIGINT, signal.SIGKILL):
            for group in list(self._groups):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, number)
            with self._changed:
                self._changed.wait_for(lambda: not self._running, 30)


def run_process(argv, env=(), limit_s=None, groups=None):
    """Runs it in a session of its own: what it starts and leaves behind does not outlive it. Its output goes to a file,
    so that what it leaves behind does not keep us waiting."""
    groups = set() if groups is None else groups
    began, late = time.monotonic(), threading.Event()
    with open(os.memfd_create("output"), "w+b") as output:
        process = subprocess.Popen(
            argv,
            env={**os.environ, **dict(env)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        groups.add(process.pid)

        def give_up():
            late.set()
            kill_group(process.pid)

        timer = threading.Timer(limit_s, give_up) if limit_s else None
        if timer:
            timer.daemon = True
            timer.start()
        try:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # until it is reaped its group is no other's
        except BaseException:
            _end(process)
            raise
        if timer:
            timer.cancel()
        kill_group(process.pid)
        groups.discard(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        output.seek(0)
        said = output.read().decode(errors="replace")
    processor_s = usage.ru_utime + usage.ru_stime
    return Ended(None if late.is_set() else code, said, began, seconds, processor_s)


def _end(process):
    """As Ctrl-C does, and, if it does not end by that within half a minute, at once."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(30)
    kill_group(process.pid)


def kill_group(group):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
