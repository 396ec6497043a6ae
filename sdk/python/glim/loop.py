"""The loop behind `run.steps()`: numbers the steps, asks the hold point before each, saves at the stop and between.

docs/reference/training-loops.md says what that promises for which form of loop.
"""

from __future__ import annotations

import threading
import time
import weakref
from typing import Any, Callable, Iterable, Iterator, Optional

from . import walk
from .hold_point import HoldPoint
from .place import Place
from .readers import Readers
from .saves import tell_of_failure

_END = object()


class Loop(Place):
    """Used by the training thread only; `run` is the session that owns it."""

    def __init__(self, run: Any, hold: HoldPoint, save_now: Callable[[int, bool], Any], readers: Readers) -> None:
        super().__init__(run)
        self._hold = hold
        self._save_now = save_now
        self._turn = 0  # of generators of steps(): the newest alone may go on
        self._open = False  # one is under way
        self._out = False  # a step's item is with the script
        self._source: Any = None
        self._owed: Optional[bool] = None  # a save that was asked for where none can be made; its `wait`
        self._late = False  # a periodic save that had to wait for an optimizer
        self._items = 0  # taken by the call under way in its epoch
        self._untold = False  # the last step ended by leaving the loop
        self._site: Any = None  # where the script has called steps()
        self._thread = threading.get_ident()
        self._readers = readers
        self._saved_at = time.monotonic()

    def must_wait(self, step: Optional[int]) -> bool:
        """Whether a save now would say what is not so: in the middle of a step; or where the script has changed what is
        tracked since the last loop, and would do so again."""
        if self._out:
            return step is None or step == self.next_step
        state = self._run.state
        if step is not None or state is None or self._skip:
            return False
        return not state.may_stop(self.next_step) or not self._has_begun and state.has_changed()

    def owe(self, wait: bool) -> int:
        """A save as soon as it can be made. Returns its step."""
        self._owed = wait or bool(self._owed)
        return self.next_step if self._out else self.next_step - 1

    def settle(self) -> None:
        """The script has come to its end."""
        if self._open:
            self._left()
        self._tell_progress()
        self._pay(at_the_end=True)
        if self._calls and self._skip and self._skip["begun"] and not self._hold.stopped:
            raise RuntimeError(
                f"the save was made in call {self._skip['calls'] + 1} of run.steps() outside of run.epochs(), and the "
                f"script has ended after {self._calls}: it has to call it as often in each attempt, for what is done "
                "gives no items. So make no call depend on what restore() returns"
            )

    # ---- epochs

    def epochs(self, total: int) -> Iterator[int]:
        self._check_place("run.epochs()")
        if self._loops < self._skip.get("loops", 0):
            self._loop_over()
            self._arrive_between()
            return
        self._in_epochs = True
        try:
            while self.epoch - self._outside < total:
                self._begin_body()
                yield self.epoch - self._outside
                if self._hold.stopped:
                    return
                self._body_over()
            self._in_epochs = False
            self._loop_over()
            self._run.finish()
        except GeneratorExit:
            if not self._hold.stopped:  # left early, for good
                self._body_over()
                self._in_epochs = False
                self._loop_over()
            raise
        finally:
            self._in_epochs = False

    def _body_over(self) -> None:
        if self._open:
            self._left()
        if self._skip:
            raise RuntimeError(
                f"the save was made in call {self._skip['inner'] + self._skip['begun']} of run.steps() in this epoch, "
                f"and its body has called it {self._inner} times: it has to do so as often in each attempt"
            )
        self._arrive()
        self.epoch, self.position, self._inner, self._has_begun = self.epoch + 1, 0, 0, False
        self._shots = {call: shot for call, shot in self._shots.items() if not call.startswith("inner")}
        if self._run.state is not None:
            self._run.state.begin_part(f"over {self.epoch}")
        self._pay()

    # ---- steps

    def steps(
        self,
        source: Iterable[Any],
        epochs: Optional[int],
        start: Optional[int],
        save_every: Optional[int],
        watch: Any,
        site: Any = None,
    ) -> Iterator[Any]:
        if self._in_epochs and epochs is not None:
            raise ValueError(
                "epochs: run.epochs() counts the epochs here; leave epochs= out of the run.steps() inside of it"
            )
        if walk.is_one_shot(source) and (epochs or 1) > 1:
            raise ValueError(
                f"source: {walk.name_of(source)} can be gone over once, and epochs={epochs} asks for {epochs} times. "
                "Give run.steps() what it goes over: a loader, a list, or an object whose __iter__ begins anew. For "
                "enumerate() put it around run.steps(), or take run.step"
            )
        if not (self._in_epochs or self._begins_late) and start is None and site is not None and site == self._site:
            watch.tell_of_own_loop()
        self._site = site
        generator = self._steps(source, epochs, start, save_every, watch)
        watch.generator = weakref.ref(generator)
        return generator

    def _steps(
        self, source: Iterable[Any], epochs: Optional[int], start: Optional[int], save_every: Optional[int], watch: Any
    ) -> Iterator[Any]:
        self._check_place("run.steps()")
        if self._is_behind:
            self._is_behind = False
            yield from self._steps(source, epochs, start, save_every, watch)
        if self._passes_over(source, start):
            return
        self._turn += 1
        turn, self._open, self._source = self._turn, True, source
        if start is not None:
            self.next_step, self.position = start, 0
        elif not self._skip:
            self.position = 0
        if not self._skip and not self._in_epochs:
            self._base = self.epoch
        base = self._base if self._base is not None else self.epoch if epochs is None else 0
        self._base = base
        self._has_begun = True
        self._hold.join(self.next_step)
        self._run.answer_interrupt()
        self._saved_at = time.monotonic()
        self._tell_progress()
        if self._run.state is not None:
            self._run.state.go_on(is_last=False)
        try:
            while self._in_epochs or self.epoch < base + (epochs or 1):
                yield from self._one_epoch(source, save_every, turn, watch)
                if self._hold.stopped:
                    self._at_stop = self.cursor()
                    self._open = False
                    self._save_at_stop()
                    return
                if self._in_epochs or self.epoch + 1 >= base + (epochs or 1):
                    break
                self._count_epoch()
        except GeneratorExit:
            if turn == self._turn and not self._hold.stopped:
                self._left()
            raise
        if self._run.state is not None:
            self._run.state.go_on(source)
        self._call_over()
        if not self._in_epochs:
            self._count_epoch()
        if epochs is not None:
            self._run.finish()

    def _one_epoch(self, source: Iterable[Any], save_every: Optional[int], turn: int, watch: Any) -> Iterator[Any]:
        state = self._run.state
        key = self._key
        if state is not None:
            state.begin_epoch(self._call, source, key, self.epoch)
        self._items = 0
        if state is not None and self._readers.had_before(state.source_nodes):
            state.reads_in_threads()
        with self._readers:
            batches = iter(source)
        self._look_for_readers()
        # What is fetched counts as done in the state of a source that has one, so the boundary comes before the fetch.
        asks_first = state is not None and state.brings_itself_back(source)
        is_empty = self.position == 0
        if not asks_first:
            self._leave_out(batches, key)
        while True:
            step = self.next_step
            if asks_first and not self._may_begin(source, step):
                return
            batch = self._fetch(batches, key, self.position)
            if batch is _END:
                break
            if not asks_first and not self._may_begin(source, step):
                return
            if state is not None:
                state.begin_step(step)
            is_empty = False
            self._out = True
            watch.begin_step(batch, self._in_epochs)
            yield batch
            self._check_turn(turn)
            watch.end_step()
            self._step_over(step)
            if self._is_save_due(step, save_every):
                self._hold.pause_timing()
                self._save(step, wait=False)
        self._items = -1
        self._hold.end_of_source()
        if is_empty and self.epoch > 0 and not self._inner:
            self._refuse_empty(source)

    def _look_for_readers(self) -> None:
        if self._readers.begun() and self._open and self._run.state is not None:
            self._run.state.reads_in_threads()

    def _may_begin(self, source: Any, step: int) -> bool:
        state = self._run.state
        if state is not None:
            state.go_on(source)
            self._arrive()
            self._pay()
            return self._hold.begin_step(step, lambda: bool(state.may_stop(step)))
        self._arrive()
        return self._hold.begin_step(step)

    def _step_over(self, step: int) -> None:
        self._out = False
        self.next_step, self.position = step + 1, self.position + 1
        self._run.progress(step)
        self._pay()

    def _leave_out(self, batches: Iterator[Any], key: str) -> None:
        """Fetches what was done before, and drops it. The fetch draws numbers too (a lazy sampler's permutation,
        augmentation in this process), and draws the same ones."""
        for position in range(self.position):
            if self._fetch(batches, key, position) is not _END:
                continue
            if self._run.state is not None:  # the steps from there on would be missing in silence
                raise RuntimeError(
                    f"source: {walk.name_of(self._source)} has {position} batches in this epoch, and {self.position} "
                    "of it were done before the interrupt: it goes on by itself where it stood, or has become shorter. "
                    "One that goes on by itself needs state_dict() and load_state_dict(), and is tracked: "
                    "run.track(source=source). Otherwise give run.steps() what the attempt before went over"
                )
            self._left_over = self.position - position  # the others are of the epochs that follow
            self.position = position
            return

    def _fetch(self, batches: Iterator[Any], key: str, position: int) -> Any:
        if self._run.state is not None:
            self._run.state.begin_fetch(key, position)
        self._items += 1
        with self._readers:
            batch = next(batches, _END)
        self._look_for_readers()
        return batch

    # ---- where the script stands

    @property
    def is_in_step(self) -> bool:
        return self._out

    def _passes_over(self, source: Iterable[Any], start: Optional[int]) -> bool:
        """Whether this call was over before the interrupt. Of an iterator that later calls may share, what was taken is
        taken."""
        done = self._skip.get("inner" if self._in_epochs else "calls", 0)
        at = self._inner if self._in_epochs else self._calls
        if not self._skip or start is not None or at >= done:
            return False
        if walk.is_one_shot(source) and self._call in self._shots:
            epoch, items = self._shots[self._call]
            position, batches = 0, iter(source)
            while position != items and self._fetch(batches, epoch, position) is not _END:
                position += 1
        is_there = self._in_epochs and at + 1 == done and not self._skip["begun"]
        if self._run.state is not None:
            self._run.state.end_call(self._call, source)
        self._count_call()
        if is_there:
            self._arrive()
        self._arrive_between()
        return True

    def _call_over(self) -> None:
        self._open = False
        self._skip = {}
        if walk.is_one_shot(self._source):
            self._shots[self._call] = [self._key, self._items]
        if self._run.state is not None:
            self._run.state.end_call(self._call, self._source)
        self._count_call()
        self.position, self._has_begun, self._source = 0, False, None

    def _left(self) -> None:
        """The loop was left by break, return or an exception: its last item counts as done, and the loop as over."""
        if self._out:
            self._out, self._untold = False, True
            self.next_step, self.position = self.next_step + 1, self.position + 1
        self._call_over()
        if not self._in_epochs:
            self._count_epoch()

    def _tell_progress(self) -> None:
        if self._untold:
            self._untold = False
            self._run.progress(self.next_step - 1)

    def _check_thread(self, what: str) -> None:
        if threading.get_ident() != self._thread:
            raise RuntimeError(
                f"{what} is gone over in another thread than the one that opened the session: whoever reads ahead "
                "there takes steps before they are done. Let the thread read the loader, and put run.steps() around it"
            )

    def _check_place(self, what: str) -> None:
        self._check_thread(what)
        if self._open:
            self._left()  # a generator that somebody keeps, and does not go on with
        if what == "run.epochs()" and self._in_epochs:
            raise RuntimeError("run.epochs() inside of run.epochs(): one of them counts the epochs; take range()")

    def _check_turn(self, turn: int) -> None:
        if turn != self._turn:
            raise RuntimeError(
                "run.steps() was begun once more inside of a step: each of its items is a step of the training. Go "
                "over the inner source (a validation, for example) without run.steps()"
            )
        self._check_thread("run.steps()")

    def _refuse_empty(self, source: Any) -> None:
        raise RuntimeError(
            f"source: {walk.name_of(source)} has no batch in epoch {self.epoch - self._outside * self._in_epochs}: it "
            "is used up, or empty. Give run.steps() what can be gone over again: a loader, a list, or an object whose "
            "__iter__ begins anew"
        )

    # ---- saves

    def _is_save_due(self, step: int, save_every: Optional[int]) -> bool:
        state = self._run.state
        if state is None or not self._run.is_rank_zero:
            return False
        if not self._is_time(step, save_every):
            return False
        self._late = not state.may_stop(step + 1)
        return not self._late

    def _is_time(self, step: int, save_every: Optional[int]) -> bool:
        if self._late:
            return True
        if save_every is not None:
            return (step + 1) % save_every == 0
        if (time.monotonic() - self._saved_at) * 1000 < self._run.checkpoint_every_ms:
            return False
        return not self._run.saves.is_busy  # a disk slower than that: as often as it can, the training goes on

    def _pay(self, at_the_end: bool = False) -> None:
        """Makes the save that was asked for, if it can be made here."""
        if self._owed is None or self._out:
            return
        if at_the_end or self._run.state.may_stop(self.next_step):
            wait, self._owed = self._owed, None
            self._save(self.next_step - 1, wait)

    def _save_at_stop(self) -> None:
        """All ranks have run through the same step and hold the same state, so one of them saves, with no collective:
        the others may leave at once without harm to it."""
        step = self.next_step - 1
        if self._run.state is not None and self._run.is_rank_zero and step >= 0:
            self._save(step, wait=True)

    def _save(self, step: int, wait: bool) -> None:
        try:
            self._save_now(step, wait)
        except Exception as error:
            tell_of_failure(step, error)
        self._saved_at = time.monotonic()
