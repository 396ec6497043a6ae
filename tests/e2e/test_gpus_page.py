"""docs/gpus.md followed by an operator: no `gpus` is written anywhere, and the node has the GPUs that its driver shows.
The driver's library is the one that the build makes for tests, and says what a file beside it says."""

import contextlib
import json
import os
import shutil
import subprocess

import pytest

from cluster import pages
from cluster.processes import SLOWER, wait_until
from conftest import BIN, own_stage

PAGE = "gpus.md"
BUILT = os.path.join(os.path.dirname(BIN), "test", "libfake-nvml.so")
USED_MIB = 500


def gpu(number, **more):
    """A healthy one with nobody on it."""
    told = {"name": "NVIDIA A100-SXM4-80GB", "uuid": f"GPU-{number}", "pci": [0, 16 + number, 0], "memory_mib": 81920}
    return {**told, "used_mib": USED_MIB, "processes": [], "mig": False, "links": [], **more}


class Driver:
    """In `folder`, by the name under which programs look for it."""

    def __init__(self, folder):
        self.folder, self.library = folder, os.path.join(folder, "libnvidia-ml.so.1")
        shutil.copy(BUILT, self.library)
        self.say([gpu(0), gpu(1)])

    def say(self, gpus):
        path = self.library + ".json"
        with open(path + ".part", "w") as file:
            json.dump({"driver": "535.129.03", "gpus": gpus}, file)
        os.replace(path + ".part", path)


@pytest.fixture
def driver(fresh_folder, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", fresh_folder)  # where glim-inventory finds it, as the page types it
    return Driver(fresh_folder)


@contextlib.contextmanager
def node_with(driver):
    """Tasks are processes: what of a GPU a container gets are devices, which are not there."""
    options = {"nodes": {"n1": ("A", "a1")}, "gpus": None, "runtime": "process"}
    with own_stage(driver.folder, **options, agent_options=("--nvml", driver.library)) as stage:
        yield stage


def test_what_the_page_shows_runs(driver):
    with node_with(driver) as stage:
        labels = stage.glim.nodes()["n1"]["labels"]
        assert (labels["gpu_count"], labels["gpu_type"], labels["simulated_gpus"]) == (2, "a100", False)
        job = stage.glim.submit(stage.examples.make("trains", "exec sleep 600", gpus_per_node=2))
        stage.cluster.wait_state(job, "running", 60)
        text = pages.run(PAGE, stage.glim, stage.folder, NODE="n1", JOB=job)
        assert text.count("NVIDIA A100-SXM4-80GB") >= 4, f"of both GPUs, by the node and by the scheduler: {text}"
        assert "simulated" not in text, text


def test_a_node_is_given_on_when_its_gpus_are_as_before(driver):
    with node_with(driver) as stage:
        log = os.path.join(stage.cluster.logs, "agent-n1.log")
        wait_until(lambda: "event=gpus_answer " in open(log).read(), 60, "the driver has answered the agent")
        job = stage.glim.submit(stage.examples.make("leaves", "while ! [ -e go ]; do sleep 0.1; done", gpus_per_node=2))
        stage.cluster.wait_state(job, "running", 60)
        driver.say([gpu(0, used_mib=3000), gpu(1)])
        open(stage.path("go"), "w").close()
        said = wait_until(lambda: told_of_gpus(stage, job), 60, "what is left is told")
        assert f"3000 MiB used, {USED_MIB} MiB before the task" in said, said
        assert stage.glim.nodes()["n1"]["holder"], "it is not given on"
        driver.say([gpu(0), gpu(1)])
        stage.cluster.wait_state(job, "succeeded", 60)
        stage.cluster.wait_idle()


def told_of_gpus(stage, job):
    text = json.dumps(stage.glim.job(job))
    return text if "MiB used" in text else None


def test_a_gpu_with_mig_is_refused_by_its_name(driver):
    driver.say([gpu(0), gpu(1, mig=True)])
    argv = [os.path.join(BIN, "glim-agent"), "--state-dir", os.path.join(driver.folder, "state"), "--node-name", "n1"]
    argv += ["--runtime", "process", "--any-user", "--insecure-without-identity", "--scheduler", "127.0.0.1:1"]
    done = subprocess.run([*argv, "--nvml", driver.library], capture_output=True, text=True, timeout=120 * SLOWER)
    assert done.returncode == 1 and "GPU-1" in done.stderr and "MIG" in done.stderr, done.stderr
