"""What the first steps of a loop show of a script: what is in no save, and would begin anew after an interrupt. It is
told by name, on stderr, once. Nothing here changes what the training does."""

from __future__ import annotations

import io
import types
from typing import Any, Callable, Dict, List, Tuple

from . import walk
from .readers import Readers

_STEPS = 2  # that are looked at
_WRAPPERS = ("enumerate", "zip", "islice", "cycle", "tee", "_tee", "takewhile", "accumulate")
_FIELDS_MAX = 50  # of one object


class Watch:
    """Of one session; used by the training thread only. Without tracked objects it does nothing."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self.is_resumed = False  # the attempt before has told it all
        self._is_on = False
        self._frame: Any = None
        self._before: Dict[str, Any] = {}
        self._seen = 0  # steps
        self._has_looked = False
        self._item: Any = None
        self._measures: Dict[str, Any] = {}
        self._activity: Any = None
        self.generator: Callable[[], Any] = lambda: None  # of steps(), that the script goes over
        self._is_in_epochs = False
        self.readers = Readers()
        self._looks_at: int = 1  # of the source, before and after the step: the 1st, 2nd, 4th, ...

    @property
    def _state(self) -> Any:
        return self._run.state

    def look_around(self, frame: Any) -> None:
        """At the call of steps() or epochs(), by the script's frame."""
        if self._state is None:
            return
        self._is_on = self._run.saves.can_save and not self.is_resumed
        if not self._has_looked:
            self._has_looked = True
            self.readers.look_around()
            self._state.look_around(frame)
            if self._is_on:
                self._tell_of_untracked(walk.script_variables(frame))
        if self._seen == 0 and self._is_on:
            frames = walk.script_frames(frame)
            self._frame = frames[0] if frames else None
            self._before = self._variables()

    def begin_step(self, item: Any, is_in_epochs: bool) -> None:
        if not self._is_on:
            return
        if self.readers.untold:
            self._tell_of_readers()
        self._item = item if self._seen < _STEPS else None
        self._is_in_epochs = is_in_epochs
        if self._seen == 0:
            self._tell_of_iterators()
            self._tell_of_wrappers()
            self._activity = self._work()
        if self._seen + 1 == self._looks_at:
            self._measures = self._state.source_measures()

    def end_step(self) -> None:
        if not self._is_on:
            return
        self._seen += 1
        if self._seen == self._looks_at:
            self._looks_at *= 2
            self._tell_of_the_source()
        if self._seen > _STEPS or self._frame is None:
            return
        if self._seen == 1 and self._activity == self._work() and self._state.gradients.has_optimizers:
            self._tell(
                "the first step has changed no weights and left no gradients: if whoever goes over run.steps() reads "
                "ahead, steps count as done before they are. Read ahead in what you give run.steps(), not around it"
            )
        self._tell_of_variables()
        if self._seen == _STEPS:
            self._frame, self._before = None, {}

    def _tell(self, text: str) -> None:
        self._state.tell(text)

    def tell_of_own_loop(self) -> None:
        if self._is_on:
            self._tell(
                "run.steps() stands in a loop of the script's own. After an interrupt the script goes through all of "
                "its rounds again: steps that are done are left out, and what stands beside run.steps() is done again "
                "in each. run.epochs() begins with the round that was not over"
            )

    # ---- the script's variables

    def _variables(self) -> Dict[str, Any]:
        if self._frame is None:
            return {}
        known = {id(value) for value in self._state.tracked.values()}
        found: Dict[str, Any] = {}
        for name, value in {**self._frame.f_globals, **self._frame.f_locals}.items():
            if id(value) not in known and not name.startswith("__"):
                measure = _measure(value)
                if measure is not None:
                    found[name] = measure
        return found

    def _tell_of_variables(self) -> None:
        now = self._variables()
        changed = sorted(
            name
            for name, measure in self._before.items()
            if now.get(name, measure) != measure and not self._is_known(self._value(name))
        )
        self._before = {name: now[name] for name in self._before if name in now}
        iterators = [name for name in changed if _is_iterator(self._value(name))]
        others = [name for name in changed if name not in iterators]
        for name in iterators:
            self._tell(
                f"{name}, {walk.name_of(self._value(name))}, is gone on with in the steps, and begins anew after an "
                "interrupt: put what it goes over into run.steps()"
            )
        if others:
            self._tell(
                f"the steps change {', '.join(others)}: no save has that, and after an interrupt it is again what the "
                "script begins with. If it counts, keep it in a dict, a list or an object of yours, and track that: "
                "run.track(values=values)"
            )

    def _is_known(self, value: Any) -> bool:
        """The item itself, and what is gone over: that an attempt finds again. In an epoch's body an iterator may be
        one that an earlier epoch has begun."""
        parts = self._item if isinstance(self._item, (tuple, list)) else ()
        if value is self._item or any(value is part for part in parts):
            return True
        is_of_source = any(value is node for _, node in self._state.source_nodes)
        return is_of_source and not (self._is_in_epochs and _is_iterator(value))

    def _value(self, name: str) -> Any:
        return self._frame.f_locals.get(name, self._frame.f_globals.get(name))

    def _tell_of_untracked(self, variables: Dict[str, Any]) -> None:
        import torch

        if self._state.is_seed_chance:
            self._tell(
                "this script names no seed: what it draws before the loop, each attempt draws anew. Call "
                "torch.manual_seed(1) at its beginning"
            )
        tracked = list(self._state.tracked.values())
        known = {id(value) for value in tracked} | {id(held) for one in tracked for held in _inside(one)}
        kinds: Tuple[type, ...] = (torch.optim.Optimizer, torch.optim.lr_scheduler.ReduceLROnPlateau)
        kinds += (_scheduler_class(torch), torch.cuda.amp.GradScaler)
        for name, value in variables.items():
            if id(value) in known or name == "_":
                continue
            is_average = walk.is_module(value) and type(value).__name__ == "AveragedModel"
            if isinstance(value, kinds) or is_average:
                self._tell(
                    f"{name}, {walk.name_of(value)}, is not tracked: no save has it. Name it, "
                    f"run.track({name}={name}, ...)"
                )

    # ---- the source, and what goes over run.steps()

    def _tell_of_readers(self) -> None:
        names, self.readers.untold = sorted(set(self.readers.untold)), []
        self._tell(
            f"what run.steps() goes over reads ahead in a thread of its own ({', '.join(names)}): "
            "random numbers that are drawn there, by torch's, numpy's or Python's own generator, come in no order "
            "that an attempt could repeat. Draw them from a generator that only the thread has"
        )

    def _tell_of_iterators(self) -> None:
        for path, value in self._state.source_nodes:
            if type(value).__name__ == "_MultiProcessingDataLoaderIter":
                self._tell(
                    f"{path or 'the source'} is an iterator of a DataLoader whose workers were begun before "
                    "run.steps(): their order is another in each attempt unless the script names a seed. Give "
                    "run.steps() the loader itself"
                )
            elif path and walk.is_one_shot(value) and not isinstance(value, io.IOBase) and not self._is_replayed():
                self._tell(
                    f"{path} of what run.steps() goes over is {walk.name_of(value)}: where it is, no save has, "
                    "and after an interrupt it begins anew. Begin it in __iter__"
                )

    def _is_replayed(self) -> bool:
        """Of a source that is an iterator itself, all is begun anew and gone over again."""
        return any(path == "" and walk.is_one_shot(value) for path, value in self._state.source_nodes)

    def _tell_of_wrappers(self) -> None:
        import gc

        generator = self.generator()
        wrappers: List[Any] = []
        for referrer in gc.get_referrers(generator) if generator is not None else ():
            wrappers += gc.get_referrers(referrer) if isinstance(referrer, tuple) else [referrer]
        for name in sorted({type(wrapper).__name__ for wrapper in wrappers} & set(_WRAPPERS)):
            self._tell(
                f"{name}() around run.steps() begins anew after an interrupt, and counts from there: take run.step, "
                "the number of the step, or give run.steps() what you go over"
            )

    def _tell_of_the_source(self) -> None:
        now = self._state.source_measures()
        changed = sorted(path for path, measure in self._measures.items() if now.get(path, measure) != measure)
        if changed:
            self._tell(
                f"the steps change {', '.join(path or 'the list itself' for path in changed)} of what run.steps() goes "
                "over: the batches of a broken-off epoch are fetched anew without that. Give it state_dict() and "
                "load_state_dict(), and track it"
            )
        self._measures = {}

    def _work(self) -> Any:
        gradients = self._state.gradients
        return (gradients.steps, gradients.any_there)


