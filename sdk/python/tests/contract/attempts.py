"""Attempts of a form, each in a process that is forked from this one, which has imported torch: stopped, killed, and
gone on with until the script has come to its end."""

import hashlib
import json
import os
import signal
import sys
import traceback

import torch
from bounds import BOUND_S
import glim
from glim import checkpoint, walk
from glim.environment import Environment
from glim.loop import Loop

STOP, KILL = "stop", "kill"


class Notes:
    """What an attempt writes down, at once: batches by the number of their step, and what else counts by its key. Each
    is a point at which the attempt may be stopped or killed."""

    __module__ = "glim.tests"  # no state of the script's: Glim does not look into what is its own

    def __init__(self, file, run, at, how):
        self._file, self._run, self._left, self._how = file, run, at, how

    def batch(self, value, step=None):
        if torch.is_tensor(value):
            value = value.tolist()
        self._write(f"step {self._run.step if step is None else step}", value, True)

    def say(self, key, value):
        self._write(str(key), value, False)

    def first(self, key, value):
        """What is done again on the way to where the save was made: the first time counts."""
        self._write(f"first {key}", value, False)

    def end(self, value):
        self._file.write(json.dumps(["end", repr(value)]) + "\n")
        self._file.flush()

    def _write(self, key, value, is_step):
        if self._how == KILL and self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._file.write(json.dumps([key, repr(value)]) + "\n")
        self._file.flush()
        if self._how == STOP and self._left == 0 and is_step:
            self._run.yield_now()
        if self._how == KILL or is_step:
            self._left -= 1


def digest(value):
    """Of everything that has to be equal: models, optimizers, numbers."""
    text = hashlib.sha256()

    def add(part):
        if hasattr(part, "state_dict"):
            part = part.state_dict()
        if isinstance(part, dict):
            for key in sorted(part, key=str):
                text.update(str(key).encode())
                add(part[key])
        elif isinstance(part, (list, tuple)):
            for item in part:
                add(item)
        elif torch.is_tensor(part):
            text.update(part.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        elif not callable(part):
            text.update(repr(part).encode())

    add(value)
    return text.hexdigest()


def run_form(form, folder, number, at=-1, how=STOP, rank=0):
    """One attempt in this process."""
    if how == KILL:  # a save after each step, durable before the next one
        save = Loop._save
        Loop._is_time = lambda loop, step, save_every: True
        Loop._save = lambda loop, step, wait: save(loop, step, True)
    saves = os.path.join(folder, "saves")
    env = Environment(attempt=number, checkpoint_dir=saves, rank=rank, declared_rank=rank, world_size=form.ranks)
    with open(os.path.join(folder, f"notes-{number}-{rank}"), "w") as file:
        with glim.Session(environment=env) as run:
            notes = Notes(file, run, at, how)
            result = form.script(run, notes)
        if not run.stopped:
            notes.end(digest(result))


def _hide_tests():
    """The tests that this process has collected are no modules of the script's: what they name is not looked into."""
    for name in [each for each in sys.modules if each.rpartition(".")[2].startswith(("test_", "conftest"))]:
        del sys.modules[name]
    walk._users_modules.cache_clear()


def _child(form, folder, number, at, how, rank):
    code = 0
    try:
        _hide_tests()
        with open(os.path.join(folder, f"stderr-{number}-{rank}"), "w") as log:
            os.dup2(log.fileno(), 2)
            sys.stderr = log
            if form.ranks > 1:
                torch.distributed.init_process_group(
                    "gloo",
                    init_method=f"file://{folder}/meeting-{number}",
                    rank=rank,
                    world_size=form.ranks,
                )
            try:
                run_form(form, folder, number, at, how, rank)
            except BaseException:
                traceback.print_exc()
                code = 1
            log.flush()
    finally:
        os._exit(code)


def attempt(form, folder, number, at=-1, how=STOP):
    """Whether every rank ended with 0. A rank that is killed takes the others with it, as a node's agent does."""
    children = {}
    for rank in range(form.ranks):
        pid = os.fork()
        if pid == 0:
            signal.alarm(int(BOUND_S))
            _child(form, folder, number, at, how, rank)
        children[pid] = rank
    well = True
    while children:
        pid, status = os.wait()
        if pid not in children:
            continue
        del children[pid]
        if status != 0:
            well = False
            for other in children:
                os.kill(other, signal.SIGKILL)
    return well


def notes_of(form, folder, numbers):
    """What the attempts have written, later ones over earlier ones; and how many batches, any twice counted twice."""
    found, lines = {}, 0
    for rank in range(form.ranks):
        for number in numbers:
            with open(os.path.join(folder, f"notes-{number}-{rank}")) as file:
                for line in file.read().splitlines():
                    key, value = json.loads(line)
                    if not (key.startswith("first ") and (rank, key) in found):
                        found[rank, key] = value
                    lines += key.startswith("step ")
    return found, lines


def told(form, folder, number, rank=0):
    with open(os.path.join(folder, f"stderr-{number}-{rank}")) as file:
        return file.read()


def has_ended(form, folder):
    return (0, "end") in notes_of(form, folder, [1])[0]


class Undisturbed:
    def __init__(self, form, folder):
        os.makedirs(folder)
        assert attempt(form, folder, 1), told(form, folder, 1)
        self.notes, self.lines = notes_of(form, folder, [1])
        self.told = told(form, folder, 1)
        assert any(key[1] == "end" for key in self.notes)
        self.batches = sum(1 for rank, key in self.notes if rank == 0 and key.startswith("step "))
        self.points = sum(1 for rank, key in self.notes if rank == 0 and key != "end")


def _differences(whole, notes):
    return [
        f"{key}: {notes.get(key)} in place of {whole.notes.get(key)}"
        for key in sorted({*notes, *whole.notes}, key=str)
        if notes.get(key) != whole.notes.get(key)
    ]


def stopped_at(form, whole, folder, at):
    """Faults of an attempt that is stopped after a step, and of one that goes on from there to the end."""
    os.makedirs(folder)
    numbers = [1]
    if not attempt(form, folder, 1, at, STOP):
        return [f"attempt 1 failed: {told(form, folder, 1)}"]
    if (0, "end") not in notes_of(form, folder, [1])[0]:  # a stop behind the last step is none
        numbers.append(2)
        if not attempt(form, folder, 2):
            return [f"attempt 2 failed: {told(form, folder, 2)}"]
    notes, batches = notes_of(form, folder, numbers)
    faults = _differences(whole, notes)
    return faults if batches == whole.lines else [*faults, f"{batches} batches in place of {whole.lines}"]


def killed_again_and_again(form, whole, folder):
    """Faults of a row of attempts, each of which saves after each step, and is killed at its second point: in the
    middle of a step, or of what follows the loop. One that saves nothing new lives for a point longer."""
    os.makedirs(folder)
    at, newest, numbers = 1, None, [1]
    while not attempt(form, folder, numbers[-1], at, KILL):
        said = told(form, folder, numbers[-1])
        if "Traceback" in said or len(numbers) > 4 * whole.points:
            return [f"attempt {numbers[-1]}: {said}"]
        found = [checkpoint.split_path(path)[2] for path in checkpoint.checkpoints(os.path.join(folder, "saves"))]
        at = 1 if found[-1:] != newest else at + 1
        newest = found[-1:]
        numbers.append(numbers[-1] + 1)
    notes, _ = notes_of(form, folder, numbers)
    faults = _differences(whole, notes)
    return faults if len(numbers) >= whole.batches else [*faults, f"killed {len(numbers) - 1} times"]
