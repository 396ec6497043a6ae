"""A training of a few steps, every bit of whose state matters: dropout, batch norm, momentum, a schedule."""

import random

import numpy
import torch

import glim
from glim.environment import Environment

DATA = [torch.full((4, 6), float(i)) for i in range(10)]


class Training:
    """A model with dropout, batch norm and momentum: every bit of its state matters."""

    __module__ = "glim.tests"  # what it notes is no state of the script's: Glim does not look into what is its own

    def __init__(self, run, seed=3):
        torch.manual_seed(seed)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1)
        )
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
        run.restore()
        for batch in run.steps(training.loader, epochs=epochs, save_every=save_every):
            training.step(batch)
            if run.step == stop_after:
                run.yield_now()
        return training, run
