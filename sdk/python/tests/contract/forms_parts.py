"""Tracked objects that what run.steps() goes over has as a part of it, or is: under whatever name, nothing of them is
done twice."""

import torch
from forms import DATA, EQUAL, Training, form
from forms_order import Counts, Resumes, train
from torch.utils.data import DataLoader, Dataset


class Consumes:
    """A sampler of batches whose order follows from how many samples it has given, and which goes on from there."""

    def __init__(self):
        self.consumed = 0

    def __iter__(self):
        epoch, done = divmod(self.consumed, 12)
        order = torch.randperm(12, generator=torch.Generator().manual_seed(epoch)).tolist()[done:]
        for at in range(0, len(order), 4):
            self.consumed += 4
            yield order[at : at + 4]

    def __len__(self):
        return 3


@form(EQUAL)
def a_sampler_tracked_by_another_name(run, notes):
    order = Consumes()
    return *train(run, notes, DataLoader(DATA, batch_sampler=order), epochs=3, consumed=order), order.consumed


@form(EQUAL)
def a_sampler_tracked_by_another_name_and_workers(run, notes):
    order = Consumes()
    return train(run, notes, DataLoader(DATA, batch_sampler=order, num_workers=2), consumed=order)


@form(EQUAL)
def a_sampler_with_state_dict_by_another_name(run, notes):
    order = Resumes()
    return *train(run, notes, DataLoader(DATA, batch_size=4, sampler=order), order=order), order.epoch, order.at


@form(EQUAL)
def a_tracked_sampler_that_counts_epochs(run, notes):
    order = Counts()
    return *train(run, notes, DataLoader(DATA, batch_size=4, sampler=order), epochs=3, order=order), order.rounds


class CountsElsewhere(Consumes):
    """In a dict that the script has given it."""

    def __init__(self, counts):
        self.counts = counts

    consumed = property(lambda self: self.counts["n"], lambda self, value: self.counts.update(n=value))


@form(EQUAL)
def a_tracked_dict_that_the_sampler_counts_in(run, notes):
    counts = {"n": 0}
    source = DataLoader(DATA, batch_sampler=CountsElsewhere(counts))
    return *train(run, notes, source, counts=counts), counts


class Looks(Dataset):
    """How often each sample was seen counts in what it gives."""

    def __init__(self):
        self.seen = torch.zeros(12)

    def __len__(self):
        return 12

    def __getitem__(self, index):
        self.seen[index] += 1
        return index + self.seen[index] / 8


@form(EQUAL)
def a_tracked_data_set_that_counts(run, notes):
    data = Looks()
    return *train(run, notes, DataLoader(data, batch_size=4, shuffle=True), data=data), data.seen


class HardOnes(Counts):
    """Begins with the hardest; the steps say from which on."""

    def __init__(self):
        super().__init__()
        self.hardest = 3


@form(EQUAL)
def steps_that_change_a_tracked_sampler(run, notes):
    order, training = HardOnes(), Training()
    run.track(model=training.model, optim=training.optim, order=order)
    run.restore()
    for batch in run.steps(DataLoader(DATA, batch_size=4, sampler=order), epochs=2):
        notes.batch(batch)
        training.step(batch + order.hardest)
        order.hardest += run.step
        notes.say(f"hardest after {run.step}", order.hardest)
    return training.model, order.hardest, order.rounds


@form(EQUAL)
def a_tracked_list_that_is_gone_over(run, notes):
    data = [[1.0], [2.0], [3.0]]
    return train(run, notes, data, data=data)


class Reader:
    """A source that goes on where it stands, and has no state_dict()."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        while self.at % 4 != 3:
            self.at += 1
            yield [float(self.at)]
        self.at += 1


@form(EQUAL)
def a_tracked_source_without_state_dict(run, notes):
    source = Reader()
    return *train(run, notes, source, reader=source), source.at
