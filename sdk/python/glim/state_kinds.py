"""Kinds of values that a structure has beside JSON's and arrays: sets, paths, named tuples, ... (state_tree.py).

    {"$": "set" | "frozenset" | "deque" | "Size", "items": [...]}    deque: with "maxlen"
    {"$": "defaultdict", "factory": "int", "items": [[key, value], ...]}    of a built-in type alone, or null
    {"$": "complex" | "range", "items": [...]}       its parts
    {"$": "path", "text": TEXT}
    {"$": "dtype" | "device", "text": TEXT}          torch's
    {"$": "named tuple", "class": "MODULE:NAME", "items": [...]}
    {"$": "enum", "class": "MODULE:NAME", "member": NAME, "items": [value]}

Reading imports nothing: a class counts if the process has imported its module already. Else a named tuple is read as a
tuple, and an enum's member as its value.
"""

from __future__ import annotations

import collections
import enum
import pathlib
import sys
from typing import Any, Callable, Dict, Optional

_FACTORIES = {kind.__name__: kind for kind in (int, float, str, list, dict, set, tuple, bool)}
_MADE: Dict[str, Callable[[Any], Any]] = {"set": set, "frozenset": frozenset}


def node_of(value: Any, node: Callable[[Any, Any], Any]) -> Optional[Dict[str, Any]]:
    """None: it is of no such kind. `node` makes one of a part, by its key."""
    kind = type(value)

    def items(parts: Any) -> Any:
        return [node(part, at) for at, part in enumerate(parts)]

    if kind in (set, frozenset):
        return {"$": kind.__name__, "items": items(value)}
    if kind is collections.deque:
        return {"$": "deque", "items": items(value), "maxlen": value.maxlen}
    if kind is collections.defaultdict and (value.default_factory is None or _is_builtin(value.default_factory)):
        factory = None if value.default_factory is None else value.default_factory.__name__
        return {"$": "defaultdict", "factory": factory, "items": [[node(k, k), node(v, k)] for k, v in value.items()]}
    if kind is complex:
        return {"$": "complex", "items": items((value.real, value.imag))}
    if kind is range:
        return {"$": "range", "items": items((value.start, value.stop, value.step))}
    if isinstance(value, pathlib.PurePath) and kind.__module__.startswith("pathlib"):
        return {"$": "path", "text": str(value)}
    if isinstance(value, enum.Enum) and value.name in kind.__members__:
        return {"$": "enum", "class": _class_name(kind), "member": value.name, "items": items((value.value,))}
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return {"$": "named tuple", "class": _class_name(kind), "items": items(value)}
    return _torchs(value, items)


def _torchs(value: Any, items: Callable[[Any], Any]) -> Optional[Dict[str, Any]]:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    if isinstance(value, torch.Size):
        return {"$": "Size", "items": items(value)}
    if isinstance(value, torch.dtype):
        return {"$": "dtype", "text": str(value)}
    if isinstance(value, torch.device):
        return {"$": "device", "text": str(value)}
    return None


KINDS = ("set", "frozenset", "deque", "defaultdict", "complex", "range", "path", "enum", "named tuple") + (
    *("Size", "dtype", "device"),
)


def build(node: Dict[str, Any], build_part: Callable[[Any], Any]) -> Any:
    """The value of a node whose "$" is one of KINDS. Raises KeyError, TypeError or ValueError for one that is not."""
    kind = node["$"]
    if kind == "path":
        return pathlib.Path(str(node["text"]))
    if kind in ("dtype", "device"):
        return _torchs_of(kind, str(node["text"]))
    if kind == "defaultdict":
        factory = node["factory"]
        made: Dict[Any, Any] = collections.defaultdict(None if factory is None else _FACTORIES[factory])
        for key, item in node["items"]:
            made[build_part(key)] = build_part(item)
        return made
    parts = [build_part(item) for item in node["items"]]
    if kind in _MADE:
        return _MADE[kind](parts)
    if kind == "deque":
        return collections.deque(parts, maxlen=node["maxlen"])
    if kind == "Size":
        import torch

        return torch.Size(parts)
    if kind == "complex":
        return complex(*parts)
    if kind == "range":
        return range(*parts)
    found = _class_of(str(node["class"]))
    if kind == "enum":
        is_enum = isinstance(found, type) and issubclass(found, enum.Enum)
        return found.__members__.get(node["member"], parts[0]) if is_enum else parts[0]
    fits = isinstance(found, type) and issubclass(found, tuple) and len(getattr(found, "_fields", ())) == len(parts)
    return tuple.__new__(found, parts) if fits else tuple(parts)


def _torchs_of(kind: str, text: str) -> Any:
    import torch

    if kind == "device":
        return torch.device(text)
    found = getattr(torch, text[len("torch.") :], None) if text.startswith("torch.") else None
    if not isinstance(found, torch.dtype):
        raise ValueError(f"{text!r} is no type of torch's")
    return found


def _is_builtin(factory: Any) -> bool:
    return _FACTORIES.get(getattr(factory, "__name__", "")) is factory


def _class_name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _class_of(name: str) -> Any:
    """A class of a module that is imported already; None: there is none."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = vars(found).get(part) if found is not None and hasattr(found, "__dict__") else None
    return found
