"""What a script holds at one moment, measured so that two moments can be compared: by path, equal as long as nothing
has changed. Nothing is changed by it, and nothing of the script's is kept alive.

Bounds: DEPTH_MAX objects inside of each other, NODES_MAX objects in all, of a container with objects in it the first
and the last ITEMS_MAX, of one with a million numbers all of them, of a tensor or an array a sample, spread over it.
"""

from __future__ import annotations

import io
import itertools
import queue
import sys
import types
import zlib
from collections import deque
from typing import Any, Callable, Dict, Iterator, List, Set, Tuple

from . import walk
from .generators import is_generator

DEPTH_MAX = 6
NODES_MAX = 20_000
ITEMS_MAX = 200
NUMBERS_MAX = 1_000_000
SAMPLE_BYTES = 1 << 16
_CONTAINERS = (list, tuple, set, frozenset, dict, deque)
_LOOKED_INTO = ("types", "argparse", "collections", "array", "configparser", "statistics", "heapq")  # Python's
_SEEN_THROUGH = (  # C, and no state of a training's; or found, seeded and measured elsewhere
    *("builtins", "torch", "numpy", "glim", "re", "_thread", "weakref", "functools", "itertools", "operator", "_abc"),
    *("contextvars", "_contextvars", "select", "_io", "datetime", "decimal", "enum", "pathlib", "typing", "_random"),
)
_NOT_A_CLASSES = (
    *(types.FunctionType, types.BuiltinFunctionType, staticmethod, classmethod, property),
    *(types.MemberDescriptorType, types.GetSetDescriptorType),
)


class Look:
    """What one look has found."""

    def __init__(self) -> None:
        self.measures: Dict[str, Any] = {}
        self.values: Dict[str, Any] = {}  # by path; dropped when the look is over
        self.attributes: Dict[str, Tuple[str, type]] = {}  # of a path that ends in one: its name, and whose it is
        self.unseen: Dict[str, Any] = {}  # objects that cannot be looked into


class Looker:
    """`tensors_of` gives the tensors of a module, with its parts', that no save has."""

    def __init__(self, tensors_of: Callable[[Any], List[Any]]) -> None:
        self._tensors_of = tensors_of
        self._measured: Set[int] = set()  # tensors, in this look

    def look(self, roots: Dict[str, Any], without: Dict[int, Any]) -> Look:
        """Of all that is reached from `roots`, but not through `without`, by id; the near ones first, each once."""
        found = Look()
        self._measured.clear()
        seen: Dict[int, Any] = {}
        waiting = deque((path, "", type(None), value, DEPTH_MAX) for path, value in roots.items())
        while waiting and len(seen) < NODES_MAX:
            path, attribute, owner, value, depth = waiting.popleft()
            if id(value) in without or _is_left_out(value):
                continue
            is_value = walk.is_scalar(value)
            if not is_value:
                if id(value) in seen:
                    continue
                seen[id(value)] = value
            measure = self._measure(value)
            if measure is not None:
                found.measures[path], found.values[path] = measure, value
                if attribute:
                    found.attributes[path] = (attribute, owner)
            if is_value or depth == 0:
                continue
            if is_unseen(value):
                found.unseen[path] = value
            children = list(_children(value))
            if any(type(child).__name__ == "generator" and _is_glims(child) for _, _, child in children):
                continue  # it goes over run.steps(): a progress bar
            kind = value if isinstance(value, type) else type(value)
            waiting.extend((path + name, attribute, kind, child, depth - 1) for name, attribute, child in children)
        return found

    def _measure(self, value: Any) -> Any:
        if walk.is_module(value):
            tensors = [tensor for tensor in self._tensors_of(value) if id(tensor) not in self._measured]
            self._measured.update(map(id, tensors))
            return tuple(map(_of_tensor, tensors)) or None
        return measure(value)


