"""Test programs under the sanitizers, and fuzz targets: built in the background while the other parts run, and run as
they are built.

In CI those that differ from the base. The core's under the address sanitizer always come to their end. Of the others
none is begun later than some minutes after the other parts are done; what is left out is told."""

import contextlib
import os
import signal
import subprocess
import threading
import time

import choose_programs

from . import parts, programs
from .pool import Job

CORE = "scheduler/core/"
FEW_SEEDS = "-TwoHundred/*/??*:Thousand/*/??*:Seeds/*/??*:Simulation.ReachesEvery*:Evictions.*"
FILTERS = {
    # Of the seeds only the first few of each kind (sdk/base/testing/seeds.h); and not what counts how often something
    # happens in many more of them.
    "asan-ubsan": FEW_SEEDS,
    # Without UCX; and not what enters a container's user namespace, as a process with one thread alone may: the
    # sanitizer has one of its own.
    "tsan": "-*/ucx:*/ucx_*:*/AgentEvidenceTest.*/runc:*/AgentUserNamespaceTest.*/runc",
}


class Target:
    """A program or fuzz target of a part. `must`: it is run whatever the time."""

    def __init__(self, part, preset, name, label, must):
        self.part, self.preset, self.name, self.label, self.must = part, preset, name, label, must
        self.begun = False


def targets_of(chosen_parts, ci, changed):
    """What is to be built and run, the most telling first: the core, then the parts by turns."""
    queues = []
    for part in chosen_parts:
        preset, labels = parts.SANITIZED[part]
        tests = {name: (label, sources) for name, label, sources in programs.read_tests(preset) if label in labels}
        names = choose_programs.choose([(name, tests[name][1]) for name in tests], changed if ci else None)
        queues.append([Target(part, preset, name, tests[name][0], must_run(part, tests[name][1])) for name in names])
    turns = [target for row in range(max(map(len, queues), default=0)) for q in queues for target in q[row : row + 1]]
    return sorted(turns, key=lambda target: not target.must)


def must_run(part, sources):
    return part == "asan-ubsan" and all(source.startswith(CORE) for source in sources)


class Background:
    """Builds the targets one after the other, and hands their jobs to `pool`. `minutes`: for how long after hurry() one
    that need not be run may still begin; None: all are run."""

    def __init__(self, chosen_parts, settings, changed, pool, minutes, build=True):
        self._parts, self._settings, self._changed, self._pool = chosen_parts, settings, changed, pool
        self._minutes, self._build = minutes, build
        self._deadline, self._hurried, self._process = float("inf"), False, None
        self.targets, self.left_out, self.faults, self.processor_s, self.done = [], [], [], 0.0, False
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self):
        self._thread.start()

    def hurry(self):
        """The other parts are done: what is built now has the machine for itself."""
        self._hurried = True
        if self._minutes is not None:
            self._deadline = time.monotonic() + self._minutes * 60
        process = self._process
        if process is not None:
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PGRP, process.pid, 0)

    def stop(self):
        self._deadline = 0
        self._minutes = 0
        process = self._process
        if process is not None:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGTERM)

    def _work(self):
        try:
            presets = sorted({parts.SANITIZED[part][0] for part in self._parts})
            for preset in presets:
                if self._build and not self._made(["cmake", "--preset", preset], f"configure-{preset}"):
                    self.faults += [(part, f"{preset} cannot be configured") for part in self._parts]
                    return
            self.targets = targets_of(self._parts, self._settings.ci, self._changed)
            for target in self.targets:
                if not self._may_begin(target):
                    continue
                argv = ["ninja", "-C", f"build/{target.preset}", target.name]
                if self._build and not self._made(argv, f"build-{target.name}"):
                    self.faults.append((target.part, f"{target.name} does not build"))
                elif self._may_begin(target):
                    self._pool.add(self._jobs(target))
        except Exception as error:  # the run must say so, and not wait for ever
            self.faults += [(part, f"what is sanitized cannot be built: {error!r}") for part in self._parts]
        finally:
            self.done = True

    def _may_begin(self, target):
        if target.must or target.begun or self._minutes is None or time.monotonic() < self._deadline:
            return True
        if target not in self.left_out:
            self.left_out.append(target)
        return False

    def _jobs(self, target):
        settings = self._settings
        if target.label == "fuzz":
            report = os.path.join(settings.folder, f"{target.name}.xml")
            argv = ["ctest", "--test-dir", f"build/{target.preset}", "--output-on-failure", "--no-tests=error"]
            argv += ["-R", f"^{target.name}$", "--output-junit", report]
            jobs = [Job(target.part, target.name, argv, "ctest", report)]
        else:
            folder = os.path.join(settings.folder, f"{target.part}.d")
            chosen = [(target.name, target.label)]
            jobs = programs.jobs_of(target.part, target.preset, chosen, folder, settings.slower, FILTERS[target.part])

        def wanted():
            target.begun = self._may_begin(target)
            return target.begun

        for job in jobs:
            job.wanted = wanted
        return jobs

    def _made(self, argv, name):
        """At the lowest priority until the other parts are done."""
        log = os.path.join(self._settings.folder, f"{name}.log")
        with open(log, "w") as file:
            argv = argv if self._hurried else ["nice", "-n", "19", *argv]
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )
            self._process = process
            _, status, usage = os.wait4(process.pid, 0)
            self._process, process.returncode = None, os.waitstatus_to_exitcode(status)
        self.processor_s += usage.ru_utime + usage.ru_stime
        if process.returncode != 0:
            with open(log, errors="replace") as file:
                print("".join(file.readlines()[-40:]), flush=True)
        return process.returncode == 0

    def told(self, part):
        """What of the part was chosen, and what the time did not allow, in words."""
        chosen = [target for target in self.targets if target.part == part]
        late = [target.name for target in self.left_out if target.part == part]
        since = f" differ from {self._settings.base}" if self._settings.ci else ""
        words = f"{len(chosen)} programs{since}, {len(chosen) - len(late)} were run"
        return words + (f"; left out for want of time, tests/nightly has them: {' '.join(late)}" if late else "")


def clear_reports(presets):
    """The programs write their reports into files (cmake/sanitizer_options.cc)."""
    for preset in presets:
        for path in reports(preset):
            os.remove(path)


def reports(preset):
    folder = os.path.join(programs.ROOT, "build", preset, "reports")
    return sorted(os.path.join(folder, name) for name in os.listdir(folder)) if os.path.isdir(folder) else []
