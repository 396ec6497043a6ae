"""What tracked dicts and objects hold: containers, objects, random generators, and what has a state_dict() itself."""

import random
from collections import deque

import numpy
import torch
from forms import EQUAL, REFUSED, Training, form, loader


def train(run, notes, in_step, **tracked):
    training = Training()
    run.track(model=training.model, optim=training.optim, **tracked)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        notes.say(f"of {run.step}", in_step(training.step(batch)))
    return training.model, training.optim


@form(EQUAL)
def a_list_in_a_tracked_dict_that_the_script_names_too(run, notes):
    losses, seen, last = [], {"steps": {}}, torch.zeros(2)
    values = {
        "losses": losses,
        "seen": seen,
        "last": last,
        "own": {"glim": "same"},
        "words": {"glim": last},
        "numbers": (losses, deque(maxlen=3)),
    }

    def in_step(loss):
        losses.append(loss)
        seen["steps"][run.step] = loss
        last[0] += loss
        values["numbers"][1].append(loss)
        assert values["losses"] is losses
        return [sum(losses), sorted(seen["steps"]), last.tolist(), list(values["numbers"][1])]

    return train(run, notes, in_step, values=values)


class Env:
    """As environments of reinforcement learning are: it has a random generator, and objects of its own."""

    def __init__(self, seed=3):
        self.random, self.python = numpy.random.RandomState(seed), random.Random(seed)
        self.at, self.body = 0, Body(self)

    def act(self, loss):
        self.at += 1
        self.body.move(self.random.rand() + self.python.random() + loss)
        return self.body.place


class Body:
    def __init__(self, env):
        self.env, self.place, self.path = env, 0.0, []

    def move(self, by):
        self.place += by * self.env.at
        self.path.append(self.place)


@form(EQUAL)
def an_object_with_random_generators_and_objects(run, notes):
    env = Env()
    body = env.body
    return train(run, notes, lambda loss: [env.act(loss), body.place, len(body.path), body.env is env], env=env)


@form(EQUAL)
def objects_in_a_tracked_dict_and_list(run, notes):
    env, many = Env(1), [Env(2), Env(3)]

    def in_step(loss):
        return [one.act(loss) for one in (env, *many)]

    return train(run, notes, in_step, state={"env": env}, many=many)


class Item:
    def __init__(self, loss):
        self.loss, self.next = loss, None


@form(EQUAL)
def objects_that_the_steps_make(run, notes):
    items = []

    def in_step(loss):
        items.append(Item(loss))
        if len(items) > 1:
            items[-1].next = items[-2]
            items[-2].loss += 1
        return [[item.loss, item.next.loss if item.next else 0.0] for item in items]

    return train(run, notes, in_step, items=items)


START = torch.zeros(2)


@form(EQUAL)
def what_is_replaced_leaves_the_first_object_alone(run, notes):
    values = {"last": START, "pair": [START, START]}

    def in_step(loss):
        values["last"] = values["last"] + loss
        values["pair"] = [values["pair"][1], values["last"]]
        return [START.tolist(), values["last"].tolist(), [one.tolist() for one in values["pair"]]]

    return train(run, notes, in_step, values=values)


class Trainer:
    def __init__(self):
        training = Training()
        self.model, self.optim, self.training, self.every = training.model, training.optim, training, 3
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optim, 2, 0.5)

    def step(self, batch, step):
        self.training.backward(batch)
        if step % self.every == 2:
            self.optim.step()
            self.scheduler.step()
            self.optim.zero_grad()


@form(EQUAL)
def a_trainer_that_holds_model_optimizer_and_scheduler(run, notes):
    trainer = Trainer()
    run.track(trainer=trainer)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=3):
        notes.batch(batch)
        trainer.step(batch, run.step)
    return trainer.model, trainer.optim


@form(REFUSED, "values.net: a torch.nn.modules.linear.Linear that was not there when it was tracked cannot be put back")
def a_module_that_the_steps_put_into_a_tracked_dict(run, notes):
    values = {}

    def in_step(loss):
        values["net"] = torch.nn.Linear(1, 1)
        return loss

    return train(run, notes, in_step, values=values)


class Locked:
    def __init__(self):
        self.lock = iter([1])


@form(REFUSED, "Or give its class state_dict() and load_state_dict(), that leave it out.")
def an_object_with_a_part_that_cannot_be_kept(run, notes):
    return train(run, notes, lambda loss: loss, locked=Locked())
