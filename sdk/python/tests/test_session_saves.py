"""The session's checkpoints: written in the background, told when durable, and only what the scheduler says counts."""

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time

import pytest
import torch
from extension import PYTHONPATH
from bounds import BOUND_S, wait_until
from small_training import Training, train

import glim
from glim import checkpoint
from glim.environment import Environment
from glim.torch import weights_digest


def base_of(root, attempt):
    with open(os.path.join(root, f"attempt-{attempt}", "base.json")) as file:
        base = json.load(file).get("base")
    return base and (base["attempt"], base["step"])


def restore(root, attempt, resume="", socket="", rank=0):
    """The next step of an attempt that restores and does nothing else."""
    env = Environment(
        attempt=attempt, checkpoint_dir=str(root), resume_path=resume, socket_path=socket, rank=rank, declared_rank=rank
    )
    with glim.Session(environment=env) as run:
        Training(run)
        return run.restore()


def spoil(path):
    """A bit of the data flips."""
    shard = next(entry.path for entry in os.scandir(path) if entry.name.endswith(".safetensors"))
    with open(shard, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))


# ---- in the background


@pytest.fixture
def slow_disk(monkeypatch):
    """Saves are durable when `slow_disk` is set."""
    free = threading.Event()
    wait = checkpoint.SaveHandle.wait
    monkeypatch.setattr(checkpoint.SaveHandle, "wait", lambda handle: free.wait(BOUND_S) and wait(handle))
    yield free
    free.set()


def test_the_training_goes_on_while_a_save_is_written_and_it_is_told_when_durable(agent, tmp_path, slow_disk):
    env = Environment(socket_path=agent.path, checkpoint_dir=str(tmp_path), attempt=1)
    with glim.Session(environment=env) as run:
        run.track(model=torch.nn.Linear(1, 1))
        for step in run.steps(range(9), save_every=5):
            if step == 8:
                agent.wait(lambda: 7 in [m["step"] for m in agent.taken("progress")], what="steps after the save")
                assert run.saves.is_busy and not agent.taken("saved")
                slow_disk.set()
                saved = agent.wait_taken("saved")[0]
    assert saved["step"] == 4 and saved["path"] == checkpoint.path_of(tmp_path, 1, 4) and len(agent.taken("saved")) == 1


def test_the_next_save_waits_for_the_one_before(tmp_path, slow_disk):
    with glim.Session(environment=Environment(checkpoint_dir=str(tmp_path))) as run:
        run.track(model=torch.nn.Linear(1, 1))
        run.save(3, wait=False)
        second = threading.Thread(target=run.save, args=(4,))
        second.start()
        assert run.saves.is_busy
        slow_disk.set()
        second.join(BOUND_S)
    assert [os.path.basename(path) for path in checkpoint.checkpoints(tmp_path)] == ["step-00000003", "step-00000004"]


def test_leaving_waits_until_the_last_save_is_durable_and_told(agent, tmp_path, slow_disk):
    env = Environment(socket_path=agent.path, checkpoint_dir=str(tmp_path), attempt=1)
    with glim.Session(environment=env) as run:
        run.track(model=torch.nn.Linear(1, 1))
        run.save(3, wait=False)
        leaves = threading.Thread(target=run.leave)
        leaves.start()
        leaves.join(0.05)  # not a wait: leave() has a chance to be wrong
        assert leaves.is_alive() and not agent.taken("leaving")
        slow_disk.set()
        leaves.join(BOUND_S)
        assert [m["type"] for m in agent.rank().messages] == ["saved", "leaving"]


def test_a_save_by_time_is_left_out_while_one_is_on_its_way(tmp_path, slow_disk):
    env = Environment(checkpoint_dir=str(tmp_path), checkpoint_every_ms=1)
    with glim.Session(environment=env) as run:
        run.track(model=torch.nn.Linear(1, 1))
        for step in run.steps(range(30)):
            time.sleep(0.002)  # a step's work
        slow_disk.set()
    assert len(checkpoint.checkpoints(tmp_path)) == 1


def test_without_a_word_saves_are_five_minutes_apart(tmp_path):
    with glim.Session(environment=Environment(checkpoint_dir=str(tmp_path))) as run:
        assert run.checkpoint_every_ms == 300_000
    with glim.Session(environment=Environment(checkpoint_every_ms=7)) as run:
        assert run.checkpoint_every_ms == 7


def test_the_end_of_the_block_waits_for_a_save(tmp_path):
    train(str(tmp_path), 1, epochs=1, save_every=10)
    assert checkpoint.checkpoints(tmp_path) == [checkpoint.path_of(tmp_path, 1, 9)]


