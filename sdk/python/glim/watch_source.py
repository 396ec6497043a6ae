"""What the first step shows of the source of batches, and of what goes over run.steps()."""

from __future__ import annotations

import gc
import io
from typing import Any, Callable, Dict, List

from . import walk
from .readers import Readers

_WRAPPERS = ("enumerate", "zip", "islice", "cycle", "tee", "_tee", "takewhile", "accumulate")


class SourceWatch:
    """Of one session. `state` gives its TorchState, `generator` that of steps(), which the script goes over."""

    def __init__(self, state: Callable[[], Any], generator: Callable[[], Any], readers: Readers) -> None:
        self._get_state, self._generator, self._readers = state, generator, readers
        self._looks_at = 1  # of the source, before and after the step: the 1st, 2nd, 4th, ...
        self._measures: Dict[str, Any] = {}

    @property
    def _state(self) -> Any:
        return self._get_state()

    def begin_step(self, done: int) -> None:
        if self._readers.untold:
            self._tell_of_readers()
        if done == 0:
            self._tell_of_iterators()
            self._tell_of_wrappers()
        if done + 1 == self._looks_at:
            self._measures = self._state.source_measures()

    def end_step(self, done: int) -> None:
        if done == self._looks_at:
            self._looks_at *= 2
            self._tell_of_changes()

    def _tell_of_readers(self) -> None:
        names, self._readers.untold = sorted(set(self._readers.untold)), []
        if self._state.is_new("reads in threads"):  # their names are others in each epoch
            self._state.tell(
                f"what run.steps() goes over reads ahead in a thread of its own ({', '.join(names)}): "
                "random numbers that are drawn there, by torch's, numpy's or Python's own generator, come in no order "
                "that an attempt could repeat. Draw them from a generator that only the thread has"
            )

    def _tell_of_iterators(self) -> None:
        for path, value in self._state.source_nodes:
            if type(value).__name__ == "_MultiProcessingDataLoaderIter":
                self._state.tell(
                    f"{path or 'the source'} is an iterator of a DataLoader whose workers were begun before "
                    "run.steps(): their order is another in each attempt unless the script names a seed. Give "
                    "run.steps() the loader itself"
                )
            elif path and walk.is_one_shot(value) and not isinstance(value, io.IOBase) and not self._is_replayed():
                self._state.tell(
                    f"{path} of what run.steps() goes over is {walk.name_of(value)}: where it is, no save has, "
                    "and after an interrupt it begins anew. Begin it in __iter__"
                )

    def _is_replayed(self) -> bool:
        """Of a source that is an iterator itself, all is begun anew and gone over again."""
        return any(path == "" and walk.is_one_shot(value) for path, value in self._state.source_nodes)

    def _tell_of_wrappers(self) -> None:
        generator = self._generator()
        wrappers: List[Any] = []
        for referrer in gc.get_referrers(generator) if generator is not None else ():
            wrappers += gc.get_referrers(referrer) if isinstance(referrer, tuple) else [referrer]
        for name in sorted({type(wrapper).__name__ for wrapper in wrappers} & set(_WRAPPERS)):
            self._state.tell(
                f"{name}() around run.steps() begins anew after an interrupt, and counts from there: take run.step, "
                "the number of the step, or give run.steps() what you go over"
            )

    def _tell_of_changes(self) -> None:
        now = self._state.source_measures()
        changed = sorted(path for path, measure in self._measures.items() if now.get(path, measure) != measure)
        if changed:
            self._state.tell(
                f"the steps change {', '.join(path or 'the list itself' for path in changed)} of what run.steps() goes "
                "over: the batches of a broken-off epoch are fetched anew without that. Give it state_dict() and "
                "load_state_dict(), and track it"
            )
        self._measures = {}
