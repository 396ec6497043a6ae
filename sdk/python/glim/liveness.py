"""Which names of a script one step hands on to the next: those that its code reads before it writes them.

Told from the bytecode, without running any of it: what a loop's body writes first (loss, logits, x) is replaced in
each step, and is no state. What only an exception's handler reads is left out.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Optional, Set, Tuple

from . import walk

_ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
_GOES = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE")
_HANDLERS = ("SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH", "SETUP_EXCEPT")  # up to Python 3.10
_INSTRUCTIONS_MAX = 20_000  # of one function: of a longer one every name counts as handed on
_ROUNDS_MAX = 50

_CALLS: Dict[str, Callable[[int], int]] = {  # by instruction: how much of the stack is above what is called
    "CALL_FUNCTION": lambda arg: arg,
    "CALL_FUNCTION_KW": lambda arg: arg + 1,
    "CALL_FUNCTION_EX": lambda arg: 1 + (arg & 1),
    "PUSH_NULL": lambda arg: 0,  # since Python 3.13; before that it stands in front
}
Names = FrozenSet[str]


class Place:
    """Where a function stands in a loop."""

    def __init__(self, live: Names, stored: Names, is_known: bool) -> None:
        self.live, self.stored, self.is_known = live, stored, is_known

    def is_dead(self, name: str) -> bool:
        """Whether the loop writes it before anything reads what the round before has left in it."""
        return self.is_known and name in self.stored and name not in self.live


_EVERYTHING = Place(frozenset(), frozenset(), False)


class Flow:
    """A function's instructions, and which follows which."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = list(dis.get_instructions(code))
        self.first_argument = code.co_varnames[0] if code.co_argcount else ""
        self.is_known = len(self.code) <= _INSTRUCTIONS_MAX
        self.at = {instruction.offset: number for number, instruction in enumerate(self.code)}
        self.follows = [self._after(number) for number in range(len(self.code))] if self.is_known else []
        self.live = self._live() if self.is_known else []
        self.comes_from: List[List[int]] = [[] for _ in self.follows]
        for number, after in enumerate(self.follows):
            for each in after:
                self.comes_from[each].append(number)

    def number_of(self, offset: int) -> Optional[int]:
        """Of the instruction there. What Python 3.12 runs inside of a generator's caller leaves that one's place in the
        room behind the instruction."""
        return next((self.at[each] for each in range(offset, offset - 8, -2) if each in self.at), None)

    def _after(self, number: int) -> List[int]:
        one = self.code[number]
        found = [] if one.opname in _ENDS or one.opname in _GOES else [number + 1]
        if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
            if one.opname not in _HANDLERS and one.argval in self.at:
                found.append(self.at[one.argval])
        return [each for each in found if each < len(self.code)]

    def _live(self) -> List[Set[str]]:
        """By instruction: what is read from it on, before it is written."""
        uses = [uses_of(one) for one in self.code]
        live: List[Set[str]] = [set() for _ in self.code]
        for _ in range(_ROUNDS_MAX):
            has_changed = False
            for number in range(len(self.code) - 1, -1, -1):
                found: Set[str] = set().union(*(live[each] for each in self.follows[number]))
                for name, is_read in reversed(uses[number]):
                    (found.add if is_read else found.discard)(name)
                if len(found) != len(live[number]):
                    live[number], has_changed = found, True
            if not has_changed:
                break
        return live

    def is_of_self(self, number: int) -> bool:
        """Whether the instruction is for an attribute of the function's first argument."""
        if number == 0 or self.code[number].opname not in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR"):
            return False
        before = self.code[number - 1]
        loaded = before.argval[-1] if isinstance(before.argval, tuple) else before.argval
        return before.opname.startswith("LOAD_FAST") and loaded == self.first_argument

    def end_of_call(self, number: int) -> int:
        """The instruction that takes from the stack what this one has put there: a function, to call it."""
        depth = 0
        for at in range(number + 1, len(self.code)):
            one = self.code[at]
            depth += dis.stack_effect(one.opcode, one.arg if one.opcode >= dis.HAVE_ARGUMENT else None, jump=False)
            if depth < 0:
                return at
        return number

    def is_called(self, number: int) -> bool:
        """Whether what this instruction puts on the stack, or an item or attribute of it, is called."""
        if "NULL" in self.code[number].argrepr:
            return True
        if (3, 11) <= sys.version_info < (3, 13):
            return number > 0 and self.code[number - 1].opname == "PUSH_NULL"
        depth = 0
        for one in self.code[number + 1 :]:
            arguments = _CALLS[one.opname](one.arg or 0) if one.opname in _CALLS else -1
            if arguments == depth or depth < 0:
                return depth >= 0
            depth += dis.stack_effect(one.opcode, one.arg if one.opcode >= dis.HAVE_ARGUMENT else None, jump=False)
        return False

    def reached(self, start: int, is_back: bool = False) -> Set[int]:
        found: Set[int] = set()
        waiting, ways = [start], self.comes_from if is_back else self.follows
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting += ways[number]
        return found


