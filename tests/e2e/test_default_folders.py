"""Agents that were not told what jobs may name: the documents' full example runs on them as it stands, but for the
amounts that this machine does not have."""

import json
import os
import re
import subprocess

import pytest
from cluster.local_cluster import LocalCluster, default_runtime
from cluster.processes import SLOWER
from cluster.spec import replace_fields
from conftest import BIN, ROOT

pytestmark = pytest.mark.skipif(default_runtime() != "runc", reason="plain processes are given every folder")

# What the example runs: it reads its mount, and writes where its checkpoints go.
TRAIN = """\
import os, sys
assert sys.argv[1:] == ["--config", "c.yaml"] and os.path.exists("c.yaml"), sys.argv
with open("/data/words") as file:
    words = file.read()
rank = os.environ["RANK"]
with open(os.path.join(os.environ["GLIM_CHECKPOINT_DIR"], "rank-" + rank), "w") as file:
    file.write(os.getcwd() + " " + words)
"""

AMOUNTS = {
    "nodes": 1,
    "placement": {"leaf": "pack", "cross_zone": "auto"},
    "after": [],
    "limits": {"memory": "2GiB", "cpus": 1, "pids": 1024, "shm": "64MiB", "time": "2d"},
}


def with_srv(folder, argv):
    """The command line with `folder` as its /srv, which nobody else on this machine sees."""
    return [
        "unshare",
        "--mount",
        "--",
        "sh",
        "-c",
        'mount --make-rprivate / && mount --bind "$0" /srv && exec "$@"',
        folder,
        *argv,
    ]


class DefaultFolders(LocalCluster):
    """Without --mount-allow; each agent sees the folder `srv` as /srv."""

    @property
    def srv(self):
        return os.path.join(self.folder, "srv")

    def agent_command(self, *args, **options):
        return with_srv(self.srv, super().agent_command(*args, **options))

    def runtime_options(self, name):
        options = super().runtime_options(name)
        return options[: options.index("--mount-allow")]


def full_example():
    with open(os.path.join(ROOT, "docs", "job-spec.md")) as file:
        blocks = re.findall(r"^```yaml\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    return next(block for block in blocks if block.startswith("apiVersion"))


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


@pytest.fixture
def cluster(fresh_folder):
    cluster = DefaultFolders(BIN, fresh_folder, nodes={"n1": ("A", "a1")})
    os.makedirs(cluster.srv)
    cluster.open_to_tasks(cluster.srv)
    try:
        cluster.start()
        yield cluster
    finally:
        print(cluster.tails())
        faults = cluster.stop()
    assert faults == []


def submit_in(cluster, folder, spec):
    """`glim submit` as a user does it, in the spec's folder on shared storage."""
    argv = with_srv(cluster.srv, ["env", "-C", folder, cluster.glim.program, "-o", "json", "submit", spec])
    return subprocess.run(argv, env=cluster.glim.env_of(), capture_output=True, text=True, timeout=60 * SLOWER)


def test_the_full_example_of_the_documents_runs(cluster):
    write(f"{cluster.srv}/llama/job.yaml", replace_fields(full_example(), AMOUNTS))
    write(f"{cluster.srv}/llama/train.py", TRAIN)
    write(f"{cluster.srv}/llama/c.yaml", "")
    write(f"{cluster.srv}/data/words", "of the data")
    for secret in ("wandb-key", "hf-token"):
        cluster.glim.text("secret", "set", secret, stdin="of the test")
    submitted = submit_in(cluster, "/srv/llama", "job.yaml")
    assert submitted.returncode == 0, submitted.stderr
    job = json.loads(submitted.stdout)["job_ids"][0]
    cluster.wait_state(job, "succeeded", 60)
    for rank in range(8):
        with open(f"{cluster.srv}/ckpt/{job}/rank-{rank}") as file:
            assert file.read() == "/srv/llama of the data"

    write(f"{cluster.srv}/bad.yaml", "name: bad\nrun: 'true'\nworkdir: /root/me\n")
    told = submit_in(cluster, "/srv", "bad.yaml")
    assert told.returncode == 6
    fix = json.loads(told.stderr)["error"]["fix"]
    assert fix == "use a folder below one of: /data, /home, /mnt, /scratch, /srv"
