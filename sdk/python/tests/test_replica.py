"""glim.replica: copies of saves in another node's memory, and restoring from there. What counts is the disk's: no
failure of a replica fails anything."""

import os
import re
import shutil
import subprocess
import sys
import threading

import pytest
import torch
from bounds import BOUND_S
from extension import PYTHONPATH
from replica_service import JOB, Service, token
from small_training import Training
from test_session_saves import base_of

import glim
from glim import checkpoint
from glim.checkpoint import Checkpointer, CheckpointError, open_checkpoint
from glim.environment import Environment
from glim.replica import Replica, ReplicaSource, extension
from glim.torch import weights_digest

pytestmark = pytest.mark.skipif(not extension().is_built(), reason="this build is without UCX")
STATE = {"w": torch.arange(3_000_000), "name": "é", "list": [1, 2.5, (True, None)]}


@pytest.fixture
def service(tmp_path):
    folder = tmp_path / "service"
    folder.mkdir()
    service = Service(folder)
    yield service
    service.kill()


@pytest.fixture
def root(tmp_path):
    return str(tmp_path / "ckpt")


def save(root, replica, step=1, attempt=1):
    with Checkpointer(root, job=JOB, attempt=attempt, replica=replica) as saver:
        return saver.save_state_async(step, STATE).wait_for_replica()


def is_state(state):
    return bool((state["w"] == STATE["w"]).all()) and {**state, "w": 0} == {**STATE, "w": 0}


# ---- savers and sources of one's own


def test_a_save_is_read_from_memory_without_a_disk(service, root):
    report = save(root, Replica(service.address, service.access(1)))
    assert report.replica.peer == service.place and report.replica.bytes > report.bytes and not report.replica_error
    shutil.rmtree(root)
    with ReplicaSource([service.address], service.access(2), attempt=2) as source:
        assert source.whole() == [(1, 1)] and source.failures == []
        opened = source.open(report.path)
        assert (opened.path, opened.step, opened.peers) == (report.path, 1, (service.place,))
        assert is_state(opened.load_state())
        opened.verify()
        with pytest.raises(CheckpointError, match="no neighbour holds attempt-1/step-00000002"):
            source.open(checkpoint.path_of(root, 1, 2))
    with pytest.raises(CheckpointError, match="closed"):
        opened.load_state()


def test_without_a_replica_there_is_nothing_to_wait_for(root):
    report = save(root, None)
    assert report.replica is None and report.replica_error == "" and open_checkpoint(report.path).peers == ()


def test_a_save_is_good_without_its_copy_and_says_why(service, root):
    replica = Replica(service.address, service.access(1))
    service.kill()
    report = save(root, replica)
    assert report.replica is None and service.place in report.replica_error
    assert is_state(open_checkpoint(report.path).load_state())
    with pytest.raises(CheckpointError) as refused:
        ReplicaSource([service.address], service.access())
    assert refused.value.code == "UNAVAILABLE"


def test_whom_the_scheduler_has_not_signed_for_neither_writes_nor_reads(service, root):
    save(root, Replica(service.address, service.access(1)))
    with open(service.keys_file) as file:
        keys = file.read()
    with open(service.keys_file, "w") as file:  # as if the cluster's key had been changed meanwhile
        file.write(re.sub(r"(?m)^key .*", "key " + "5" * 64, keys))
    stranger = service.access(2)
    assert stranger.token not in repr(stranger)
    assert "token" in save(root, Replica(service.address, stranger), step=2, attempt=2).replica_error
    with pytest.raises(CheckpointError) as refused:
        ReplicaSource([service.address], stranger)
    assert refused.value.code == "UNAUTHENTICATED"


def test_another_jobs_token_shows_that_jobs_copies(service, root):
    save(root, Replica(service.address, service.access(1)))
    with ReplicaSource([service.address], service.access(token=token(1, "18"))) as source:
        assert source.whole() == []


