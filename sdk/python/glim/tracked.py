"""The objects that a script names in track(): how the state of each is taken and put back."""

from __future__ import annotations

import functools
import types
import weakref
from collections import deque
from typing import Any, Callable, Dict, Iterable, List, Set, Tuple

from . import walk
from .state_tree import check
from .tracked_values import Values, has_methods

_PLAIN = (dict, list, set, deque)
_NO_STATE = (  # what loading keeps as it is: code, not state
    *(types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType, type, functools.partial),
    *(weakref.ref, weakref.WeakMethod),
)
_WRAPPER = """ For an object whose class is not yours, track a wrapper that leaves it out:

    class Without:
        def __init__(self, inner, *names):
            self.inner, self.names = inner, names
        def state_dict(self):
            return {{key: value for key, value in self.inner.state_dict().items() if key not in self.names}}
        def load_state_dict(self, state):
            self.inner.load_state_dict({{**self.inner.state_dict(), **state}})

    run.track({name}=Without({name}, "{key}"))"""

_OWN_CLASS = " Or give its class state_dict() and load_state_dict(), that leave it out."


class Tracked:
    """One object. `tell` says a line once."""

    def __init__(self, name: str, value: Any, tell: Callable[[str], None]) -> None:
        """Raises TypeError that says what can be tracked, or what of the state cannot be kept."""
        self.name, self.value, self._tell = name, value, tell
        self.has_methods = has_methods(value)
        if not self.has_methods and not _is_plain(value):
            raise TypeError(
                f"track({name}=...): a {type(value).__name__} has no state_dict() and "
                "load_state_dict(); give it both, or save it yourself" + _instead_of(name, value)
            )
        self._values = None if self.has_methods else Values(name, value, self._of)
        try:
            check({name: self.state()})  # now, and not at the first save, hours into the training
        except TypeError as error:
            key = str(error).split(":")[0].split(".")
            hint = _OWN_CLASS if walk.is_users_class(type(value)) else ""
            if self.has_methods:
                hint = _WRAPPER.format(name=name, key=key[1] if len(key) > 1 else "...")
            raise TypeError(f"{error}.{hint}" if hint else str(error)) from None

    def state(self) -> Any:
        return self._of(self.value, (self.name,)) if self._values is None else self._values.state()

    def kept(self) -> List[str]:
        """Goes into a save beside the state: what put_back() fills in place."""
        return [] if self._values is None else self._values.kept()

    def parts(self) -> Dict[str, Any]:
        """What it has held since it was tracked, by name; nothing of an object with methods."""
        return {} if self._values is None else self._values.parts()

    def put_back(self, state: Any, kept: Iterable[str] = ()) -> None:
        if self._values is None:
            self.value.load_state_dict(containers_copied(state))
        else:
            self._values.put_back(containers_copied(state), kept)

    def _of(self, value: Any, path: Tuple[str, ...]) -> Any:
        state = value.state_dict()
        return self._without_code(state, path) if _is_of_torchs_schedulers(value) else state

    def mark(self) -> Any:
        """Equal as long as nothing has changed it."""
        return _mark_of(self.state())

    def _without_code(self, value: Any, path: Tuple[str, ...]) -> Any:
        """load_state_dict() of torch's schedulers is an update of their attributes: what is left out stays."""
        if isinstance(value, list):
            return [self._without_code(item, (*path, str(at))) for at, item in enumerate(value)]
        if type(value) is not dict:
            return value
        found = {}
        for key, item in value.items():
            if isinstance(item, _NO_STATE):
                continue
            if "lr_lambdas" in path and not _can_be_kept(item):
                self._tell(f"{'.'.join((*path, str(key)))} is in no save: {_kind_of(item)}")
                continue
            found[key] = self._without_code(item, (*path, str(key)))
        return found


def _is_plain(value: Any) -> bool:
    if isinstance(value, _PLAIN) or walk.is_tensor(value) or walk.is_array(value):
        return True
    if isinstance(value, (type, types.FunctionType, types.ModuleType)) or walk.is_loader(value):
        return False
    return isinstance(getattr(value, "__dict__", None), dict) and walk.is_users_class(type(value))


def _instead_of(name: str, value: Any) -> str:
    if walk.is_scalar(value) or isinstance(value, tuple):
        return f". A variable cannot be put back: keep it in a dict, values = {{{name!r}: ...}}, and track that"
    return ""


def _is_of_torchs_schedulers(value: Any) -> bool:
    load = getattr(type(value).load_state_dict, "__module__", "")
    return load == "torch.optim.lr_scheduler" or load == "torch.optim.swa_utils" and not walk.is_module(value)


def _can_be_kept(value: Any) -> bool:
    try:
        check(value)
    except TypeError:
        return False
    return True


def _kind_of(value: Any) -> str:
    return f"a {type(value).__module__}.{type(value).__qualname__}"


def containers_copied(value: Any) -> Any:
    """So that what loads a state may change it: its dicts and lists are its own, and small tensors' memory, too."""
    kind = type(value)
    if kind in (list, tuple):
        return kind(containers_copied(item) for item in value)
    if isinstance(value, dict):
        made = value.copy()  # with what an OrderedDict of a Module has beside its items
        if hasattr(value, "_metadata"):
            made._metadata = value._metadata  # type: ignore[attr-defined]
        for key, item in value.items():
            made[key] = containers_copied(item)
        return made
    if kind in (set, deque):
        return value.copy()
    return value


def _mark_of(value: Any) -> Any:
    if walk.is_tensor(value):
        return (value.data_ptr(), value._version)
    if walk.is_array(value):
        return value.tobytes()
    if isinstance(value, dict):
        return tuple((repr(key), _mark_of(item)) for key, item in value.items())
    if isinstance(value, (list, tuple, deque)):
        return tuple(_mark_of(item) for item in value)
    return repr(value)


def generators_apart(objects: Dict[str, Any]) -> Tuple[Dict[str, Any], List[Tuple[str, Any]]]:
    """What is tracked, without the random generators, which are seeded and not saved."""
    from .generators import is_generator

    found = [(name, value) for name, value in objects.items() if is_generator(value)]
    names: Set[str] = {name for name, _ in found}
    return {name: value for name, value in objects.items() if name not in names}, found
