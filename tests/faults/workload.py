"""The jobs of a fault run, by its seed: good, failing, deaf, yielding, plain, daemonising and cancelled ones, of all
classes, in two pools, by users of two teams. What becomes of each is known beforehand."""

import os
import random
from dataclasses import dataclass

PYTHON = "/usr/bin/python3"
RANK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rank.py")
KINDS = ("good",) * 6 + ("failing", "deaf", "yielding", "yielding", "plain", "plain", "daemonising", "endless")
CLASSES = ("low", "normal", "normal", "normal", "above_normal", "high", "very_high")
# Two of each team; the uids are nobody's of this machine.
USERS = {"ana": 1_900_000_101, "ben": 1_900_000_102, "kim": 1_900_000_103, "zoe": 1_900_000_104}
POOLS = {"default": 4, "small": 2}  # nodes of each


@dataclass(frozen=True)
class Planned:
    """What a job is, and how it ends unless it is cancelled."""

    number: int
    kind: str
    name: str
    user: str
    nodes: int
    steps: int
    step_ms: int
    at: int  # the step at which it fails or yields; -1: none
    saves_in: str = ""  # "small", "slow": a folder that gives trouble; "": the cluster's

    @property
    def end(self):
        return {"failing": "failed", "endless": "cancelled"}.get(self.kind, "succeeded")


class Workload:
    """`records`: the folder where ranks write down what happens to them; containers see it. `places`: {name: (a folder
    that gives trouble, the same as nobody holds it up)}, where some jobs save, and have their workdir."""

    def __init__(self, examples, seed, records, places):
        self.examples, self.records, self.seed, self.places = examples, records, seed, places
        self.rng = random.Random(f"workload {seed}")
        self.number = 0

    def next(self):
        """(what it is, the path of its spec)"""
        rng = self.rng
        self.number += 1
        kind = rng.choice(KINDS)
        pool = rng.choice(("default", "default", "small"))
        gangs = kind in ("good", "failing", "deaf", "yielding")
        nodes = rng.choice((1, 1, 2, min(3, POOLS[pool]))) if gangs else 1
        steps, step_ms = rng.randrange(20, 120), rng.choice((20, 50, 50, 100))
        at = rng.randrange(2, 20) if kind in ("failing", "yielding") else -1
        name = f"f{self.number}-{kind}"
        place = rng.choice(("", "", "", *sorted(self.places)))
        planned = Planned(self.number, kind, name, rng.choice(sorted(USERS)), nodes, steps, step_ms, at, place)
        run = f"exec {PYTHON} {RANK} {kind} --records {self.records} --steps {steps} --step-ms {step_ms} --at {at}"
        run += f" --user {planned.user}"
        spec = self.examples.make(
            name,
            run,
            nodes=nodes,
            pool=pool,
            priority=rng.choice(CLASSES),
            interrupt={"grace": rng.choice(("1s", "3s", "10s"))},
            restart={"max": 1000, "backoff": "0s"},  # here nodes fail by the minute, and pauses double
            env={"PYTHONDONTWRITEBYTECODE": "1"},
            **self.folders(place, name, planned.user),
        )
        return planned, spec

    def folders(self, place, name, user):
        """The fields of a job that saves in a folder that gives trouble, and works there if that is the slow one. The
        folder is the user's alone."""
        if not place:
            return {}
        folder, behind = (os.path.join(path, name) for path in self.places[place])
        os.mkdir(behind, 0o700)
        if os.geteuid() == 0:
            os.chown(behind, USERS[user], USERS[user])
        return {"checkpoint": {"dir": folder}, **({"workdir": folder} if place == "slow" else {})}
