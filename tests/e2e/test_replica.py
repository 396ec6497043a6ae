"""A node dies, and what its job saved can be read on no disk: the copies in a neighbour's memory are enough, bit for
bit."""

import glob
import json
import os
import sys

import pytest

from cluster.local_cluster import CONFIG
from cluster.processes import environment_of, processes_of, wait_until
from cluster.spec import sdk_folder
from cluster.story import Training, ranges_by_attempt
from between_saves import stop_between_saves
from conftest import ROOT, lasting, own_stage

sys.path.append(os.path.join(sdk_folder(ROOT), "python"))
from glim.checkpoint import CheckpointError  # noqa: E402
from glim.replica import Access, ReplicaSource  # noqa: E402

NODES = {"n1": ("A", "a1"), "n2": ("A", "a1"), "n3": ("A", "a2"), "n4": ("B", "b1")}
SAVE_EVERY = 10
TRAINING = Training(epochs=2, step_ms=60)


@pytest.fixture
def stage(fresh_folder):
    with own_stage(
        fresh_folder, nodes=NODES, config=CONFIG + f"  node_lost_after: {lasting(3)}\n", replica_memory="64MiB"
    ) as own:
        yield own


def submit(stage, name, training):
    """Two ranks on one node, which save every ten steps."""
    spec = stage.examples.derive(
        "digits",
        name,
        run=f"{training.command()} --save-every {SAVE_EVERY}",
        nodes=1,
        env={"DIGITS_OUT": stage.path(name)},
        checkpoint={"dir": stage.path("ckpt", "$GLIM_JOB_ID"), "keep": 3},
        restart={"on": ["node_failure"], "max": 3, "backoff": "0s"},
    )
    return stage.glim.submit(spec)


def weights(stage, name):
    with open(stage.path(name, "result.json")) as file:
        return json.load(file)["weights_digest"]


def environment(stage, job_id, attempt):
    """What the first rank was told, and its process."""
    told = [(environment_of(pid), pid) for pid in processes_of(stage.cluster.folder, job_id, attempt)]
    return next(((env, pid) for env, pid in told if env.get("RANK") == "0" and "GLIM_ATTEMPT" in env), None)


def token_of(env, pid):
    """The attempt's, as its own process finds it."""
    with open(f"/proc/{pid}/root{env['GLIM_REPLICA_TOKEN_FILE']}") as file:
        return file.read()


def held(peer, token):
    """(attempt, step) of what the service at `peer` holds of the token's job."""
    with ReplicaSource([peer], Access(token=token, tls="tcp")) as source:
        return source.whole()


def test_a_job_goes_on_from_a_neighbours_memory(stage):
    cluster, glim = stage.cluster, stage.glim
    undisturbed = submit(stage, "undisturbed", Training(epochs=TRAINING.epochs, step_ms=0))
    cluster.wait_state(undisturbed, "succeeded", 120)

    job_id = submit(stage, "digits", TRAINING)
    wait_until(lambda: environment(stage, job_id, 1), 60, "it runs")
    told, pid = environment(stage, job_id, 1)
    peer, token = told["GLIM_REPLICA_PEER"], token_of(told, pid)
    key, place = peer.split("@")
    assert len(key) == 64 and "GLIM_REPLICA_SOURCES" not in told

    def kept(step):
        durable = glim.job(job_id)["attempts"][0]["durable_step"]
        return SAVE_EVERY < step == durable and (1, step) in held(peer, token)

    stop_between_saves(cluster, job_id, stage.path("digits"), SAVE_EVERY, kept)
    first = glim.job(job_id)["attempts"][0]
    node = first["tasks"][0]["node"]
    cluster.kill(node)
    assert cluster.kill_tasks_of(node)
    shards = glob.glob(stage.path("ckpt", str(job_id), "attempt-1", "*", "*.safetensors"))
    assert shards
    for shard in shards:
        os.unlink(shard)

    cluster.wait_job(
        job_id,
        lambda job: job["attempt_count"] == 2 and job["attempts"][1]["state"] == "running",
        60,
        "it is restarted",
    )
    wait_until(lambda: environment(stage, job_id, 2) or glim.job(job_id)["state"] != "running", 60, "it runs again")
    job = cluster.wait_state(job_id, "succeeded", 120)
    base, there = job["attempts"][1]["base_step"], job["attempts"][1]["tasks"][0]["node"]
    with pytest.raises(CheckpointError, match="attempt 2 of the job has begun"):
        held(peer, token)  # a token dies with its attempt
    assert there != node and base >= first["durable_step"] and base % SAVE_EVERY == SAVE_EVERY - 1
    for rank in range(2):
        with open(cluster.rank_log(job_id, 2, rank)) as file:
            said = file.read()
        assert f"glim: restored step {base} from a neighbour's memory ({place}), " in said
    assert ranges_by_attempt(stage.path("digits"))[2][0] == base + 1
    assert weights(stage, "digits") == weights(stage, "undisturbed")
    cluster.start_again(node)
    cluster.wait_ready()
