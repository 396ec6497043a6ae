"""Where the order of the batches and the random numbers come from."""

import functools
import random

import numpy
import torch
from forms import DATA, EQUAL, TOLD, Training, form, loader
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)


def train(run, notes, source, epochs=2, seed=1, in_step=lambda: None, training=None, **tracked):
    training = training or Training(seed=seed)
    run.track(model=training.model, optim=training.optim, **tracked)
    run.restore()
    for batch in run.steps(source, epochs=epochs):
        notes.batch(batch)
        extra = in_step()
        if extra is not None:
            notes.say(f"drawn in {run.step}", extra)
        training.step(batch)
    return training.model, training.optim


def of_sampler(run, notes, order, **more):
    return train(run, notes, DataLoader(DATA, batch_size=4, sampler=order), **more)


@form(EQUAL)
def shuffled_loader(run, notes):
    return train(run, notes, loader())


@form(EQUAL)
def loader_with_a_generator(run, notes):
    generator = torch.Generator()
    generator.manual_seed(0)
    return train(run, notes, loader(generator=generator))


@form(EQUAL)
def random_sampler_with_a_generator(run, notes):
    return of_sampler(run, notes, RandomSampler(DATA, generator=torch.Generator().manual_seed(3)))


@form(EQUAL)
def random_sampler_with_replacement(run, notes):
    draws = RandomSampler(DATA, replacement=True, num_samples=12, generator=torch.Generator().manual_seed(3))
    return of_sampler(run, notes, draws)


@form(EQUAL)
def weighted_random_sampler(run, notes):
    weights = torch.arange(1.0, 13.0)
    return of_sampler(run, notes, WeightedRandomSampler(weights, 12, generator=torch.Generator().manual_seed(5)))


@form(EQUAL)
def subset_random_sampler(run, notes):
    return of_sampler(run, notes, SubsetRandomSampler(range(2, 12), generator=torch.Generator().manual_seed(5)))


@form(EQUAL)
def batch_sampler_over_a_generator(run, notes):
    batches = BatchSampler(RandomSampler(DATA, generator=torch.Generator().manual_seed(1)), 4, drop_last=True)
    return train(run, notes, DataLoader(DATA, batch_sampler=batches))


class OwnRandom(Sampler):
    def __init__(self):
        self.random = random.Random(7)

    def __iter__(self):
        order = list(range(12))
        self.random.shuffle(order)
        return iter(order)

    def __len__(self):
        return 12


@form(EQUAL)
def sampler_with_pythons_random(run, notes):
    return of_sampler(run, notes, OwnRandom())


class OwnNumpy(Sampler):
    def __init__(self, generator):
        self.__generator = generator

    def __iter__(self):
        return iter(self.__generator.permutation(12).tolist())

    def __len__(self):
        return 12


@form(EQUAL)
def sampler_with_a_numpy_generator(run, notes):
    return of_sampler(run, notes, OwnNumpy(numpy.random.default_rng(7)))


@form(EQUAL)
def sampler_with_a_numpy_random_state(run, notes):
    return of_sampler(run, notes, OwnNumpy(numpy.random.RandomState(7)))


class Counts(Sampler):
    """Its order follows from how often it was gone over."""

    def __init__(self):
        self.rounds = 0

    def __iter__(self):
        self.rounds += 1
        return iter([(index * 5 + self.rounds) % 12 for index in range(12)])

    def __len__(self):
        return 12


@form(EQUAL)
def sampler_that_counts_epochs(run, notes):
    return of_sampler(run, notes, Counts(), epochs=3)


class ShufflesInPlace(Sampler):
    def __init__(self, items):
        self.items = items
        self.random = random.Random(2)

    def __iter__(self):
        self.random.shuffle(self.items)
        return iter([int(item) for item in self.items])

    def __len__(self):
        return 12


@form(EQUAL)
def sampler_that_shuffles_its_list(run, notes):
    return of_sampler(run, notes, ShufflesInPlace(list(range(12))), epochs=3)


@form(EQUAL)
def sampler_that_shuffles_an_array(run, notes):
    sampler = ShufflesInPlace(numpy.arange(12))
    sampler.random = numpy.random.default_rng(4)
    return of_sampler(run, notes, sampler, epochs=3)


