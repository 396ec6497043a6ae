"""What a training stack does beside computing works in a container with its users' rights, allowed calls and bounds."""

import os

import pytest

from cluster.agent_commands import CONTAINERS
from cluster.local_cluster import default_runtime
from cluster.story import PYTHON

pytestmark = pytest.mark.skipif(default_runtime() not in CONTAINERS, reason="only root's agents make containers")

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "training_stack.py")


def test_loaders_shared_tensors_threads_and_collectives_work(stage, cluster, glim):
    env = {"OPENBLAS_NUM_THREADS": "2", "PYTHONDONTWRITEBYTECODE": "1"}
    spec = stage.examples.make("stack", f"exec {PYTHON} {PROGRAM}", env=env, mounts=stage.examples.mounts())
    job = cluster.wait_state(glim.submit(spec, user="ana"), "succeeded", 120)
    said = glim.text("logs", job["id"], "--attempt", 1, "--rank", 0)
    loaders = [f"loader {how} {start}" for how in ("file_descriptor", "file_system") for start in ("fork", "spawn")]
    assert said.split("\n")[:-1] == ["threads", *loaders, "tensor", "names", "ranks"]
