"""A save that the scheduler named and that cannot be had: the scheduler is told before the script ends."""

import os
import shutil

import pytest
from small_training import Training, train
from test_session_saves import base_of, spoil

import glim
from glim import checkpoint
from glim.environment import Environment


def restore(agent, root, resume, local=False, attempt=2, step=-1):
    env = Environment(
        socket_path=agent.path,
        attempt=attempt,
        checkpoint_dir=str(root),
        resume_path=resume,
        resume_step=step,
        checkpoint_local=local,
    )
    with glim.Session(environment=env) as run:
        Training(run)
        return run.restore()


@pytest.fixture
def saves(tmp_path):
    """Two saves of attempt 1: the one that the scheduler names, and the one before."""
    train(str(tmp_path), 1, epochs=1, save_every=4)
    return [checkpoint.path_of(tmp_path, 1, step) for step in (7, 3)]


@pytest.mark.parametrize("damage, code", [(spoil, "DATA_LOSS"), (shutil.rmtree, "NOT_FOUND")], ids=["corrupt", "gone"])
def test_a_nodes_own_folder_has_the_named_save_or_none(agent, tmp_path, saves, damage, code, capfd):
    """Another node's ranks would not see which other one was taken."""
    damage(saves[0])
    with pytest.raises(glim.RestoreFailed, match="will try the job elsewhere") as failed:
        restore(agent, tmp_path, saves[0], local=True, step=7)
    assert failed.value.code == code and saves[0] in str(failed.value)
    (told,) = agent.taken("restore_failed")
    assert (told["step"], told["path"]) == (7, saves[0]) and told["error"] and told["error"] in str(failed.value)
    assert not agent.taken("restored") and not os.path.exists(tmp_path / "attempt-2")
    assert capfd.readouterr().err.count("is not used") == 1, "told once, however often it was tried"


def test_a_nodes_own_folder_with_the_named_save_is_read(agent, tmp_path, saves):
    assert restore(agent, tmp_path, saves[1], local=True, step=3) == 4
    assert base_of(tmp_path, 2) == (1, 3) and not agent.taken("restore_failed")


def test_ranks_of_a_node_that_differ_are_told(agent, tmp_path, saves):
    checkpoint.begin_attempt(tmp_path, "local", 2, is_told=True, base=saves[1])
    with pytest.raises(glim.RestoreFailed, match="attempt 2 goes on from"):
        restore(agent, tmp_path, saves[0], local=True)
    assert agent.taken("restore_failed")


def test_a_shared_folder_without_any_good_save_is_told(agent, tmp_path, saves):
    for path in saves:
        spoil(path)
    for path in checkpoint.checkpoints(tmp_path):
        if path not in saves:
            shutil.rmtree(path)
    with pytest.raises(glim.RestoreFailed):
        restore(agent, tmp_path, saves[0])
    assert len(agent.taken("restore_failed")) == 1


def test_a_save_of_another_step_is_not_the_named_one(agent, tmp_path, saves):
    with pytest.raises(glim.RestoreFailed, match="holds step 7, but GLIM_RESUME_STEP is 6"):
        restore(agent, tmp_path, saves[0], step=6)
    assert "holds step 7" in agent.taken("restore_failed")[0]["error"]


def test_what_is_no_fault_of_the_save_is_not_told(agent, tmp_path, saves):
    with pytest.raises(checkpoint.CheckpointError) as refused:
        train(str(tmp_path), 3, stop_after=2)
        restore(agent, tmp_path, saves[0], attempt=2)
    assert refused.value.code == "FAILED_PRECONDITION" and not isinstance(refused.value, glim.RestoreFailed)
    assert not agent.taken("restore_failed")


def test_who_cannot_tell_says_so_and_fails_all_the_same(agent, tmp_path, saves, monkeypatch):
    monkeypatch.setattr(glim.Session.restore_failed, "__kwdefaults__", {"timeout_s": 0.2})
    shutil.rmtree(saves[0])
    agent.acknowledge = False
    with pytest.raises(glim.RestoreFailed, match="the scheduler could not be told: the node's agent did not answer"):
        restore(agent, tmp_path, saves[0], local=True)


def test_a_script_that_restores_by_itself_can_tell(agent):
    env = Environment(socket_path=agent.path, resume_path="/ckpt/9", resume_step=9)
    with glim.Session(environment=env) as run:
        assert run.restore_failed("x" * 100_000)
    (told,) = agent.taken("restore_failed")
    assert (told["step"], told["path"]) == (9, "/ckpt/9") and len(told["error"]) == 2000


def test_off_the_cluster_nobody_is_told(tmp_path, saves):
    spoil(saves[0])
    with glim.Session(environment=Environment(resume_path=saves[0], checkpoint_local=True)) as run:
        Training(run)
        with pytest.raises(checkpoint.CheckpointError) as failed:
            run.restore()
    assert not isinstance(failed.value, glim.RestoreFailed)


def test_the_environment_says_whose_folder_it_is():
    assert Environment.read({"GLIM_CHECKPOINT_LOCAL": "1"}).checkpoint_local
    assert not Environment.read({"GLIM_CHECKPOINT_LOCAL": ""}).checkpoint_local
    assert not Environment.read({}).checkpoint_local