def uses_of(one: Any) -> List[Tuple[str, bool]]:
    """(name, whether it is read and not written), in their order. Attributes begin with a dot, methods with a
    bracket."""
    name, value = one.opname, one.argval
    if name in ("LOAD_ATTR", "LOAD_METHOD"):
        is_called = name == "LOAD_METHOD" or "NULL" in one.argrepr
        return [(f"({value}" if is_called else f".{value}", True)]
    if name == "STORE_ATTR":
        return [(f".{value}", False)]
    if name == "LOAD_CONST":
        return [(each, True) for each in sorted(live_at_entry(value))] if isinstance(value, types.CodeType) else []
    if name == "LOAD_FAST_AND_CLEAR":  # around a comprehension: not for the script
        return []
    if name.startswith(("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE")):
        return [(each, True) for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, str)]
    if name.startswith(("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "DELETE_FAST", "DELETE_NAME")):
        if not isinstance(value, tuple):
            return [(value, False)]
        is_second_read = name == "STORE_FAST_LOAD_FAST"
        return [(each, is_second_read and bool(at)) for at, each in enumerate(value)]
    return []


@functools.lru_cache(maxsize=4096)
def flow_of(code: types.CodeType) -> Flow:
    return Flow(code)


@functools.lru_cache(maxsize=4096)
def live_at_entry(code: types.CodeType) -> Names:
    """Of the names that a function shares with others, and of attributes: what it reads before it writes them."""
    flow = flow_of(code)
    if not flow.code or not flow.is_known:
        return frozenset(f".{name}" for name in code.co_names) | frozenset(code.co_names)
    own = set(code.co_varnames) | set(code.co_cellvars)
    return frozenset(flow.live[0] - own)


@functools.lru_cache(maxsize=4096)
def stored(code: types.CodeType) -> Names:
    """What a function, or one in it, writes of the same."""
    found = {name for one in flow_of(code).code for name, is_read in uses_of(one) if not is_read}
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    own = set(code.co_varnames) | set(code.co_cellvars)
    return frozenset(found - own).union(*(stored(each) for each in inner))


def of_step(code: types.CodeType, at: int) -> Place:
    """From one step to the next: `at` is where the function has asked for the item."""
    return _place(code, at)


@functools.lru_cache(maxsize=1024)
def _place(code: types.CodeType, at: int) -> Place:
    flow = flow_of(code)
    number = flow.number_of(at)
    if not flow.is_known or number is None or number + 1 >= len(flow.code):
        return _EVERYTHING
    start = number + 1
    cycle = flow.reached(start) & flow.reached(number, is_back=True)
    cycle = cycle if number in cycle else set()
    writes = {name for each in cycle for name, is_read in uses_of(flow.code[each]) if not is_read}
    return Place(frozenset(flow.live[start]), frozenset(writes), bool(cycle))


def of_epoch(code: types.CodeType, at: int) -> Optional[Place]:
    """From one round of the loop around it to the next; None: there is none."""
    flow = flow_of(code)
    number = flow.number_of(at)
    if not flow.is_known or number is None:
        return None
    for head in range(number - 1, -1, -1):  # the nearest loop that begins above, and ends below
        if flow.code[head].opname == "FOR_ITER" and number in flow.reached(head + 1) and head in flow.reached(number):
            return of_step(code, flow.code[head].offset)
    return None


def used(frames: Iterable[Any]) -> Set[str]:
    """The variables that the steps read, also by way of the script's functions that they name."""
    found: Set[str] = set()
    for frame in frames:
        flow = flow_of(frame.f_code)
        number = flow.number_of(frame.f_lasti)
        if not flow.is_known or number is None or number + 1 >= len(flow.code):
            continue
        cycle = flow.reached(number + 1) & flow.reached(number, is_back=True)
        here = {name for at in cycle for name, is_read in uses_of(flow.code[at]) if is_read}
        variables, waiting = {**frame.f_globals, **frame.f_locals}, sorted(here)
        found |= here
        while waiting:
            value = variables.get(waiting.pop())
            if isinstance(value, types.FunctionType) and walk.is_users_file(value.__code__.co_filename):
                inner = set(live_at_entry(value.__code__)) - found
                found |= inner
                waiting += sorted(inner)
    return found


def is_generator(code: types.CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_GENERATOR)