@pytest.mark.parametrize("wait", [True, False])
def test_a_save_that_fails_does_not_end_the_training(tmp_path, capfd, wait):
    (tmp_path / "attempt-1").mkdir()
    (tmp_path / "attempt-1" / "step-00000003").write_text("in the way")
    training, run = train(str(tmp_path), 1, epochs=1, save_every=4, stop_after=3 if wait else None)
    told = capfd.readouterr().err
    assert len(training.numbers) == (4 if wait else 10) and "glim: step 3 could not be saved: " in told
    assert checkpoint.checkpoints(tmp_path) == ([] if wait else [checkpoint.path_of(tmp_path, 1, 7)])


def told_of(agent):
    return [(m["type"], m["step"]) for m in agent.rank().messages if m["type"] in ("saved", "save_failed")]


def test_a_save_that_fails_is_told_once_however_it_is_made(agent, tmp_path):
    for step in (3, 5, 7):
        (tmp_path / "attempt-1").mkdir(exist_ok=True)
        (tmp_path / "attempt-1" / f"step-0000000{step}").write_text("in the way")
    env = Environment(socket_path=agent.path, attempt=1, checkpoint_dir=str(tmp_path))
    with glim.Session(environment=env) as run:
        training = Training(run)
        for step, batch in enumerate(run.steps(training.loader, epochs=1)):
            training.step(batch)
            if step == 4:
                with pytest.raises(checkpoint.CheckpointError):
                    run.save(step - 1)  # waited for
            if step == 6:
                run.save(step - 1, wait=False)  # in the background
                run.save(step)  # waits for that one first
            if step == 7:
                run.yield_now()  # by the loop, at the stop
    assert told_of(agent) == [("save_failed", 3), ("save_failed", 5), ("saved", 6), ("save_failed", 7)]
    first = agent.taken("save_failed")[0]
    assert "step-00000003" in first["error"] and agent.rank().messages[-1]["type"] == "leaving"


def test_what_a_checkpoint_cannot_keep_is_a_save_that_failed(agent, tmp_path):
    class Grows:
        state = 1

        def state_dict(self):
            return {"it": self.state}

        def load_state_dict(self, state):
            pass

    env = Environment(socket_path=agent.path, attempt=1, checkpoint_dir=str(tmp_path))
    grows = Grows()
    with glim.Session(environment=env) as run:
        run.track(it=grows)
        for step in run.steps(range(4), save_every=2):
            grows.state = print  # from now on
    assert told_of(agent) == [("save_failed", 1), ("save_failed", 3)]
    assert "it.it" in agent.taken("save_failed")[0]["error"]


def test_of_a_save_of_ones_own_the_script_tells(agent):
    env = Environment(socket_path=agent.path, attempt=1)
    with glim.Session(environment=env) as run:
        run.checkpoint_failed(3, "the store did not answer")
        run.checkpoint_failed(4, OSError(28, "No space left on device"))
        run.checkpoint_failed(5, ValueError())
        run.checkpoint_failed(6, "x" * 100_000)
        agent.wait_taken("save_failed", 4)
    told = [m["error"] for m in agent.taken("save_failed")]
    assert told[:3] == ["the store did not answer", "[Errno 28] No space left on device", "ValueError"]
    assert len(told[3]) == 2000


# ---- which one counts


def test_only_the_named_save_is_read(tmp_path, monkeypatch):
    train(str(tmp_path), 1, stop_after=4)
    train(str(tmp_path), 1, stop_after=8)  # a stale task's later one
    named = checkpoint.path_of(tmp_path, 1, 4)
    monkeypatch.setenv("GLIM_RESUME_PATH", named)
    monkeypatch.setenv("GLIM_RESUME_STEP", "4")
    monkeypatch.setenv("GLIM_ATTEMPT", "2")
    monkeypatch.setenv("GLIM_CHECKPOINT_DIR", str(tmp_path))
    with glim.session() as run:
        Training(run)
        assert run.restore() == 5
    assert base_of(tmp_path, 2) == (1, 4) and checkpoint.checkpoints(tmp_path) == [named]
    monkeypatch.setenv("GLIM_RESUME_STEP", "8")
    with glim.session() as run:
        Training(run)
        with pytest.raises(RuntimeError, match="holds step 4"):
            run.restore()


