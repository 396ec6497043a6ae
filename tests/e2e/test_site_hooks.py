"""The operator's prolog and epilog: one that fails or is late takes its node out, and the job runs elsewhere."""

import contextlib
import json
import os

from cluster.local_cluster import CONFIG
from cluster.processes import wait_until
from conftest import own_stage

NODES = {"n1": ("A", "a1"), "n2": ("A", "a1")}


def write_program(folder, name, script):
    """An operator's program; replaced whole, for one that runs may be replaced."""
    path = os.path.join(folder, name)
    with open(path + ".new", "w") as file:
        file.write(f"#!/bin/sh\n{script}\n")
    os.chmod(path + ".new", 0o700)
    os.rename(path + ".new", path)
    return path


@contextlib.contextmanager
def site(folder, prolog="exit 0", epilog="exit 0", seconds=30):
    options = ["--prolog", write_program(folder, "prolog", prolog), "--epilog", write_program(folder, "epilog", epilog)]
    options += ["--hook-seconds", str(seconds)]
    with own_stage(folder, nodes=NODES, config=CONFIG, agent_options=options) as stage:
        yield stage


def kept(stage, node, job, kind):
    """What the first attempt's program wrote there; its file is named by the node's rank, which may be either."""
    folder = os.path.join(stage.cluster.folder, node, "logs", f"{job}-1")
    texts = []
    for name in os.listdir(folder):
        if name.startswith(f"{kind}-"):
            with open(os.path.join(folder, name)) as file:
                texts.append(file.read())
    return texts


def attempts(glim, job):
    return [(attempt["outcome"], [task["node"] for task in attempt["tasks"]]) for attempt in glim.job(job)["attempts"]]


def wait_quarantined(glim, node):
    return wait_until(
        lambda: (found := glim.nodes()[node])["state"] == "quarantined" and found, 30, f"{node} is taken out"
    )


def test_a_failing_prolog_takes_the_node_out_and_the_job_runs_elsewhere(fresh_folder):
    complaint = "the scratch disk is not mounted"
    fails_once = f'[ "$GLIM_NODE" = n1 ] || exit 0; echo looking; echo "{complaint}" >&2; exit 3'
    with site(fresh_folder, prolog=fails_once) as stage:
        cluster, glim = stage.cluster, stage.glim
        job = glim.submit(stage.examples.make("both", "echo rank $GLIM_NODE_RANK", nodes=2))
        node = wait_quarantined(glim, "n1")
        assert complaint in node["message"] and f"{job}.1" in node["message"], node
        assert complaint in glim.text("nodes", "n1")
        assert kept(stage, "n1", job, "prolog") == [f"looking\n{complaint}\n"]
        assert kept(stage, "n1", job, "rank") == [], "none was started"
        small = glim.submit(stage.examples.make("elsewhere", "echo here"))
        cluster.wait_state(small, "succeeded", 60)
        assert glim.job(small)["attempts"][0]["tasks"][0]["node"] == "n2", "no job is placed there"

        # The operator mends the node and says so.
        write_program(fresh_folder, "prolog", "exit 0")
        glim.text("admin", "node", "return", "n1", "-y")
        cluster.wait_state(job, "succeeded", 60)
        assert attempts(glim, job)[0][0] == "start_failed"
        assert attempts(glim, job)[-1][0] == "succeeded"
        assert "rank 0" in glim.text("logs", job)


def test_a_late_prolog_is_killed_and_its_node_taken_out(fresh_folder):
    hangs = 'echo "asks a server that is gone"; [ "$GLIM_NODE" = n2 ] || exec sleep 3600'
    with site(fresh_folder, prolog=hangs, seconds=1) as stage:
        cluster, glim = stage.cluster, stage.glim
        both = glim.submit(stage.examples.make("both", "echo rank $GLIM_NODE_RANK", nodes=2))
        message = wait_quarantined(glim, "n1")["message"]
        assert message.endswith("did not end within 1 s: asks a server that is gone"), message
        job = glim.submit(stage.examples.make("elsewhere", "echo here"))
        cluster.wait_state(job, "succeeded", 60)
        assert attempts(glim, job)[-1] == ("succeeded", ["n2"])
        assert attempts(glim, both)[0][0] == "start_failed"
        glim.text("cancel", both)


def test_a_failing_epilog_takes_the_node_out_and_the_job_has_succeeded(fresh_folder):
    with site(fresh_folder, epilog="echo cleaning; echo 'a GPU is left in a bad state' >&2; exit 1") as stage:
        cluster, glim = stage.cluster, stage.glim
        job = glim.submit(stage.examples.make("ends", "echo here"))
        cluster.wait_state(job, "succeeded", 60)
        node = glim.job(job)["attempts"][0]["tasks"][0]["node"]
        message = wait_quarantined(glim, node)["message"]
        assert message.endswith("a GPU is left in a bad state") and "epilog" in message, message
        assert kept(stage, node, job, "epilog") == ["cleaning\na GPU is left in a bad state\n"]
        assert [kind for kind in events_of(glim, node) if kind == "node_quarantined"] == ["node_quarantined"]


def events_of(glim, node):
    lines = glim.text("-o", "json", "events", "--node", node).splitlines()
    return [json.loads(line)["kind"] for line in lines]
