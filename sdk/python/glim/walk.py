"""What objects hold, as far as a training's order and random numbers can depend on it: walked, and never changed.

Standard library alone; torch and numpy are used where they are imported already.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
import types
from collections import deque
from typing import Any, Dict, Iterable, Iterator, List, Tuple

NODES_MAX = 20_000
ITEMS_MAX = 200  # of one container
_SCALARS = (type(None), bool, int, float, complex, str, bytes)
_LEAVES = (*_SCALARS, bytearray, range, types.ModuleType, types.CodeType, types.FrameType)
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_GLIM = os.path.dirname(os.path.abspath(__file__)) + os.sep
_ITERATOR_MODULES = ("builtins", "itertools")


def is_scalar(value: Any) -> bool:
    return isinstance(value, _SCALARS)


def is_one_shot(source: Any) -> bool:
    """Whether it is an iterator that cannot begin anew. A class of the user's whose __iter__ returns itself may well
    begin anew there, and nobody can tell without calling it."""
    if isinstance(source, types.GeneratorType):
        return True
    return hasattr(type(source), "__next__") and not isinstance(
        getattr(type(source), "__iter__", None), types.FunctionType
    )


@functools.lru_cache(maxsize=None)
def is_users_file(path: str) -> bool:
    """Whether a source file is the job's own: neither Python's, nor installed, nor glim's."""
    if not path or path.startswith("<frozen"):
        return False
    full = os.path.abspath(path)
    if any(part in full for part in _INSTALLED) or full.startswith(_GLIM):
        return False
    return not full.startswith(_LIBRARY)