def _measure(value: Any, depth: int = 1) -> Any:
    """Equal as long as nothing has changed; None: it is nothing that a step changes, or nobody can tell."""
    if isinstance(value, (types.ModuleType, types.FunctionType, type, str, bytes)) or walk.is_module(value):
        return None
    if isinstance(value, (bool, int, float, complex, type(None))):
        return (type(value).__name__, repr(value))
    if walk.is_tensor(value):
        return ("tensor", value.data_ptr(), value._version) if value.numel() and not value.is_sparse else None
    if walk.is_array(value):
        return ("array", value.shape, value.tobytes() if value.nbytes <= 1 << 20 else None)
    if _is_iterator(value):
        return ("iterator", *_place_of(value))
    if isinstance(value, (list, set, frozenset, dict)) or type(value).__name__ == "deque":
        items = list(value.values() if isinstance(value, dict) else value)
        return (len(items), tuple(_shallow(item) for item in items[-_FIELDS_MAX:]))
    own = getattr(value, "__dict__", None)
    if depth and isinstance(own, dict) and walk.is_users_class(type(value)):
        return tuple((key, _measure(item, depth - 1)) for key, item in list(own.items())[:_FIELDS_MAX])
    return None


def _shallow(value: Any) -> Any:
    if walk.is_tensor(value) and not value.is_sparse:
        return (id(value), value._version)
    return repr(value) if isinstance(value, (bool, int, float, complex, str, type(None))) else id(value)


def _is_iterator(value: Any) -> bool:
    if isinstance(value, io.IOBase) or not hasattr(type(value), "__next__"):
        return False
    return not (isinstance(value, types.GeneratorType) and value.gi_code.co_filename.startswith(walk._GLIM))


def _place_of(value: Any) -> Tuple[Any, ...]:
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
        inner = [item for item in walk.inside_iterator(value) if _is_iterator(item)]
        return tuple(place for item in inner for place in _place_of(item)) or (_reduced(value),)
    return tuple(_shallow(item) for item in list(getattr(value, "__dict__", {}).values())[:_FIELDS_MAX])


def _reduced(value: Any) -> str:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python 3.12: it will go
            return repr(value.__reduce__())
    except (TypeError, AttributeError):
        return ""


def _inside(value: Any) -> List[Any]:
    """What a tracked object holds itself: a SequentialLR its schedulers, a wrapper its optimizer."""
    found: List[Any] = []
    for held in getattr(value, "__dict__", {}).values():
        found += list(held) if isinstance(held, (list, tuple)) else [held]
    return found


def _scheduler_class(torch: Any) -> type:
    schedulers = torch.optim.lr_scheduler
    found: type = getattr(schedulers, "LRScheduler", None) or schedulers._LRScheduler
    return found
