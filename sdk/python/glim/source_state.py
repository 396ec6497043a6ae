"""What a source of batches remembers from one epoch to the next, kept in saves: counters of a sampler, lists that it
shuffles in place, arrays of weights, files that are read on.

A source has no state_dict() in most scripts. So its attributes are compared with what they were when they were first
seen, before the first batch; what differs at an epoch's start is its state. The epoch's batches that were done are then
fetched once more, from that state.
"""

from __future__ import annotations

import io
import threading
import weakref
import zlib
from collections import deque
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Set, Tuple

from . import walk
from .generators import is_generator

_HASHED_BYTES = 8 << 20  # of one array; of a longer one a part
_NESTED_ITEMS = 2000
_SOURCES_MAX = 8
# How many wait or are at work is of this process: a pool that was told of another one's idle threads began none.
_OF_THREADS = ("threading", "_thread", "queue", "_queue", "concurrent.futures", "multiprocessing", "asyncio")
_CONTAINERS = (list, tuple, deque, set, frozenset, dict)

Nodes = Iterable[Tuple[str, Any]]


class SourceStates:
    """Used by the training thread only. `tell` says a line once."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._first: Dict[Tuple[int, str], Tuple[Any, Any]] = {}  # measure, and the items of a list of objects
        self._ever: Set[Tuple[int, str]] = set()  # what has been another, though it may be as at first again
        self._owners: Dict[int, Any] = {}
        self._now: Dict[str, Tuple[Callable[[], Any], Dict[str, Any]]] = {}  # by call: the source, its epoch's start
        self._saved: Dict[str, Dict[str, Any]] = {}

    def look(self, nodes: Nodes, variables: Nodes = ()) -> None:
        """Notes how things are, of what is seen for the first time. `variables`: lists and arrays of the script, each
        of which may be gone over later."""
        own = [cell for variable in variables for cell in _cells([variable])]
        for _, owner, key, value in (*own, *_cells(nodes)):
            if (id(owner), key) not in self._first:
                measure = _measure(value)
                self._own(owner)
                self._first[id(owner), key] = (measure, list(value) if _is_of_objects(measure) else None)

    def begin(self, call: str, source: Any, nodes: List[Tuple[str, Any]]) -> None:
        """An epoch of `source` begins. After a restore it is put back first."""
        self.look(nodes)
        if call in self._saved:
            self._put_back(nodes, self._saved.pop(call))
        self._now = {key: held for key, held in self._now.items() if held[0]() not in (None, source) and key != call}
        while len(self._now) >= _SOURCES_MAX:
            del self._now[next(iter(self._now))]
        self._now[call] = (_reference(source), self._changed(nodes))

    def end(self, call: str, source: Any, nodes: List[Tuple[str, Any]]) -> None:
        """Its batches are over: what counts is how it stands now."""
        if call in self._saved:
            self.look(nodes)
            self._put_back(nodes, self._saved.pop(call))
        self._now[call] = (_reference(source), self._changed(nodes))

    def state(self) -> Dict[str, Dict[str, Any]]:
        found = {call: changed for call, (_, changed) in self._now.items() if changed}
        return {**self._saved, **found}

    def adopt(self, saved: Dict[str, Dict[str, Any]]) -> None:
        self._saved = dict(saved)

    def measures(self, nodes: Nodes) -> Dict[str, Any]:
        return {path: _measure(value) for path, _, _, value in _cells(nodes)}

    def _changed(self, nodes: Nodes) -> Dict[str, Any]:
        found: Dict[str, Any] = {}
        for path, owner, key, value in _cells(nodes):
            first, items = self._first.get((id(owner), key), (None, None))
            if first is None or first == _measure(value) and (id(owner), key) not in self._ever:
                continue
            self._ever.add((id(owner), key))
            kept = _kept(value, items)
            if kept is None:
                self._tell(f"{path} of what run.steps() goes over changes, and is in no save: {_name_of(value)}")
            else:
                found[path] = kept
        return found

    def _put_back(self, nodes: Nodes, saved: Dict[str, Any]) -> None:
        cells = {path: (owner, key, value) for path, owner, key, value in _cells(nodes)}
        for path, kept in saved.items():
            if path not in cells:
                self._tell(f"{path} of what run.steps() goes over is in the save, and not there any more")
                continue
            owner, key, value = cells[path]
            self._ever.add((id(owner), key))
            items = self._first.get((id(owner), key), (None, None))[1]
            new = _unkept(kept, items)
            if isinstance(new, io.IOBase) or kept[0] == "file":
                value.seek(new)
            elif not _set_in_place(value, new):
                if isinstance(owner, type):
                    setattr(owner, key, new)
                else:
                    object.__setattr__(owner, key, new)

    def _own(self, owner: Any) -> None:
        """Keeps the owner's number from being used anew, or forgets with it what was seen."""
        number = id(owner)
        if number in self._owners:
            return

        def forget(_: Any) -> None:
            self._owners.pop(number, None)
            for known in [known for known in self._first if known[0] == number]:
                del self._first[known]
                self._ever.discard(known)

        try:
            self._owners[number] = weakref.ref(owner, forget)
        except TypeError:
            self._owners[number] = owner


