"""A job's code as it was at the submission: the command line packs the workdir, and every attempt runs that copy,
whatever has become of the folder since. What each side does by itself is in cli/commands/snapshot_test.cc and
nodeagent/agent_snapshot_test.cc."""

import os
import shutil

import pytest

from cluster.processes import wait_until
from conftest import own_stage

SIGNAL = {"mode": "signal", "grace": "5s"}


@pytest.fixture
def own(fresh_folder):
    """A cluster whose policy names a checkpoint root, which all its nodes and this host see."""
    with own_stage(fresh_folder, checkpoint_root=True, nodes={"n1": ("A", "a1"), "n2": ("B", "b1")}) as stage:
        stage.shared = stage.cluster.checkpoint_root
        yield stage


def make_workdir(stage, name):
    folder = os.path.join(stage.cluster.jobs, name)
    os.makedirs(os.path.join(folder, "lib"))
    for path, text in (
        ("run.sh", "#!/bin/sh\necho version one; cat lib/net\n"),
        ("lib/net", "net one\n"),
        ("noise.log", "noise\n"),
        ("data.bin", "x"),
        (".gitignore", "*.log\n"),
        (".glimignore", "/data.bin\n"),
    ):
        with open(os.path.join(folder, path), "w") as file:
            file.write(text)
    os.chmod(os.path.join(folder, "run.sh"), 0o755)
    return folder


def change(folder):
    for path in ("run.sh", "lib/net"):
        with open(os.path.join(folder, path), "w") as file:
            file.write("echo version two\n")


def said(stage, job, attempt):
    path = stage.cluster.rank_log(job, attempt, 0)
    if path is None:
        return ""
    with open(path) as file:
        return file.read()


def archives(stage):
    folder = os.path.join(stage.shared, "snapshots", str(os.geteuid()))
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def test_every_attempt_runs_the_code_as_it_was_submitted(own):
    glim, cluster = own.glim, own.cluster
    workdir = make_workdir(own, "project")
    run = "./run.sh; ls -a | tr '\\n' ' '; echo; echo x > made; exec sleep 600"
    job = glim.submit(
        own.examples.make("old", run, workdir=workdir, nodes=2, interrupt=SIGNAL, priority="low", code="snapshot")
    )
    cluster.wait_state(job, "running", 30)
    assert [os.path.basename(glim.job(job)["spec"]["snapshot"]["path"])] == archives(own)
    change(workdir)
    wait_until(lambda: said(own, job, 1).count("\n") >= 3, 20, "attempt 1 has said what it runs")
    first = said(own, job, 1)
    assert (
        first == "version one\nnet one\n. .. .gitignore .glimignore lib run.sh \n"
    ), "nothing that is ignored is there"
    assert "made" not in os.listdir(workdir), "what it writes is in its own copy"

    urgent = glim.submit(own.examples.make("urgent", "true", nodes=2, priority="high"))
    cluster.wait_state(urgent, "succeeded", 60)
    shutil.rmtree(os.path.join(workdir, "lib"))
    cluster.wait_job(job, lambda j: j["state"] == "running" and j["attempt_count"] == 2, 60, "it goes on")
    wait_until(lambda: said(own, job, 2).count("\n") >= 3, 20, "attempt 2 has said what it runs")
    assert said(own, job, 2) == first
    glim.text("cancel", job)
    cluster.wait_state(job, "cancelled", 30)
    cluster.wait_idle()
    folders = [os.path.join(cluster.folder, node, "tasks") for node in cluster.node_places]
    wait_until(
        lambda: not any(os.listdir(folder) for folder in folders),
        20,
        lambda: f"the copies go with the tasks; left: {[os.listdir(folder) for folder in folders]}",
    )
