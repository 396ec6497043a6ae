"""Which gradients a save has: those that were added up since an optimizer used them, and of others that they are there.
That the rest of a training is as undisturbed: contract/forms_gradients.py."""

import pytest
import torch

import glim
from glim import checkpoint
from glim.environment import Environment
from glim.gradients import Gradients


def model_and(optimizer=torch.optim.SGD, **settings):
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 2)
    return model, optimizer(model.parameters(), lr=0.1, **settings)


def watched(model, optim):
    gradients = Gradients()
    gradients.watch("model", model)
    gradients.watch("optim", optim)
    return gradients


def step(model, optim, zero=True):
    if zero:
        optim.zero_grad()
    model(torch.rand(4, 3)).sum().backward()
    optim.step()


def kinds(gradients):
    return {name: value if isinstance(value, str) else "kept" for name, value in gradients.state().items()}


ALL_ZERO = {"model.weight": "zero", "model.bias": "zero"}
ALL_KEPT = {"model.weight": "kept", "model.bias": "kept"}


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad, torch.optim.RMSprop])
def test_a_script_that_steps_each_time_has_none_in_its_saves_after_two_steps(optimizer):
    model, optim = model_and(optimizer)
    gradients = watched(model, optim)
    for _ in range(2):
        step(model, optim)
    assert kinds(gradients) == ALL_ZERO and not gradients.are_added_up()


def test_until_it_is_known_what_a_script_does_with_them_they_are_kept():
    model, optim = model_and()
    gradients = watched(model, optim)
    step(model, optim)
    assert kinds(gradients) == ALL_KEPT


def test_what_is_added_up_is_kept_until_the_optimizer_has_used_it():
    model, optim = model_and()
    gradients = watched(model, optim)
    for _ in range(3):
        step(model, optim)
    optim.zero_grad(set_to_none=True)
    assert kinds(gradients) == {}
    model(torch.rand(4, 3)).sum().backward()
    assert kinds(gradients) == ALL_KEPT and gradients.are_added_up()
    optim.step()
    assert kinds(gradients) == ALL_ZERO and not gradients.are_added_up()


def test_gradients_that_are_never_set_to_zero_are_kept():
    model, optim = model_and()
    gradients = watched(model, optim)
    for _ in range(4):
        step(model, optim, zero=False)
    assert kinds(gradients) == ALL_KEPT


def test_a_change_behind_the_step_is_seen():
    model, optim = model_and()
    gradients = watched(model, optim)
    for _ in range(3):
        step(model, optim)
    model.bias.grad.mul_(0.5)
    assert kinds(gradients) == {"model.weight": "zero", "model.bias": "kept"}


class Foreign(torch.optim.SGD):
    """Its class is not torch's; its steps go by .data, which no version tells of, and it has a state."""

    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                state["step"] = state.get("step", 0) + 1
                parameter.data.add_(parameter.grad, alpha=-group["lr"])


class Idle(torch.optim.SGD):
    def step(self, closure=None):
        return None


@pytest.mark.parametrize("optimizer, found", [(Foreign, ALL_ZERO), (Idle, ALL_KEPT)])
def test_an_optimizer_of_another_class_has_stepped_when_something_has_changed(optimizer, found):
    model, optim = model_and(optimizer)
    gradients = watched(model, optim)
    for _ in range(3):
        step(model, optim)
    assert kinds(gradients) == found


class Wrapper(torch.optim.Optimizer):
    """As accelerate's: leaves out steps, and holds the optimizer that steps."""

    def __init__(self, inner):
        self.inner, self.leaves_out = inner, False
        self.param_groups = inner.param_groups

    def step(self, closure=None):
        if not self.leaves_out:
            self.inner.step()

    def zero_grad(self, set_to_none=False):
        self.inner.zero_grad(set_to_none)


def test_of_a_wrapper_the_optimizer_inside_counts():
    model, optim = model_and()
    wrapper = Wrapper(optim)
    gradients = watched(model, wrapper)
    for _ in range(3):
        step(model, wrapper)
    assert kinds(gradients) == ALL_ZERO
    wrapper.leaves_out = True
    step(model, wrapper)
    assert kinds(gradients) == ALL_KEPT


def test_schedulers_that_wrap_the_step_after_and_before_us_still_count():
    model, optim = model_and()
    before = torch.optim.lr_scheduler.StepLR(optim, 1)
    gradients = watched(model, optim)
    after = torch.optim.lr_scheduler.StepLR(optim, 1)
    for _ in range(3):
        step(model, optim)
        before.step()
        after.step()
    assert kinds(gradients) == ALL_ZERO and gradients.steps == 3


def test_what_is_put_back_is_there_or_not_as_it_was():
    model, optim = model_and()
    gradients = watched(model, optim)
    model(torch.rand(4, 3))[:, 0].sum().backward()
    model.bias.grad = None
    state = gradients.state()
    other, other_optim = model_and()
    other.bias.grad = torch.ones(2)
    watched(other, other_optim).put_back(state)
    assert torch.equal(other.weight.grad, model.weight.grad) and other.bias.grad is None
    watched(other, other_optim).put_back({"model.bias": "zero"})
    assert other.weight.grad is None and torch.equal(other.bias.grad, torch.zeros(2))


@pytest.mark.parametrize("world", [1, 2])
def test_several_ranks_stop_behind_a_step_of_the_optimizer(tmp_path, world):
    model, optim = model_and()
    seen = []
    with glim.Session(environment=Environment(checkpoint_dir=str(tmp_path), attempt=1, world_size=world)) as run:
        run.track(model=model, optim=optim)
        for item in run.steps(range(12), save_every=2):
            seen.append(item)
            model(torch.rand(4, 3)).sum().backward()
            if item % 4 == 3:
                optim.step()
                optim.zero_grad()
            if item == 5:
                run.yield_now()
        assert run.stopped
    steps = [checkpoint.split_path(path)[2] for path in checkpoint.checkpoints(tmp_path)]
    assert (seen[-1], steps) == ((5, [1, 3, 5]) if world == 1 else (7, [3, 7]))