def _reference(source: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(source)
    except TypeError:
        return lambda: source


def _cells(nodes: Nodes) -> Iterator[Tuple[str, Any, str, Any]]:
    """(path, owner, attribute, value) of what can be measured."""
    is_root = True
    for path, value in nodes:
        if is_root and _is_measured(value) and not isinstance(value, (tuple, frozenset)):
            yield path, value, "", value
        is_root = False
        if isinstance(value, _CONTAINERS) or walk.is_tensor(value) or walk.is_array(value) or is_generator(value):
            continue
        own: Any = vars(value) if isinstance(value, type) else getattr(value, "__dict__", None)
        if own is None or not hasattr(own, "items"):
            continue
        if type(value).__module__.startswith(_OF_THREADS):
            continue
        hidden: Set[str] = set(walk.HIDDEN_IN_LOADERS if walk.is_loader(value) else ())
        hidden.update(walk.HIDDEN_IN_THREADS if isinstance(value, threading.Thread) else ())
        for key, item in list(own.items()):
            if key not in hidden and not key.startswith("__") and _is_measured(item):
                yield (f"{path}.{key}" if path else key), value, key, item


def _is_measured(value: Any) -> bool:
    if walk.is_scalar(value) or isinstance(value, _CONTAINERS) or walk.is_tensor(value) or walk.is_array(value):
        return True
    return isinstance(value, io.IOBase) and _place_in(value) is not None


def _measure(value: Any) -> Any:
    """Equal for equal content, nearly always; cheap for a list of a million."""
    if walk.is_scalar(value):
        return (type(value), repr(value))
    if walk.is_tensor(value):
        if str(value.layout) != "torch.strided":
            return None
        return ("tensor", value.data_ptr(), value._version, tuple(value.shape))
    if walk.is_array(value):
        return ("array", value.shape, value.dtype.str, _checksum(value) if type(value).__name__ != "memmap" else None)
    if isinstance(value, io.IOBase):
        return ("file", _place_in(value))
    return (type(value), len(value), *_content(value))


def _content(value: Any) -> Tuple[Any, ...]:
    items = list(value.values()) if isinstance(value, dict) else list(value)
    names = tuple(value) if isinstance(value, dict) else ()
    if all(issubclass(kind, walk._SCALARS) for kind in set(map(type, items))):
        unordered = isinstance(value, (set, frozenset))
        return ("values", hash(frozenset(items) if unordered else tuple(items)), hash(names))
    if len(items) <= _NESTED_ITEMS and _is_plain(items, 4):
        return ("values", hash(repr(items)), hash(names))
    return ("objects", hash(tuple(map(id, items))), hash(names))


def _is_of_objects(measure: Any) -> bool:
    return isinstance(measure, tuple) and len(measure) > 2 and measure[2] == "objects" and measure[0] is list


def _is_plain(value: Any, depth: int) -> bool:
    if walk.is_scalar(value):
        return True
    if depth == 0 or not isinstance(value, _CONTAINERS) or len(value) > _NESTED_ITEMS:
        return False
    return all(_is_plain(item, depth - 1) for item in (value.values() if isinstance(value, dict) else value))


def _checksum(array: Any) -> int:
    import numpy

    if array.dtype.hasobject:
        return hash(tuple(map(id, array.ravel()[:_NESTED_ITEMS])))
    if array.nbytes > _HASHED_BYTES:
        array = array.reshape(-1)[:: max(1, array.size // 65536)]
    return zlib.crc32(numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8))


def _place_in(file: Any) -> Optional[int]:
    try:
        return int(file.tell()) if not file.closed and file.readable() and file.seekable() else None
    except (OSError, ValueError):
        return None


def _kept(value: Any, first_items: Optional[List[Any]]) -> Optional[Tuple[str, Any]]:
    """What a save has of it; None: it cannot be kept."""
    from .state_tree import check

    if isinstance(value, io.IOBase):
        return ("file", _place_in(value))
    if walk.is_tensor(value):
        return ("value", value.detach().clone())
    if walk.is_array(value):
        kept: Tuple[str, Any] = ("value", value.copy())
    elif isinstance(value, list) and first_items is not None:
        order = _order_of(value, first_items)
        if order is None:
            return None
        kept = ("order", _as_array(order))
    elif isinstance(value, list) and len(value) > 1000 and set(map(type, value)) == {int}:
        kept = ("ints", _as_array(value))
    else:
        kept = ("value", type(value)(value) if type(value) in (list, dict, set) else value)
    try:
        check({"value": kept})
    except (TypeError, OverflowError):
        return None
    return kept


def _unkept(kept: Tuple[str, Any], first_items: Optional[List[Any]]) -> Any:
    kind, value = kept
    if kind == "ints":
        return value.tolist()
    if kind == "order":
        return [(first_items or [])[at] for at in value.tolist()]
    return value


def _order_of(items: List[Any], first: List[Any]) -> Optional[List[int]]:
    places: Dict[int, List[int]] = {}
    for at, item in enumerate(first):
        places.setdefault(id(item), []).append(at)
    order = []
    for item in items:
        found = places.get(id(item))
        if not found:
            return None
        order.append(found.pop(0) if len(found) > 1 else found[0])
    return order


def _as_array(numbers: List[int]) -> Any:
    import numpy

    return numpy.asarray(numbers, dtype=numpy.int64)


def _set_in_place(value: Any, new: Any) -> bool:
    if isinstance(value, list) and isinstance(new, list):
        value[:] = new
    elif isinstance(value, (dict, set)) and type(value) is type(new):
        value.clear()
        value.update(new)
    elif isinstance(value, deque) and isinstance(new, deque):
        value.clear()
        value.extend(new)
    elif walk.is_array(value) and walk.is_array(new):
        if value.shape != new.shape or value.dtype != new.dtype or not value.flags.writeable:
            return False
        value[...] = new
    elif walk.is_tensor(value) and walk.is_tensor(new):
        if value.shape != new.shape or value.dtype != new.dtype:
            return False
        value.detach().copy_(new)
    else:
        return False
    return True


def _name_of(value: Any) -> str:
    return f"a {type(value).__module__}.{type(value).__qualname__}"
