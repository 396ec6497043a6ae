"""The loop behind `run.steps()`: numbers the steps, asks the hold point before each, saves at the stop and between."""

from __future__ import annotations

import time
from typing import Any, Iterable, Iterator, Optional

from .hold_point import HoldPoint
from .saves import tell_of_failure

_END = object()


class Loop:
    """Where training stands. Used by the training thread only; `run` is the session that owns it."""

    def __init__(self, run: Any, hold: HoldPoint) -> None:
        self._run = run
        self._hold = hold
        self.next_step = 0
        self.epoch = 0
        self.position = 0                        # batches done in this epoch
        self.in_epochs = False
        self._saved_at = time.monotonic()

    def go_on_from(self, step: int, epoch: int, position: int) -> None:
        self.next_step, self.epoch, self.position = step + 1, epoch, position

    def epochs(self, total: int) -> Iterator[int]:
        self.in_epochs = True
        try:
            while self.epoch < total:
                epoch = self.epoch
                yield epoch
                if self._hold.stopped:
                    return
                if self.epoch == epoch:          # the body ran no steps() of ours
                    self.epoch, self.position = epoch + 1, 0
            self._run.finish()
        finally:
            self.in_epochs = False

    def steps(self, source: Iterable[Any], epochs: Optional[int], start: Optional[int],
              save_every: Optional[int]) -> Iterator[Any]:
        if start is not None:
            self.next_step, self.position = start, 0
        self._hold.join(self.next_step)
        self._run.answer_interrupt()
        self._saved_at = time.monotonic()
        while epochs is None or self.epoch < epochs:
            yield from self._one_epoch(source, save_every)
            if self._hold.stopped:
                self._save_at_stop()
                return
            self.epoch, self.position = self.epoch + 1, 0
            if epochs is None:
                return
        self._run.finish()

    def _one_epoch(self, source: Iterable[Any], save_every: Optional[int]) -> Iterator[Any]:
        state = self._run.state
        if state is not None:
            state.begin_epoch(self.epoch)
        batches = iter(source)
        if not (state is not None and state.sampler_skips):
            for position in range(self.position):
                if self._fetch(batches, position) is _END:
                    break                        # shorter than it was: the epoch is over
        while True:
            batch = self._fetch(batches, self.position)
            if batch is _END:
                self._hold.pause_timing()        # what the script does between epochs is no step
                return
            step = self.next_step
            if not self._hold.begin_step(step):
                return
            if state is not None:
                state.begin_step(step)
            yield batch
            self.next_step, self.position = step + 1, self.position + 1
            self._run.progress(step)
            if self._is_save_due(step, save_every):
                self._hold.pause_timing()
                self._save(step, wait=False)

    def _fetch(self, batches: Iterator[Any], position: int) -> Any:
        """The fetch draws numbers too (a lazy sampler's permutation, augmentation in this process), and draws the same
        ones when it is only skipping."""
        if self._run.state is not None:
            self._run.state.begin_fetch(self.epoch, position)
        return next(batches, _END)

    def _is_save_due(self, step: int, save_every: Optional[int]) -> bool:
        if self._run.state is None or not self._run.is_rank_zero:
            return False
        if save_every is not None:
            return (step + 1) % save_every == 0
        if (time.monotonic() - self._saved_at) * 1000 < self._run.checkpoint_every_ms:
            return False
        return not self._run.saves.is_busy       # a disk slower than that: as often as it can, the training goes on

    def _save_at_stop(self) -> None:
        """All ranks have run through the same step and hold the same state, so one of them saves, with no collective:
        the others may leave at once without harm to it."""
        step = self.next_step - 1
        if self._run.state is not None and self._run.is_rank_zero and step >= 0:
            self._save(step, wait=True)

    def _save(self, step: int, wait: bool) -> None:
        try:
            self._run.save(step, wait=wait)
        except Exception as error:
            tell_of_failure(step, error)
        self._saved_at = time.monotonic()
