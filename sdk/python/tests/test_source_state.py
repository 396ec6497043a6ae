"""What a source of batches remembers: its own attributes, and nothing of the threads that it works in."""

import queue
import random
import threading
from concurrent.futures import ThreadPoolExecutor

from glim import walk
from glim.source_state import SourceStates


def remembered(source, changes):
    """What is in a save after `changes`, a call without arguments."""
    states = SourceStates(lambda line: None)

    def nodes():
        return list(walk.walk({"source": source}))

    states.look(nodes())
    changes()
    states.begin("call", source, nodes())
    return states.state().get("call", {})


class Source:
    pass


def test_a_counter_and_a_list_are_remembered():
    source = Source()
    source.epoch, source.order = 0, [1, 2, 3]

    def changes():
        source.epoch += 1
        random.Random(1).shuffle(source.order)

    assert set(remembered(source, changes)) == {"source.epoch", "source.order"}


def test_how_a_pool_of_threads_stands_is_not():
    """A new one that was told that a thread of it is idle would begin none, and wait for ever."""
    source = Source()
    source.pool = ThreadPoolExecutor(1)

    def changes():
        source.pool.submit(int).result()
        while source.pool._idle_semaphore._value == 0:
            pass

    assert remembered(source, changes) == {}
    source.pool.shutdown()


def test_how_full_a_queue_is_is_not():
    source = Source()
    source.ahead, source.condition = queue.Queue(), threading.Condition()
    assert remembered(source, lambda: source.ahead.put([1.0])) == {}


def test_of_a_thread_of_the_scripts_own_class_its_own_attributes_are():
    class Reader(threading.Thread):
        at = 0

        def run(self):
            self.at += 1

    source = Source()
    source.reader = Reader(daemon=True)
    source.reader.at = 0

    def changes():
        source.reader.start()
        source.reader.join()

    assert set(remembered(source, changes)) == {"source.reader.at"}
