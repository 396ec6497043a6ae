"""One job on all nodes is interrupted again and again, and goes on each time: how long each step of that takes."""

import json
import os
import re
from datetime import datetime

from programs import ROOT

from cluster.processes import Child, wait_until
from cluster.story import PYTHON

NODES = 4
PHASE = re.compile(r'^ts=(\S+) .*event=(task_phase|task_launched) task=(\d+)\.(\d+)\.(\d+)(?: phase="(\w+)")?')


def first_line(path):
    """The first line of a task's log, once it is whole; None before."""
    try:
        with open(path) as file:
            text = file.read()
    except FileNotFoundError:
        return None
    return text.split("\n")[0] if "\n" in text else None


class Interrupts:
    """`cluster`: a LocalCluster of four nodes. `load` names what runs beside it, and with it the job."""

    def __init__(self, cluster, examples, load):
        self.cluster, self.glim, self.examples, self.load = cluster, cluster.glim, examples, load
        self.out = cluster.job_folder(f"victim-{load}")
        self.victim = self.glim.submit(
            examples.make(
                f"victim-{load}",
                f"exec {PYTHON} {ROOT}/tests/bench/victim.py --out {self.out}",
                nodes=NODES,
                launcher="per-gpu",
                checkpoint={"dir": os.path.join(examples.folder, "ckpt", "$GLIM_JOB_ID")},
            )
        )
        self.visitor = examples.make("visitor", "echo $EPOCHREALTIME", nodes=NODES, priority="high")
        self.visitors, self.agreements = [], []

    def run(self, times):
        for number in range(len(self.visitors) + 1, len(self.visitors) + times + 1):
            wait_until(
                lambda: self.cluster.check() or len(self.events("begins", number)) == NODES,
                60,
                lambda: f"attempt {number}: {self.cluster.describe(self.glim.job(self.victim))}",
                every=0.02,
            )
            self.cluster.wait_state(self.victim, "running", 60, every=0.02)
            self.visitors.append(self.glim.submit(self.visitor))
            self.cluster.wait_state(self.visitors[-1], "succeeded", 60, every=0.02)
            # Of a job with many attempts the newest are kept.
            attempts = {a["ref"]["number"]: a for a in self.glim.job(self.victim)["attempts"]}
            self.agreements.append(attempts[number]["agreements"][-1])

    def end(self):
        self.glim.text("cancel", self.victim)
        self.cluster.wait_idle(30)

    def events(self, event, attempt, field="time"):
        values = []
        for rank in range(NODES):
            try:
                with open(os.path.join(self.out, f"rank-{rank}.jsonl")) as file:
                    notes = [json.loads(line) for line in file.read().split("\n")[:-1]]
            except FileNotFoundError:
                continue
            values += [n[field] for n in notes if (n["event"], n["attempt"]) == (event, attempt)]
        return [value * 1000 for value in values]

    def lines(self, number):
        """When each rank of a visitor printed its line."""
        visitor = self.visitors[number - 1]
        return [float(first_line(self.cluster.rank_log(visitor, 1, rank))) * 1000 for rank in range(NODES)]

    def numbers(self):
        return range(1, len(self.visitors) + 1)

    def notices_ms(self):
        return [
            at - self.agreements[n - 1]["requested_at_ms"] for n in self.numbers() for at in self.events("notice", n)
        ]

    def acks_ms(self):
        return [agreement["times"]["notify_ms"] for agreement in self.agreements]

    def switches_ms(self):
        """From the last rank's leaving to the successor's first line."""
        return [min(self.lines(n)) - max(self.events("leaving", n)) for n in self.numbers()]

    def phases_ms(self):
        """The same by the agents' logs (level info), as far as these name every moment of a switch."""
        at = self._moments()
        phases = {name: [] for name in ("exit", "release", "decide_and_send", "launch_to_first_line")}
        for n in self.numbers():
            lines = self.lines(n)
            first = lines.index(min(lines))
            try:
                left = max(self.events("leaving", n))
                exited = max(at[self.victim, n, rank, "EXITED"] for rank in range(NODES))
                released = max(at[self.victim, n, rank, "RELEASED"] for rank in range(NODES))
                starting = at[self.visitors[n - 1], 1, first, "STARTING"]
            except KeyError:  # two phases were told at once
                continue
            phases["exit"].append(exited - left)
            phases["release"].append(released - exited)
            phases["decide_and_send"].append(starting - released)
            phases["launch_to_first_line"].append(lines[first] - starting)
        return phases

    def _moments(self):
        moments = {}
        for name in self.cluster.agents:
            with open(os.path.join(self.cluster.logs, f"agent-{name}.log")) as file:
                for found in filter(None, map(PHASE.match, file)):
                    when, event, job, attempt, index, phase = found.groups()
                    key = (int(job), int(attempt), int(index), phase or event)
                    moments[key] = datetime.fromisoformat(when).timestamp() * 1000
        return moments


class Trainings:
    """A training for each core, of one thread each, for as long as the block lasts."""

    def __init__(self, cluster, examples, folder):
        self.cluster, self.examples, self.folder, self.children = cluster, examples, folder, []

    def __enter__(self):
        train = os.path.join(ROOT, "deploy", "examples", "digits", "train.py")
        env = {
            **os.environ,
            "PYTHONPATH": self.examples.python_path,
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        try:
            for number in range(os.cpu_count() or 2):
                out = os.path.join(self.folder, f"load-{number}")
                self.children.append(
                    Child(
                        f"training {number}",
                        [PYTHON, train, "--epochs", "100000", "--out", out],
                        os.path.join(self.cluster.logs, f"load-{number}.log"),
                        {**env, "MASTER_PORT": str(30100 + number)},
                    )
                )
            for number, child in enumerate(self.children):
                path = os.path.join(self.folder, f"load-{number}", "rank-0.txt")
                wait_until(lambda: child.check() or (os.path.exists(path) and os.path.getsize(path)), 60, "it trains")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.stop()
