"""What the steps of a loop change, and no save has: it would begin anew after an interrupt. It is told by name, on
stderr, once in a job. Nothing here changes what the training does.

A look measures what the script's frames and modules hold (measure.py), before the first step and after the 1st, 2nd,
4th, 8th, ... one, and where a save is made. Two looks are compared; of variables, those count that a step hands on to
the next (liveness.py).
"""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from . import liveness, script_code, untracked, walk
from .measure import Look, Looker, is_iterator
from .readers import Readers
from .watch_source import SourceWatch

_FREE_S = 0.25  # of looks beside saves; more of them take a hundredth of the time at most
_SHARE = 0.01
_NAMES_MAX = 8  # in one line
_LOOP_CODE = ("_steps", "_one_epoch")


class Watch:
    """Of one session; used by the training thread only. Without tracked objects it does nothing."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self.is_resumed = False  # the attempt before has told what the first step shows
        self._is_on = False
        self._seen = 0  # steps
        self._has_looked = False
        self._frame: Any = None  # that has called steps()
        self._activity: Any = None
        self.generator: Callable[[], Any] = lambda: None  # of steps(), that the script goes over
        self.readers = Readers()
        self._source = SourceWatch(lambda: self._run.state, lambda: self.generator(), self.readers)
        self._is_in_epochs = False
        self._named: Set[int] = set()  # modules that are told of otherwise, by id
        self._covered: Optional[untracked.Covered] = None
        self._before: Optional[Look] = None
        self._call: Any = None  # of run.steps(), that the look before was in
        self._leaf: Any = None  # number of the frame, at that look
        self._looks_at = 1
        self._looked_at = -1
        self._began = self._spent = 0.0

    @property
    def _state(self) -> Any:
        return self._run.state

    def look_around(self, frame: Any) -> None:
        """At the call of steps() or epochs(), by the script's frame."""
        if self._state is None:
            return
        self._is_on = self._run.saves.can_save
        self._frame = frame.f_code
        if not self._has_looked:
            self._has_looked = True
            self.readers.look_around()
            self._state.look_around(frame)
            if self._is_on and self._run.is_rank_zero:
                self._tell_of_untracked(walk.script_variables(frame))

    def begin_step(self, item: Any, is_in_epochs: bool) -> None:
        if not self._is_on:
            return
        self._is_in_epochs = is_in_epochs
        if not self.is_resumed:
            self._source.begin_step(self._seen)
            if self._seen == 0:
                self._activity = self._work()
        if self._seen == 0:
            self._began = time.monotonic()
            self._look(is_first=True)
        elif self._call is not self.generator and not is_in_epochs:  # what stands between two loops is done again
            self._before = None
            if self._may_look():
                self._look(is_first=True)

    def end_step(self) -> None:
        if not self._is_on:
            return
        self._seen += 1
        if not self.is_resumed:
            self._source.end_step(self._seen)
            if self._seen == 1 and self._activity == self._work() and self._state.gradients.has_optimizers:
                self._state.tell(
                    "the first step has changed no weights and left no gradients: if whoever goes over run.steps() "
                    "reads ahead, steps count as done before they are. Read ahead in what you give run.steps(), not "
                    "around it"
                )
        if self._seen == self._looks_at:
            self._looks_at *= 2
            self._look()

    def before_save(self) -> None:
        """Of the loop, or of the script."""
        if self._is_on and self._seen > self._looked_at and self._may_look() and _is_in_loop(sys._getframe(1)):
            self._look()

    def tell_of_own_loop(self) -> None:
        if self._is_on and not self.is_resumed:
            self._state.tell(
                "run.steps() stands in a loop of the script's own. After an interrupt the script goes through all of "
                "its rounds again: steps that are done are left out, and what stands beside run.steps() is done again "
                "in each. run.epochs() begins with the round that was not over"
            )

    def _work(self) -> Any:
        gradients = self._state.gradients
        return (gradients.steps, gradients.any_there)

    def _tell_of_untracked(self, variables: Dict[str, Any]) -> None:
        if self._state.is_seed_chance:
            self._state.tell(
                "this script names no seed: what it draws before the loop, each attempt draws anew. Call "
                "torch.manual_seed(1) at its beginning"
            )
        tracked = self._state.tracked
        known = {**tracked, **self._state.tracked_parts}
        for line, modules in untracked.lines(variables, known, untracked.Covered(tracked)):
            self._state.tell(line)
            self._named.update(id(part) for module in modules for part in module.modules())

    # ---- looks

    def _may_look(self) -> bool:
        return self._spent < _FREE_S + _SHARE * (time.monotonic() - self._began)

    def _look(self, is_first: bool = False) -> None:
        if not self._run.is_rank_zero:
            return
        began = time.monotonic()
        frames = _frames(sys._getframe(1), self._frame)
        try:
            self._compare(frames, is_first)
        except Exception as error:  # of an object of the script's, or of a container that a thread changes meanwhile
            self._before = None
            self._state.tell(f"a look at what the steps change was left out: {error!r}")
        walk.let_go(frames)
        self._looked_at = self._seen
        self._spent += time.monotonic() - began

    def _compare(self, frames: List[Any], is_first: bool) -> None:
        is_other_call = self._call is not self.generator
        is_same_leaf = bool(frames) and self._leaf == id(frames[0])
        looker, without = self._looker()
        roots = _Roots(frames)
        if is_other_call and self._before is not None:
            carried = looker.look(dict(roots.from_epoch_to_epoch(is_same_leaf)), without)
            self._tell_of_changes(self._before, carried, roots)
        now = looker.look(dict(roots.from_step_to_step()), without)
        if not is_other_call and self._before is not None:
            self._tell_of_changes(self._before, now, roots)
        if is_first:
            self._tell_of_unseen(now, frames)
        now.values.clear()
        now.unseen.clear()
        self._before, self._call = now, self.generator
        self._leaf = id(frames[0]) if frames else None

    def _looker(self) -> Tuple[Looker, Dict[int, Any]]:
        """And what it goes past, by id: what saves have, and what is found again by going over the source."""
        tracked = self._state.tracked
        if self._covered is None:
            self._covered = untracked.Covered(tracked)
        without: Dict[int, Any] = {id(value): value for value in tracked.values() if not walk.is_module(value)}
        without.update({id(part): part for part in self._state.tracked_parts.values() if not walk.is_module(part)})
        without.update(self._covered.tensors)
        for _, node in self._state.source_nodes:
            if not (self._is_in_epochs and is_iterator(node)):  # in an epoch's body an earlier one may have begun it
                without[id(node)] = node
        return Looker(self._covered.not_of), without

    def _tell_of_changes(self, before: Look, now: Look, roots: "_Roots") -> None:
        changed = [
            path
            for path, measure in before.measures.items()
            if path in now.measures and now.measures[path] != measure and not self._is_dead(path, now, roots)
        ]
        found = set(changed)
        changed = sorted(path for path in changed if not any(part in found for part in _above(path)))
        others = []
        for path in changed:
            value = now.values[path]
            if walk.is_module(value):
                self._tell_of_module(path, value)
            elif self._state.is_new(f"changes {path}"):
                if is_iterator(value):
                    self._state.tell(
                        f"{path}, {walk.name_of(value)}, is gone on with in the steps, and begins anew after an "
                        "interrupt: put what it goes over into run.steps()"
                    )
                else:
                    others.append(_name_of(path, now))
        others = list(dict.fromkeys(others))
        if others:
            more = f" and {len(others) - _NAMES_MAX} more" if len(others) > _NAMES_MAX else ""
            self._state.tell(
                f"the steps change {', '.join(others[:_NAMES_MAX])}{more}: no save has that, and after an interrupt it "
                "is again what the script begins with. If it counts, keep it in a dict, a list or an object of yours, "
                "and track that: run.track(values=values)"
            )

    def _tell_of_module(self, path: str, module: Any) -> None:
        if id(module) not in self._named:
            name = path if path.isidentifier() else "name"
            self._state.tell(
                f"the steps change {path}, {walk.name_of(module)}, and it is not tracked: no save has it. Name it, "
                f"run.track({name}={path}, ...)"
            )

    def _is_dead(self, path: str, now: Look, roots: "_Roots") -> bool:
        if path in now.attributes:
            name, owner = now.attributes[path]
            return roots.script.writes_before_reading(f".{name}", owner)
        variable = roots.globals.get(path)
        return variable is not None and roots.script.writes_before_reading(variable)

    def _tell_of_unseen(self, look: Look, frames: List[Any]) -> None:
        if not look.unseen:
            return
        used = liveness.used(frames)
        for path, value in look.unseen.items():
            if path.partition(".")[0].partition("[")[0] in used and self._state.is_new(f"unseen {path}"):
                self._state.tell(
                    f"{path}, {walk.name_of(value)}, is used in the steps and cannot be seen into: what they change in "
                    "it no save has, and nothing more is told of it"
                )


