"""How a resumed script finds its place, and when it is told that it has not. The forms of loops: contract/."""

import pickle

import pytest
import torch

import glim
from glim import checkpoint
from glim.environment import Environment


def model_and():
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 2)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def step(model, optim):
    optim.zero_grad()
    model(torch.rand(4, 3)).sum().backward()
    optim.step()


def session(folder, attempt):
    return glim.Session(environment=Environment(checkpoint_dir=str(folder), attempt=attempt))


def test_a_save_of_format_2_is_read(tmp_path):
    model, _ = model_and()
    with checkpoint.Checkpointer(tmp_path, job="local") as saver:
        state = {"model": model.state_dict(), "glim": {"format": 2, "step": 5, "epoch": 1, "position": 2}}
        saver.save_state_async(5, state).wait()
    other = torch.nn.Linear(3, 2)
    with glim.Session(environment=Environment(checkpoint_dir=str(tmp_path), attempt=2)) as run:
        run.track(model=other, seed=1)
        assert run.restore() == 6
        assert [(run.step, item) for item in run.steps("abcd", epochs=3)] == [
            *((6, "c"), (7, "d"), (8, "a"), (9, "b"), (10, "c"), (11, "d"))
        ]
    assert torch.equal(other.weight, model.weight)


def test_a_save_in_a_step_is_made_at_its_end_and_one_behind_a_break_at_once(tmp_path):
    model, optim = model_and()
    with glim.Session(environment=Environment(checkpoint_dir=str(tmp_path), attempt=1)) as run:
        run.track(model=model, optim=optim)
        for item in run.steps(range(9)):
            step(model, optim)
            if item == 3:
                promised = run.save()
                assert promised == checkpoint.path_of(tmp_path, 1, 3) and not checkpoint.checkpoints(tmp_path)
            if item == 4:
                assert checkpoint.checkpoints(tmp_path) == [promised]
                break
        assert run.save() == checkpoint.path_of(tmp_path, 1, 4) == checkpoint.checkpoints(tmp_path)[-1]


def test_a_save_that_waits_is_made_at_the_blocks_end(tmp_path):
    model, optim = model_and()
    with glim.Session(environment=Environment(checkpoint_dir=str(tmp_path), attempt=1)) as run:
        run.track(model=model, optim=optim)
        for _ in run.steps(range(3)):
            step(model, optim)
        step(model, optim)
        promised = run.save()
        assert not checkpoint.checkpoints(tmp_path)
    assert checkpoint.checkpoints(tmp_path) == [promised]


def test_without_tracked_objects_a_restore_skips_over_several_epochs():
    environment = Environment(resume_step=4, resume_path="/somewhere")
    with glim.Session(environment=environment) as run:
        assert run.restore() == 5
        assert list(run.steps("abc", epochs=3)) == list("cabc")


def interrupted_in_the_second_of_two_loops(folder):
    model, _ = model_and()
    with session(folder, 1) as run:
        run.track(model=model, seed=1)
        run.restore()
        assert list(run.steps("ab")) == ["a", "b"]
        for item in run.steps("cdef"):
            if item == "d":
                run.yield_now()
    assert run.stopped
    return model


def test_a_script_that_leaves_out_a_call_is_refused_and_does_not_succeed_untrained(tmp_path):
    model = interrupted_in_the_second_of_two_loops(tmp_path)
    with pytest.raises(RuntimeError, match="the save was made in call 2 of run.steps"), session(tmp_path, 2) as run:
        run.track(model=model, seed=1)
        if run.restore() == 0:
            list(run.steps("ab"))
        assert list(run.steps("cdef")) == []


def test_a_script_that_calls_it_as_often_goes_on(tmp_path):
    model = interrupted_in_the_second_of_two_loops(tmp_path)
    with session(tmp_path, 2) as run:
        run.track(model=model, seed=1)
        assert run.restore() == 4
        assert list(run.steps("ab")) == [] and list(run.steps("cdef")) == ["e", "f"]


def test_a_body_that_calls_it_less_often_is_refused(tmp_path):
    model, _ = model_and()

    def body(attempt, seen):
        with session(tmp_path, attempt) as run:
            run.track(model=model, seed=1)
            run.restore()
            for _ in run.epochs(2):
                for part in ("ab", "cd")[: 3 - attempt]:
                    for item in run.steps(part):
                        seen.append(item)
                        if item == "c":
                            run.yield_now()
                if run.stopped:
                    break

    seen = []
    body(1, seen)
    assert seen == list("abc")
    with pytest.raises(RuntimeError, match="made in call 2 of run.steps.. in this epoch, and its body has called it 1"):
        body(2, seen)


def test_a_script_that_only_restores_is_left_in_peace(tmp_path, capfd):
    model = interrupted_in_the_second_of_two_loops(tmp_path)
    with session(tmp_path, 2) as run:
        run.track(model=model, seed=1)
        run.restore()
    assert capfd.readouterr().err == ""


def test_what_restore_returns_is_a_number():
    with glim.session() as run:
        first = run.restore()
        assert first == 0 and f"{first:03d}" == "000" and first + 1 == 1 and list(range(first, 2)) == [0, 1]
        assert type(pickle.loads(pickle.dumps(first))) is int and divmod(first, 3) == (0, 0) and first / 2 == 0.0
