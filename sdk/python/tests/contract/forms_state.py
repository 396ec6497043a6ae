"""State of the steps beside what is tracked: wherever it is, it is told by its name; what a step makes anew is not."""

import collections
import copy
import queue
import sqlite3
import types

import torch
from forms import EQUAL, TOLD, Training, form, loader

THE_STEPS_CHANGE = "glim: the steps change "


def train(run, in_step, epochs=2, **tracked):
    training = Training()
    run.track(model=training.model, optim=training.optim, **tracked)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=epochs):
        in_step(training.step(batch))


@form(TOLD, THE_STEPS_CHANGE + "ahead: ")
def a_tuple_that_is_handed_on(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    ahead = (torch.rand(2), torch.rand(2))
    for _ in run.steps(range(4)):
        batch, ahead = ahead, (torch.rand(2), torch.rand(2))
        training.step(batch[0])


@form(TOLD, THE_STEPS_CHANGE + "text: ")
def a_string_that_is_handed_on(run, notes):
    training, text = Training(), ""
    run.track(model=training.model, optim=training.optim)
    for step in run.steps(range(4)):
        training.step([float(step)])
        text = f"{text}{step}"


def summing():
    total = 0.0

    def add(loss):
        nonlocal total
        total += loss

    return add


@form(TOLD, THE_STEPS_CHANGE + "in_step.total: ")
def a_variable_of_a_closure(run, notes):
    train(run, summing())


class Totals:
    seen = 0


def add_to_class(loss):
    Totals.seen += 1
    add_to_class.total += loss


add_to_class.total = 0.0


@form(TOLD, THE_STEPS_CHANGE + "forms_state.Totals.seen, in_step.total: ")
def attributes_of_classes_and_functions(run, notes):
    train(run, add_to_class)


class Slots:
    __slots__ = ("total", "__own")

    def __init__(self):
        self.total, self.__own = 0.0, 0

    def add(self, loss):
        self.total += loss
        self.__own += 1


@form(TOLD, THE_STEPS_CHANGE + "slots._Slots__own, slots.total: ")
def objects_with_slots(run, notes):
    slots = Slots()
    train(run, slots.add)
    return slots


class Holds:
    def __init__(self, **held):
        vars(self).update(held)


@form(TOLD, THE_STEPS_CHANGE + "one.two.three.total, settings['of']['this'], space.total: ")
def objects_inside_of_objects(run, notes):
    one, space = Holds(two=Holds(three=Holds(total=0.0))), types.SimpleNamespace(total=0.0)
    settings = {"of": {"this": {"run": 0}}}

    def add(loss):
        one.two.three.total += loss
        space.total += loss
        settings["of"]["this"]["run"] += 1

    train(run, add)


@form(TOLD, THE_STEPS_CHANGE + "bits, jobs, window: ")
def queues_and_buffers(run, notes):
    jobs, window, bits = queue.Queue(), collections.deque(maxlen=3), bytearray(8)

    def add(loss):
        jobs.put(loss)
        window.append(loss)
        bits[run.step] = 1

    train(run, add)


CALLS = 0


def count(loss):
    global CALLS
    CALLS += 1


@form(TOLD, THE_STEPS_CHANGE + "forms_state.CALLS: ")
def a_variable_of_a_module(run, notes):
    train(run, count)


@form(TOLD, THE_STEPS_CHANGE + "average, a torch.nn.modules.container.Sequential, and it is not tracked")
def an_average_by_deepcopy(run, notes):
    training = Training()
    average = copy.deepcopy(training.model)
    run.track(model=training.model, optim=training.optim)
    for batch in run.steps(loader(batch_size=4)):
        training.step(batch)
        for mine, its in zip(average.parameters(), training.model.parameters()):
            mine.data.mul_(0.9).add_(its.data, alpha=0.1)


@form(TOLD, THE_STEPS_CHANGE + "norm, a torch.nn.modules.batchnorm.BatchNorm1d, and it is not tracked")
def a_norm_beside_the_model(run, notes):
    norm = torch.nn.BatchNorm1d(1)
    train(run, lambda loss: norm(torch.full((2, 1), loss)))


@form(TOLD, "other, a torch.nn.modules.linear.Linear, whose weights of_other changes, is not tracked")
def an_optimizer_whose_model_is_not_tracked(run, notes):
    other = torch.nn.Linear(1, 1)
    of_other = torch.optim.SGD(other.parameters(), lr=0.1)

    def step(loss):
        of_other.zero_grad()
        other(torch.full((1, 1), loss)).sum().backward()
        of_other.step()

    train(run, step, of_other=of_other)


class Counts(torch.nn.Linear):
    calls = 0

    def forward(self, value):
        self.calls += 1
        return super().forward(value) * self.calls


@form(TOLD, THE_STEPS_CHANGE + "model.calls: ")
def a_counter_of_the_model(run, notes):
    model = Counts(1, 1)
    model.calls = 1
    optim = torch.optim.SGD(model.parameters(), lr=0.01)
    run.track(model=model, optim=optim)
    for step in run.steps(range(4)):
        optim.zero_grad()
        model(torch.ones(1, 1)).sum().backward()
        optim.step()


@form(TOLD, THE_STEPS_CHANGE + "late: ")
def what_changes_late(run, notes):
    late = []
    train(run, lambda loss: late.append(loss) if run.step > 4 else None, epochs=3)


@form(TOLD, THE_STEPS_CHANGE + "file: ")
def a_file_that_the_steps_read(run, notes):
    path = f"{run.environment.checkpoint_dir}-data"
    with open(path, "w") as file:
        file.write("1\n" * 20)
    file = open(path)
    train(run, lambda loss: file.readline())


@form(TOLD, "glim: base, a sqlite3.Connection, is used in the steps and cannot be seen into")
def a_database(run, notes):
    base = sqlite3.connect(":memory:")
    base.execute("create table losses (loss real)")
    train(run, lambda loss: base.execute("insert into losses values (?)", [loss]))


@form(TOLD, THE_STEPS_CHANGE + "parts['losses']: ")
def a_list_that_grows_from_epoch_to_epoch(run, notes):
    training, parts = Training(), {"losses": []}
    run.track(model=training.model, optim=training.optim)
    for _ in run.epochs(3):
        for batch in run.steps(loader(batch_size=4)):
            loss = training.step(batch)
        parts["losses"].append(loss)


class Shows(torch.nn.Module):
    """What its forward() has made is asked for behind it."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.last_shown = inner, None

    def forward(self, value):
        self.last_shown = self.inner(value)
        return self.last_shown


class Trainer:
    """As scripts have it: what a step has made stands in its attributes."""

    def __init__(self, training):
        self.training, self.loss, self.batch = training, None, None

    def step(self, batch):
        self.batch = batch
        self.loss = self.training.step(self.batch)


@form(EQUAL)
def values_that_each_step_writes_before_it_reads_them(run, notes):
    training = Training()
    trainer, source, other = Trainer(training), loader(batch_size=4), Shows(copy.deepcopy(training.model))
    x = logits = loss = scale = None
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for epoch in run.epochs(2):
        scale = 1.0 + epoch
        for batch in run.steps(source):
            notes.batch(batch)
            with torch.no_grad():
                x = torch.ones(2, 2) * scale
            logits = [row for row in other(x)]
            loss = sum(logits).sum() + other.last_shown.mean()
            trainer.step(batch)
            notes.say(f"loss of {run.step}", trainer.loss + float(loss))
        if run.stopped:
            break
    return training.model, training.optim
