"""A job's own token and its secrets, as its tasks find them: enough for that job, and for nothing else."""

import json
import os

import pytest

from cluster.processes import wait_until
from conftest import BIN, own_stage

GLIM = os.path.join(BIN, "glim")


@pytest.fixture
def own(fresh_folder):
    with own_stage(fresh_folder, allow=[BIN]) as stage:
        yield stage


def make(own, name, run, **fields):
    mounts = [*own.examples.mounts(), own.examples.mount_of(GLIM)]
    return own.examples.make(name, run, mounts=mounts, **fields)


def test_a_jobs_token_is_for_that_job_and_its_children_until_it_ends(own):
    cluster, glim = own.cluster, own.glim
    other = glim.submit(make(own, "other", "exec sleep 600"), user="kim")  # of the same user
    child = make(own, "child", "true")
    steps = [
        f"{GLIM} -o json whoami >who",
        f"{GLIM} status $GLIM_JOB_ID >own",
        f"{GLIM} cancel {other} 2>denied; echo $? >code",
        f"{GLIM} secret list 2>>denied; echo $? >>code",
        f"{GLIM} admin token create 2>>denied; echo $? >>code",
        f"{GLIM} submit {child} >child",
        "cp $GLIM_TOKEN_FILE token; stat -c %a $GLIM_TOKEN_FILE >told; mv told mode",
        "while [ ! -e gate ]; do sleep 0.1; done",
    ]
    job = glim.submit(make(own, "parent", "; ".join(steps), api=True), user="kim")
    cluster.wait_state(job, "running", 60)
    wait_until(lambda: os.path.exists(own.path("mode")), 30, lambda: glim.text("logs", job))

    def said(name):
        with open(own.path(name)) as file:
            return file.read()

    assert json.loads(said("who"))["user"] == "kim"
    assert said("code").split() == ["4", "4", "4"], said("denied")
    assert glim.job(other)["state"] in ("queued", "running")
    assert said("mode").strip() == "400"
    cluster.wait_state(int(said("child")), "succeeded", 60)
    glim.tokens.write("task", said("token"))
    assert glim.run("status", job, user="task").returncode == 0
    open(own.path("gate"), "w").close()
    cluster.wait_state(job, "succeeded", 30)
    wait_until(lambda: glim.run("status", job, user="task").returncode == 4, 10, "it ended with the attempt")
    assert glim.run("status", other, user="kim").returncode == 0


def test_a_task_without_it_has_no_word_with_the_scheduler(own):
    spec = make(own, "none", f"{GLIM} queue; echo code $?; env | grep -c TOKEN || true")
    job = own.glim.submit(spec, user="kim")
    own.cluster.wait_state(job, "succeeded", 60)
    assert "code 0" not in own.glim.text("logs", job)


def test_a_secret_is_in_its_owners_task_and_nowhere_else(own):
    cluster, glim = own.cluster, own.glim
    glim.text("secret", "set", "key", user="kim", stdin="s3cr3t-0f-k1m")
    run = "wc -c <$GLIM_SECRETS/key >size; stat -f -c %T $GLIM_SECRETS/key >said; mv said kind; exec sleep 600"
    spec = make(own, "with", run, secrets=["key"])
    assert glim.run("submit", spec, user="lee").returncode != 0, "lee has no such secret"
    job = glim.submit(spec, user="kim")
    wait_until(lambda: os.path.exists(own.path("kind")), 60, "the task has it")
    with open(own.path("size")) as size, open(own.path("kind")) as kind:
        assert (size.read().strip(), kind.read().strip()) == ("13", "tmpfs")
    found = []
    for folder, _, files in os.walk(cluster.folder):
        for name in files:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.path.getsize(path) < 50_000_000:
                with open(path, "rb") as file:
                    found += [path] if b"s3cr3t-0f-k1m" in file.read() else []
    assert found == []
    glim.text("cancel", job, user="kim")
    cluster.wait_state(job, "cancelled", 30)
