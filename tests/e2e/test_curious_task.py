"""A task of one user tries to have something of another's, of the node's or of the cluster's: curious.py has the list
of tries, docs/security.md the line that each of them holds up. None may get anything."""

import json
import os
import subprocess

import pytest

from cluster.agent_commands import CONTAINERS
from cluster.folders import make_folder, remove_folder
from cluster.local_cluster import default_runtime
from cluster.processes import wait_until
from conftest import BIN, own_stage

pytestmark = pytest.mark.skipif(default_runtime() not in CONTAINERS, reason="only root's agents make containers")

KIM, LEE = 61001, 61002  # uids that no machine's own tools give out
MARK = "k1ms-0wn"
HERE = os.path.dirname(os.path.abspath(__file__))
GLIM = os.path.join(BIN, "glim")
NODES = {"n1": ("A", "a1", "shared"), "n2": ("A", "a1", "other")}
# What of a job kim's tasks leave wherever they may.
LEAVES = f"""
umask 0
echo {MARK} >/tmp/{MARK}; echo {MARK} >/dev/shm/{MARK}; echo {MARK} >$GLIM_CHECKPOINT_DIR/{MARK}
/usr/bin/python3 -c 'import ctypes; c = ctypes.CDLL(None); c.shmget(4242, 4096, 0o1666); c.msgget(4242, 0o1666)'
echo {MARK}
"""


def owned(path, uid, mode, content=None):
    """A folder, or a file with this content."""
    if content is None:
        os.makedirs(path, exist_ok=True)
    else:
        with open(path, "w") as file:
            file.write(content)
    os.chown(path, uid, uid)
    os.chmod(path, mode)
    return path


class World:
    """Two users with folders of their own in a folder of everybody's, and what the curious task is told of them."""

    def __init__(self, stage, folder):
        self.stage, self.cluster, self.glim = stage, stage.cluster, stage.glim
        for name, uid in (("kim", KIM), ("lee", LEE)):
            self.glim.text("admin", "user", "set", name, "--uid", uid, "--gid", uid, "-y")
        self.kims = owned(os.path.join(folder, "kim"), KIM, 0o700)
        self.lees = owned(os.path.join(folder, "lee"), LEE, 0o700)
        self.private = [
            owned(os.path.join(self.kims, "paper.txt"), KIM, 0o600, MARK),
            owned(os.path.join(owned(os.path.join(self.kims, "inner"), KIM, 0o755), "open.txt"), KIM, 0o644, MARK),
        ]

    def job(self, name, user, run, pool, **fields):
        folder = {"kim": self.kims, "lee": self.lees}[user]
        mounts = [*self.stage.examples.mounts()[:-1], self.stage.examples.mount_of(GLIM), *fields.pop("mounts", ())]
        fields = {"workdir": folder, "pool": pool, "mounts": mounts, **fields}
        return self.glim.submit(self.stage.examples.make(name, run, **fields), user=user)

    def authority(self):
        """What every user has: whom to take for the scheduler."""
        with open(self.glim.tokens.authority) as file:
            return file.read()

    def token_of(self, user):
        with open(self.glim.env_of(user)["GLIM_TOKEN_FILE"]) as file:
            return file.read()

    def about(self, victims):
        """`victims`: kim's jobs, the one that runs last."""
        cluster = self.cluster
        states = [cluster.agent_state(node) for node in NODES]
        below = [
            os.path.join(dirpath, name) for state in states for dirpath, _, names in os.walk(state) for name in names
        ]
        tasks = [os.path.join(state, "tasks") for state in states]
        checkpoints = [os.path.join(state, "checkpoints") for state in states]
        return {
            "mark": MARK,
            "private_files": self.private + [path for path in below if MARK in path],
            "private_folders": [self.kims, os.path.join(self.kims, "inner"), *checkpoints],
            "agent_folders": [cluster.folder, *states, *tasks, cluster.state_dir],
            "agent_files": below + [cluster.config, os.path.join(cluster.state_dir, "operator", "token")],
            "root_files": [path for path in ("/root/.bashrc", "/etc/shadow-") if os.path.exists(path)],
            "others_words": [f"{job}.1.0" for job in victims] + ["glim-agent", "glim-scheduler", "kim-runs"],
            "others_pids": [agent.pid for agent in cluster.agents.values()] + [cluster.scheduler.pid],
            "sockets": [path for path in below if path.endswith("/socket")],
            "control_sockets": [
                os.path.join(dirpath, name)
                for dirpath, _, names in os.walk(cluster.state_dir)
                for name in names
                if "sock" in name
            ],
            "groups": [LEE],
            "devices": [],
            "glim": GLIM,
            "server": cluster.server,
            "agents_server": cluster.agents_server,
            "token": owned(os.path.join(self.lees, "token-of-lee"), LEE, 0o600, self.token_of("lee")),
            "authority": owned(os.path.join(self.lees, "ca.pem"), LEE, 0o644, self.authority()),
            "job": victims[-1],
            "user": "kim",
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        }