def test_on_the_cluster_nothing_is_restored_unasked(agent, tmp_path):
    train(str(tmp_path), 1, stop_after=4)
    assert restore(tmp_path, 0) == 5  # off the cluster the newest counts
    assert restore(tmp_path, 7, socket=agent.path) == 0
    assert base_of(tmp_path, 7) is None and checkpoint.checkpoints(tmp_path) == []


def test_a_script_that_restores_by_itself_has_the_named_base(agent, tmp_path):
    train(str(tmp_path), 1, epochs=1, save_every=3)
    env = Environment(
        socket_path=agent.path, checkpoint_dir=str(tmp_path), attempt=2, resume_path=checkpoint.path_of(tmp_path, 1, 5)
    )
    with glim.Session(environment=env) as run:
        Training(run)
        run.save(6)
    assert base_of(tmp_path, 2) == (1, 5)


def test_off_the_cluster_each_run_is_an_attempt(tmp_path):
    assert restore(tmp_path, 0) == 0
    train(str(tmp_path), 0, stop_after=4)
    train(str(tmp_path), 0, stop_after=6)
    assert checkpoint.checkpoints(tmp_path) == [checkpoint.path_of(tmp_path, n, s) for n, s in ((2, 4), (3, 6))]


@pytest.mark.parametrize(
    "damage",
    [
        spoil,
        shutil.rmtree,
        lambda path: os.unlink(path + "/manifest.json"),
        lambda path: os.truncate(path + "/manifest.json", 100),
    ],
    ids=["bit", "removed", "unpublished", "cut"],
)
def test_a_corrupt_save_is_told_and_the_one_before_counts(tmp_path, damage, capfd):
    train(str(tmp_path), 1, epochs=1, save_every=4)
    named, before = (checkpoint.path_of(tmp_path, 1, step) for step in (7, 3))
    damage(named)
    assert [restore(tmp_path, 2, resume=named, rank=rank) for rank in (1, 0)] == [4, 4]
    assert f"glim: {named} is not used" in capfd.readouterr().err
    assert base_of(tmp_path, 2) == (1, 3) and before in checkpoint.checkpoints(tmp_path)


def test_a_named_save_that_gave_way_to_newer_ones_means_the_newest(tmp_path):
    """The agent was away while they were saved, so the scheduler names one that is gone by now."""
    train(str(tmp_path), 1, epochs=1, save_every=1)
    assert restore(tmp_path, 2, resume=checkpoint.path_of(tmp_path, 1, 2)) == 10
    assert base_of(tmp_path, 2) == (1, 9)


def test_all_ranks_go_on_from_what_the_first_one_found(tmp_path):
    train(str(tmp_path), 1, epochs=1, save_every=4)
    named = checkpoint.path_of(tmp_path, 1, 7)
    checkpoint.begin_attempt(tmp_path, "local", 2, is_told=True, base=checkpoint.path_of(tmp_path, 1, 3))
    assert restore(tmp_path, 2, resume=named, rank=1) == 4


def test_a_save_that_is_removed_while_it_is_read_is_looked_for_again(tmp_path, monkeypatch):
    train(str(tmp_path), 1, epochs=1, save_every=4)
    named = checkpoint.path_of(tmp_path, 1, 7)
    load_state = checkpoint.Checkpoint.load_state

    def load_and_remove(opened):
        state = load_state(opened)
        if opened.path == named:
            shutil.rmtree(named)
        return state

    monkeypatch.setattr(checkpoint.Checkpoint, "load_state", load_and_remove)
    assert restore(tmp_path, 2, resume=named) == 4 and base_of(tmp_path, 2) == (1, 3)


def test_workers_that_are_started_again_in_the_same_attempt(tmp_path):
    train(str(tmp_path), 1, epochs=1, save_every=4)
    named = checkpoint.path_of(tmp_path, 1, 7)
    train(str(tmp_path), 2, resume=named, stop_after=12)
    assert restore(tmp_path, 2, resume=named) == 8  # as the scheduler says
    assert restore(tmp_path, 2) == 13  # off the cluster


def test_a_full_disk_at_the_start_is_told_and_the_training_begins(tmp_path, monkeypatch, capfd):
    begin = checkpoint.begin_attempt
    full = [checkpoint.CheckpointError("no space", "RESOURCE_EXHAUSTED")]
    monkeypatch.setattr(
        checkpoint,
        "begin_attempt",
        lambda *given, **named: begin(*given, **named) if not full else (_ for _ in ()).throw(full.pop()),
    )
    training, _ = train(str(tmp_path), 1, epochs=1, save_every=10)
    assert len(training.numbers) == 10 and "base could not be written: no space" in capfd.readouterr().err
    assert checkpoint.checkpoints(tmp_path) == [checkpoint.path_of(tmp_path, 1, 9)]


