"""Nodes die and are cut off: their jobs go on elsewhere from the last durable checkpoint, and what comes back too late
changes nothing. Needs a network for each node."""

import os

import pytest

from cluster.local_cluster import CONFIG
from cluster.processes import SLOWER, processes_of, start_time, wait_until
from cluster.story import PYTHON, ranges_by_attempt, steps_done
from between_saves import stop_between_saves
from conftest import lasting, own_stage

LOST_AFTER_S = 3
CONFIG_HERE = CONFIG + f"  node_lost_after: {lasting(LOST_AFTER_S)}\n"
NODES = {
    "n1": ("A", "a1"),
    "n2": ("A", "a1"),
    "n3": ("A", "a2"),
    "n4": ("B", "b1"),
    "n5": ("B", "b1"),
    "n6": ("B", "b2"),
}
SAVE_EVERY = 10


@pytest.fixture
def six(fresh_folder):
    with own_stage(fresh_folder, nodes=NODES, config=CONFIG_HERE) as stage:
        assert stage.cluster.network, "only root can pull a cable"
        yield stage


def submit_saver(stage, steps):
    """A job that saves every ten steps, and whose state is a chain: a step left out or done twice shows."""
    spec = stage.examples.derive(
        "deaf",
        "saver",
        run=f"{PYTHON} train.py --steps {steps} --step-ms 50 --save-every {SAVE_EVERY} " '--out "$DEAF_OUT"',
        nodes=1,
        env={"DEAF_OUT": stage.path("saver")},
        checkpoint={"dir": stage.path("ckpt", "$GLIM_JOB_ID"), "keep": 100},
    )
    with open(spec, "a") as file:
        file.write("restart: {on: [node_failure], max: 20, backoff: 0s}\n")
    return stage.glim.submit(spec)


def durable_step(stage, job_id):
    return stage.glim.job(job_id)["attempts"][-1]["durable_step"]


def node_of(stage, job_id):
    return stage.glim.job(job_id)["attempts"][-1]["tasks"][0]["node"]


def test_a_dead_node_costs_the_steps_since_the_last_save(six):
    cluster = six.cluster
    job_id = submit_saver(six, steps=150)

    def kept(step):
        attempt = six.glim.job(job_id)["attempts"][-1]
        return SAVE_EVERY < step == attempt["durable_step"] < attempt["last_step"]

    stop_between_saves(cluster, job_id, six.path("saver"), SAVE_EVERY, kept)
    node = node_of(six, job_id)
    cluster.kill(node)
    assert cluster.kill_tasks_of(node)
    done = steps_done(six.path("saver"), rank=0)

    job = cluster.wait_job(job_id, lambda j: j["attempt_count"] == 2, 60, "it is restarted")
    first = job["attempts"][0]
    assert first["outcome"] == "node_failure"
    base = job["attempts"][1]["base_step"]
    assert base == first["durable_step"] and base % SAVE_EVERY == SAVE_EVERY - 1 and base <= done
    cluster.wait_job(job_id, lambda j: j["attempts"][1]["started_at_ms"] > 0, 60, "it starts elsewhere")
    job = cluster.wait_state(job_id, "succeeded", 60)
    assert node not in [task["node"] for task in job["attempts"][1]["tasks"]]
    assert 0 < job["attempts"][0]["steps_lost"] <= SAVE_EVERY
    assert ranges_by_attempt(six.path("saver"))[2] == (base + 1, 149)
    assert six.glim.nodes()[node]["state"] == "lost"
    cluster.start_again(node)
    cluster.wait_ready()


# Rank 1 notices that rank 0 has gone, as a collective does, and ends with an error.
COLLECTIVE = """\
if [ "$GLIM_ATTEMPT" != 1 ]; then exit 0; fi
if [ "$GLIM_NODE_RANK" = 0 ]; then exec sleep 600; fi
until [ -e gone ]; do sleep 0.05; done
exit 1
"""


def test_a_gang_whose_other_rank_fails_when_a_node_dies_goes_on(six):
    cluster = six.cluster
    spec = six.examples.make("gang", COLLECTIVE, nodes=2)
    job_id = six.glim.submit(spec)
    first = cluster.wait_state(job_id, "running", 60)["attempts"][0]
    dead = next(task["node"] for task in first["tasks"] if task["index"] == 0)
    cluster.kill(dead)
    assert cluster.kill_tasks_of(dead)
    open(six.path("gone"), "w").close()
    job = cluster.wait_state(job_id, "succeeded", 60)
    first, second = job["attempts"]
    assert first["outcome"] == "node_failure", first
    assert f"its task was lost on node {dead}" in first["message"], first["message"]
    assert dead not in [task["node"] for task in second["tasks"]]
    cluster.start_again(dead)
    cluster.wait_ready()


