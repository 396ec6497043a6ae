"""A job that holds GPUs and does not use them: its user is warned, then by policy it saves and is held. The node's GPUs
are those that a library of the tests' tells of, in place of the driver's."""

import contextlib
import json
import os
import shutil

from cluster.local_cluster import CONFIG
from conftest import BIN, lasting, own_stage

NODES = {"n1": ("A", "a1")}
IDLE = lasting(4)  # longer than a job takes to start and end
# CONFIG, with its health policy wider.
IMPATIENT = CONFIG.replace("health: {", "health: {idle_gpus: {warn_after: %s, suspend_after: %s}, " % (IDLE, IDLE))
# Saves when it is asked to leave; from a save it goes on and ends.
SAVES_AND_LEAVES = """\
state="$GLIM_CHECKPOINT_DIR/state"
if [ -e "$state" ]; then echo "went on"; exit 0; fi
leave() { echo saved > "$state"; glim-task saved --step 5 --path "$state"; exit 0; }
trap leave TERM
while :; do sleep 0.05; done
"""


def gpu(number):
    """One on which nothing runs (nodeagent/hardware/testing/fake_nvml.h)."""
    return {
        "name": "NVIDIA A100-SXM4-80GB",
        "uuid": f"GPU-0000-{number}",
        "pci": [0, 16 + number, 0],
        "memory_mib": 81920,
        "used_mib": 500,
        "processes": [],
        "busy": [0, 0],
    }


@contextlib.contextmanager
def idle_node(folder):
    """A node with two GPUs."""
    library = os.path.join(folder, "libfake-nvml.so")
    shutil.copy(os.path.join(os.path.dirname(BIN), "test", "libfake-nvml.so"), library)
    with open(library + ".json", "w") as file:
        json.dump({"driver": "535.129.03", "gpus": [gpu(0), gpu(1)]}, file)
    kernel_log = os.path.join(folder, "kmsg")
    open(kernel_log, "w").close()
    options = ["--health-kmsg", kernel_log, "--health-root", os.path.join(folder, "machine"), "--nvml", library]
    with own_stage(
        folder, nodes=NODES, gpus=None, runtime="process", config=IMPATIENT, kernel_log=lambda node: options
    ) as stage:
        yield stage


def messages(glim, job, kind):
    events = map(json.loads, glim.text("-o", "json", "events", job).splitlines())
    return [event["message"] for event in events if event["kind"] == kind]


def test_a_job_that_leaves_its_gpus_idle_is_warned_then_held_with_its_save_and_goes_on(fresh_folder):
    with idle_node(fresh_folder) as stage:
        cluster, glim = stage.cluster, stage.glim
        signal = {"mode": "signal", "signal": "TERM", "grace": "10s"}
        job = glim.submit(stage.examples.make("idle", SAVES_AND_LEAVES, gpus_per_node=2, interrupt=signal))
        held = cluster.wait_state(job, "held", 60)
        assert held["message"].startswith("suspended by policy: none of its 2 GPUs was busy for "), held["message"]
        assert held["message"].endswith(f"; to go on: glim resume {job}"), held["message"]
        (warning,) = messages(glim, job, "attempt_gpus_idle")
        assert f", or give them back: glim suspend {job}" in warning
        attempt = held["attempts"][0]
        assert attempt["outcome"] == "interrupted" and attempt["gpus_idle_since_ms"] > 0
        assert held["durable_step"] == 5, "it saved when it was asked"
        cluster.wait_idle(30)
        glim.text("resume", job)
        again = cluster.wait_state(job, "succeeded", 60)
        assert again["attempt_count"] == 2 and again["attempts"][1]["gpus_idle_since_ms"] == 0
        assert "went on" in glim.text("logs", job)