def test_without_any_good_save_the_first_fault_is_told(tmp_path):
    train(str(tmp_path), 1, stop_after=2)
    path = checkpoint.path_of(tmp_path, 1, 2)
    spoil(path)
    with glim.Session(environment=Environment(resume_path=path)) as run:
        training = Training(run)
        before = weights_digest(training.model)
        with pytest.raises(checkpoint.CheckpointError) as refused:
            run.restore()
        assert refused.value.code == "DATA_LOSS" and path in str(refused.value)
        assert weights_digest(training.model) == before


def test_what_track_did_not_write_is_refused(tmp_path):
    with checkpoint.Checkpointer(tmp_path / "other") as saver:
        path = saver.save_state_async(1, {"model": {}}).wait().path
    with pytest.raises(RuntimeError, match="not a save of format"):
        restore(tmp_path, 1, resume=path)
    train(str(tmp_path), 1, stop_after=2)
    env = Environment(resume_path=checkpoint.path_of(tmp_path, 1, 2))
    with glim.Session(environment=env) as run:
        run.track(model=torch.nn.Linear(1, 1))
        with pytest.raises(RuntimeError, match="track the same names"):
            run.restore()


def test_a_directory_of_another_job_and_an_attempt_that_is_over_are_refused(tmp_path):
    train(str(tmp_path), 3, stop_after=2)
    with pytest.raises(checkpoint.CheckpointError, match="attempt 3 has begun"):
        restore(tmp_path, 2)
    with glim.Session(environment=Environment(checkpoint_dir=str(tmp_path), job_id="7", attempt=4)) as run:
        Training(run)
        with pytest.raises(checkpoint.CheckpointError, match='holds the checkpoints of job "local"'):
            run.restore()


def test_saves_by_time(tmp_path):
    env = Environment(checkpoint_dir=str(tmp_path), checkpoint_every_ms=30, checkpoint_keep=100)
    with glim.Session(environment=env) as run:
        run.track(model=torch.nn.Linear(1, 1))
        began = time.monotonic()
        for _ in run.steps(range(20)):
            time.sleep(0.01)  # a step's work, which takes longer on a busy machine
        took_ms = 1000 * (time.monotonic() - began)
    assert 1 <= len(checkpoint.checkpoints(tmp_path)) <= 1 + took_ms / 30


def test_keeps_the_newest(tmp_path):
    train(str(tmp_path), 1, epochs=1, save_every=2)
    wait_until(lambda: len(checkpoint.checkpoints(tmp_path)) == 3, what="the others are removed")
    assert checkpoint.checkpoints(tmp_path) == [checkpoint.path_of(tmp_path, 1, step) for step in (5, 7, 9)]


CRASHING = """
import sys, torch, glim
from glim.environment import Environment
torch.set_num_threads(1)
with glim.Session(environment=Environment(checkpoint_dir=sys.argv[1], attempt=1, checkpoint_keep=2)) as run:
    model = torch.nn.Linear(1500, 1500)
    run.track(model=model, seed=1)
    print("ready", flush=True)
    for step in run.steps(range(100000), save_every=1):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(float(step))
        print(step, flush=True)
"""


def test_a_writer_killed_at_any_point_leaves_whole_saves_only(tmp_path):
    """Killed at seeded random moments while it does nothing but save. What counts is whole; the last step that was
    printed may be being copied, the one before being written, the one before that is durable."""
    rng = random.Random(11)
    env = {**os.environ, "PYTHONPATH": PYTHONPATH}
    for trial in range(4):
        folder = tmp_path / str(trial)
        with subprocess.Popen(
            [sys.executable, "-c", CRASHING, str(folder)], env=env, stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout.readline() == "ready\n"
            for _ in range(rng.randint(3, 12)):
                last = int(child.stdout.readline())
            time.sleep(rng.random() * 0.01)  # not a wait: the moment of death
            child.kill()
            printed = child.stdout.read().split()
        last = int(printed[-1]) if printed else last
        saves = checkpoint.checkpoints(folder)
        assert saves and last - 2 <= checkpoint.split_path(saves[-1])[2] <= last
        for path in saves:
            model = torch.nn.Linear(1500, 1500)
            with glim.Session(environment=Environment(resume_path=path)) as run:
                run.track(model=model, reseed=False)
                step = run.restore() - 1
            assert path == checkpoint.path_of(folder, 1, step)
            assert all(bool((p == float(step)).all()) for p in model.parameters())