def measure(value: Any) -> Any:
    """Equal as long as nothing has changed; None: no step changes it, or it cannot be told."""
    if walk.is_scalar(value):
        return (type(value).__name__, repr(value) if not isinstance(value, (str, bytes)) else (len(value), hash(value)))
    if walk.is_tensor(value):
        return _of_tensor(value)
    if walk.is_array(value):
        return _of_array(value)
    if isinstance(value, (bytearray, memoryview)) or type(value).__module__ == "array":
        return _of_buffer(value)
    if isinstance(value, io.IOBase):
        place = place_in(value)
        return None if place is None else ("file", place)
    if is_iterator(value):
        return ("iterator", *place_of(value))
    if isinstance(value, _CONTAINERS):
        return _of_container(value)
    if isinstance(value, queue.Queue):
        return ("queue", tuple(map(_shallow, list(value.queue))))
    if isinstance(value, queue.SimpleQueue):
        return ("queue", value.qsize())
    return None


def _of_container(value: Any) -> Tuple[Any, ...]:
    kind, count = type(value).__name__, len(value)
    names = hash(tuple(itertools.islice(value, NUMBERS_MAX))) if isinstance(value, dict) else 0
    if count <= NUMBERS_MAX:
        items = list(value.values() if isinstance(value, dict) else value)
        if all(issubclass(each, walk._SCALARS) for each in set(map(type, items))):
            is_unordered = isinstance(value, (set, frozenset))
            return (kind, count, names, hash(frozenset(items) if is_unordered else tuple(items)))
    ends = [item for _, item in _ends(value)]
    if isinstance(value, tuple):  # a change replaces it: what is in it counts
        return (kind, count, tuple(repr(item) for item in ends if walk.is_scalar(item)))
    return (kind, count, names, tuple(map(_shallow, ends)))


def _ends(value: Any) -> List[Tuple[Any, Any]]:
    """(key or number, item) of the first and the last ones."""
    whole = value.items() if isinstance(value, dict) else enumerate(value)
    if len(value) <= 2 * ITEMS_MAX:
        return list(whole)
    first = list(itertools.islice(whole, ITEMS_MAX))
    if not hasattr(value, "__reversed__"):
        return first
    last = itertools.islice(reversed(value.items() if isinstance(value, dict) else value), ITEMS_MAX)
    return first + (list(last) if isinstance(value, dict) else [(len(value) - 1 - at, i) for at, i in enumerate(last)])


def _shallow(value: Any) -> Any:
    return repr(value) if walk.is_scalar(value) else id(value)


