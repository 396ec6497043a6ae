"""Tasks in containers have their users' rights, and no more: two users of two groups, on the same nodes at once."""

import os

import pytest

from cluster.agent_commands import CONTAINERS
from cluster.local_cluster import default_runtime
from conftest import own_stage

GROUPS = {"ana": 1_900_000_101, "ben": 1_900_000_102}

pytestmark = pytest.mark.skipif(default_runtime() not in CONTAINERS, reason="only root's agents make containers")


@pytest.fixture
def own(fresh_folder):
    with own_stage(fresh_folder, users=tuple(GROUPS), nodes={"n1": ("A", "a1")}, checkpoint_root=True) as stage:
        for user, group in GROUPS.items():
            stage.glim.env_of(user)  # registers the user
            stage.glim.text("admin", "user", "set", user, "--group", group, "-y")
        yield stage


def run(stage, user, name, command, **fields):
    """What the user's job printed, and the job."""
    spec = stage.examples.make(name, command, gpus_per_node=0, **fields)
    job = stage.glim.submit(spec, user=user)
    ended = stage.cluster.wait_job(job, lambda job: job["state"] in ("succeeded", "failed"), 60, f"{name} ends")
    path = stage.cluster.rank_log(job, 1, 0)
    with open(path) if path else open(os.devnull) as file:
        return file.read().split("\n")[:-1], ended


def shared_folder(stage, user):
    """A folder of the user's group, with a file that is open to all who come there."""
    folder = os.path.join(stage.cluster.jobs, f"of-{user}s-group")
    os.mkdir(folder)
    os.mkdir(os.path.join(folder, "open"))
    with open(os.path.join(folder, "open", "word"), "w") as file:
        file.write(f"of {user}\n")
    os.chown(folder, 0, GROUPS[user])
    os.chmod(folder, 0o770)
    return folder


def test_each_is_itself_with_its_groups(own):
    for user, (uid, gid) in own.cluster.user_ids.items():
        lines, job = run(own, user, f"who-{user}", "id -u; id -g; id -G; echo $USER")
        assert lines == [str(uid), str(gid), f"{gid} {GROUPS[user]}", user], job["message"]


def test_who_has_no_uid_is_whom_the_operator_names(own):
    lines, job = run(own, "eve", "who-eve", "id -u; id -g")
    assert lines == [str(number) for number in own.cluster.task_user], job["message"]


def test_a_groups_folder_is_its_members_and_nobody_elses(own):
    folder = shared_folder(own, "ana")
    mounts = [{"source": os.path.join(folder, "open"), "target": "/in", "read_only": True}]
    lines, job = run(own, "ana", "member", "cat /in/word", workdir="/tmp", mounts=mounts)
    assert lines == ["of ana"], job["message"]
    lines, job = run(own, "ben", "stranger", "cat /in/word", workdir="/tmp", mounts=mounts)
    assert lines == [] and job["state"] == "failed"
    assert "Permission denied for uid" in job["message"] and "namei -l" in job["message"], job["message"]


def test_saves_are_their_users_alone(own):
    lines, job = run(own, "ana", "saves", "echo precious > $GLIM_CHECKPOINT_DIR/word; echo $GLIM_CHECKPOINT_DIR")
    folder = lines[0]
    assert folder == f"{own.cluster.checkpoint_root}/jobs/{job['id']}"
    info = os.stat(folder)
    assert (info.st_mode & 0o7777, info.st_uid) == (0o700, own.cluster.user_ids["ana"][0])
    mounts = [{"source": folder, "target": "/in"}]
    lines, job = run(own, "ben", "thief", "cat /in/word", workdir="/tmp", mounts=mounts)
    # (In a folder that all may pass, jobs, it is found, and closed.)
    assert lines == ["cat: /in/word: Permission denied"] and job["state"] == "failed", lines


def test_who_is_somebody_else_on_the_node_starts_nowhere(own):
    own.glim.env_of("daemon")
    own.glim.text("admin", "user", "set", "daemon", "--uid", 4321, "--gid", 4321, "-y")
    job = own.glim.submit(own.examples.make("impostor", "echo never", gpus_per_node=0), user="daemon")
    told = own.cluster.wait_job(job, lambda job: job["attempts"] and job["attempts"][0]["message"], 60, "it is told")
    assert "user daemon has uid 4321 in the registry and 1 on node n1" in told["attempts"][0]["message"]
    own.glim.text("cancel", job)
