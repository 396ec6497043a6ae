"""A task's supervisor (glim-shim) is killed while its ranks train on: the node goes to nobody before the last of them
is gone. In both runtimes."""

import json
import os

import pytest

from cluster.local_cluster import default_runtime
from cluster.processes import kill_process, processes_of, start_time, wait_until
from conftest import own_stage

RUNTIMES = ("runc", "process") if default_runtime() == "runc" else ("process",)
STAYS = "trap '' TERM; while :; do sleep 0.2; done"  # until it is killed


@pytest.fixture(params=RUNTIMES)
def one_node(request, fresh_folder):
    with own_stage(fresh_folder, nodes={"n1": ("A", "a1")}, runtime=request.param) as stage:
        yield stage


def kill_shim(cluster, job):
    """Of the job's first task on n1; the process by its number and its start."""
    with open(os.path.join(cluster.folder, "n1", "tasks", f"{job}.1.0", "shim.json")) as file:
        shim = json.load(file)
    assert start_time(shim["pid"]) == shim["start_ticks"]
    kill_process(shim["pid"], shim["start_ticks"])
    wait_until(lambda: start_time(shim["pid"]) != shim["start_ticks"], 10, "the shim is gone")


def test_a_node_is_kept_until_the_ranks_of_a_lost_task_are_gone(one_node):
    cluster, glim, examples = one_node.cluster, one_node.glim, one_node.examples
    lost = glim.submit(examples.make("lost", STAYS))
    cluster.wait_state(lost, "running", 30)
    ranks = wait_until(lambda: processes_of(cluster.folder, lost, 1), 30, "its ranks run")
    seen = one_node.path("seen")  # it stays until somebody has seen it there
    next_job = glim.submit(examples.make("next", f"while [ ! -e {seen} ]; do sleep 0.05; done"))
    kill_shim(cluster, lost)
    assert processes_of(cluster.folder, lost, 1), f"the ranks live on: {ranks}"

    def handed_on():
        """Looked at in this order: who gets the node after the ranks have gone is not accused."""
        holder = glim.nodes()["n1"]["holder"]
        mine = holder and holder["job_id"] == next_job
        assert not mine or not processes_of(cluster.folder, lost, 1), "two jobs share the node"
        return mine

    wait_until(handed_on, 60, "the node is handed on", every=0.02)
    open(seen, "w").close()
    cluster.wait_state(next_job, "succeeded", 30)
    first = glim.job(lost)["attempts"][0]
    assert first["outcome"] == "node_failure", first
    assert "supervisor was killed" in first["message"], first["message"]
