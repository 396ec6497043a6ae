"""The first hour of somebody who has the README and nothing else: its two blocks in files of a fresh folder, submitted
with default settings, interrupted, and brought back on other nodes. In both runtimes, with and without a shared folder.
"""

import os
import re
import shutil
import tempfile

import pytest

from conftest import BIN, ROOT
from cluster.glim_cli import Glim
from cluster.folders import make_folder, remove_folder
from cluster.local_cluster import LocalCluster, default_runtime
from cluster.processes import wait_until

RUNTIMES = ("runc", "process") if default_runtime() == "runc" else ("process",)
MOVES = int(os.environ.get("GLIM_TEST_MOVES", "3"))


def readme_block(language):
    """The first block of that language in the section about jobs."""
    with open(os.path.join(ROOT, "README.md")) as file:
        text = file.read()
    return re.search(rf"```{language}\n(.*?)```", text[text.index("## A job") :], re.DOTALL)[1]


def faster(spec, steps):
    """The same job, with the numbers that its script reads from its environment."""
    assert 'env: {STEPS: "600"}' in spec
    return spec.replace('env: {STEPS: "600"}', f'env: {{STEPS: "{steps}", STEP_SECONDS: "0.05"}}')


@pytest.fixture(
    params=[(runtime, shared) for runtime in RUNTIMES for shared in (False, True)],
    ids=lambda p: f"{p[0]}-{'shared' if p[1] else 'own'}-folders",
)
def own_cluster(request):
    """Four nodes in two zones, and a folder of the newcomer's own, outside of everything that is the cluster's."""
    runtime, shared = request.param
    home = tempfile.mkdtemp(prefix="newcomer-", dir="/tmp")
    folder = make_folder("glim-new-")
    cluster = LocalCluster(BIN, folder, runtime=runtime, allow=[home], checkpoint_root=shared)
    cluster.open_to_tasks(home)
    try:
        cluster.start()
        yield cluster, home, shared
    except BaseException:
        print(cluster.tails())
        raise
    finally:
        faults = cluster.stop()
        remove_folder(folder)
        shutil.rmtree(home)
    assert faults == []


def write(home, name, text):
    path = os.path.join(home, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def zone_of(job):
    return job["attempts"][-1]["tasks"][0]["zone"]


def by_number(job):
    """The attempts that are rows still: of a job with many the newest ones alone."""
    return {attempt["ref"]["number"]: attempt for attempt in job["attempts"]}


def drive_out(cluster, glim, home, job):
    """A more urgent job takes all nodes of the zone that `job` runs in, so that it goes on in the other one."""
    spec = write(
        home,
        "urgent.yaml",
        "name: urgent\nnodes: 2\ngpus_per_node: 0\npriority: high\n"
        f"placement: {{zones: [{zone_of(job)}]}}\nrun: sleep 0.3\n",
    )
    return glim.submit(spec, user="lee")


def wait_step(cluster, glim, job_id, attempt, step):
    def there():
        cluster.check()
        attempts = glim.job(job_id)["attempts"]
        done = attempts[-1]
        assert done["outcome"] in ("", "interrupted"), cluster.describe(glim.job(job_id))
        return done["ref"]["number"] == attempt and done["state"] == "running" and done["last_step"] >= step

    wait_until(there, 60, lambda: f"attempt {attempt} at step {step}: {cluster.describe(glim.job(job_id))}", every=0.05)


def test_ones_own_job_comes_back_on_other_nodes(own_cluster):
    cluster, home, shared = own_cluster
    steps = 100 + 25 * MOVES
    spec = write(home, "job.yaml", faster(readme_block("yaml"), steps))
    write(home, "train.py", readme_block("python"))
    glim = Glim(os.path.join(BIN, "glim"), cluster.server, home, cluster.glim.tokens)

    submitted = glim.run("submit", spec, user="kim")
    assert submitted.returncode == 0, submitted.stderr
    place = "which all nodes share" if shared else "stay on the node that wrote them"
    assert place in submitted.stderr
    job_id = int(submitted.stdout)

    seen, nodes, step = {}, [], 10
    for attempt in range(1, MOVES + 1):
        wait_step(cluster, glim, job_id, attempt, step)
        job = glim.job(job_id)
        nodes.append(job["attempts"][-1]["tasks"][0]["node"])
        urgent = drive_out(cluster, glim, home, job)
        cluster.wait_state(urgent, "succeeded", 60)
        job = glim.job(job_id)
        seen.update(by_number(job))
        step = job["durable_step"] + 5
    job = cluster.wait_state(job_id, "succeeded", 60 + steps // 10)

    seen.update(by_number(job))
    attempts = [seen[number] for number in range(1, MOVES + 2)]
    assert max(seen) == MOVES + 1, cluster.describe(job)
    assert [a["outcome"] for a in attempts] == ["interrupted"] * MOVES + ["succeeded"], cluster.describe(job)
    assert job["steps_lost"] == 0 and job["interrupts"] == MOVES
    bases = [a["base_step"] for a in attempts[1:]]
    assert bases == [a["durable_step"] for a in attempts[:-1]], "each goes on where the one before stopped"
    assert all(a != b for a, b in zip(nodes, nodes[1:])), "each time on another node"
    said = glim.text("logs", job_id, "--attempt", MOVES + 1, user="kim")
    assert f"begins with step {bases[-1] + 1}" in said and f"done after {steps} steps" in said
    status = glim.text("status", job_id, user="kim")
    assert place in status


def test_a_node_that_is_lost_with_the_only_save_is_told(own_cluster):
    """The job goes on from what can be had, and says what that cost; with a shared folder nothing is lost."""
    cluster, home, shared = own_cluster
    glim = Glim(os.path.join(BIN, "glim"), cluster.server, home, cluster.glim.tokens)
    write(home, "train.py", readme_block("python"))
    spec = write(home, "job.yaml", faster(readme_block("yaml"), 60))
    job_id = glim.submit(spec, user="kim")
    wait_step(cluster, glim, job_id, 1, 10)
    node = glim.job(job_id)["attempts"][0]["tasks"][0]["node"]
    assert glim.run("suspend", job_id, user="kim").returncode == 0
    held = cluster.wait_state(job_id, "held", 60)
    assert held["durable_nodes"] == ([] if shared else [node])

    cluster.kill(node)
    wait_until(lambda: glim.nodes()[node]["state"] == "silent", 30, f"{node} is silent")
    assert glim.run("resume", job_id, user="kim").returncode == 0
    if shared:
        assert cluster.wait_state(job_id, "succeeded", 60)["steps_lost"] == 0
    else:
        waiting = glim.job(job_id)
        assert waiting["state"] == "queued" and waiting["blockers"][0]["kind"] == "checkpoint_on"
        assert f"lies on node {node}, which is silent" in waiting["blockers"][0]["message"]
    cluster.start_again(node)
    job = cluster.wait_state(job_id, "succeeded", 90)
    assert job["steps_lost"] == 0 and job["attempts"][-1]["base_step"] == held["durable_step"]
