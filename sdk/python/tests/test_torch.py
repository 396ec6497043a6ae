"""The torch helper: a run that was stopped and resumed equals one that was left alone, bit for bit."""

import os
import random

import numpy
import pytest
import torch
from bounds import wait_until
from small_training import Training, train

import glim
from glim import checkpoint
from glim.environment import Environment
from glim.torch import weights_digest


@pytest.mark.parametrize("stop_after", [0, 4, 9, 10, 17, 28])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(tmp_path, stop_after):
    whole, _ = train(str(tmp_path / "whole"), 1)
    first, run = train(str(tmp_path / "cut"), 1, stop_after=stop_after)
    assert run.stopped
    path = checkpoint.path_of(tmp_path / "cut", 1, stop_after)
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
    assert numbers(2, "", 11) + numbers(3, checkpoint.path_of(tmp_path, 2, 10), 0) == whole


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
                agent.tell({"type": "stop_at", "agreement": 1, "step": hold})
            if i > hold if i >= 2 else False:
                raise AssertionError("beyond S")
    saved = agent.taken("saved")[-1]
    assert (saved["step"], saved["shard"], saved["shards"]) == (hold, 0, 1)
    assert saved["path"] == checkpoint.path_of(tmp_path, 4, hold)
    assert saved["bytes"] == sum(f.stat().st_size for f in os.scandir(saved["path"]) if "safetensors" in f.name)
    assert agent.rank().messages[-1]["type"] == "leaving"
    assert checkpoint.open_checkpoint(saved["path"]).load_state()["glim"]["step"] == hold


def test_only_rank_0_saves_a_replicated_job(agent, tmp_path):
    env = Environment(socket_path=agent.path, rank=1, declared_rank=1, checkpoint_dir=str(tmp_path))
    with glim.Session(environment=env) as run:
        training = Training(run)
        for batch in run.steps(training.loader, save_every=1):
            training.step(batch)
            run.yield_now()
        assert run.save() is None
    assert not agent.taken("saved", 1) and agent.taken("leaving", 1) and not list(tmp_path.iterdir())


def test_without_an_agreement_rank_zero_saves_alone(agent, tmp_path):
    env = Environment(socket_path=agent.path, checkpoint_dir=str(tmp_path))
    with glim.Session(environment=env) as run:
        training = Training(run)
        for i, batch in enumerate(run.steps(training.loader, epochs=1000)):
            training.step(batch)
            if i == 3:
                agent.interrupt()
                agent.tell({"type": "stop_now", "agreement": 1})
                wait_until(lambda: run.interrupted() is not None and run.interrupted().no_agreement)
    assert agent.taken("saved")[-1]["step"] == 3 and agent.taken("leaving")


def test_what_cannot_be_saved_is_refused():
    with glim.session() as run, pytest.raises(TypeError, match="track\\(model=...\\)"):
        run.track(model=object())
    with glim.session() as run, pytest.raises(TypeError, match="track\\(glim=...\\): the name is taken"):
        run.track(glim=torch.nn.Linear(1, 1))
    sampler = torch.nn.Linear(1, 1)
    sampler.state_dict = lambda: {"callback": print}
    with glim.session() as run, pytest.raises(TypeError, match="sampler.callback: a builtins.builtin_function"):
        run.track(sampler=sampler)
