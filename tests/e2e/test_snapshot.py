"""A job's code as it was at the submission: `glim submit --snapshot` packs the workdir, and every attempt runs that
copy, whatever has become of the folder since."""

import json
import os
import shutil
import subprocess

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


def test_a_waiting_job_runs_the_code_that_was_submitted(own):
    glim, cluster = own.glim, own.cluster
    workdir = make_workdir(own, "project")
    blocker = glim.submit(own.examples.make("blocker", "exec sleep 600", nodes=2))
    cluster.wait_state(blocker, "running", 30)
    spec = own.examples.make("waits", "./run.sh; pwd; echo $GLIM_WORKDIR", workdir=workdir)
    snapshot, folder = glim.submit(spec, "--snapshot"), glim.submit(spec)
    change(workdir)
    glim.text("cancel", blocker)
    for job in (snapshot, folder):
        cluster.wait_state(job, "succeeded", 60)
    lines = said(own, snapshot, 1).splitlines()
    assert lines[:2] == ["version one", "net one"] and lines[2] == lines[3]
    assert said(own, folder, 1).splitlines()[0] == "version two", "without a snapshot it runs what is there"
    if cluster.runtime == "runc":
        assert lines[2] == workdir, "a container sees its code where the spec has the workdir"


def test_what_is_shown_planned_and_shared(own):
    glim = own.glim
    workdir = make_workdir(own, "project")
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    git = ["git", "-C", workdir, "-c", "user.name=kim", "-c", "user.email=kim@example.org"]
    for words in (["init", "-q", "--template="], ["add", "run.sh"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True, env=env)
    head = subprocess.check_output([*git, "rev-parse", "HEAD"], env=env, text=True).strip()
    spec = own.examples.make("shown", "true", workdir=workdir, code="snapshot")
    with open(spec) as file:
        text = file.read()
    two = own.examples.write("two", text + "---\n" + text)

    assert glim.json("plan", two)["jobs"][0]["starts_now"]
    assert archives(own) == [], "a plan writes nothing"
    ids = glim.json("submit", two)["job_ids"]
    assert len(archives(own)) == 1, "one workdir, one archive"
    snapshot = glim.job(ids[0])["spec"]["snapshot"]
    assert snapshot == glim.job(ids[1])["spec"]["snapshot"]
    assert snapshot["revision"] == head and snapshot["path"] == os.path.join(
        own.shared, "snapshots", str(os.geteuid()), archives(own)[0]
    )
    assert os.path.getsize(snapshot["path"]) == snapshot["bytes"]
    change(workdir)
    dirty = glim.submit(spec)
    shown = next(line for line in glim.text("status", dirty).splitlines() if line.startswith("code"))
    sha256 = glim.job(dirty)["spec"]["snapshot"]["sha256"]
    assert f"snapshot {sha256[:6]} (git {head[:7]}-dirty), " in shown
    assert len(archives(own)) == 2


def test_an_archive_that_is_gone_fails_the_start_and_says_so(own):
    glim, cluster = own.glim, own.cluster
    workdir = make_workdir(own, "project")
    blocker = glim.submit(own.examples.make("blocker", "exec sleep 600", nodes=2))
    cluster.wait_state(blocker, "running", 30)
    job = glim.submit(own.examples.make("gone", "true", workdir=workdir, code="snapshot"))
    path = glim.job(job)["spec"]["snapshot"]["path"]
    os.rename(path, path + ".away")
    glim.text("cancel", blocker)
    wait_until(lambda: any(a["outcome"] == "start_failed" for a in glim.job(job)["attempts"]), 30, "a start has failed")
    assert f"the job's code cannot be had from {path}: it cannot be opened" in json.dumps(glim.job(job)["attempts"])
    os.rename(path + ".away", path)
    ended = cluster.wait_job(job, lambda j: j["state"] in ("succeeded", "failed"), 60, "it is tried again")
    assert ended["attempts"][0]["outcome"] == "start_failed"
    assert ended["state"] == "succeeded", cluster.describe(ended)


def test_without_a_root_it_is_refused(stage):
    """The shared cluster has none."""
    spec = stage.examples.make("refused", "true")
    told = stage.glim.run("submit", "--snapshot", spec)
    assert told.returncode == 2 and "checkpoint_root" in told.stderr and "field: code" in told.stderr, told.stderr
