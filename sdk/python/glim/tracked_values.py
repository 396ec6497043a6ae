"""What a tracked dict, list or object of the script's holds: taken for a save, and put back.

A part that is the same object as when it was tracked (an attribute that is a list, a tensor in a dict) is put back in
place, so that the script's other names of it see that. What was put there since is replaced: that object may be
somebody else's.

A state has, beside what state_tree.py keeps, in place of
    an object of the script's classes    {"glim": "object", "class": "MODULE:NAME", "has": its attributes}
    one with state_dict()                {"glim": "state", "has": its state}
    a random generator                   {"glim": "seeded"}: it is seeded, and not saved
    an object that is there already      {"glim": "same", "as": PATH}
"""

from __future__ import annotations

import enum
import sys
import weakref
from collections import deque
from typing import Any, Callable, Dict, Iterable, Iterator, List, Set, Tuple

from . import walk
from .generators import is_generator

PARTS_MAX = 20_000
_MARK = "glim"
_IN_PLACE = (dict, list, set, deque)
_KEYS = {  # by kind: what such a node has
    "object": {_MARK, "class", "has"},
    "state": {_MARK, "has"},
    "seeded": {_MARK},
    "same": {_MARK, "as"},
}
_FLAT = {type(None), bool, int, float, complex, str, bytes}

Path = Tuple[str, ...]


class Values:
    """Of one tracked object. `state_of` takes the state of an object with state_dict(), by its path."""

    def __init__(self, name: str, root: Any, state_of: Callable[[Any, Path], Any]) -> None:
        self._name, self._root, self._state_of = name, root, state_of
        self._first: Dict[Path, Callable[[], Any]] = {}  # the parts, as they were when it was tracked
        for path, part in _parts(root):
            self._first[path] = _reference(part)

    def parts(self) -> Dict[str, Any]:
        """By name: what stands where it stood when it was tracked."""
        return {_text(path): part for path, part in _parts(self._root) if self._was(path) is part}

    def kept(self) -> List[str]:
        """For a save: the names of these."""
        return list(self.parts())

    def state(self) -> Any:
        """Raises TypeError for a part that could not be put back."""
        try:
            return self._take(self._root, (), {})
        except RecursionError:
            raise TypeError(f"{self._name}: nested too deep") from None

    def put_back(self, state: Any, kept: Iterable[str]) -> None:
        """`state` is the caller's to change."""
        names = set(kept)
        back = _Back({_text(path): self._was(path) for path in self._first if _text(path) in names})
        back.root(self._root, state)

    def _was(self, path: Path) -> Any:
        reference = self._first.get(path)
        return None if reference is None else reference()

    def _take(self, value: Any, path: Path, seen: Dict[int, Path]) -> Any:
        if path and (is_generator(value) or has_methods(value)) and self._was(path) is not value:
            raise TypeError(
                f"{'.'.join((self._name, *path))}: {walk.name_of(value)} that was not there when it was tracked cannot "
                "be put back; track it when it is"
            )
        if is_generator(value):
            return {_MARK: "seeded"}
        is_object = is_users_object(value)
        if path and (is_object or has_methods(value)):
            if id(value) in seen:
                return {_MARK: "same", "as": _text(seen[id(value)])}
            seen[id(value)] = path
            if has_methods(value):
                return {_MARK: "state", "has": self._state_of(value, (self._name, *path))}
            has = self._attributes(value, path, seen)
            return {_MARK: "object", "class": _class_name(value), "has": has}
        if is_object:
            seen[id(value)] = path
            return self._attributes(value, path, seen)
        if not isinstance(value, (dict, list, tuple, deque)) or not _has_objects(value, set()):
            return deque(value, maxlen=value.maxlen) if isinstance(value, deque) else value
        if isinstance(value, dict):
            made = value.copy()
            for key, item in value.items():
                made[key] = self._take(item, (*path, str(key)), seen)
            return made
        items = [self._take(item, (*path, str(at)), seen) for at, item in enumerate(value)]
        if isinstance(value, deque):
            return deque(items, maxlen=value.maxlen)
        return _tuple_like(value, items) if isinstance(value, tuple) else items

    def _attributes(self, value: Any, path: Path, seen: Dict[int, Path]) -> Dict[str, Any]:
        return {name: self._take(item, (*path, name), seen) for name, item in vars(value).items()}