def _of_tensor(value: Any) -> Any:
    """Its number of changes, and of its content a sample: what is changed through .data counts none."""
    if not value.numel() or str(value.layout) != "torch.strided" or value.device.type == "meta":
        return None
    version = value._version if not value.is_inference() else 0
    if not _has_bytes_here(value):
        return ("tensor", tuple(value.shape), version, 0)
    try:
        flat = value.detach().reshape(-1) if value.is_contiguous() else value.detach()[(0,) * (value.dim() - 1)]
        flat = flat[:: max(1, flat.numel() * flat.element_size() // SAMPLE_BYTES)].cpu().contiguous()
        import torch

        content = zlib.crc32(flat.view(torch.uint8).numpy()) if flat.dim() else 0
    except (RuntimeError, TypeError, NotImplementedError):  # of a kind that shows no bytes
        content = 0
    return ("tensor", tuple(value.shape), version, content)


def _has_bytes_here(value: Any) -> bool:
    """Not what torch.distributed shards: all ranks would have to ask for a part of it together, and one looks. Nor what
    has no storage until it is needed."""
    torch = sys.modules["torch"]
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return False
    storage = getattr(value, "untyped_storage", value.storage)  # the former since torch 2
    return bool(storage().nbytes())


def _of_array(value: Any) -> Any:
    import numpy

    if value.dtype.hasobject:
        return ("array", value.shape, tuple(_shallow(item) for item in value.ravel()[:ITEMS_MAX].tolist()))
    flat = value.reshape(-1) if value.flags.c_contiguous else value.flat[: SAMPLE_BYTES // value.itemsize]
    if flat.nbytes > 16 * SAMPLE_BYTES:
        flat = flat[:: max(1, flat.nbytes // (4 * SAMPLE_BYTES))]
    return ("array", value.shape, zlib.crc32(numpy.ascontiguousarray(flat).view(numpy.uint8)))


def _of_buffer(value: Any) -> Any:
    with memoryview(value) as view:
        if not view.c_contiguous:
            return None
        whole = view.cast("B") if view.nbytes else view
        return ("bytes", view.nbytes, zlib.crc32(whole[: 16 * SAMPLE_BYTES]), zlib.crc32(whole[-SAMPLE_BYTES:]))


def _is_left_out(value: Any) -> bool:
    return isinstance(value, (types.CodeType, types.FrameType, types.ModuleType)) or is_generator(value)


def _is_glims(value: Any) -> bool:
    return bool(value.gi_code.co_filename.startswith(walk._GLIM))


def _children(value: Any) -> Iterator[Tuple[str, str, Any]]:
    """(how the path goes on, the attribute's name, value)"""
    kind = type(value)
    if kind.__module__.partition(".")[0] == "glim" or walk.is_tensor(value) or walk.is_array(value):
        return
    if isinstance(value, _CONTAINERS) and walk.is_users_class(kind):
        yield from ((f".{name}", name, item) for name, item in _fields(value))
    if isinstance(value, dict):
        for key, item in _ends(value):
            if not walk.is_scalar(item):
                yield f"[{key!r}]" if walk.is_scalar(key) else f"[{kind.__name__}]", "", item
    elif isinstance(value, (list, tuple, deque, set, frozenset)):
        for at, item in _ends(value):
            if not walk.is_scalar(item):
                yield f"[{at}]", "", item
    elif isinstance(value, type):
        yield from _of_class(value)
    elif isinstance(value, types.FunctionType):
        yield from _of_function(value)
    elif walk.is_module(value):
        yield from of_module(value)
    elif isinstance(value, (types.MethodType, types.BuiltinMethodType)):
        yield ".__self__", "", value.__self__
    elif is_looked_into(kind):
        for name, item in _fields(value):
            yield f".{name}", name, item
        if walk.is_users_class(kind):
            yield f".{kind.__name__}", "", kind
    elif kind.__module__ == "functools":
        yield from ((f".{name}", "", item) for name, _, item in _of_partial(value))


def _of_partial(value: Any) -> Iterator[Tuple[str, str, Any]]:
    for name in ("func", "args", "keywords"):
        if hasattr(value, name):
            yield name, "", getattr(value, name)


def _of_class(value: Any) -> Iterator[Tuple[str, str, Any]]:
    if not walk.is_users_class(value):
        return
    for name, item in list(vars(value).items()):
        if isinstance(item, (types.FunctionType, staticmethod, classmethod)):
            yield f".{name}", "", getattr(item, "__func__", item)
        elif not name.startswith("__") and not isinstance(item, _NOT_A_CLASSES):
            yield f".{name}", name, item


def _of_function(value: Any) -> Iterator[Tuple[str, str, Any]]:
    if not walk.is_users_file(value.__code__.co_filename) and value.__module__ != "__main__":
        return
    for name, item in list(vars(value).items()):
        yield f".{name}", name, item
    written = {name for name in value.__code__.co_freevars}
    for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
        try:
            item = cell.cell_contents
        except ValueError:  # not set yet
            continue
        if not walk.is_scalar(item) or name in written and _hands_on(value.__code__, name):
            yield f".{name}", "", item
    for name, item in (("__defaults__", value.__defaults__), ("__kwdefaults__", value.__kwdefaults__)):
        if item:
            yield f".{name}", "", item


def _hands_on(code: Any, name: str) -> bool:
    """Whether a function changes a variable of the one around it, and reads it before."""
    from . import liveness

    return name in liveness.stored(code) and name in liveness.live_at_entry(code)


def of_module(value: Any) -> Iterator[Tuple[str, str, Any]]:
    """Of torch's modules: their parts, and what the script's own classes have beside weights."""
    for name, item in list(value._modules.items()):
        if item is not None:
            yield f".{name}", "", item
    kind, base = type(value), sys.modules["torch"].nn.Module
    has_own_state = kind.state_dict is not base.state_dict or kind.get_extra_state is not base.get_extra_state
    if walk.is_users_class(kind) and not has_own_state:
        for name, item in list(vars(value).items()):
            if name not in _of_every_module():
                yield f".{name}", name, item


def _of_every_module() -> Any:
    if not _MODULES_OWN:
        _MODULES_OWN.update(vars(sys.modules["torch"].nn.Module()))
    return _MODULES_OWN


_MODULES_OWN: Dict[str, Any] = {}


def _fields(value: Any) -> Iterator[Tuple[str, Any]]:
    own = getattr(value, "__dict__", None)
    if isinstance(own, dict):
        yield from list(own.items())
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            name = f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield name, getattr(value, name)


def is_looked_into(kind: type) -> bool:
    """Objects of the script's classes, and of those of Python's that keep what they are given."""
    return walk.is_users_class(kind) or kind.__module__ in _LOOKED_INTO


def is_unseen(value: Any) -> bool:
    """An object of a library in C that may change, and shows nothing of it."""
    kind: Any = type(value)
    if kind.__module__.partition(".")[0] in _SEEN_THROUGH or hasattr(value, "__dict__") or is_looked_into(kind):
        return False
    if isinstance(value, (type, types.ModuleType, io.IOBase)) or measure(value) is not None:
        return False
    return (
        kind.__hash__ is object.__hash__
        and kind.__eq__ is object.__eq__
        and not any("__slots__" in vars(base) for base in kind.__mro__)
    )


def is_iterator(value: Any) -> bool:
    if isinstance(value, io.IOBase) or not hasattr(type(value), "__next__"):
        return False
    return not (isinstance(value, types.GeneratorType) and _is_glims(value))


def place_of(value: Any) -> Tuple[Any, ...]:
    """Another one after each item."""
    if isinstance(value, types.GeneratorType):
        frame = value.gi_frame
        return () if frame is None else (frame.f_lasti, *map(_shallow, frame.f_locals.values()))
    for name in ("_num_yielded", "_rcvd_idx"):
        if hasattr(value, name):
            return (getattr(value, name),)
    hint = getattr(value, "__length_hint__", None)
    if hint is not None:
        try:
            return (hint(),)
        except TypeError:
            pass
    if type(value).__module__ in ("builtins", "itertools"):
        inner = [item for item in walk.inside_iterator(value) if is_iterator(item)]
        return tuple(place for item in inner for place in place_of(item)) or (_reduced(value),)
    return tuple(_shallow(item) for item in list(getattr(value, "__dict__", {}).values())[:ITEMS_MAX])


def _reduced(value: Any) -> str:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python 3.12: it will go
            return repr(value.__reduce__())
    except (TypeError, AttributeError):
        return ""


def place_in(file: Any) -> Any:
    """Of a file that is read. One that is written to is not gone on with by its offset."""
    if file in (sys.stdin, sys.stdout, sys.stderr):
        return None
    mode = str(getattr(file, "mode", "r"))
    try:
        if file.closed or any(letter in mode for letter in "wax") or not file.readable() or not file.seekable():
            return None
        try:
            return int(file.tell())
        except OSError:  # a text that is gone over line by line says its place only to itself
            return int(file.buffer.tell())
    except (OSError, ValueError, AttributeError):
        return None
