"""The scheduler is killed (SIGKILL) at twenty random moments of the story, and nobody loses anything by it."""

import random
import threading

import pytest

from cluster.processes import SLOWER, processes_of, start_time, wait_until
from cluster.story import Training
from cluster.verdict import problems_of_interrupt
from conftest import own_stage

KILLS = 20
NODES = {"n1": ("A", "a1"), "n2": ("A", "a1"), "n3": ("B", "b1"), "n4": ("B", "b1"), "n5": ("B", "b2")}


class Killer(threading.Thread):
    """Kills the scheduler again and again, starts it anew, and looks at what it says then. What is wrong is kept in
    `faults`; `acknowledged` holds the jobs that it submitted, one between any two kills."""

    def __init__(self, stage, seed, steady):
        super().__init__()
        self.stage, self.cluster, self.rng, self.steady = stage, stage.cluster, random.Random(seed), steady
        self.waiting = stage.examples.make("waits", "true", nodes=5, priority="low")
        self.acknowledged, self.faults, self.kills = [], [], 0
        self.enough = threading.Event()

    def run(self):
        try:
            while self.kills < KILLS:
                self.enough.wait(self.rng.uniform(0.05, 2.5))
                self.round()
        except BaseException as error:  # told by the test's own thread
            self.faults.append(repr(error))

    def round(self):
        self.acknowledged.append(self.stage.glim.submit(self.waiting, user="zoe"))
        before = self.living()
        self.cluster.kill("scheduler")
        self.kills += 1
        gone = [who for who in before if start_time(who[0]) != who[1] and who in self.steady]
        self.enough.wait(self.rng.uniform(0, 0.3))
        self.cluster.start_again("scheduler")
        queue = {job["id"] for job in self.stage.glim.json("queue")["jobs"]}
        missing = [job for job in self.acknowledged if job not in queue]
        if missing:
            self.faults.append(f"kill {self.kills}: acknowledged jobs {missing} are not in {sorted(queue)}")
        if gone or not set(self.steady) <= set(self.living()):
            self.faults.append(f"kill {self.kills}: processes of the steady job are gone")

    def living(self):
        return [(pid, start_time(pid)) for pid in processes_of(self.cluster.folder, 1)]


@pytest.fixture
def five(fresh_folder):
    with own_stage(fresh_folder, nodes=NODES) as stage:
        yield stage


def test_the_story_ends_the_same_whenever_the_scheduler_is_killed(five):
    cluster, training = five.cluster, Training(seed=3, epochs=6, step_ms=200)
    steady = five.glim.submit(five.examples.make("steady", "exec sleep 900", priority="very_high"))
    assert steady == 1
    cluster.wait_state(steady, "running", 30)
    identities = wait_until(lambda: [(p, start_time(p)) for p in processes_of(cluster.folder, steady)], 10, "it runs")
    five.reference("reference", Training(seed=3, epochs=6, step_ms=0))

    cluster.glim.patience = 60
    killer = Killer(five, 20, identities)
    killer.start()
    try:
        story = five.interrupted("digits", training, 40, "reference")
    finally:
        killer.join(300 * SLOWER)
    assert killer.faults == [] and killer.kills == KILLS

    assert problems_of_interrupt(story) == []
    job = five.glim.job(steady)
    assert job["state"] == "running" and job["attempt_count"] == 1
    assert [(p, start_time(p)) for p in processes_of(cluster.folder, steady)] == identities
    five.glim.text("cancel", steady)
    for waited in killer.acknowledged:
        cluster.wait_state(waited, "succeeded", 60)