def test_an_older_attempt_is_refused_and_the_newer_one_goes_on(service, tmp_path):
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    first, second = (Replica(service.address, service.access(attempt)) for attempt in (1, 2))
    assert save(old, first, 1, attempt=1).replica is not None
    with Checkpointer(new, job=JOB, attempt=2, replica=second) as saver:
        assert saver.save_state_async(2, STATE).wait_for_replica().replica is not None
        stale = save(old, first, 3, attempt=1)
        assert "attempt" in stale.replica_error and os.path.isdir(stale.path)
        assert saver.save_state_async(4, STATE).wait_for_replica().replica is not None
    with ReplicaSource([service.address], service.access()) as source:
        assert source.whole() == [(2, 2), (2, 4)]


def test_wrong_arguments_are_named(service, root):
    with pytest.raises(CheckpointError) as refused:
        Checkpointer(root, replica=Replica("nowhere", service.access(1)))
    assert refused.value.code == "INVALID_ARGUMENT" and "nowhere" in str(refused.value)
    with pytest.raises(CheckpointError, match="token"):
        ReplicaSource([service.address], service.access(token=""))
    with pytest.raises(CheckpointError, match="the token is of attempt 1, not of 2"):
        ReplicaSource([service.address], service.access(1), attempt=2)


UNTOUCHED = """
import os

def state():
    with open("/proc/self/status") as file:
        signals = [line for line in file if line.startswith(("SigCgt", "SigIgn"))]
    with open("/proc/self/maps") as file:
        return signals, dict(os.environ), "libucp" in file.read()

before = state()
import glim.checkpoint, glim.replica
assert state() == before, "without a replica UCX is not loaded"
glim.replica.extension()
assert state() == (*before[:2], True), "signals and environment are the script's"
"""


def test_the_signals_and_the_environment_stay_the_scripts():
    subprocess.run([sys.executable, "-c", UNTOUCHED], env={**os.environ, "PYTHONPATH": PYTHONPATH}, check=True)


# ---- sessions


def environment(service, root, attempt, resume="", rank=0, **fields):
    given = {
        "replica_peer": service.address,
        "replica_sources": (service.address,),
        "replica_tls": "tcp",
        "replica_token_file": service.token_file(attempt),
        "checkpoint_keep": 3,
        **fields,
    }
    return Environment(
        attempt=attempt, checkpoint_dir=root, resume_path=resume, job_id=JOB, rank=rank, declared_rank=rank, **given
    )


def train(env):
    """Saves steps 3 and 7, and stops. The weights in the end."""
    with glim.Session(environment=env) as run:
        training = Training(run)
        run.restore()
        for batch in run.steps(training.loader, save_every=4):
            training.step(batch)
            if run.step == 7:
                run.yield_now()
        return weights_digest(training.model)


def restore(env):
    """(the next step, the weights)."""
    with glim.Session(environment=env) as run:
        training = Training(run)
        return run.restore(), weights_digest(training.model)


def remove_shards(path):
    for entry in os.scandir(path):
        if entry.name.endswith(".safetensors"):
            os.unlink(entry.path)


def test_a_session_goes_on_from_memory_when_the_disks_shards_are_gone(service, root, capfd):
    weights = train(environment(service, root, 1))
    named = checkpoint.path_of(root, 1, 7)
    remove_shards(named)
    assert restore(environment(service, root, 2, named)) == (8, weights)
    told = capfd.readouterr().err
    assert f"glim: restored step 7 from a neighbour's memory ({service.place}), " in told and told.count("\n") == 1
    assert base_of(root, 2) == (1, 7)
    with ReplicaSource([service.address], service.access()) as source:
        assert source.whole() == [(1, 3), (1, 7)], "the two newest; nobody reads them any more"


def test_a_checkpoint_that_is_only_in_memory_becomes_the_base_of_every_rank(service, root, capfd):
    train(environment(service, root, 1))
    named, before = (checkpoint.path_of(root, 1, step) for step in (7, 3))
    shutil.rmtree(named)
    assert restore(environment(service, root, 2, named))[0] == 8
    assert base_of(root, 2) == (1, 7) and checkpoint.checkpoints(root) == [before]
    assert restore(environment(service, root, 2, named, rank=1))[0] == 8
    # A rank that cannot reach the memory must not go on from another step than the others.
    capfd.readouterr()
    with pytest.raises(CheckpointError) as missing:
        restore(environment(service, root, 2, named, rank=1, replica_sources=()))
    assert missing.value.code == "NOT_FOUND"
    # If that is lost, too, the one before still counts.
    assert restore(environment(service, root, 3, named, replica_sources=()))[0] == 4