@form(EQUAL)
def distributed_sampler_tracked(run, notes):
    sampler = DistributedSampler(DATA, num_replicas=2, rank=1, seed=3)
    return train(run, notes, DataLoader(DATA, batch_size=2, sampler=sampler), sampler=sampler)


@form(EQUAL)
def distributed_sampler_set_by_the_script(run, notes):
    sampler = DistributedSampler(DATA, num_replicas=2, rank=1, seed=3)
    source = DataLoader(DATA, batch_size=2, sampler=sampler)
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for epoch in run.epochs(2):
        sampler.set_epoch(10 + epoch)
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
    return training.model


class Resumes(Sampler):
    """Knows where it stands, as samplers with state_dict() do."""

    def __init__(self):
        self.epoch, self.at = 0, 0

    def __iter__(self):
        order = torch.randperm(12, generator=torch.Generator().manual_seed(self.epoch)).tolist()
        while self.at < 12:
            self.at += 1
            yield order[self.at - 1]
        self.epoch, self.at = self.epoch + 1, 0

    def __len__(self):
        return 12

    def state_dict(self):
        return {"epoch": self.epoch, "at": self.at}

    def load_state_dict(self, state):
        self.epoch, self.at = state["epoch"], state["at"]


@form(EQUAL)
def sampler_with_state_dict(run, notes):
    sampler = Resumes()
    return of_sampler(run, notes, sampler, sampler=sampler, epochs=2)


class ResumingLoader:
    """A loader that brings itself back, as torchdata's StatefulDataLoader does: tracked, and gone over."""

    def __init__(self):
        self.sampler = Resumes()

    def __iter__(self):
        batch = []
        for index in self.sampler:
            batch.append(float(index))
            if len(batch) == 4:
                yield batch
                batch = []

    def state_dict(self):
        return self.sampler.state_dict()

    def load_state_dict(self, state):
        self.sampler.load_state_dict(state)


@form(EQUAL)
def loader_with_state_dict(run, notes):
    source = ResumingLoader()
    return train(run, notes, source, loader=source)


class Augments(Dataset):
    def __init__(self, draw):
        self.draw = draw

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return index + self.draw()


@form(EQUAL)
def data_with_a_generator_of_its_own(run, notes):
    return train(run, notes, loader(data=Augments(random.Random(5).random)))


@form(EQUAL)
def a_generator_in_a_closure(run, notes):
    generator = numpy.random.Generator(numpy.random.Philox(3))

    def collate(items):
        return torch.tensor(items) + float(generator.random())

    return train(run, notes, loader(collate_fn=collate))


class Flip:
    def __init__(self):
        self.generator = torch.Generator().manual_seed(9)

    def __call__(self, value):
        return value + torch.rand(1, generator=self.generator).item()


@form(EQUAL)
def a_generator_in_a_list_of_transforms(run, notes):
    transforms = [abs, Flip()]
    apply = functools.partial(functools.reduce, lambda value, transform: transform(value), transforms)
    return train(run, notes, loader(collate_fn=lambda items: torch.tensor([float(apply(i)) for i in items])))


class OfTheClass(Dataset):
    random = random.Random(11)
    draws = 0

    def __len__(self):
        return 12

    def __getitem__(self, index):
        OfTheClass.draws += 1
        return index + self.random.random() + OfTheClass.draws


@form(EQUAL)
def a_generator_and_a_counter_of_a_class(run, notes):
    return train(run, notes, loader(data=OfTheClass()))


class Stream(IterableDataset):
    def __init__(self):
        self.random = random.Random(1)

    def __iter__(self):
        for _ in range(12):
            yield self.random.random() + torch.rand(1).item()


@form(EQUAL)
def iterable_data(run, notes):
    return train(run, notes, DataLoader(Stream(), batch_size=4))


def noise():
    return torch.rand(1).item() + random.random() + numpy.random.rand()


@form(EQUAL)
def workers(run, notes):
    return train(run, notes, loader(data=Augments(noise), num_workers=2))


def seeds_of_ones_own(worker):
    numpy.random.seed(torch.initial_seed() % 2**32)
    random.seed(worker)


@form(EQUAL)
def workers_that_are_seeded_by_the_script(run, notes):
    return train(run, notes, loader(data=Augments(noise), num_workers=2, worker_init_fn=seeds_of_ones_own))


