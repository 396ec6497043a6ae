"""Random generators that a script or a library owns: found wherever they are, and seeded anew as the default ones are.

A generator's own seed is what it was when it was found: the hash of its state. So a script that gives it the same seed
in each attempt, or another one on each rank, has the same numbers in each attempt, and those of that rank.
"""

from __future__ import annotations

import functools
import hashlib
import random
import sys
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple

from . import walk

_NOT_THE_TRAININGS = ("torch", "numpy", "random", "tempfile", "secrets", "uuid", "glim")  # have one for themselves


class _Known:
    def __init__(self, name: str, generator: Any, is_stepwise: bool) -> None:
        self.name, self.generator, self.is_stepwise = name, generator, is_stepwise
        self.seed = hashlib.sha256(_state_of(generator)).hexdigest()


class Generators:
    """Used by the training thread only."""

    def __init__(self) -> None:
        self._known: Dict[int, _Known] = {}
        self._saved: Dict[str, str] = {}
        self._alone: Set[str] = set()  # threads of a source draw from these
        self._alone_before: List[str] = []  # when the epoch under way began

    def add(self, name: str, generator: Any, is_stepwise: bool) -> None:
        """`is_stepwise`: the script itself draws from it, so it is seeded before each step and fetch, too. One that
        the source alone has is seeded before each epoch: a thread of the source may draw from it at any time."""
        known = self._known.get(id(generator))
        if known is not None:
            known.is_stepwise = known.is_stepwise or is_stepwise
            return
        if _is_default(generator):
            return
        known = self._known[id(generator)] = _Known(name, generator, is_stepwise)
        known.seed = self._saved.get(name, known.seed)

    def add_all(self, nodes: Iterable[Tuple[str, Any]], is_stepwise: bool) -> None:
        for name, value in nodes:
            if is_generator(value):
                self.add(name, value, is_stepwise)

    def add_of_modules(self) -> None:
        """Those that stand in libraries' modules."""
        self.add_all(_of_modules(len(sys.modules)), is_stepwise=True)

    def leave_alone(self, nodes: Iterable[Tuple[str, Any]]) -> None:
        """A thread draws from those that are found in `nodes`: seeding them beside it would be a race."""
        self._alone |= {self._known[id(value)].name for _, value in nodes if id(value) in self._known}

    def begin_epoch(self) -> None:
        self._alone_before = sorted(self._alone)

    def left_alone(self, is_under_way: bool) -> List[str]:
        """For a save: an attempt that goes on from it fetches the epoch under way from its beginning."""
        return list(self._alone_before) if is_under_way else sorted(self._alone)

    def seeds(self) -> Dict[str, str]:
        return {known.name: known.seed for known in self._known.values()}

    def adopt_alone(self, names: Iterable[str]) -> None:
        self._alone = set(names)

    def adopt(self, seeds: Dict[str, str]) -> None:
        """The seeds of the attempt before: else a generator that the script gives no seed would have another."""
        self._saved = dict(seeds)
        for known in self._known.values():
            known.seed = seeds.get(known.name, known.seed)

    def reseed(self, purpose: str, all_of_them: bool) -> None:
        for known in self._known.values():
            if all_of_them or known.is_stepwise and known.name not in self._alone:
                _seed(known.generator, hashlib.sha256(f"{known.seed} {purpose}".encode()).digest())


@functools.lru_cache(maxsize=1)
def _of_modules(_count: int) -> List[Tuple[str, Any]]:
    """Looked for anew when modules have come."""
    found = []
    for name, variables in walk.module_variables():
        top = name.partition(".")[0]
        if top not in _NOT_THE_TRAININGS and top not in _STANDARD:
            found += [(f"{name}.{key}", value) for key, value in list(variables.items()) if is_generator(value)]
    return found


_STANDARD = frozenset(getattr(sys, "stdlib_module_names", ()))


def is_generator(value: Any) -> bool:
    kind: Any = type(value)
    return _is_generator_class(kind)


@functools.lru_cache(maxsize=4096)
def _is_generator_class(kind: Any) -> bool:
    if issubclass(kind, random.Random):
        return not issubclass(kind, random.SystemRandom)
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if torch is not None and issubclass(kind, torch.Generator):
        return True
    return numpy is not None and issubclass(kind, (numpy.random.Generator, numpy.random.RandomState))


def _is_default(generator: Any) -> bool:
    """Those that glim.torch seeds by torch.manual_seed() and the like."""
    defaults = [getattr(random, "_inst", None)]
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None:
        defaults += [torch.default_generator, *getattr(torch.cuda, "default_generators", ())]
    if numpy is not None:
        defaults.append(getattr(numpy.random.mtrand, "_rand", None))
    return any(generator is one for one in defaults)


def _state_of(generator: Any) -> bytes:
    if isinstance(generator, random.Random):
        return repr(generator.getstate()).encode()
    bits = _bits_of(generator)
    if bits is not None:
        return repr(bits.state).encode()
    return bytes(generator.get_state().numpy().tobytes())


def _bits_of(generator: Any) -> Optional[Any]:
    if "numpy" in sys.modules and isinstance(generator, sys.modules["numpy"].random.RandomState):
        return generator._bit_generator
    return getattr(generator, "bit_generator", None)


def _seed(generator: Any, digest: bytes) -> None:
    number = int.from_bytes(digest[:8], "little") >> 1
    if isinstance(generator, random.Random):
        generator.seed(number)
        return
    bits = _bits_of(generator)
    if bits is not None:
        bits.state = type(bits)(number).state
    else:
        generator.manual_seed(number)
