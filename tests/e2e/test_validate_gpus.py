"""glim-validate and GPUs that the test makes up: by the drivers' own names, as on a node that has some.
docs/operations/validate.md, sdk/device/testing/standin_driver.h"""

import json
import os

import pytest

from cluster.processes import wait_until
from conftest import BIN, own_stage
from slowed import BAD_NODE, Validate
from test_gpus_page import Driver
from test_validate import ALONE, MEASURES, Machine, merged, validation

BUILD = os.path.dirname(BIN)


@pytest.fixture
def validate():
    return Validate(os.path.join(BIN, "glim-validate"))


class Gpus:
    """Two cards that are alike, until the test says something else; `environment` is that of who shall see them."""

    def __init__(self, folder):
        self._path = os.path.join(folder, "gpus.json")
        libraries = os.path.join(folder, "drivers")
        os.mkdir(libraries)
        os.symlink(os.path.join(BUILD, "sdk/device/libglim_device_standin.so"), os.path.join(libraries, "libcuda.so.1"))
        self.environment = {**os.environ, "LD_LIBRARY_PATH": libraries, "GLIM_STANDIN_GPUS": self._path}
        self.says = {"gpus": [{"memory_kib": 512, "pci": f"0000:{at}:00.0"} for at in (16, 17)]}
        self.tell()

    def tell(self):
        with open(self._path, "w") as file:
            json.dump(self.says, file)


@pytest.fixture
def gpus(tmp_path):
    return Gpus(str(tmp_path))


def test_gpus_are_measured_and_compared_with_a_fleet(validate, gpus, tmp_path):
    good = validate("--part", "gpu", env=gpus.environment)
    assert good.code == 0, good
    assert {line["what"] for line in good.lines} >= {"patterns", "multiply", "tensor", "to_host", "peer_pci"}
    assert {line["device"] for line in good.lines if line["what"] == "multiply"} == {"gpu0", "gpu1"}
    baseline = merged(validate, good, str(tmp_path / "baseline.json"))
    for card in gpus.says["gpus"]:
        card["to_host_gbps"] = 5
    gpus.tell()
    slow = validate("--part", "gpu", "--baseline", baseline, env=gpus.environment)
    assert slow.code == BAD_NODE, slow
    assert slow.bad() == {("gpu", "to_host", "gpu0"), ("gpu", "to_host", "gpu1")}, slow


def test_a_bit_that_stays_makes_a_bad_node_and_the_last_line_says_where(validate, gpus):
    gpus.says["gpus"][1]["stuck"] = {"byte": 0x9000, "bits": 1}
    gpus.tell()
    ended = validate("--part", "gpu", env=gpus.environment)
    assert ended.code == BAD_NODE, ended
    assert ("gpu", "patterns", "gpu1") in ended.bad() and ("gpu", "patterns", "gpu0") not in ended.bad(), ended
    assert "gpu patterns gpu1: " in ended.errors and "byte 0x9000 " in ended.errors, ended


def test_without_a_gpu_or_with_a_broken_driver_it_is_no_bad_node(validate, gpus):
    gpus.says = {"init": 100}
    gpus.tell()
    none = validate("--part", "gpu", env=gpus.environment)
    assert none.code == 1 and "there is no GPU for this process" in none.errors, none
    gpus.says = {"init": 999}
    gpus.tell()
    broken = validate("--part", "gpu", env=gpus.environment)
    assert broken.code == 1 and "the GPUs' driver does not work" in broken.errors and "nvidia-smi" in broken.errors


# --- a node that joins

# In place of glim-validate in the tasks' SDK: it finds the test's GPUs, and measures nothing else of this machine.
MEASURING_GPUS = """#!/bin/sh
export LD_LIBRARY_PATH={libraries} GLIM_STANDIN_GPUS={gpus}
exec "$(dirname "$0")/glim-validate.real" "$@" --part gpu
"""
FAST = "health: {validate: {baselines: [{gpu_type: a100, expected: {gpu.to_host: 100}}], "


def cordon_of_the_node_that_joins(folder, gpus, config=MEASURES):
    program = MEASURING_GPUS.format(
        libraries=gpus.environment["LD_LIBRARY_PATH"], gpus=gpus.environment["GLIM_STANDIN_GPUS"]
    )
    machine, driver = Machine(folder, program), Driver(folder)
    options = ("--sdk", machine.sdk, "--nvml", driver.library)
    with own_stage(folder, nodes=ALONE, gpus=None, runtime="process", config=config, agent_options=options) as stage:
        cordon = wait_until(lambda: stage.glim.nodes()["n1"].get("cordon"), 120, "it is taken out")
        job = stage.glim.json("history")["jobs"][0]
        asked = (job["name"], job["gpus_per_node"])
        assert asked == ("validate-n1", 2), "GPUs that the job does not hold are not tested"
        assert cordon["by"] == "health" and validation(stage)["bad"], cordon
        return cordon["reason"]


def test_a_node_that_joins_with_a_gpu_whose_memory_lies_is_taken_out(gpus, fresh_folder):
    gpus.says["gpus"][1]["stuck"] = {"byte": 0x9000, "bits": 1}
    gpus.tell()
    assert "gpu patterns gpu1: " in cordon_of_the_node_that_joins(fresh_folder, gpus)


def test_a_node_that_joins_is_compared_with_what_the_policy_says_of_its_kind(gpus, fresh_folder):
    reason = cordon_of_the_node_that_joins(fresh_folder, gpus, MEASURES.replace("health: {validate: {", FAST))
    assert "gpu to_host gpu0: too slow: 25" in reason and "0.25 of the expected 100 GB/s" in reason, reason