def is_users_class(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return kind.__module__ == "__main__" or is_users_file(getattr(module, "__file__", None) or "")


def script_frames(frame: Any) -> List[Any]:
    """The frames of the job's own code, from `frame` up."""
    found = []
    while frame is not None:
        if is_users_file(frame.f_code.co_filename) or frame.f_globals.get("__name__") == "__main__":
            found.append(frame)
        frame = frame.f_back
    return found


def let_go(frames: Iterable[Any]) -> None:
    """Up to Python 3.12 a frame keeps what f_locals has shown: a step's logits would live on in it beside the next
    ones. Not where the script has the dict itself, by locals()."""
    for frame in frames:
        variables = frame.f_locals if frame.f_code.co_flags & inspect.CO_OPTIMIZED else None
        if type(variables) is dict and sys.getrefcount(variables) <= 3:  # the frame's, and two of here
            for name in (*frame.f_code.co_varnames, *frame.f_code.co_cellvars, *frame.f_code.co_freevars):
                variables.pop(name, None)


def script_variables(frame: Any) -> Dict[str, Any]:
    """The variables that the job's own code has: of its functions that run, and of its modules. The nearest wins."""
    found: Dict[str, Any] = {}
    for each in script_frames(frame):
        for name, value in each.f_locals.items():
            found.setdefault(name, value)
    for _, variables in users_modules():
        for name, value in list(variables.items()):
            if not name.startswith("__"):
                found.setdefault(name, value)
    return found


def users_modules() -> List[Tuple[str, Dict[str, Any]]]:
    """The job's own modules, and the variables of each; looked for again when more are imported."""
    return _users_modules(len(sys.modules))


@functools.lru_cache(maxsize=1)
def _users_modules(_count: int) -> List[Tuple[str, Dict[str, Any]]]:
    found: List[Tuple[str, Dict[str, Any]]] = []
    for name, variables in module_variables():
        path = variables.get("__file__")
        is_users = name == "__main__" or (isinstance(path, str) and is_users_file(path))
        if is_users and not any(variables is known for _, known in found):  # some modules have two names
            found.append((name, variables))
    return found


def module_variables() -> Iterator[Tuple[str, Dict[str, Any]]]:
    """Of each module that is imported: without getattr(), by which some import what they stand for."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, types.ModuleType):
            yield name, object.__getattribute__(module, "__dict__")


def walk(roots: Dict[str, Any], without: Iterable[Any] = ()) -> Iterator[Tuple[str, Any]]:
    """(path, object) of everything that is reached from `roots`, but not through `without`, the near ones first, each
    once, and no more than NODES_MAX."""
    left_out = {id(value) for value in without}
    waiting = deque((path, value) for path, value in roots.items() if id(value) not in left_out)
    seen: Dict[int, Any] = {}  # by id; keeps what was made on the way (a bound method) from being freed
    while waiting and len(seen) < NODES_MAX:
        path, value = waiting.popleft()
        if isinstance(value, _LEAVES) or id(value) in seen:
            continue
        seen[id(value)] = value
        yield path, value
        for name, child in children(value):
            if not isinstance(child, _LEAVES) and id(child) not in seen and id(child) not in left_out:
                waiting.append((f"{path}.{name}" if path else name, child))


def children(value: Any) -> Iterator[Tuple[str, Any]]:
    kind = type(value)
    if kind.__module__.startswith("glim.") or is_tensor(value) or is_array(value):
        return iter(())
    if isinstance(value, dict):
        return ((str(key), item) for key, item in list(value.items())[:ITEMS_MAX])
    if isinstance(value, (list, tuple, deque)):
        return ((str(at), item) for at, item in enumerate(list(value)[:ITEMS_MAX]))
    if isinstance(value, (set, frozenset)):
        return ((str(at), item) for at, item in enumerate(list(value)[:ITEMS_MAX]))
    if isinstance(value, type):
        return iter(list(vars(value).items()) if is_users_class(value) else ())
    if isinstance(value, types.FunctionType):
        return _of_function(value)
    if isinstance(value, types.BuiltinMethodType):
        return iter((("__self__", value.__self__),))
    if isinstance(value, types.MethodType):
        return iter((("__self__", value.__self__), ("__func__", value.__func__)))
    if isinstance(value, functools.partial):
        return iter((("func", value.func), ("args", value.args), ("keywords", value.keywords)))
    if isinstance(value, types.GeneratorType):
        return iter(list(value.gi_frame.f_locals.items()) if value.gi_frame is not None else ())
    if kind.__module__ in _ITERATOR_MODULES and hasattr(kind, "__next__"):
        return ((str(at), item) for at, item in enumerate(inside_iterator(value)))
    return _of_instance(value)


def inside_iterator(value: Any) -> List[Any]:
    """What an enumerate, a zip and the like go over."""
    import gc

    found: List[Any] = []
    for item in gc.get_referents(value):
        found += list(item) if isinstance(item, tuple) else [item]
    return found


def _of_function(value: Any) -> Iterator[Tuple[str, Any]]:
    if value.__module__.startswith("glim."):
        return
    for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not set yet
            continue
    yield "__defaults__", value.__defaults__
    yield "__kwdefaults__", value.__kwdefaults__


def _of_instance(value: Any) -> Iterator[Tuple[str, Any]]:
    own = getattr(value, "__dict__", None)
    if isinstance(own, dict):
        hidden = HIDDEN_IN_LOADERS if is_loader(value) else HIDDEN_IN_MODULES if is_module(value) else ()
        for name, child in list(own.items()):
            if name not in hidden:
                yield name, child
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            if name not in ("__dict__", "__weakref__") and isinstance(name, str) and hasattr(value, name):
                yield name, getattr(value, name)
    if is_users_class(type(value)):
        yield "__class__", type(value)


# What a DataLoader has of its own making, what of a Module is its weights and hooks, and what each thread has.
HIDDEN_IN_LOADERS = ("_iterator", "_DataLoader__multiprocessing_context", "_IterableDataset_len_called")
HIDDEN_IN_MODULES = ("_parameters", "_buffers")
HIDDEN_IN_THREADS = frozenset(vars(threading.Thread()))


def name_of(value: Any) -> str:
    """For messages."""
    kind = type(value)
    if isinstance(value, types.GeneratorType):
        return f"a generator of {value.__name__}()"
    name = (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def is_tensor(value: Any) -> bool:
    return "torch" in sys.modules and isinstance(value, sys.modules["torch"].Tensor)


def is_module(value: Any) -> bool:
    return "torch" in sys.modules and isinstance(value, sys.modules["torch"].nn.Module)


def is_array(value: Any) -> bool:
    return "numpy" in sys.modules and isinstance(value, sys.modules["numpy"].ndarray)


def is_loader(value: Any) -> bool:
    loaders = sys.modules.get("torch.utils.data")
    return loaders is not None and isinstance(value, loaders.DataLoader)
