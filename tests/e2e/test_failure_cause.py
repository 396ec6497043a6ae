"""A failure tells who failed first and why, wherever people look; what cannot start is refused or tried once."""

import os

import pytest
from cluster.processes import wait_until

INFEASIBLE = 6

# Rank 2 of four fails as a program does whose module is missing; the others would run on, and are stopped.
GANG = """\
import os, time
if os.environ["RANK"] == "2":
    import glimmer
print("rank", os.environ["RANK"], "waits", flush=True)
time.sleep(3600)
"""


def failed(cluster, glim, job):
    """The job's row in `queue --all` and `history`, and what `status` says, once it has failed."""
    cluster.wait_state(job, "failed", 30)
    line = next(row for row in glim.text("queue", "--all").splitlines() if row.split()[0] == str(job))
    ended = wait_until(
        lambda: [row for row in glim.text("history").splitlines() if row.split()[0] == str(job)],
        10,
        "the history has the job",
    )
    return line, ended[0], glim.text("status", job)


def test_a_failed_gang_names_the_rank_and_the_cause(stage, cluster, glim):
    with open(stage.path("gang.py"), "w") as file:
        file.write(GANG)
    job = glim.submit(
        stage.examples.make("gang", "/usr/bin/python3 gang.py", nodes=2, gpus_per_node=2, launcher="per-gpu")
    )
    queue, history, status = failed(cluster, glim, job)
    attempt = glim.job(job)["attempts"][0]
    node = attempt["tasks"][1]["node"]
    message = f"rank 2 on node {node} exited with code 1: ModuleNotFoundError: No module named 'glimmer'"
    assert attempt["failed_rank"] == 2 and attempt["message"] == message
    for text in (queue, history, status):
        assert message in text

    shown = glim.run("logs", job)
    assert "ModuleNotFoundError" in shown.stdout and "rank 2 failed first" in shown.stderr
    other = glim.run("logs", job, "--rank", 0)
    assert "ModuleNotFoundError" not in other.stdout and other.stderr == ""
    waited = glim.run("wait", job)
    assert waited.returncode == 1 and message in waited.stderr


def test_a_command_that_is_not_there_comes_with_a_hint(stage, cluster, glim):
    job = glim.submit(stage.examples.make("nosuch", "no-such-program --flag"))
    queue, history, status = failed(cluster, glim, job)
    for text in (queue, history, status):
        assert "rank 0 on node" in text and "exited with code 127 (command not found): " in text
    assert "\n  hint: the shell found no such program" in status
    assert glim.json("status", job)["hint"].startswith("the shell found no such program")


def test_an_interpreter_without_the_sdk_comes_with_a_hint(stage, cluster, glim):
    job = glim.submit(stage.examples.make("isolated", "/usr/bin/python3 -I -c 'import glim'"))
    _, _, status = failed(cluster, glim, job)
    assert "exited with code 1: ModuleNotFoundError: No module named 'glim'" in status and "hint: PYTHONPATH" in status


def test_a_workdir_that_is_no_folder_is_tried_once(stage, cluster, glim):
    path = stage.path("file")
    open(path, "w").close()
    job = glim.submit(stage.examples.make("file", "true", workdir=path))
    cluster.wait_state(job, "failed", 30)
    row = glim.job(job)
    assert len(row["attempts"]) == 1
    assert f"workdir {path} cannot be used on this node: it is not a folder: name a folder" in row["message"]


def test_a_workdir_that_is_not_there_is_tried_on_a_second_node(stage, cluster, glim):
    path = stage.path("not-there")
    job = glim.submit(stage.examples.make("missing", "true", workdir=path))
    cluster.wait_state(job, "failed", 30)
    row = glim.job(job)
    nodes = [attempt["tasks"][0]["node"] for attempt in row["attempts"]]
    assert len(nodes) == 2 and nodes[0] != nodes[1]
    assert f"workdir {path} cannot be used on this node: No such file" in row["message"]
    assert "the same on 2 nodes" in row["message"]


@pytest.fixture
def containers(cluster):
    if cluster.runtime != "runc":
        pytest.skip("plain processes are given every folder")
    return cluster


@pytest.mark.parametrize(
    "field, fields",
    [
        ("workdir", {"workdir": "/root/me"}),
        ("checkpoint.dir", {"checkpoint": {"dir": "/ckpt/$GLIM_JOB_ID"}}),
        ("mounts[0].source", {"mounts": [{"source": "/root", "target": "/mine"}]}),
    ],
)
def test_a_folder_that_no_node_gives_is_refused_at_once(containers, stage, glim, field, fields):
    spec = stage.examples.make("bad", "true", **fields)
    jobs = len(glim.json("queue", "--all")["jobs"])
    for command in ("submit", "plan"):
        told = glim.run(command, spec)
        assert told.returncode == INFEASIBLE, told.stdout + told.stderr
        assert "is in no folder that the nodes of pool default give to jobs" in told.stderr
        assert f"field: {field}\n" in told.stderr
        assert "use a folder below one of: " in told.stderr and containers.jobs in told.stderr
    assert len(glim.json("queue", "--all")["jobs"]) == jobs


def test_a_link_that_leads_out_is_the_jobs_fault(containers, stage, cluster, glim):
    os.symlink("/root", stage.path("out"))
    mounts = [mount for mount in stage.examples.mounts() if mount["source"] != stage.folder]
    job = glim.submit(stage.examples.make("out", "true", workdir=stage.path("out"), mounts=mounts))
    cluster.wait_state(job, "failed", 30)
    row = glim.job(job)
    assert len(row["attempts"]) == 1
    assert f"workdir {stage.path('out')} is not among the folders that this node gives to jobs" in row["message"]


def test_a_node_shows_the_folders_that_it_gives(containers, glim):
    assert containers.jobs in glim.nodes()["n1"]["allowed_folders"]
    assert containers.jobs in glim.text("nodes", "n1")
    assert glim.run("nodes", "n9").returncode == 3
