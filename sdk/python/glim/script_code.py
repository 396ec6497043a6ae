"""The functions of the job's own code: whether the steps, by way of them, write a name before they read it."""

from __future__ import annotations

import types
from typing import Any, Dict, Iterable, Iterator, List, Optional, Set, Tuple

from . import walk
from .liveness import Flow, flow_of, live_at_entry, stored, uses_of

_OF_OBJECTS = ("forward", "__call__")  # what runs when an object is called

_READ, _WRITTEN = "read", "written"


class Script:
    """The functions of the job's own code, looked into when a name is asked for."""

    def __init__(self, variables: Iterable[Dict[str, Any]], frames: Iterable[Any]) -> None:
        self._variables, self._frames = list(variables), list(frames)
        self._codes: Optional[List[types.CodeType]] = None
        self._classes: Dict[types.CodeType, type] = {}  # whose methods they are
        self._owner: Optional[type] = None  # of the attribute that is asked for
        self._named: Dict[str, List[types.CodeType]] = {}
        self._module_names: Optional[Set[str]] = None
        self._firsts: Dict[types.CodeType, str] = {}

    def writes_before_reading(self, name: str, owner: Optional[type] = None) -> bool:
        """Whether a name (a global one, or `.attribute` of an object of the class `owner`) is written before it is
        read: in the loop, with the functions that it calls in their order, or else in each function that has it. What
        methods of other classes do with their own attribute of that name is not counted."""
        self._firsts, self._owner = {}, owner
        for frame in self._frames:
            flow, at = flow_of(frame.f_code), flow_of(frame.f_code).number_of(frame.f_lasti)
            if not flow.is_known or at is None or at + 1 >= len(flow.code):
                continue
            cycle = flow.reached(at + 1) & flow.reached(at, is_back=True)
            first = self._first(flow, at + 1, name, cycle if at in cycle else None)
            if first:
                return first == _WRITTEN
        is_written = False
        for code in self._all():
            if name.lstrip(".") in code.co_names and not self._is_anothers(code, name):
                if name in live_at_entry(code):
                    return False
                is_written = is_written or name in stored(code)
        return is_written

    def _first(self, flow: Flow, start: int, name: str, within: Optional[Set[int]], of_another: bool = False) -> str:
        """What is done with it first on some way from there: _READ, _WRITTEN or nothing. `of_another`: the function is
        a method of a class that is not the owner's."""
        found, seen, waiting = "", set(), [(start, -1)]
        while waiting:
            number, until = waiting.pop()
            if (number, until) in seen or within is not None and number not in within:
                continue
            seen.add((number, until))
            if until not in (-1, number) and number > until:  # a call has written it
                continue
            is_over = False
            is_anothers = of_another and flow.is_of_self(number)
            for used, is_read in uses_of(flow.code[number]):
                if used == name and is_anothers:
                    continue
                if used == name and is_read:
                    return _READ
                inner = self._first_of(flow, number, used, name) if is_read and until == -1 else ""
                if inner == _READ:
                    return _READ
                if used == name:
                    found, is_over = _WRITTEN, True
                elif inner == _WRITTEN:  # its arguments are read before
                    found, until = _WRITTEN, flow.end_of_call(number)
            if not is_over:
                waiting += [(each, until) for each in flow.follows[number]]
        return found

    def _first_of(self, flow: Flow, number: int, used: str, name: str) -> str:
        """Of the script's functions that are called so; or of what calls of its modules run, by whatever name."""
        called = used.lstrip(".(")
        codes = self._by_name().get(called, [])
        if not codes and self._is_object(flow, number, used):
            codes = [code for each in _OF_OBJECTS for code in self._by_name().get(each, [])]
        found = set()
        for code in codes:
            if code not in self._firsts:
                self._firsts[code] = ""  # of a function that calls itself
                inner = flow_of(code)
                of_another = self._is_of_another(code)
                is_open = inner.code and inner.is_known
                self._firsts[code] = self._first(inner, 0, name, None, of_another) if is_open else _READ
            found.add(self._firsts[code])
        return _READ if _READ in found else _WRITTEN if _WRITTEN in found else ""

    def _is_of_another(self, code: types.CodeType) -> bool:
        kind = self._classes.get(code)
        return kind is not None and self._owner is not None and not issubclass(self._owner, kind)

    def _is_anothers(self, code: types.CodeType, name: str) -> bool:
        """Whether a function has the attribute as its own class's alone."""
        if not name.startswith(".") or not self._is_of_another(code):
            return False
        flow = flow_of(code)
        uses = ((at, used) for at, one in enumerate(flow.code) for used, _ in uses_of(one))
        return all(flow.is_of_self(at) for at, used in uses if used.lstrip(".(") == name[1:])

    def _is_object(self, flow: Flow, number: int, used: str) -> bool:
        """Whether the instruction begins a call of what may be a module: of one by its name, or of a local variable."""
        if used.startswith("("):
            return used[1:] in self._modules()
        if used.startswith(".") or not flow.is_called(number):
            return False
        is_local = flow.code[number].opname.startswith(("LOAD_FAST", "LOAD_DEREF"))
        return is_local or used in self._modules()

    def _modules(self) -> Set[str]:
        """The names that torch's modules have, as variables, as attributes of the script's objects, and as parts."""
        if self._module_names is None:
            found: Set[str] = set()
            for variables in [*self._variables, *(frame.f_locals for frame in self._frames)]:
                for name, value in list(variables.items()):
                    is_users = not isinstance(value, type) and walk.is_users_class(type(value))
                    for each, held in [(name, value), *(vars(value).items() if is_users and _has_dict(value) else ())]:
                        if walk.is_module(held):
                            found |= {each, *(path.rpartition(".")[2] for path, _ in held.named_modules())}
            self._module_names = found
        return self._module_names

    def _by_name(self) -> Dict[str, List[types.CodeType]]:
        if not self._named:
            for code in self._all():
                self._named.setdefault(code.co_name, []).append(code)
        return self._named

    def _all(self) -> List[types.CodeType]:
        if self._codes is None:
            running = {frame.f_code for frame in self._frames}
            found = [(code, kind) for code, kind in _codes_of(self._variables) if code not in running]
            self._codes = [code for code, _ in found]
            self._classes = {code: kind for code, kind in found if kind is not None}
        return self._codes


def _has_dict(value: Any) -> bool:
    return isinstance(getattr(value, "__dict__", None), dict)


def _codes_of(variables: Iterable[Dict[str, Any]]) -> Iterator[Tuple[types.CodeType, Optional[type]]]:
    """With the class whose method it is, or None."""
    seen: Set[Any] = set()
    waiting: List[Tuple[Any, Optional[type]]] = [(value, None) for each in variables for value in list(each.values())]
    while waiting:
        value, kind = waiting.pop()
        if isinstance(value, property):
            waiting += [(value.fget, kind), (value.fset, kind)]
        elif isinstance(value, (staticmethod, classmethod)):
            waiting.append((value.__func__, None))
        elif isinstance(value, types.FunctionType):
            waiting.append((value.__code__, kind))
        elif isinstance(value, type):
            if value not in seen and walk.is_users_class(value):
                seen.add(value)
                waiting += [(item, value) for item in list(vars(value).values())]
        elif isinstance(value, types.CodeType) and value not in seen and walk.is_users_file(value.co_filename):
            seen.add(value)
            yield value, kind
            waiting += [(const, None) for const in value.co_consts]
