"""The torch helper: bit for bit, atomic, and only the platform's save counts."""

import os
import random
import re
import subprocess
import sys
import time

import numpy
import pytest
import torch
from fake_agent import wait_until

import glim
from glim.environment import Environment
from glim.save_folder import SaveFolder
from glim.torch import weights_digest

DATA = [torch.full((4, 6), float(i)) for i in range(10)]


class Training:
    """A model with dropout, batch norm and momentum: every bit of its state matters."""

    def __init__(self, run, seed=3):
        torch.manual_seed(seed)
        self.model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5),
                                         torch.nn.Linear(8, 1))
        self.optim = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optim, 3, gamma=0.7)
        self.sampler = torch.utils.data.RandomSampler(DATA)
        self.loader = torch.utils.data.DataLoader(DATA, sampler=self.sampler, batch_size=None)
        run.track(model=self.model, optim=self.optim, schedule=self.schedule, sampler=self.sampler)
        self.numbers = []

    def step(self, batch):
        noise = torch.randn(4, 6) * random.random() * numpy.random.rand()
        self.numbers.append((batch[0, 0].item(), noise.sum().item()))
        self.optim.zero_grad()
        (self.model(batch + noise) ** 2).mean().backward()
        self.optim.step()
        self.schedule.step()


def train(folder, attempt, resume="", stop_after=None, epochs=3, save_every=None):
    env = Environment(attempt=attempt, checkpoint_dir=folder, resume_path=resume)
    with glim.Session(environment=env) as run:
        training = Training(run)
        start = run.restore()
        for i, batch in enumerate(run.steps(training.loader, epochs=epochs, save_every=save_every)):
            training.step(batch)
            if start + i == stop_after:
                run.yield_now()
        return training, run


@pytest.mark.parametrize("stop_after", [0, 4, 9, 10, 17, 28])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(tmp_path, stop_after):
    whole, _ = train(str(tmp_path / "whole"), 1)
    first, run = train(str(tmp_path / "cut"), 1, stop_after=stop_after)
    assert run.stopped
    path = str(tmp_path / "cut" / "attempt-1" / f"step-{stop_after:08d}.pt")
    torch.manual_seed(99), random.seed(99), numpy.random.seed(99)
    second, run = train(str(tmp_path / "cut"), 2, resume=path)
    assert not run.stopped
    assert first.numbers + second.numbers == whole.numbers
    assert weights_digest(second.model) == weights_digest(whole.model)
    assert torch.equal(*(t.optim.state[t.model[0].weight]["exp_avg_sq"] for t in (whole, second)))


