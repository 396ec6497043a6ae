"""Two looks at what a script holds differ where something has changed, and nowhere else."""

import array
import collections
import copy
import gc
import itertools
import queue
import sqlite3
import sys
import types
import weakref

import numpy
import pytest
import torch

from glim import measure, walk


class Thing:
    def __init__(self, **held):
        vars(self).update(held)


class Slots:
    __slots__ = ("__number", "__weakref__")

    def __init__(self):
        self.__number = 0

    def grow(self):
        self.__number += 1


def look(root, without=()):
    return measure.Looker(lambda module: [*module.parameters(), *module.buffers()]).look(
        {"root": root}, {id(each): each for each in without}
    )


def changed(root, change):
    before = look(root).measures
    assert look(root).measures == before, "nothing has changed"
    change(root)
    now = look(root).measures
    return sorted(path for path in before if path in now and now[path] != before[path])


def deep(depth):
    held = Thing(number=0)
    for _ in range(depth):
        held = Thing(held=held)
    return held


def grow(root, depth):
    for _ in range(depth):
        root = root.held
    root.number += 1


def mul(tensors):
    for tensor in tensors:
        tensor.data.mul_(2)


CASES = {
    "list": (list(range(5)), lambda r: r.append(1), ["root"]),
    "list-in-its-middle": (list(range(1000)), lambda r: r.__setitem__(500, 0), ["root"]),
    "set": ({1, 2}, lambda r: r.add(3), ["root"]),
    "counter": (collections.Counter(), lambda r: r.update("a"), ["root"]),
    "ordered-dict": (collections.OrderedDict(a=1, b=2), lambda r: r.move_to_end("a"), ["root"]),
    "dicts": ({"a": {"b": {"n": 0}}}, lambda r: r["a"]["b"].update(n=1), ["root['a']['b']"]),
    "list-of-dicts": ([{"n": 0}] * 2, lambda r: r[0].update(n=1), ["root[0]"]),
    "end-of-a-long-list": ([{"n": at} for at in range(1000)], lambda r: r[-1].update(n=1), ["root[999]"]),
    "slots": (Slots(), lambda r: r.grow(), ["root._Slots__number"]),
    "namespace": (types.SimpleNamespace(n=0), lambda r: setattr(r, "n", 1), ["root.n"]),
    "six-deep": (deep(5), lambda r: grow(r, 5), ["root.held.held.held.held.held.number"]),
    "deeper": (deep(6), lambda r: grow(r, 6), []),
    "queue": (queue.Queue(), lambda r: r.put(1), ["root"]),
    "simple-queue": (queue.SimpleQueue(), lambda r: r.put(1), ["root"]),
    "bytearray": (bytearray(60), lambda r: r.__setitem__(59, 1), ["root"]),
    "array-of-pythons": (array.array("d", [0.0] * 9), lambda r: r.__setitem__(3, 1.0), ["root"]),
    "array": (numpy.zeros((3, 4)), lambda r: r.__setitem__((2, 3), 1), ["root"]),
    "array-of-objects": (numpy.array([{}, 1], dtype=object), lambda r: r.__setitem__(1, 2), ["root"]),
    "tensor-in-place": (torch.zeros(3), lambda r: r.add_(1), ["root"]),
    "tensor-by-its-data": (torch.ones(3), lambda r: r.data.mul_(2), ["root"]),
    "tensor-not-contiguous": (torch.ones(4, 3).t(), lambda r: r.data.mul_(2), ["root"]),
    "tensor-large": (torch.ones(3_000_000), lambda r: r.data.mul_(2), ["root"]),
    "tensor-of-bfloat16": (torch.ones(3, dtype=torch.bfloat16), lambda r: r.data.mul_(2), ["root"]),
    "module": (torch.nn.Linear(2, 2), lambda r: mul(r.parameters()), ["root"]),
    "module-with-buffers": (torch.nn.BatchNorm1d(2), lambda r: r(torch.rand(3, 2)), ["root"]),
    "module-that-is-set-to-eval": (torch.nn.BatchNorm1d(2), lambda r: r.eval(), []),
    "iterator": (iter(range(5)), next, ["root"]),
    "iterator-of-a-library": (itertools.count(), next, ["root"]),
    "generator": (torch.Generator(), lambda r: torch.rand(1, generator=r), []),
    "generator-of-numpy": (Thing(rng=numpy.random.default_rng(1)), lambda r: r.rng.random(), []),
}