def test_a_dead_service_is_told_once_and_costs_nothing_else(service, root, capfd):
    service.kill()
    weights = train(environment(service, root, 1))
    told = capfd.readouterr().err
    assert told.startswith("glim: step 3 has no copy in a neighbour's memory: ") and told.count("\n") == 1
    named = checkpoint.path_of(root, 1, 7)
    assert restore(environment(service, root, 2, named)) == (8, weights)
    told = capfd.readouterr().err
    assert told.startswith(f"glim: {named} is not taken from a neighbour's memory: ") and told.count("\n") == 1


def test_a_service_that_has_lost_its_memory_leaves_the_disk(service, root, capfd):
    weights = train(environment(service, root, 1))
    service.kill()
    service.start()
    assert restore(environment(service, root, 2, checkpoint.path_of(root, 1, 7))) == (8, weights)
    assert "no neighbour holds attempt-1/step-00000007" in capfd.readouterr().err


@pytest.mark.parametrize("content", ["0" * 64, "", None], ids=["another", "empty", "missing"])
def test_a_wrong_token_is_told_and_costs_nothing_else(service, root, capfd, content):
    wrong = os.path.join(service.folder, "wrong")
    if content is not None:
        with open(wrong, "w") as file:
            file.write(content)
    weights = train(environment(service, root, 1, replica_token_file=wrong))
    assert capfd.readouterr().err.count("\n") == 1
    assert restore(environment(service, root, 2, checkpoint.path_of(root, 1, 7), replica_token_file=wrong)) == (
        8,
        weights,
    )
    assert capfd.readouterr().err.count("\n") == 1


def test_without_a_token_no_copy_is_made(service, root, capfd):
    weights = train(environment(service, root, 1, replica_token_file=""))
    with ReplicaSource([service.address], service.access()) as source:
        assert source.whole() == []
    assert restore(environment(service, root, 2, checkpoint.path_of(root, 1, 7), replica_token_file=""))[1] == weights
    assert capfd.readouterr().err == ""


def test_a_save_is_told_and_the_session_leaves_while_its_copy_is_on_its_way(service, root, agent, monkeypatch):
    there = threading.Event()
    wait = checkpoint.SaveHandle.wait_for_replica
    monkeypatch.setattr(checkpoint.SaveHandle, "wait_for_replica", lambda handle: there.wait(BOUND_S) and wait(handle))
    env = environment(service, root, 1, socket_path=agent.path)
    with glim.Session(environment=env) as run:
        run.track(model=torch.nn.Linear(1, 1))
        run.save(3, wait=False)
        agent.wait_taken("saved")
        assert run.leave() and run.saves.is_busy
        there.set()
    assert [message["type"] for message in agent.rank().messages] == ["saved", "leaving"]
    with ReplicaSource([service.address], service.access()) as source:
        assert source.whole() == [(1, 3)], "the end of the session waits for it"


def test_what_the_platform_says_of_replicas():
    env = Environment.read(
        {
            "GLIM_REPLICA_PEER": "a:1",
            "GLIM_REPLICA_SOURCES": "b:2,c:3",
            "GLIM_REPLICA_TLS": "tcp",
            "GLIM_REPLICA_TOKEN_FILE": "/t",
            "GLIM_REPLICA_DEVICE": "mlx5_0:1",
            "GLIM_REPLICA_SERVICE_LEVEL": "3",
        }
    )
    assert (env.replica_peer, env.replica_sources, env.replica_token_file) == ("a:1", ("b:2", "c:3"), "/t")
    assert (env.replica_tls, env.replica_device, env.replica_service_level) == ("tcp", "mlx5_0:1", 3)
    none = Environment.read({})
    assert (none.replica_peer, none.replica_sources, none.replica_service_level) == ("", (), -1)
