"""A backup is put back while a job runs that waited when the backup was made: no two attempts of the job run side by
side."""

import os
import shutil
import signal
import time

import pytest

from cluster.processes import processes_of, start_time, wait_until
from conftest import own_stage

NODES = {"n1": ("A", "a1"), "n2": ("B", "b1")}


@pytest.fixture
def own(fresh_folder):
    with own_stage(fresh_folder, cancel=False, nodes=NODES) as stage:
        yield stage


def put(cluster, source, target):
    """The store's files, while no scheduler runs."""
    for name in os.listdir(target):
        if name.startswith("glim.db"):
            os.unlink(os.path.join(target, name))
    for name in os.listdir(source):
        if name.startswith("glim.db"):
            shutil.copy(os.path.join(source, name), target)


def cordon(own, word, *nodes):
    reason = ["--reason", "a backup"] if word == "cordon" else []
    for node in nodes:
        own.glim.text("admin", "node", word, node, *reason, "-y")


def blockers(own, job):
    return [blocker["kind"] for blocker in own.glim.job(job)["blockers"]]


def test_a_job_waits_for_an_attempt_that_the_restored_store_does_not_know(own):
    cluster, gate, backup = own.cluster, own.path("gate"), os.path.join(own.cluster.folder, "backup")
    os.mkdir(backup)
    until = f"exec /usr/bin/python3 -c 'import os, time\nwhile not os.path.exists(\"{gate}\"): time.sleep(0.05)'"
    cordon(own, "cordon", *NODES)
    job = own.glim.submit(own.examples.make("runs", until))
    assert cluster.scheduler.stop()
    put(cluster, cluster.folder, backup)
    cluster.start_scheduler()
    began = time.time()
    cordon(own, "uncordon", *NODES)
    cluster.wait_state(job, "running", 60)
    node = own.glim.job(job)["attempts"][0]["tasks"][0]["node"]
    alive = sorted((pid, start_time(pid)) for pid in processes_of(cluster.folder, job))

    # Epochs are seconds: agents follow the next scheduler only if it begins in a later one than this.
    wait_until(lambda: time.time() > began + 3, 10, "three seconds of this scheduler")

    # The other node is heard first, and gets the job.
    other = next(name for name in NODES if name != node)
    assert cluster.scheduler.stop()
    os.kill(cluster.agents[node].pid, signal.SIGSTOP)
    try:
        put(cluster, backup, cluster.folder)
        cluster.start_scheduler()
        cordon(own, "uncordon", *NODES)
        cluster.wait_state(job, "running", 60)
        assert own.glim.job(job)["attempts"][0]["tasks"][0]["node"] == other
    finally:
        os.kill(cluster.agents[node].pid, signal.SIGCONT)

    # It makes way, and nothing was done to the one that runs.
    wait_until(lambda: blockers(own, job) == ["orphan"], 60, "the job waits for its own attempt")
    why = own.glim.text("why", job)
    assert f"an attempt of it runs on node {node} that the scheduler's store does not know" in why, why
    assert f"an attempt of this job runs on node {node} that the store does not know" in own.glim.text("events", job)
    assert len(own.glim.nodes()[node]["orphans"]) == 1
    assert sorted((pid, start_time(pid)) for pid in processes_of(cluster.folder, job)) == alive
    small = own.glim.submit(own.examples.make("small", "echo small"))
    cluster.wait_state(small, "succeeded", 60)
    assert blockers(own, job) == ["orphan"], "the other node is free, and it waits"

    open(gate, "w").close()
    cluster.wait_state(job, "succeeded", 60)
    assert own.glim.job(job)["attempt_count"] == 2
