"""A rank of a job of the fault run (tests/faults/run): it works, and writes down itself what happens to it, so that
what users are told can be held against it. It is curious, too (curiosity.py).

    rank.py KIND --records DIR [--steps N] [--step-ms N] [--at N]

DIR/JOB.ATTEMPT.RANK gets a line of JSON for each word: {"at": seconds on the machine's monotonic clock, whatever clocks
the node has, "wall": by its wall clock, which goes on over a reboot, "what": begin | had | beat | step | saved | full |
stop | fail | end, ...}. A daemon that the rank leaves behind writes into DIR/JOB.ATTEMPT.RANK.daemon."""

import argparse
import errno
import hashlib
import json
import os
import signal
import sys
import threading
import time

import curiosity

BEAT_S = 0.1


def ahead_of_machine():
    """How many seconds this node's monotonic clock is ahead of the machine's: the node may be in a time namespace."""
    try:
        with open("/proc/self/timens_offsets") as file:
            rows = [line.split() for line in file]
    except OSError:
        return 0.0
    return sum(int(seconds) + int(ns) / 1e9 for name, seconds, ns in rows if name == "monotonic")


AHEAD_S = ahead_of_machine()


class Record:
    """One rank's own account. Each line is one write: what was written survives whatever comes next."""

    def __init__(self, folder, suffix=""):
        env = os.environ
        self.rank = int(env["GLIM_RANK"])
        name = f"{env['GLIM_JOB_ID']}.{env['GLIM_ATTEMPT']}.{self.rank}{suffix}"
        self.path = os.path.join(folder, name)
        self.file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def __call__(self, what, **more):
        line = {"at": round(time.monotonic() - AHEAD_S, 4), "wall": round(time.time(), 4), "what": what, **more}
        os.write(self.file, (json.dumps(line) + "\n").encode())

    def beat_for_ever(self):
        while True:
            self("beat")
            time.sleep(BEAT_S)


def chain(state, rank, step):
    """The state after `step`: it tells whether each step was done once and in order."""
    return hashlib.sha256(f"{state} {rank} {step}".encode()).hexdigest()[:16]


def load(path, rank):
    """(next step, state) as this rank's shard of the save has them."""
    if not path:
        return 0, ""
    with open(os.path.join(path, f"rank-{rank}.json")) as file:
        content = json.load(file)
    return content["step"] + 1, content["state"]


class Trainer:
    """Trains by the SDK's low level: good, deaf, failing and yielding jobs differ in what they answer."""

    def __init__(self, args, record):
        self.args, self.record = args, record
        self.world = int(os.environ["GLIM_NNODES"])
        self.deaf = args.kind == "deaf"

    def save(self, run, step, state):
        """A shard a rank; all of them name the same folder."""
        import glim

        began, rank = time.monotonic(), self.record.rank
        folder = os.path.join(os.environ["GLIM_CHECKPOINT_DIR"], f"{run.environment.attempt}", f"step-{step}")
        content = json.dumps({"step": step, "state": state}).encode()
        try:
            size = glim.atomic_write(os.path.join(folder, f"rank-{rank}.json"), lambda file: file.write(content))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            self.record("full", step=step)  # who has no room goes on without that save
            return
        self.record("saved", step=step)
        took = round((time.monotonic() - began) * 1000)
        run.checkpoint_saved(folder, step, bytes=size, shard=rank, shards=self.world, duration_ms=took)

    def run(self):
        import glim

        with glim.session() as run:
            step, state = load(run.resume_path, self.record.rank)
            self.record("base", step=step - 1)
            if step > 0:
                run.restored(step - 1)
            while step < self.args.steps and (self.deaf or run.begin_step(step)):
                self.may_fail_or_yield(run, step)
                time.sleep(self.args.step_ms / 1000)
                state = chain(state, self.record.rank, step)
                self.record("step", step=step)
                run.progress(step)
                if (step + 1) % 10 == 0:
                    self.save(run, step, state)
                step += 1
            if run.stopped:
                notice = run.interrupted()
                agreed = notice.stop_step if notice else None
                self.save(run, step - 1, state)
                self.record("stop", step=step - 1, agreed=agreed)
                run.leave()
                return
        self.record("end", step=step - 1, state=state)

    def may_fail_or_yield(self, run, step):
        if self.args.kind == "failing" and step == self.args.at:
            self.record("fail", step=step)
            sys.exit(3)
        if self.args.kind == "yielding" and step in (self.args.at, 2 * self.args.at):
            run.yield_now()


