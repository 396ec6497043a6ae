"""A task of one user tries to be a rank of another's running job, which waits for its last rank: stranger_rank.py has
the tries. None gets anything, and the job's sum is right."""

import hashlib
import json
import os

import pytest

from cluster.agent_commands import CONTAINERS
from cluster.folders import make_folder, remove_folder
from cluster.local_cluster import default_runtime
from cluster.processes import wait_until
from conftest import BIN, own_stage

pytestmark = pytest.mark.skipif(default_runtime() not in CONTAINERS, reason="only root's agents make containers")

KIM, LEE = 61001, 61002  # uids that no machine's own tools give out
HERE = os.path.dirname(os.path.abspath(__file__))
NODES = {"n1": ("A", "a1", "kims"), "n2": ("A", "a1", "kims"), "n3": ("A", "a1", "lees")}
TOLD = "GLIM_HOSTS GLIM_ZONES GLIM_GATEWAYS GLIM_HFREDUCE_PORT GLIM_JOB_ID GLIM_ATTEMPT MASTER_ADDR"
REDUCE = f"""\
import hashlib, json, os, time
import numpy
from glim import hfreduce

node = int(os.environ["GLIM_NODE_RANK"])
with open(os.environ["GLIM_ATTEMPT_SECRET_FILE"], "rb") as file:
    told = hashlib.sha256(file.read()).hexdigest()
print(json.dumps({{"told": told, "environment": {{name: os.environ[name] for name in {TOLD.split()}}}}}), flush=True)
while node == 1 and not os.path.exists("go"):
    time.sleep(0.05)
with hfreduce.init(timeout=120.0) as group:
    values = numpy.full(1000, group.rank + 1, dtype="f4")
    group.all_reduce(values)
    print(json.dumps({{"size": group.size, "sum": float(values[0])}}), flush=True)
    group.barrier()
"""


def owned(path, uid, mode, content=None):
    if content is None:
        os.makedirs(path, exist_ok=True)
    else:
        with open(path, "w") as file:
            file.write(content)
    os.chown(path, uid, uid)
    os.chmod(path, mode)
    return path


@pytest.fixture(scope="module")
def stage_of_two():
    folder, shared = make_folder("glim-own-"), make_folder("glim-two-")
    os.chmod(shared, 0o755)
    try:
        with own_stage(folder, nodes=NODES, allow=[BIN, shared]) as stage:
            for name, uid in (("kim", KIM), ("lee", LEE)):
                stage.glim.text("admin", "user", "set", name, "--uid", uid, "--gid", uid, "-y")
                owned(os.path.join(shared, name), uid, 0o700)
            yield stage, shared
    finally:
        remove_folder(folder)
        remove_folder(shared)


def lines_of(stage, job, ranks):
    """What the ranks have printed, one after the other."""
    said = []
    for rank in range(ranks):
        path = stage.cluster.rank_log(job, 1, rank)
        if path:
            with open(path) as file:
                said += [json.loads(line) for line in file if line.startswith("{") and line.endswith("\n")]
    return said


def test_a_task_of_another_user_is_no_rank_of_a_running_job(stage_of_two):
    stage, shared = stage_of_two
    kims, lees = os.path.join(shared, "kim"), os.path.join(shared, "lee")
    owned(os.path.join(kims, "reduce.py"), KIM, 0o600, REDUCE)
    mounts = stage.examples.mounts()[:-1]
    kim = stage.glim.submit(
        stage.examples.make(
            "kims", "exec /usr/bin/python3 reduce.py", nodes=2, pool="kims", workdir=kims, mounts=mounts
        ),
        user="kim",
    )
    wait_until(lambda: len(lines_of(stage, kim, 2)) == 2, 60, "both tasks of kim's have begun")
    first, second = lines_of(stage, kim, 2)
    assert first["told"] == second["told"], "all tasks of an attempt have one secret"
    environment = {**first["environment"], "GLIM_NODE_RANK": "1", "GLIM_NNODES": "2"}
    about = {
        "host": environment["MASTER_ADDR"],
        "port": int(environment["GLIM_HFREDUCE_PORT"]),
        "key": f"communicator/{environment['GLIM_JOB_ID']}.{environment['GLIM_ATTEMPT']}-0",
        "environment": environment,
    }
    owned(os.path.join(lees, "about.json"), LEE, 0o600, json.dumps(about))
    lee = stage.glim.submit(
        stage.examples.make(
            "lees",
            f"exec /usr/bin/python3 {HERE}/stranger_rank.py about.json",
            pool="lees",
            workdir=lees,
            mounts=mounts,
        ),
        user="lee",
    )
    stage.cluster.wait_state(lee, "succeeded", 120)
    tries = {line["try"]: line for line in lines_of(stage, lee, 1)}
    assert [tries[name]["got"] for name in tries if name != "over"] == [None] * 5, tries
    assert "another secret" in tries["rank with its own secret"]["why"], tries
    assert "asks for the attempt's secret, and this process has none" in tries["rank without a secret"]["why"], tries

    owned(os.path.join(kims, "go"), KIM, 0o600, "")
    stage.cluster.wait_state(kim, "succeeded", 60)
    sums = [line for line in lines_of(stage, kim, 2) if "sum" in line]
    assert sums == [{"size": 2, "sum": 3.0}] * 2
    assert hashlib.sha256(b"").hexdigest() != first["told"]
