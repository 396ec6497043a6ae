"""The kinds of a state beside JSON's and arrays: each comes back as what it was, and reading imports nothing."""

import collections
import enum
import json
import pathlib

import numpy
import pytest
import torch

from glim import state_tree


class Colour(enum.Enum):
    RED = 1


class Size(enum.IntEnum):
    LARGE = 3


Point = collections.namedtuple("Point", "x y")


def through(value):
    arrays = state_tree.flatten({"value": value})
    text = bytes(arrays.pop(state_tree.STRUCTURE_NAME))
    memory = {name: torch.as_tensor(array) for name, array in arrays.items()}
    structure = state_tree.Structure(text, lambda name: ("F32", tuple(memory[name].shape)))
    for name, target in structure.targets():
        target.copy_(memory[name])
    return structure.build()["value"], json.loads(text)


@pytest.mark.parametrize(
    "value",
    [
        {1, 2},
        frozenset("ab"),
        collections.deque([1, 2], maxlen=2),
        collections.defaultdict(int, {"a": 1}),
        collections.defaultdict(None, {(1, 2): [3]}),
        complex(1, -0.0),
        range(2, 9, 3),
        pathlib.Path("a/b"),
        torch.Size([2, 3]),
        torch.float16,
        torch.device("cuda", 1),
        Colour.RED,
        Size.LARGE,
        Point(1, (2, {3})),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_comes_back_as_it_was(value):
    found, _ = through(value)
    assert type(found) is type(value) and found == value
    for name in ("maxlen", "default_factory"):
        assert getattr(found, name, None) == getattr(value, name, None)


def test_what_a_kind_holds_is_kept_as_anywhere():
    found, _ = through(Point(torch.ones(2), [float("inf")]))
    assert torch.equal(found.x, torch.ones(2)) and found.y == [float("inf")]


@pytest.mark.parametrize(
    "name", ["nowhere:Point", "os:system", "json:", "builtins:int", ":", f"{__name__}:Point.__new__"]
)
def test_a_class_that_is_not_there_is_no_reason_to_fail_and_none_is_imported(name):
    for value, plain in ((Point(1, 2), (1, 2)), (Colour.RED, 1)):
        _, tree = through(value)
        tree["value"]["class"] = name
        found = state_tree.Structure(json.dumps(tree).encode(), {}.__getitem__).build()["value"]
        assert type(found) is type(plain) and found == plain


@pytest.mark.parametrize(
    "node",
    [
        {"$": "path"},
        {"$": "dtype", "text": "torch.nn"},
        {"$": "dtype", "text": "os.system"},
        {"$": "device", "text": "nowhere"},
        {"$": "defaultdict", "factory": "system", "items": []},
        {"$": "range", "items": [1, 2, 0]},
        {"$": "complex", "items": ["a", "b"]},
        {"$": "set", "items": [[1]]},
        {"$": "Size", "items": ["a"]},
        {"$": "enum", "items": [1]},
    ],
)
def test_a_node_that_is_none_is_refused_in_words(node):
    with pytest.raises(state_tree.StructureError):
        state_tree.Structure(json.dumps({"value": node}).encode(), {}.__getitem__).build()


def test_numpy_is_as_before():
    assert numpy.array_equal(through(torch.ones(3))[0], numpy.ones(3))