def plain(args, record):
    """Knows nothing of Glim but its folder: a signal ends it between two steps."""
    told = []
    signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
    folder = os.environ["GLIM_CHECKPOINT_DIR"]
    path = os.path.join(folder, "plain.json")
    step, state = 0, ""
    if os.path.exists(path):
        with open(path) as file:
            step, state = json.load(file)
    record("base", step=step - 1)
    while step < args.steps:
        time.sleep(args.step_ms / 1000)
        state = chain(state, record.rank, step)
        record("step", step=step)
        step += 1
        try:
            # Of its attempt: one that ran on a lost node may write beside the next.
            part = f"{path}.part-{os.environ['GLIM_ATTEMPT']}"
            with open(part, "w") as file:
                json.dump((step, state), file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
            record("saved", step=step - 1)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            record("full", step=step - 1)
        if told:
            record("stop", step=step - 1, agreed=None)
            return
    record("end", step=step - 1, state=state)


def daemonising(args, record):
    """Ends well, and leaves behind a process with a session of its own and an empty environment, deaf to SIGTERM."""
    record("base", step=-1)
    own = Record(args.records, ".daemon")
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.set_inheritable(own.file, True)
        os.execve("/usr/bin/python3", ["python3", "-c", DAEMON, str(own.file), str(AHEAD_S)], {})
    until = time.monotonic() + 10
    while os.path.getsize(own.path) == 0 and time.monotonic() < until:
        time.sleep(0.01)
    for step in range(args.steps):
        time.sleep(args.step_ms / 1000)
        record("step", step=step)
    record("end", step=args.steps - 1, state="")


DAEMON = f"""
import json, os, signal, sys, time
for number in (1, 2, 3, 15):
    signal.signal(number, signal.SIG_IGN)
file, ahead = int(sys.argv[1]), float(sys.argv[2])
while True:
    line = {{"at": round(time.monotonic() - ahead, 4), "wall": round(time.time(), 4), "what": "beat"}}
    os.write(file, (json.dumps(line) + "\\n").encode())
    time.sleep({BEAT_S})
"""


def endless(args, record):
    """Until it is cancelled."""
    record("base", step=-1)
    while True:
        time.sleep(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("good", "failing", "deaf", "yielding", "plain", "daemonising", "endless"))
    parser.add_argument("--records", required=True)
    parser.add_argument("--user", required=True, help="whose job it is")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--step-ms", type=int, default=50)
    parser.add_argument("--at", type=int, default=-1, help="the step at which it fails or yields")
    args = parser.parse_args()
    record = Record(args.records)
    node = os.path.relpath(os.environ["GLIM_SOCKET"], "/").split("/tasks/")[0].rsplit("/", 1)[-1]
    record("begin", pid=os.getpid(), node=node, socket=os.environ["GLIM_SOCKET"])
    threading.Thread(target=record.beat_for_ever, daemon=True).start()
    shared = (os.path.dirname(args.records), args.records)
    places = curiosity.places_of_a_task(os.environ, shared)
    for had in curiosity.had_of_others(args.user, places, shared):
        record("had", of=had)
    curiosity.leave_marks(args.user, places)
    others = {"plain": plain, "daemonising": daemonising, "endless": endless}
    if args.kind in others:
        others[args.kind](args, record)
    else:
        if args.kind == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Trainer(args, record).run()


if __name__ == "__main__":
    main()
