"""The forms of training loops that docs/reference/training-loops.md has a row for. Each is a script's main part."""

import os
from dataclasses import dataclass
from typing import Callable, Dict

import torch

EQUAL, REFUSED, TOLD = "equal", "refused", "told"
FORMS: Dict[str, "Form"] = {}


@dataclass(frozen=True)
class Form:
    name: str
    promise: str
    script: Callable  # of (run, notes); returns what has to be equal at the end
    says: str = ""  # refused: the error; told: the line on stderr; equal: also told, or nothing
    ranks: int = 1
    group: str = ""


def form(promise, says="", ranks=1):
    """Registers a script by its name, with dashes."""

    def register(script):
        name = script.__name__.replace("_", "-")
        assert name not in FORMS, name
        group = os.path.basename(script.__code__.co_filename)[len("forms_") : -len(".py")]
        FORMS[name] = Form(name, promise, script, says, ranks, group)
        return script

    return register


def of_group(group):
    return [one for one in FORMS.values() if one.group == group]


class Training:
    """A model, an optimizer and what a step of them is."""

    def __init__(self, lr=0.05, seed=1, optimizer=torch.optim.SGD, **settings):
        if seed is not None:
            torch.manual_seed(seed)
        self.model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Dropout(0.3), torch.nn.Linear(3, 1))
        if optimizer is torch.optim.SGD:
            settings.setdefault("momentum", 0.9)
        self.optim = optimizer(self.model.parameters(), lr=lr, **settings)

    def backward(self, batch):
        x = torch.as_tensor(batch).float().reshape(-1, 1) / 12
        x = torch.cat([x, torch.rand(len(x), 1)], 1)
        loss = (self.model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        loss.backward()
        return loss.item()

    def step(self, batch):
        self.optim.zero_grad()
        loss = self.backward(batch)
        self.optim.step()
        return loss


DATA = torch.arange(12.0)


def loader(shuffle=True, batch_size=6, data=DATA, **more):
    return torch.utils.data.DataLoader(data, batch_size=batch_size, shuffle=shuffle or None, **more)