class _Back:
    """One time of putting back. `kept`: the parts that are filled in place."""

    def __init__(self, kept: Dict[str, Any]) -> None:
        self._kept = kept
        self._made: Dict[str, Any] = {}  # by path: objects
        self._filled: Set[int] = set()  # by id, of these

    def root(self, value: Any, state: Any) -> None:
        self._made[""] = value
        self.fill(value, state, ())

    def fill(self, value: Any, state: Any, path: Path) -> None:
        """Of a container, an object, a tensor or an array."""
        if isinstance(value, dict):
            made = {key: self._part(value.get(key), item, (*path, str(key))) for key, item in state.items()}
            value.clear()
            value.update(made)
        elif isinstance(value, (list, deque)):
            was = list(value)
            items = [self._part(_at(was, at), item, (*path, str(at))) for at, item in enumerate(state)]
            value.clear()
            value.extend(items)
        elif isinstance(value, set):
            value.clear()
            value.update(state)
        elif walk.is_tensor(value):
            value.detach().copy_(state)
        elif walk.is_array(value):
            value[...] = state
        else:
            own = vars(value)
            for key in set(own) - set(state):
                del own[key]
            for key, item in state.items():
                own[key] = self._part(own.get(key), item, (*path, key))

    def _part(self, now: Any, state: Any, path: Path) -> Any:
        """What is to stand there; `now` stands there."""
        kept = self._kept.get(_text(path))
        kind = _kind_of(state)
        if kind == "seeded":
            return now if kept is None else kept
        if kind == "same":
            return self._made.get(state["as"], now)
        if kind == "state":
            target = now if kept is None else kept
            if not has_methods(target):
                raise RuntimeError(f"{'.'.join(path)}: the save has the state of an object, and there is none")
            self._made[_text(path)] = target
            target.load_state_dict(state["has"])
            return target
        if kind == "object":
            target = kept if _is_of_class(kept, state["class"]) else _new(state["class"], path)
            self._made[_text(path)] = target
            self.fill(target, state["has"], path)
            return target
        if kept is not None and _fits(kept, state):
            if id(kept) not in self._filled:
                self._filled.add(id(kept))
                self.fill(kept, state, path)
            return kept
        return self._replaced(state, path)

    def _replaced(self, state: Any, path: Path) -> Any:
        if isinstance(state, dict):
            for key, item in state.items():
                state[key] = self._part(None, item, (*path, str(key)))
        elif isinstance(state, (list, tuple, deque)):
            items = [self._part(None, item, (*path, str(at))) for at, item in enumerate(state)]
            if isinstance(state, tuple):
                return _tuple_like(state, items)
            state.clear()
            state.extend(items)
        return state


def is_users_object(value: Any) -> bool:
    if isinstance(value, (type, dict, list, tuple, set, frozenset, deque)) or has_methods(value) or is_generator(value):
        return False
    return _has_attributes(value) and walk.is_users_class(type(value)) and not isinstance(value, enum.Enum)


def has_methods(value: Any) -> bool:
    is_class = isinstance(value, type)
    return not is_class and hasattr(value, "state_dict") and hasattr(value, "load_state_dict")


def _has_attributes(value: Any) -> bool:
    return isinstance(getattr(value, "__dict__", None), dict)


def _parts(root: Any) -> Iterator[Tuple[Path, Any]]:
    """What can be put back in place below the root, in the order in which a state is taken. One that stands in two
    places comes by both, and what it holds by the first."""
    waiting: List[Tuple[Path, Any]] = [((), root)]
    seen: Set[int] = set()
    while waiting:
        path, value = waiting.pop()
        if path:
            yield path, value
        if id(value) in seen or len(seen) >= PARTS_MAX or path and has_methods(value):
            continue
        seen.add(id(value))
        waiting += [((*path, name), item) for name, item in reversed(list(_items(value))) if _is_part(item)]


def _is_part(value: Any) -> bool:
    if isinstance(value, (*_IN_PLACE, tuple)) or walk.is_tensor(value) or walk.is_array(value):
        return True
    return has_methods(value) or is_generator(value) or is_users_object(value)


def _items(value: Any) -> Iterator[Tuple[str, Any]]:
    """By name; none of a container, of a million numbers for example, that has nothing but scalars."""
    if isinstance(value, dict):
        if not _is_flat(value.values()):
            yield from ((str(key), item) for key, item in value.items())
    elif isinstance(value, (list, tuple, deque)):
        if not _is_flat(value):
            yield from ((str(at), item) for at, item in enumerate(value))
    elif is_users_object(value):
        yield from vars(value).items()


def _is_flat(values: Iterable[Any]) -> bool:
    return set(map(type, values)) <= _FLAT


def _has_objects(value: Any, seen: Set[int]) -> bool:
    """Whether state_tree.py cannot keep it as it is."""
    if is_generator(value) or has_methods(value) or is_users_object(value):
        return True
    if not isinstance(value, (dict, list, tuple, deque)) or id(value) in seen:
        return False
    seen.add(id(value))
    return any(_has_objects(item, seen) for _, item in _items(value))


def _reference(value: Any) -> Callable[[], Any]:
    """Keeps nothing alive that can be named without."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _fits(value: Any, state: Any) -> bool:
    if walk.is_tensor(value) or walk.is_array(value):
        return type(value) is type(state) and value.shape == state.shape and value.dtype == state.dtype
    return isinstance(value, _IN_PLACE) and type(value) is type(state)


def _tuple_like(value: Any, items: List[Any]) -> Any:
    kind = type(value)
    return tuple.__new__(kind, items) if hasattr(kind, "_fields") else kind(items)


def _at(items: List[Any], at: int) -> Any:
    return items[at] if at < len(items) else None


def _kind_of(state: Any) -> str:
    """Of what a state has in place of an object; empty: it is a value of the script's, maybe a dict with such a key."""
    if type(state) is not dict or not isinstance(state.get(_MARK), str):
        return ""
    kind: str = state[_MARK]
    return kind if _KEYS.get(kind) == set(state) else ""


def _text(path: Path) -> str:
    return "/".join(path)


def _class_name(value: Any) -> str:
    return f"{type(value).__module__}:{type(value).__qualname__}"


def _is_of_class(value: Any, name: str) -> bool:
    return value is not None and _class_name(value) == name


def _new(name: str, path: Path) -> Any:
    """An object of a class of the script's, without a call of its __init__()."""
    module, _, inner = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in inner.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or not walk.is_users_class(found):
        raise RuntimeError(
            f"{'.'.join(path)}: the save has an object of {name.replace(':', '.')}, and the script has no such class"
        )
    return object.__new__(found)
