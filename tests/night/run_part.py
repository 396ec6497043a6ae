"""Runs the items of a part, several at a time, until all have ended or the time is over."""

import collections
import os
import signal
import subprocess
import threading
import time

from .items import Left

GRACE_S = 60  # from the request to end to the kill


class Deadline:
    """The moment when a part is cut off; `minutes` None: never."""

    def __init__(self, minutes, now=time.monotonic):
        self._now = now
        self._at = None if minutes is None else now() + 60 * minutes

    def left(self):
        return float("inf") if self._at is None else self._at - self._now()

    def is_over(self):
        return self.left() <= 0


def run_bounded(argv, seconds, out, err, is_stopped=lambda: False, **options):
    """The exit code; None: it took longer, or was stopped, and was ended with all that its process group has."""
    until = time.monotonic() + seconds
    with open(out, "ab") as said, open(err, "ab") as complained:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=said, stderr=complained, start_new_session=True, **options
        )
        try:
            while time.monotonic() < until and not is_stopped():
                try:
                    return process.wait(0.2)
                except subprocess.TimeoutExpired:
                    pass
            return None
        finally:  # what a command left behind ends with it
            _end_group(process)


def _end_group(process):
    def send(which):
        try:
            os.killpg(process.pid, which)
        except ProcessLookupError:
            pass

    if process.poll() is None:
        send(signal.SIGTERM)
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            pass
    send(signal.SIGKILL)
    process.wait()


class PartRun:
    """Items of one lane run one after the other, lanes side by side on `jobs` threads. `slower`: GLIM_TEST_SLOWER."""

    def __init__(self, items, progress, deadline, folder, root, say, slower=1.0):
        self._slower = slower
        self._items, self._progress, self._deadline = items, progress, deadline
        self._folder, self._root, self._say = folder, root, say
        self._lock = threading.Lock()
        lanes = collections.OrderedDict()
        for item in items:
            if item.name not in progress.items:
                lanes.setdefault(item.lane or item.name, []).append(item)
        self._lanes = collections.deque(lanes.values())
        self._stopped, self._error = threading.Event(), None

    def run(self, jobs):
        """True if all items have ended."""
        ended = [threading.Event() for _ in range(max(1, jobs))]
        for event in ended:
            threading.Thread(target=self._work, args=(event,), daemon=True).start()
        # Not joined: Python 3.11 takes a thread whose join() a signal interrupts for one that has ended.
        try:
            for event in ended:
                while not event.wait(0.2):  # in short waits, so that a signal is seen
                    pass
        finally:  # an interrupt ends what is running
            self.stop()
            for event in ended:
                event.wait()
        if self._error:
            raise self._error
        return all(item.name in self._progress.items for item in self._items)

    def stop(self):
        self._stopped.set()

    def _is_over(self):
        return self._stopped.is_set() or self._deadline.is_over()

    def _work(self, ended):
        try:
            while not self._stopped.is_set():
                with self._lock:
                    if not self._lanes:
                        return
                    lane = self._lanes.popleft()
                for item in lane:
                    if self._is_over() or not self._run_item(item):
                        self._stopped.set()
                        return
        except BaseException as error:
            self._error = error
            self._stopped.set()
        finally:
            ended.set()

    def _run_item(self, item):
        """False: the part's time was over before the item ended."""
        folder = os.path.join(self._folder, item.name.replace(" ", "-"))
        os.makedirs(folder, exist_ok=True)
        out, err = os.path.join(folder, "out"), os.path.join(folder, "err")
        for path in (out, err, os.path.join(folder, "result.xml")):
            if os.path.exists(path):
                os.unlink(path)
        argv = [word.replace("{folder}", folder) for word in item.argv]
        began, limit = time.monotonic(), item.limit_s * self._slower
        code = run_bounded(
            argv,
            limit,
            out,
            err,
            is_stopped=self._is_over,
            cwd=self._root,
            env={**os.environ, **item.env},
        )
        seconds = time.monotonic() - began
        if code is None:
            if self._is_over():
                return False
            code = f"killed after {seconds:.0f} s"
        with open(out, errors="replace") as file:
            passed, failed = item.judge(Left(code, file.read(), folder))
        with self._lock:
            failed = failed + self._take_reports(item, folder)
            self._progress.add(item.name, passed, failed)
            done = len(self._progress.items)
        self._say(
            f"  {item.name}: {passed} passed, {len(failed)} failed, {seconds:.0f} s ({done} of {len(self._items)})"
        )
        if failed:
            for name in failed[:20]:
                self._say(f"    failed: {name}")
            self._say(tail(out, 60) + tail(err, 60) + f"    whole output: {folder}")
        return True

    def _take_reports(self, item, folder):
        """What sanitizers wrote; of two items that end together either may get it, and it counts once."""
        found = []
        for name in sorted(os.listdir(item.reports)) if item.reports and os.path.isdir(item.reports) else ():
            os.replace(os.path.join(item.reports, name), os.path.join(folder, name))
            found.append(f"{item.name}: report {os.path.join(folder, name)}")
        return found


def tail(path, lines):
    with open(path, errors="replace") as file:
        return "".join(f"    {line.rstrip()[:400]}\n" for line in file.readlines()[-lines:])
