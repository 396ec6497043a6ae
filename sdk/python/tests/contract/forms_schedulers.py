"""Schedulers of torch, and what a state may be made of."""

import collections
import enum
import functools
import pathlib

import torch
from forms import EQUAL, REFUSED, TOLD, Training, form, loader
from torch.optim import lr_scheduler, swa_utils


def train(run, notes, make, is_by_loss=False):
    training = Training(lr=0.1)
    sched = make(training.optim)
    run.track(model=training.model, optim=training.optim, sched=sched)
    run.restore()
    for batch in run.steps(loader(), epochs=2):
        notes.batch(batch)
        loss = training.step(batch)
        sched.step(*([loss] if is_by_loss else []))
        notes.say(f"lr of {run.step}", training.optim.param_groups[0]["lr"])
    return training.model, training.optim


@form(EQUAL)
def one_cycle(run, notes):
    return train(run, notes, lambda optim: lr_scheduler.OneCycleLR(optim, 0.1, total_steps=20))


@form(EQUAL)
def cyclic(run, notes):
    return train(run, notes, lambda optim: lr_scheduler.CyclicLR(optim, 0.01, 0.1, step_size_up=2))


@form(EQUAL)
def cyclic_with_a_function(run, notes):
    def make(optim):
        return lr_scheduler.CyclicLR(optim, 0.01, 0.1, step_size_up=2, scale_fn=lambda at: 0.9**at)

    return train(run, notes, make)


@form(EQUAL)
def averaged_weights(run, notes):
    return train(run, notes, lambda optim: swa_utils.SWALR(optim, 0.05, anneal_epochs=3))


@form(EQUAL)
def a_lambda(run, notes):
    return train(run, notes, lambda optim: lr_scheduler.LambdaLR(optim, lambda at: 0.9**at))


class WarmsUp:
    """Counts, and holds what no save can hold."""

    def __init__(self):
        self.calls, self.how = 0, lambda at: 1 / (1 + at)

    def __call__(self, at):
        self.calls += 1
        return self.how(at) * self.calls


@form(EQUAL)
def a_lambda_that_is_an_object(run, notes):
    return train(run, notes, lambda optim: lr_scheduler.LambdaLR(optim, WarmsUp()))


class Holds(WarmsUp):
    def __init__(self):
        super().__init__()
        self.thing = object()


@form(TOLD, "sched.lr_lambdas.0.thing is in no save: a builtins.object")
def a_lambda_that_holds_an_object(run, notes):
    train(run, notes, lambda optim: lr_scheduler.LambdaLR(optim, Holds()))


@form(EQUAL)
def multiplicative(run, notes):
    return train(run, notes, lambda optim: lr_scheduler.MultiplicativeLR(optim, functools.partial(max, 0.9)))


@form(EQUAL)
def sequential(run, notes):
    def make(optim):
        parts = [lr_scheduler.ConstantLR(optim, 0.1, 2), lr_scheduler.ExponentialLR(optim, 0.9)]
        return lr_scheduler.SequentialLR(optim, parts, milestones=[3])

    return train(run, notes, make)


@form(EQUAL)
def chained(run, notes):
    def make(optim):
        return lr_scheduler.ChainedScheduler(
            [lr_scheduler.LambdaLR(optim, lambda at: 0.9**at), lr_scheduler.StepLR(optim, 2)]
        )

    return train(run, notes, make)


@form(EQUAL)
def on_a_plateau(run, notes):
    return train(run, notes, lambda optim: lr_scheduler.ReduceLROnPlateau(optim, patience=0), is_by_loss=True)


@form(EQUAL)
def warm_restarts(run, notes):
    return train(run, notes, lambda optim: lr_scheduler.CosineAnnealingWarmRestarts(optim, 2))


class Phase(enum.Enum):
    WARM, HOT = "warm", "hot"


Best = collections.namedtuple("Best", "step loss")


@form(EQUAL)
def a_state_of_many_kinds(run, notes):
    training = Training()
    values = {
        "phase": Phase.WARM,
        "best": Best(-1, 1e9),
        "seen": {0},
        "counts": collections.defaultdict(int),
        "shape": torch.Size([2, 3]),
        "path": pathlib.Path("a/b"),
        "type": torch.float16,
    }
    run.track(model=training.model, optim=training.optim, values=values)
    run.restore()
    for batch in run.steps(loader(), epochs=2):
        notes.batch(batch)
        loss = training.step(batch)
        if loss < values["best"].loss:
            values["best"] = Best(run.step, loss)
        values["phase"] = Phase.HOT if run.step > 2 else Phase.WARM
        values["seen"].add(run.step)
        values["counts"][values["phase"].name] += 1
        values["shape"] = torch.Size([run.step, values["shape"][0]])
        values["path"] = values["path"] / str(run.step)
    return training.model, [str(value) for value in values.values()]


class Scheduler:
    def __init__(self):
        self.anneal = lambda at: at

    def state_dict(self):
        return dict(vars(self))

    def load_state_dict(self, state):
        vars(self).update(state)


@form(REFUSED, 'run.track(sched=Without(sched, "anneal"))')
def a_scheduler_that_holds_a_function(run, notes):
    run.track(sched=Scheduler())


@form(REFUSED, "keep it in a dict, values = {'best': ...}, and track that")
def a_number_that_is_tracked(run, notes):
    run.track(best=0.5)
