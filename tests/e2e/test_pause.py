"""The scheduler is stopped (SIGSTOP) for two minutes, twice the silence after which a node is lost, and goes on: nobody
is declared lost."""

import json
import signal
import time

import pytest

from cluster.local_cluster import LocalCluster
from cluster.processes import processes_of, start_time, wait_until
from cluster.spec import Examples
from conftest import BIN, ROOT

PAUSE_S = 120


@pytest.fixture
def cluster(fresh_folder):
    """With the default patience with silent nodes."""
    cluster = LocalCluster(BIN, fresh_folder, nodes={"n1": ("A", "a1"), "n2": ("B", "b1")})
    try:
        yield cluster.start()
    finally:
        cluster.scheduler.process.send_signal(signal.SIGCONT)
        faults = cluster.stop()
    assert faults == []


def test_no_node_is_lost_by_a_pause_of_the_scheduler(cluster):
    job_id = cluster.glim.submit(
        Examples(ROOT, cluster.jobs, cluster.task_user).make("stays", "exec sleep 3600", nodes=2)
    )
    cluster.wait_state(job_id, "running", 30)
    before = identities(cluster, job_id)
    assert len(before) >= 2

    cluster.scheduler.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began >= PAUSE_S, PAUSE_S + 1, "the pause is over", every=1)
    ended_at_ms = time.time() * 1000
    cluster.scheduler.process.send_signal(signal.SIGCONT)

    cluster.wait_ready(60)
    wait_until(lambda: all(heard_since(cluster, ended_at_ms)), 30, "every agent is heard again")
    kinds = [json.loads(line)["kind"] for line in cluster.glim.text("-o", "json", "events").splitlines()]
    assert "attempt_running" in kinds, kinds
    assert not {"node_lost", "outage_began"} & set(kinds), kinds
    assert {node["state"] for node in cluster.glim.nodes().values()} == {"ready"}
    job = cluster.glim.job(job_id)
    assert job["state"] == "running" and job["attempt_count"] == 1
    assert identities(cluster, job_id) == before


def identities(cluster, job_id):
    return sorted((pid, start_time(pid)) for pid in processes_of(cluster.folder, job_id))


def heard_since(cluster, moment_ms):
    return [node["last_heard_ms"] > moment_ms for node in cluster.glim.nodes().values()]
