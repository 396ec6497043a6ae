"""A save changes nothing of the training that makes it, however long it takes and however many there are; and no thread
of the script does. The saves are made beside the training, as everywhere but in the other tests of the contract."""

import functools
import itertools
import random
import threading
import time

import numpy
import pytest
from attempts import Undisturbed
from check import small_folder
from forms import EQUAL, Form, Training, loader
from forms_order import Augments, Stream
from torch.utils.data import DataLoader

from glim import checkpoint

NEVER = 1000


def augmented():
    return loader(batch_size=2, data=Augments(numpy.random.default_rng(5).random))


def streamed():
    return DataLoader(Stream(), batch_size=2)


def begins_a_thread(step):
    if step == 2:
        threading.Thread(target=time.sleep, args=(0.3,), daemon=True).start()


def begins_threads_while_batches_are_fetched(step):
    """A timer that winds itself up again: in another thread than the training's, and at any time."""

    def tick():
        threading.Thread(target=time.sleep, args=(0.3,), daemon=True).start()
        if next(ticks) < 300:
            timer = threading.Timer(0.001, tick)
            timer.daemon = True
            timer.start()

    ticks = itertools.count()
    if step == 2:
        tick()


def script(run, notes, source, save_every, in_step):
    training, draws, data = Training(), random.Random(3), source()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(data, epochs=3, save_every=save_every):
        notes.batch(batch)
        in_step(run.step)
        time.sleep(0.005)
        notes.say(f"drawn in {run.step}", draws.random())
        training.step(batch)
    return training.model, training.optim


def batches(source, save_every=NEVER, in_step=lambda step: None, ranks=1):
    made = functools.partial(script, source=source, save_every=save_every, in_step=in_step)
    form = Form("saves", EQUAL, made, ranks=ranks)
    with small_folder() as folder:
        return Undisturbed(form, f"{folder}/whole").notes


@pytest.mark.parametrize("takes_s", (0, 0.02, 0.2))
@pytest.mark.parametrize("source", (augmented, streamed))
def test_saves_beside_the_training_change_no_batch(monkeypatch, source, takes_s):
    undisturbed = batches(source)
    wait = checkpoint.SaveHandle.wait
    monkeypatch.setattr(checkpoint.SaveHandle, "wait", lambda handle: time.sleep(takes_s) or wait(handle))
    for save_every in (1, 4, 7):
        assert batches(source, save_every) == undisturbed, save_every


def test_saves_of_rank_0_change_no_batch_of_any_rank():
    undisturbed = batches(augmented, ranks=2)
    assert {rank for rank, _ in undisturbed} == {0, 1}
    assert batches(augmented, 2, ranks=2) == undisturbed


@pytest.mark.parametrize("in_step", (begins_a_thread, begins_threads_while_batches_are_fetched))
def test_a_thread_of_the_script_changes_no_batch(in_step):
    undisturbed = batches(augmented)
    assert batches(augmented, NEVER, in_step) == undisturbed
    assert batches(augmented, 2, in_step) == undisturbed