def test_a_node_that_was_cut_off_comes_back_with_a_stale_task(six):
    cluster = six.cluster
    job_id = submit_saver(six, steps=2000)
    wait_until(lambda: durable_step(six, job_id) >= SAVE_EVERY, 60, "it saved")
    node = node_of(six, job_id)
    stale = {(pid, start_time(pid)) for pid in processes_of(cluster.folder, job_id, 1)}
    cluster.network.cut(node)
    cluster.wait_job(job_id, lambda j: j["attempt_count"] == 2, 60, "it is restarted")
    job = cluster.wait_job(job_id, lambda j: j["attempts"][1]["state"] == "running", 60, "it runs elsewhere")
    base, here = job["attempts"][1]["base_step"], job["attempts"][1]["tasks"][0]["node"]
    assert here != node and base == job["attempts"][0]["durable_step"]
    assert {(p, start_time(p)) for p in processes_of(cluster.folder, job_id, 1)} == stale, "nobody can reach it"

    # The stale task works on, and saves, further than anything that its successor has.
    late = base + 5 * SAVE_EVERY
    saves = six.path("ckpt", str(job_id), "attempt-1")
    wait_until(lambda: max(int(n.split("-")[1]) for n in os.listdir(saves)) >= late, 60, "the stale task saves on")
    cluster.network.mend(node)
    wait_until(lambda: not processes_of(cluster.folder, job_id, 1), 60, "the stale task is stopped")
    cluster.wait_ready()
    assert six.glim.job(job_id)["attempts"][0]["durable_step"] == base, "its late saves do not count"

    # The next attempt goes on from the second one's saves, or, if it has none, from where that began.
    cluster.kill(here)
    assert cluster.kill_tasks_of(here)
    job = cluster.wait_job(
        job_id,
        lambda j: j["attempt_count"] == 3 and j["attempts"][2]["state"] == "running",
        60,
        "it is restarted again",
    )
    second, third = job["attempts"][1:]
    assert third["base_step"] == max(base, second["durable_step"])
    wait_until(lambda: 3 in ranges_by_attempt(six.path("saver")), 30, "it goes on")
    begins = ranges_by_attempt(six.path("saver"))
    assert begins[2][0] == base + 1 and begins[3][0] == third["base_step"] + 1
    cluster.start_again(here)
    six.glim.text("cancel", job_id)


def test_many_silent_nodes_are_an_outage_and_no_loss(six):
    cluster = six.cluster
    jobs = [six.glim.submit(six.examples.make(f"stays-{n}", "exec sleep 600")) for n in range(6)]
    for job_id in jobs:
        cluster.wait_state(job_id, "running", 30)
    before = [sorted((p, start_time(p)) for p in processes_of(cluster.folder, job_id)) for job_id in jobs]
    cut = ["n1", "n4", "n6"]
    for node in cut:
        cluster.network.cut(node)
    wait_until(lambda: all(six.glim.nodes()[n]["state"] == "silent" for n in cut), 30, "the three are silent")
    # Well past the moment at which a single silent node is given up.
    wait_until(lambda: longest_silence(six, cut) > 3 * LOST_AFTER_S * SLOWER, 60, "the silence lasts")
    assert {n: six.glim.nodes()[n]["state"] for n in cut} == dict.fromkeys(cut, "silent"), "not one is declared lost"
    for node in cut:
        cluster.network.mend(node)
    cluster.wait_ready(90)
    assert [sorted((p, start_time(p)) for p in processes_of(cluster.folder, job_id)) for job_id in jobs] == before
    for job_id in jobs:
        job = six.glim.job(job_id)
        assert job["state"] == "running" and job["attempt_count"] == 1


def longest_silence(stage, nodes):
    heard = [node["last_heard_ms"] for name, node in stage.glim.nodes().items() if name in nodes]
    return max(node["last_heard_ms"] for node in stage.glim.nodes().values()) / 1000 - max(heard) / 1000