class _Roots:
    """The variables that a look begins with, the nearest function's first."""

    def __init__(self, frames: List[Any]) -> None:
        self._frames = frames
        self._modules = walk.users_modules()
        self.script = script_code.Script([variables for _, variables in self._modules], frames)
        self.globals: Dict[str, str] = {}  # of the paths that are one

    def from_step_to_step(self) -> Iterator[Tuple[str, Any]]:
        return self._all([liveness.of_step(frame.f_code, frame.f_lasti) for frame in self._frames])

    def from_epoch_to_epoch(self, is_same_leaf: bool) -> Iterator[Tuple[str, Any]]:
        """A function that is called for each epoch hands on none of its variables."""
        places = [liveness.of_epoch(frame.f_code, frame.f_lasti) for frame in self._frames]
        if not is_same_leaf and places:
            places[0] = None
        return self._all(places)

    def _all(self, places: List[Optional[liveness.Place]]) -> Iterator[Tuple[str, Any]]:
        taken: Set[str] = set()
        of_modules: Dict[int, Optional[liveness.Place]] = {}
        for frame, place in zip(self._frames, places):
            if frame.f_code.co_name == "<module>":
                of_modules[id(frame.f_globals)] = place
            elif place is not None:
                for name, value in list(frame.f_locals.items()):
                    if not name.startswith(("__", ".")) and not place.is_dead(name):
                        path = name if name not in taken else f"{frame.f_code.co_name}().{name}"
                        taken.add(path)
                        yield path, value
        for module, variables in self._modules:
            place = of_modules.get(id(variables))
            is_open = id(variables) not in of_modules or place is not None
            for name, value in list(variables.items()) if is_open else ():
                if name.startswith("__") or place is not None and place.is_dead(name):
                    continue
                path = name if module == "__main__" and name not in taken else f"{module}.{name}"
                taken.add(path)
                if place is None or name not in place.stored:
                    self.globals[path] = name
                yield path, value


def _frames(frame: Any, called: Any) -> List[Any]:
    """The script's, without what only goes over run.steps() for it: a progress bar's generator."""
    found = walk.script_frames(frame)
    codes = [each.f_code for each in found]
    first = codes.index(called) if called in codes else 0
    kept = [each for each in found[:first] if not liveness.is_generator(each.f_code)]
    return kept + found[first:]


def _is_in_loop(frame: Any) -> bool:
    while frame is not None and frame.f_code.co_filename.startswith(walk._GLIM):
        if frame.f_code.co_name in _LOOP_CODE:
            return True
        frame = frame.f_back
    return False


def _name_of(path: str, look: Look) -> str:
    """Of a part of a tuple the tuple: nothing changes in it but by a new one."""
    return next((part for part in _above(path) if isinstance(look.values.get(part), tuple)), path)


def _above(path: str) -> Iterator[str]:
    for at, letter in enumerate(path):
        if at and letter in ".[":
            yield path[:at]
