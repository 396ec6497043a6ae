"""A line of the kernel's log says that a node's hardware fails: operators see it, and the job that runs there goes on
elsewhere. Each agent has a pipe of its own in place of the kernel's log."""

import contextlib
import errno
import json
import os

from cluster.local_cluster import CONFIG
from cluster.processes import wait_until
from cluster.story import PYTHON, ranges_by_attempt, steps_done
from conftest import own_stage

NODES = {"n1": ("A", "a1"), "n2": ("A", "a1")}
SAVE_EVERY = 10
FELL_OFF = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus."


@contextlib.contextmanager
def watched(folder):
    """Two nodes whose agents look after their hardware, of which there is none but what the pipes say."""

    def kernel_log(node):
        return ["--health-kmsg", pipe_of(folder, node), "--health-root", os.path.join(folder, "machine")]

    for node in NODES:
        os.mkfifo(pipe_of(folder, node), 0o600)
    with own_stage(folder, nodes=NODES, config=CONFIG, kernel_log=kernel_log) as stage:
        yield stage


def pipe_of(folder, node):
    return os.path.join(folder, f"kmsg-{node}")


def say(stage, node, text):
    """As the kernel says it: a record of facility 0. Waits until somebody reads the log."""

    def write():
        try:
            pipe = os.open(pipe_of(stage.cluster.folder, node), os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return False
        with os.fdopen(pipe, "w") as file:
            file.write(f"4,1,1000000,-;{text}\n")
        return True

    wait_until(write, 30, f"the kernel log of {node} is read")


def health_events(glim, node):
    lines = glim.text("-o", "json", "events", "--node", node).splitlines()
    return [event for event in map(json.loads, lines) if event["kind"] == "health_event"]


def submit_saver(stage, steps):
    """A job that begins on n1 and saves every ten steps; its state is a chain, so a step left out or done twice
    shows."""
    spec = stage.examples.derive(
        "deaf",
        "saver",
        run=f"{PYTHON} train.py --steps {steps} --step-ms 50 --save-every {SAVE_EVERY} " '--out "$DEAF_OUT"',
        nodes=1,
        env={"DEAF_OUT": stage.path("saver")},
        checkpoint={"dir": stage.path("ckpt", "$GLIM_JOB_ID"), "keep": 100},
    )
    stage.glim.text("admin", "node", "cordon", "n2", "--reason", "the job begins on n1", "-y")
    job = stage.glim.submit(spec)
    stage.cluster.wait_state(job, "running", 60)
    stage.glim.text("admin", "node", "uncordon", "n2", "-y")
    return job


def newest(stage, job):
    return stage.glim.job(job)["attempts"][-1]


def test_what_the_kernel_says_of_a_node_is_seen(fresh_folder):
    with watched(fresh_folder) as stage:
        say(stage, "n1", FELL_OFF)
        event = wait_until(lambda: health_events(stage.glim, "n1"), 30, "the event is there")[0]
        assert "79" in event["message"] and "0000:3b:00.0" in event["message"], event
        assert health_events(stage.glim, "n2") == []


def test_a_job_goes_on_elsewhere_when_its_gpu_falls_off_the_bus(fresh_folder):
    with watched(fresh_folder) as stage:
        cluster, glim = stage.cluster, stage.glim
        job = submit_saver(stage, steps=150)
        wait_until(lambda: newest(stage, job)["durable_step"] >= SAVE_EVERY, 60, "it saved")
        wait_until(
            lambda: steps_done(stage.path("saver")) % SAVE_EVERY == 5, 30, "it is between two saves", every=0.005
        )
        say(stage, "n1", FELL_OFF)
        wait_until(lambda: glim.job(job)["attempt_count"] == 2, 30, "it is restarted at once", every=0.05)
        first = glim.job(job)["attempts"][0]
        assert first["outcome"] == "gpu_failure"
        assert [task["node"] for task in first["tasks"]] == ["n1"]
        assert glim.nodes()["n1"]["cordon"]["by"] == "health"
        ended = cluster.wait_state(job, "succeeded", 120)
        assert ended["attempt_count"] == 2
        assert [task["node"] for task in ended["attempts"][1]["tasks"]] == ["n2"]
        base = ended["attempts"][1]["base_step"]
        assert base == ended["attempts"][0]["durable_step"], "from its last save"
        assert ranges_by_attempt(stage.path("saver"))[2] == (base + 1, 149)
        assert 0 < ended["attempts"][0]["steps_lost"] <= SAVE_EVERY
        assert glim.nodes()["n1"]["cordon"]["by"] == "health", "nobody comes until an operator says so"
        assert len(health_events(glim, "n1")) == 1
