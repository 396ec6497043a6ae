"""A database is lost while jobs run: the scheduler starts on an empty one, and kills nothing that it does not know."""

import os

import pytest

from cluster.processes import processes_of, start_time, wait_until
from conftest import own_stage


@pytest.fixture
def own(fresh_folder):
    with own_stage(fresh_folder, cancel=False) as stage:
        yield stage


def lose_database(cluster):
    assert cluster.scheduler.stop()
    for name in os.listdir(cluster.folder):
        if name.startswith("glim.db"):
            os.unlink(os.path.join(cluster.folder, name))


def alive(cluster, jobs):
    return {job: sorted((p, start_time(p)) for p in processes_of(cluster.folder, job)) for job in jobs}


def test_an_empty_database_kills_nothing(own):
    cluster, gate = own.cluster, own.path("gate")
    until = f"exec /usr/bin/python3 -c 'import os, time\nwhile not os.path.exists(\"{gate}\"): time.sleep(0.05)'"
    jobs = [own.glim.submit(own.examples.make(f"runs-{n}", until, nodes=n)) for n in (1, 2)]
    for job in jobs:
        cluster.wait_state(job, "running", 30)
    before = alive(cluster, jobs)
    lose_database(cluster)
    cluster.start_scheduler(cluster_id=cluster.cluster_id)
    for name in cluster.node_places:  # the authority was in the database, too
        cluster.enrol(name, anew=True)
    cluster.wait_ready()

    # The operator is told, node by node and as it happened.
    wait_until(lambda: sum(len(n["orphans"]) for n in own.glim.nodes().values()) == 3, 20, "three orphans are shown")
    assert "1 task(s) that Glim does not know, left alone" in own.glim.text("nodes")
    events = own.glim.text("events")
    assert events.count("left running") == 3, events
    assert alive(cluster, jobs) == before

    # Their nodes are not used, and a new job is not taken for an old one.
    new = own.glim.submit(own.examples.make("new", "echo new", nodes=4))
    assert new > max(jobs)
    small = own.glim.submit(own.examples.make("small", "echo small"))
    cluster.wait_state(small, "succeeded", 30)
    assert own.glim.job(new)["state"] == "queued"
    assert alive(cluster, jobs) == before

    open(gate, "w").close()
    cluster.wait_state(new, "succeeded", 60)
    assert all(not node["orphans"] for node in own.glim.nodes().values())


@pytest.fixture
def plain(fresh_folder):
    """With TLS such a scheduler is not even spoken to: it has another authority."""
    with own_stage(fresh_folder, cancel=False, secure=False) as stage:
        yield stage


def test_another_clusters_scheduler_is_not_obeyed(plain):
    own, cluster = plain, plain.cluster
    job = own.glim.submit(own.examples.make("runs", "exec sleep 600", nodes=2))
    cluster.wait_state(job, "running", 30)
    before = alive(cluster, [job])
    lose_database(cluster)
    cluster.start_scheduler()
    log = os.path.join(cluster.logs, "agent-n1.log")
    wait_until(lambda: "event=refused" in open(log).read(), 30, "an agent says that it was refused")
    assert f"the agent belongs to cluster {cluster.cluster_id}" in open(log).read()
    assert own.glim.nodes() == {}
    assert alive(cluster, [job]) == before