@pytest.fixture(scope="module")
def world():
    folder, shared = make_folder("glim-own-"), make_folder("glim-two-")
    os.chmod(shared, 0o755)
    try:
        with own_stage(folder, nodes=NODES, allow=[BIN, shared]) as stage:
            yield World(stage, shared)
    finally:
        remove_folder(folder)
        remove_folder(shared)


@pytest.fixture(scope="module")
def told(world):
    """{try: what the task said of it}. Kim has had a job on its node, and has one that runs on the other."""
    first = world.job("kim-left", "kim", LEAVES, "shared")
    world.cluster.wait_state(first, "succeeded", 60)
    running = world.job("kim-runs", "kim", "echo up; exec sleep 600", "other")
    wait_until(lambda: "up" in world.glim.run("logs", running, user="kim").stdout, 60, "kim's job runs")
    owned(os.path.join(world.lees, "about.json"), LEE, 0o600, json.dumps(world.about([first, running])))
    job = world.job("curious", "lee", f"/usr/bin/python3 {HERE}/curious.py about.json", "shared")
    world.cluster.wait_state(job, "succeeded", 120)
    lines = [json.loads(line) for line in world.glim.text("logs", job, user="lee").splitlines()]
    world.glim.text("cancel", running, user="kim")
    return {line["try"]: line for line in lines}


TRIES = subprocess.run(
    ["/usr/bin/python3", "-c", "import curious; print(*(each.__name__ for each in curious.TRIES))"],
    cwd=HERE,
    capture_output=True,
    text=True,
    check=True,
).stdout.split()


@pytest.mark.parametrize("name", TRIES)
def test_a_curious_task_gets_nothing(told, name):
    assert told[name]["got"] is None, told[name]


def test_the_same_program_gets_an_answer_with_its_users_token(told):
    """So the refusals above are the scheduler's: the program starts there, and there is a way."""
    assert told["control"]["got"] and "curious" in told["control"]["got"], told["control"]


def test_nothing_of_its_making_is_where_others_see_it(world, told):
    folders = [os.path.join(world.cluster.agent_state(node), "checkpoints") for node in NODES] + [world.kims]
    found = [path for folder in folders for path, _, names in os.walk(folder) if "curious" in names]
    assert found == []


def test_it_came_to_its_end(told):
    assert told["over"]["why"] == str(len(TRIES))


@pytest.mark.parametrize("field", ["mounts", "workdir", "checkpoint"])
@pytest.mark.parametrize("folder", ["", "inner"])
def test_no_job_is_given_what_its_user_may_not_reach(world, field, folder):
    """What lies behind a closed folder is closed, whatever its own mode says."""
    path = os.path.join(world.kims, folder).rstrip("/")
    asked = {"mounts": [{"source": path}], "workdir": path, "checkpoint": {"dir": os.path.join(path, "of-lee")}}[field]
    run = f"cat {path}/*.txt; touch {path}/lees; true"
    job = world.job(f"asks-{field}", "lee", run, "shared", **{field: asked})
    ended = wait_until(lambda: world.glim.job(job)["state"] in ("failed", "succeeded"), 60, "it has ended")
    assert ended and MARK not in world.glim.run("logs", job, user="lee").stdout
    assert not os.path.exists(os.path.join(path, "lees")) and not os.path.exists(os.path.join(path, "of-lee"))
    if (field, folder) == ("mounts", ""):
        return  # it is mounted, and closed
    told = world.glim.text("status", job, user="lee")
    assert world.glim.job(job)["state"] == "failed" and path in told and "ermission" in told, told