def test_workers_of_a_loader_find_their_numbers_again(tmp_path):
    class Noisy(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            return torch.rand(1) + index

    def numbers(attempt, resume, stop_after):
        env = Environment(attempt=attempt, checkpoint_dir=str(tmp_path), resume_path=resume)
        seen = []
        with glim.Session(environment=env) as run:
            model = torch.nn.Linear(1, 1)
            loader = torch.utils.data.DataLoader(Noisy(), shuffle=True, num_workers=2)
            run.track(model=model, seed=5)
            run.restore()
            for batch in run.steps(loader, epochs=2):
                seen.append(batch.item())
                if len(seen) == stop_after:
                    run.yield_now()
        return seen

    whole = numbers(1, "", 0)
    assert numbers(2, "", 11) + numbers(3, str(tmp_path / "attempt-2" / "step-00000010.pt"), 0) == whole


def test_ranks_draw_different_numbers(tmp_path):
    drawn = []
    for rank in range(3):
        with glim.Session(environment=Environment(rank=rank)) as run:
            run.track(model=torch.nn.Linear(1, 1), seed=5)
            drawn.append([torch.rand(1).item() for _ in run.steps(range(3))])
    assert len({number for numbers in drawn for number in numbers}) == 9


def test_reseeding_can_be_left_out():
    with glim.session() as run:
        run.track(model=torch.nn.Linear(1, 1), reseed=False)
        torch.manual_seed(1)
        drawn = [torch.rand(1).item() for _ in run.steps(range(3))]
    torch.manual_seed(1)
    assert drawn == [torch.rand(1).item() for _ in range(3)]


def test_the_interrupt_saves_reports_and_leaves(agent, tmp_path):
    env = Environment(socket_path=agent.path, checkpoint_dir=str(tmp_path), attempt=4)
    with glim.Session(environment=env) as run:
        training = Training(run)
        for i, batch in enumerate(run.steps(training.loader, epochs=1000)):
            training.step(batch)
            if i == 2:
                agent.interrupt()
                hold = agent.wait_taken("ack")[0]["hold"]
                agent.tell({"type": "stop_at", "round": 1, "step": hold})
            if i > hold if i >= 2 else False:
                raise AssertionError("beyond S")
    saved = agent.taken("saved")[-1]
    assert (saved["step"], saved["shard"], saved["shards"]) == (hold, 0, 1)
    assert saved["path"] == str(tmp_path / "attempt-4" / f"step-{hold:08d}.pt")
    assert saved["bytes"] == os.path.getsize(saved["path"])
    assert agent.rank().messages[-1]["type"] == "leaving"
    assert torch.load(saved["path"])["step"] == hold


def test_only_rank_0_saves_a_replicated_job(agent, tmp_path):
    env = Environment(socket_path=agent.path, rank=1, declared_rank=1, checkpoint_dir=str(tmp_path))
    with glim.Session(environment=env) as run:
        training = Training(run)
        for batch in run.steps(training.loader, save_every=1):
            training.step(batch)
            run.yield_now()
        assert run.save() is None
    assert not agent.taken("saved", 1) and agent.taken("leaving", 1) and not list(tmp_path.iterdir())


def test_without_an_agreement_the_chief_saves_alone(agent, tmp_path):
    env = Environment(socket_path=agent.path, checkpoint_dir=str(tmp_path))
    with glim.Session(environment=env) as run:
        training = Training(run)
        for i, batch in enumerate(run.steps(training.loader, epochs=1000)):
            training.step(batch)
            if i == 3:
                agent.interrupt()
                agent.tell({"type": "stop_now", "round": 1})
                wait_until(lambda: run.interrupted() is not None and run.interrupted().no_agreement)
    assert agent.taken("saved")[-1]["step"] == 3 and agent.taken("leaving")


def test_only_the_named_save_is_read(tmp_path, monkeypatch):
    train(str(tmp_path), 1, stop_after=4)
    train(str(tmp_path), 1, stop_after=8)        # a zombie's later one
    named = str(tmp_path / "attempt-1" / "step-00000004.pt")
    monkeypatch.setenv("GLIM_RESUME_PATH", named)
    monkeypatch.setenv("GLIM_RESUME_STEP", "4")
    monkeypatch.setenv("GLIM_ATTEMPT", "2")
    monkeypatch.setenv("GLIM_CHECKPOINT_DIR", str(tmp_path))
    with glim.session() as run:
        Training(run)
        assert run.restore() == 5
    monkeypatch.setenv("GLIM_RESUME_STEP", "8")
    with glim.session() as run:
        Training(run)
        with pytest.raises(RuntimeError, match="holds step 4"):
            run.restore()


def test_on_the_cluster_nothing_is_restored_unasked(agent, tmp_path):
    train(str(tmp_path), 1, stop_after=4)
    with glim.Session(environment=Environment(socket_path=agent.path, checkpoint_dir=str(tmp_path))) as run:
        Training(run)
        assert run.restore() == 0
    with glim.Session(environment=Environment(checkpoint_dir=str(tmp_path))) as run:
        Training(run)
        assert run.restore() == 5                # off the cluster the newest counts


@pytest.mark.parametrize("damage, message", [
    (lambda p: os.truncate(p, os.path.getsize(p) // 2), "not a readable save"),
    (lambda p: open(p, "wb").close(), "not a readable save"),
    (lambda p: os.unlink(p), "not a readable save"),
    (lambda p: torch.save({"step": 1}, p), "not a save of format"),
    (lambda p: torch.save({**torch.load(p), "objects": {}}, p), "track the same names"),
])
def test_a_spoilt_save_is_refused_with_its_name(tmp_path, damage, message):
    train(str(tmp_path), 1, stop_after=2)
    path = str(tmp_path / "attempt-1" / "step-00000002.pt")
    damage(path)
    with glim.Session(environment=Environment(resume_path=path)) as run:
        training = Training(run)
        before = weights_digest(training.model)
        with pytest.raises(RuntimeError, match=message) as refused:
            run.restore()
        assert path in str(refused.value) and weights_digest(training.model) == before


def test_a_save_that_fails_does_not_end_the_training(tmp_path, capfd):
    (tmp_path / "attempt-1").write_text("in the way")
    training, run = train(str(tmp_path), 1, epochs=1, save_every=4)
    assert len(training.numbers) == 10 and "step 3 could not be saved" in capfd.readouterr().err


def test_what_cannot_be_saved_is_refused():
    with glim.session() as run, pytest.raises(TypeError, match="track\\(model=...\\)"):
        run.track(model=object())


def test_saves_by_time(tmp_path):
    env = Environment(checkpoint_dir=str(tmp_path), checkpoint_every_ms=30, checkpoint_keep=100)
    with glim.Session(environment=env) as run:
        run.track(model=torch.nn.Linear(1, 1))
        for _ in run.steps(range(20)):
            time.sleep(0.01)
    assert 2 <= len(list((tmp_path / "attempt-1").iterdir())) <= 10


def test_keeps_the_newest_and_the_base(tmp_path):
    train(str(tmp_path), 1, epochs=1, save_every=2)
    steps = [p.name for p in sorted((tmp_path / "attempt-1").iterdir())]
    assert steps == [f"step-{s:08d}.pt" for s in (5, 7, 9)]
    base = tmp_path / "attempt-1" / "step-00000007.pt"
    (tmp_path / "attempt-2").mkdir()
    (tmp_path / "attempt-2" / ".step-00000001.pt.77.tmp").write_text("half")
    train(str(tmp_path), 2, resume=str(base), epochs=2, save_every=1)
    assert [p.name for p in (tmp_path / "attempt-1").iterdir()] == [base.name]
    assert [p.name for p in sorted((tmp_path / "attempt-2").iterdir())] == [f"step-{s:08d}.pt" for s in (17, 18, 19)]


def test_saves_that_the_platform_does_not_know_of_push_out_nothing(tmp_path):
    class Entry:
        done = False

    folder = SaveFolder(str(tmp_path), 1, keep=1, base="")
    entries = [Entry() for _ in range(4)]
    entries[0].done = True
    for step, entry in enumerate(entries):
        os.makedirs(os.path.dirname(folder.path(step)), exist_ok=True)
        open(folder.path(step), "w").close()
        folder.saved(folder.path(step), entry)
    assert [os.path.exists(folder.path(step)) for step in range(4)] == [True] * 4
    entries[2].done = True
    folder.saved(folder.path(3), entries[3])
    assert [os.path.exists(folder.path(step)) for step in range(4)] == [False, False, True, True]


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
    """Killed at seeded random moments while it does nothing but save. Whatever bears a save's name is whole, and the
    one before the step that it was in is there."""
    rng = random.Random(11)
    env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(glim.__file__)))}
    for trial in range(6):
        folder = tmp_path / str(trial)
        with subprocess.Popen([sys.executable, "-c", CRASHING, str(folder)], env=env, stdout=subprocess.PIPE,
                              text=True) as child:
            assert child.stdout.readline() == "ready\n"
            for _ in range(rng.randint(3, 12)):
                last = int(child.stdout.readline())
            time.sleep(rng.random() * 0.01)      # not a wait: the moment of death
            child.kill()
            printed = child.stdout.read().split()
        last = int(printed[-1]) if printed else last
        saves = sorted(p for p in (folder / "attempt-1").iterdir() if re.fullmatch(r"step-\d{8}\.pt", p.name))
        assert saves and int(saves[-1].name[5:13]) in (last - 1, last)
        for path in saves:
            with glim.Session(environment=Environment(resume_path=str(path))) as run:
                model = torch.nn.Linear(1500, 1500)
                run.track(model=model, reseed=False)
                step = run.restore() - 1
            assert path.name == f"step-{step:08d}.pt"
            assert all(bool((p == float(step)).all()) for p in model.parameters())
