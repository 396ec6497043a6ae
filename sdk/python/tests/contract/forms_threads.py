"""Threads: of the source, which reads ahead, and of the script, which are nothing to the source."""

import concurrent.futures
import queue
import random
import threading
import time

import torch
from forms import DATA, EQUAL, REFUSED, Training, form, loader
from forms_order import Augments, train


class ReadsInAThread:
    def __init__(self, inner):
        self.inner = inner

    def __iter__(self):
        batches = queue.Queue(2)

        def read():
            for batch in self.inner:
                batches.put(batch)
            batches.put(None)

        threading.Thread(target=read, name="reader", daemon=True).start()
        return iter(batches.get, None)


def shuffled():
    """With a generator of its own."""
    order = torch.utils.data.RandomSampler(DATA, generator=torch.Generator().manual_seed(2))
    return torch.utils.data.BatchSampler(order, 4, drop_last=False)


@form(EQUAL, "reads ahead in a thread of its own (reader)")
def a_source_that_reads_in_a_thread(run, notes):
    inner = shuffled()
    return train(run, notes, ReadsInAThread(inner))


@form(EQUAL, "reads ahead in a thread of its own (reader)")
def a_generator_function_that_reads_in_a_thread(run, notes):
    """The thread begins with the first batch, and not before."""
    training, inner = Training(), loader(False, 2, Augments(random.Random(4).random))

    def ahead():
        yield from ReadsInAThread(inner)

    run.track(model=training.model, optim=training.optim)
    run.restore()
    for _ in run.epochs(2):
        for batch in run.steps(ahead()):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
    return training.model


class ReadsByAPool:
    """Two batches ahead, in the one thread of a pool that outlives epochs."""

    def __init__(self, data):
        self.data = data
        self.pool = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="pool")

    def read(self, at):
        return [float(self.data[at])]

    def __iter__(self):
        ahead = [self.pool.submit(self.read, at) for at in range(2)]
        for at in range(2, 6):
            yield ahead.pop(0).result()
            ahead.append(self.pool.submit(self.read, at))
        yield from (one.result() for one in ahead)


@form(EQUAL, "reads ahead in a thread of its own (pool_0)")
def a_source_that_reads_by_a_pool(run, notes):
    data = Augments(random.Random(6).random)
    return train(run, notes, ReadsByAPool(data))


class Serves:
    """Its thread begins when it is made, and reads an epoch when it is asked to."""

    def __init__(self, inner):
        self.inner, self.asked, self.batches = inner, queue.Queue(), queue.Queue(2)
        threading.Thread(target=self.serve, name="server", daemon=True).start()

    def serve(self):
        while self.asked.get():
            for batch in self.inner:
                self.batches.put(batch)
            self.batches.put(None)

    def __iter__(self):
        self.asked.put(True)
        return iter(self.batches.get, None)


@form(EQUAL, "reads ahead in a thread of its own (server)")
def a_reader_that_begins_before_the_loop(run, notes):
    inner = shuffled()
    return train(run, notes, Serves(inner), epochs=3)


@form(EQUAL, "reads ahead in a thread of its own (reader)")
def a_loop_with_a_reader_and_one_without(run, notes):
    training, data = Training(), Augments(random.Random(8).random)
    run.track(model=training.model, optim=training.optim)
    run.restore()
    ahead, source = ReadsInAThread(loader(False, data=data)), loader(data=data)
    for each in (ahead, source):
        for batch in run.steps(each, epochs=2):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            return None
    return training.model


@form(EQUAL)
def threads_of_the_script(run, notes):
    """Two that do nothing of the training: one from before the loop, one from its third step on."""
    sleep = threading.Event().wait
    threading.Thread(target=sleep, args=(60,), daemon=True).start()

    def in_step():
        if run.step == 2:
            threading.Thread(target=sleep, args=(60,), daemon=True).start()
        time.sleep(0.001)

    source = loader(batch_size=3, data=Augments(random.Random(5).random))
    return train(run, notes, source, in_step=in_step)


@form(REFUSED, "run.steps() is gone over in another thread than the one that opened the session")
def a_thread_around(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    failed = []

    def read():
        try:
            next(iter(run.steps(loader(), epochs=2)))
        except RuntimeError as error:
            failed.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    reader.join()
    raise failed[0]