@form(EQUAL)
def workers_with_a_generator_of_the_data(run, notes):
    return train(run, notes, loader(data=Augments(random.Random(3).random), num_workers=2))


@form(EQUAL, "persistent_workers are started anew for each epoch")
def workers_that_outlive_epochs(run, notes):
    return train(run, notes, loader(data=Augments(noise), num_workers=2, persistent_workers=True), epochs=2)


@form(EQUAL)
def sampler_with_state_dict_and_workers(run, notes):
    sampler = Resumes()
    source = DataLoader(DATA, batch_size=4, sampler=sampler, num_workers=2)
    return train(run, notes, source, sampler=sampler)


MODULES_OWN = random.Random(13)


@form(EQUAL)
def generators_of_the_script(run, notes):
    of_numpy, of_torch = numpy.random.default_rng(1), torch.Generator().manual_seed(4)

    def draw():
        return [of_numpy.random(), MODULES_OWN.random(), torch.rand(1, generator=of_torch).item()]

    return train(run, notes, loader(), in_step=draw)


@form(EQUAL)
def a_generator_in_the_source_and_the_steps(run, notes):
    shared = numpy.random.default_rng(1)
    return train(run, notes, loader(data=Augments(shared.random)), in_step=lambda: shared.random())


@form(EQUAL)
def a_generator_that_is_tracked(run, notes):
    generator = random.Random(1)
    return train(run, notes, loader(), in_step=generator.random, generator=generator)


@form(EQUAL)
def the_default_generators(run, notes):
    def draw():
        return [torch.rand(1).item(), random.random(), numpy.random.rand(), random.choice("abc")]

    return train(run, notes, loader(), in_step=draw)


@form(EQUAL, "this script names no seed")
def no_seed_named(run, notes):
    """Other weights in each run; and yet each sample once in an epoch."""
    torch.seed()  # as in a new process: the tests before have named one
    training, seen = Training(seed=None), []
    run.track(model=training.model, optim=training.optim, seen=seen)
    run.restore()
    for epoch in run.epochs(2):
        for batch in run.steps(loader()):
            notes.batch(len(batch))
            seen.extend(batch.tolist())
            training.step(batch)
        if run.stopped:
            break
        notes.say(f"epoch {epoch}", sorted(seen))
    return len(seen)


@form(EQUAL)
def a_list_that_the_script_shuffles(run, notes):
    training, data = Training(), [0.0, 1.0, 2.0]
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for _ in run.epochs(3):
        random.shuffle(data)
        for batch in run.steps(data):
            notes.batch(batch)
            training.step([batch])
        if run.stopped:
            break
    return training.model


class Sample:
    def __init__(self, value):
        self.value = value


@form(EQUAL)
def a_list_of_objects_that_is_shuffled(run, notes):
    training, data, order = Training(), [Sample(float(value)) for value in range(3)], random.Random(8)
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for _ in run.epochs(3):
        order.shuffle(data)
        for sample in run.steps(data):
            notes.batch(sample.value)
            training.step([sample.value])
        if run.stopped:
            break
    return training.model


class ReadsOn:
    """Goes on in its file where the epoch before has ended."""

    def __init__(self, path):
        self.file = open(path)

    def __iter__(self):
        for _ in range(3):
            line = self.file.readline()
            yield [float(line)]


@form(EQUAL)
def a_file_that_is_read_on(run, notes):
    path = f"{run.environment.checkpoint_dir}-data"
    with open(path, "w") as file:
        file.write("\n".join(map(str, range(6))))
    return train(run, notes, ReadsOn(path))


class Curriculum(Counts):
    def __init__(self):
        super().__init__()
        self.hardest = 3


@form(TOLD, "the steps change sampler.hardest of what run.steps() goes over")
def steps_that_change_the_sampler(run, notes):
    sampler = Curriculum()

    def harder():
        sampler.hardest += 1

    of_sampler(run, notes, sampler, in_step=harder)


class HoldsAnIterator:
    def __init__(self):
        self.rows = iter(range(100))

    def __iter__(self):
        for _ in range(3):
            yield [float(next(self.rows))]


@form(TOLD, "rows of what run.steps() goes over is a range_iterator")
def a_source_that_holds_an_iterator(run, notes):
    train(run, notes, HoldsAnIterator())