@pytest.mark.parametrize("name", CASES)
def test_what_has_changed_is_found(name):
    root, change, paths = CASES[name]
    assert changed(copy.deepcopy(root) if name in ("list", "set") else root, change) == paths


class Sharded(torch.Tensor):
    """Of which one rank alone may ask for no item."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        assert function not in (torch.Tensor.reshape, torch.Tensor.__getitem__, torch.Tensor.cpu), function
        return super().__torch_function__(function, types, args, kwargs)


def test_of_a_tensor_that_is_not_whole_here_changes_are_counted_and_no_item_is_asked_for():
    assert changed(torch.ones(3).as_subclass(Sharded), lambda r: r.add_(1)) == ["root"]


def test_a_tensor_whose_storage_was_given_back_is_not_read():
    tensor = torch.ones(1000)
    tensor.storage().resize_(0)
    assert look(tensor).measures["root"] == ("tensor", (1000,), tensor._version, 0)


def test_a_list_longer_than_is_counted_is_compared_by_its_length_and_its_ends(monkeypatch):
    monkeypatch.setattr(measure, "NUMBERS_MAX", 1000)
    assert changed(list(range(2000)), lambda r: r.append(1)) == ["root"]
    assert changed(list(range(2000)), lambda r: r.__setitem__(1999, 1)) == ["root"]
    assert changed(list(range(2000)), lambda r: r.__setitem__(1000, 1)) == []


def test_no_more_objects_are_looked_at_than_the_bound(monkeypatch):
    monkeypatch.setattr(measure, "NODES_MAX", 50)
    assert len(look([Thing(n=[at]) for at in range(200)]).measures) <= 200


def test_a_look_does_not_go_past_what_is_left_out():
    inner = Thing(n=0)
    assert "root.held.n" in look(Thing(held=inner)).measures
    assert look(Thing(held=inner), without=[inner]).measures == {}


def test_a_look_keeps_no_object_alive_by_its_measures():
    thing = Thing(held=Thing(tensor=torch.ones(3)))
    gone = weakref.ref(thing.held.tensor)
    kept = look(thing).measures
    del thing
    gc.collect()
    assert kept and gone() is None


def shown():
    frame = sys._getframe(1)
    kept = dict(frame.f_locals)
    walk.let_go([frame])
    return kept.keys()


def test_a_frame_that_was_looked_into_keeps_no_object_alive():
    tensor = torch.ones(3)
    gone = weakref.ref(tensor)
    assert "tensor" in shown()
    tensor = None
    assert gone() is None and "tensor" in shown(), "looked at again, it is there again"


def test_a_dict_that_the_script_has_of_its_variables_stays_whole():
    number = 1
    mine = locals()
    assert "number" in shown() and mine["number"] == number


def test_a_file_that_is_read_has_a_place_and_one_that_is_written_has_none(tmp_path):
    path = tmp_path / "lines"
    path.write_text("1\n2\n3\n")
    with open(path) as file, open(tmp_path / "log", "w") as log:
        assert changed(file, lambda r: r.readline()) == ["root"]
        assert changed(log, lambda r: r.write("a") and r.flush()) == []
    with open(path) as file:
        assert changed(file, next) == ["root"], "it tells no place while it is gone over"


def test_an_object_of_c_that_shows_nothing_is_named():
    base = sqlite3.connect(":memory:")
    assert list(look(Thing(base=base)).unseen) == ["root.base"]
    for seen in (1, "a", [], object(), range(3), torch.device("cpu"), numpy.dtype("f4"), Slots(), len, Thing):
        assert not measure.is_unseen(seen), seen


def counting():
    count, last, held = 0, 0, []

    def add():
        nonlocal count, last
        count += 1
        last = count
        held.append(count)

    return add


def test_of_a_closure_the_variables_that_it_hands_on_and_the_objects_are_seen():
    add = counting()
    assert changed(add, lambda r: r()) == ["root.count", "root.held"]
