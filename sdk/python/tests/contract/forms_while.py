"""Loops of the script's own, that do not go over run.steps() and ask by themselves."""

import random

import numpy
import torch
from forms import EQUAL, Training, form

STEPS = 8


def numbers():
    return [torch.rand(1).item(), numpy.random.rand(), random.random()]


@form(EQUAL)
def a_while_loop_that_asks_behind_each_step(run, notes):
    random.seed(1)
    numpy.random.seed(1)
    training, own, values = Training(), numpy.random.default_rng(4), {"done": 0}
    run.track(model=training.model, optim=training.optim, values=values)
    run.restore()
    while values["done"] < STEPS:
        step = values["done"]
        notes.batch([numbers(), own.random()], step)
        training.step([float(step)] * 6)
        values["done"] += 1
        if run.should_stop_after(step):
            run.save(step)
            break
        run.save(step)
    return training.model, training.optim


@form(EQUAL)
def a_while_loop_that_asks_before_each_step(run, notes):
    training, own = Training(), torch.Generator().manual_seed(2)
    run.track(model=training.model, optim=training.optim)
    step = run.restore()
    while step < STEPS and run.begin_step(step):
        notes.batch([numbers(), torch.rand(1, generator=own).item()], step)
        training.step([float(step)] * 6)
        run.save(step)
        step += 1
    return training.model, training.optim
