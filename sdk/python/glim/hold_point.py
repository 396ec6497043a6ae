"""The hold point: one rank's half of agreeing on the step to stop at (docs/protocols/interrupt.md).

    free --interrupt--> holding(hold) --stop_at--> agreed(S) --step S done--> stopped
      ^                   |        |
      +----withdrawn------+        +--stop_now--> last(limit) --step limit done--> stopped

The training thread asks `begin_step(i)` before each step; the socket's thread calls everything else that changes the
state. One lock guards the counter of started steps together with the hold, so that no step can slip between reading
the one and setting the other. Nothing here does I/O, and the clock is injected.
"""

from __future__ import annotations

import math
import statistics
import threading
import time
from collections import deque
from typing import Callable, Deque, Optional

# A hold must lie far enough ahead that S usually arrives before the rank gets there, or training would pause.
AGREEMENT_MS = 250
HOLD_STEPS_MAX = 100_000
_STEPS_TIMED = 31


class HoldPoint:
    """Thread-safe. `clock` returns seconds and never goes back. `is_rank_zero`: this rank saves when there is no
    agreement, so it stops at once and the others give it K steps' head start (see `stop_now`). `may_agree` is false
    for a process that cannot speak for its rank alone: it never gives a hold."""

    def __init__(
        self, is_rank_zero: bool = True, clock: Callable[[], float] = time.monotonic, may_agree: bool = True
    ) -> None:
        self._may_agree = may_agree
        self._changed = threading.Condition()
        self._clock = clock
        self._is_rank_zero = is_rank_zero
        self._started = -1
        self._participates = False
        self._finished = False
        self._critical = 0
        self._yielding = False
        self._stopped = False
        self._waiting = False
        self._agreement = 0  # 0: no interrupt is up
        self._hold: Optional[int] = None
        self._stop: Optional[int] = None  # S, or the own limit without an agreement
        self._agreed = False
        self._stop_now_pending = False  # arrived inside a critical section
        self._step_began: Optional[float] = None
        self._durations: Deque[float] = deque(maxlen=_STEPS_TIMED)

    # ---- training thread

    def join(self, next_step: int) -> None:
        """From here on this rank has boundaries that we know of: it takes part in agreements. `next_step` is the
        first step to come. Calling it again (a second loop) is allowed as long as the numbers grow."""
        with self._changed:
            self._participates = self._may_agree
            self._finished = False
            self._started = max(self._started, next_step - 1)
            self._changed.notify_all()

    def begin_step(self, step: int, may_stop: Callable[[], bool] = lambda: True) -> bool:
        """Whether `step` may be started. Blocks at the hold until the agreement is known, for however long: while the
        scheduler is away, ranks wait. False: the step before was the last one; it stays False. `may_stop` is asked
        where it would be refused or have to wait, with the lock held. False: this boundary is none at which ranks can
        stop, and as it is the same for all of them, they stop at the next one that is."""
        with self._changed:
            if not self._participates:
                self._participates = self._may_agree
                self._started = max(self._started, step - 1)
            if step < self._started:
                raise ValueError(f"step {step}: step {self._started} was started already, numbers must grow")
            self._note_duration()
            while not self._stopped and self._is_held_back(step) and may_stop():
                if self._yielding or self._stop is not None:
                    self._stopped = True
                else:
                    self._waiting = True
                    self._changed.wait()
            self._waiting = False
            if self._stopped:
                return False
            self._started = max(self._started, step)
            self._step_began = self._clock()
            return True

    def pause_timing(self) -> None:
        """What follows (a save, an evaluation) is not part of a step's duration."""
        with self._changed:
            self._note_duration()

    def end_of_source(self) -> None:
        """The step that was begun, or was to be, is not there. What follows is no step either."""
        with self._changed:
            self._step_began = None

    def enter_critical(self) -> None:
        with self._changed:
            self._critical += 1

    def leave_critical(self) -> bool:
        """True when an interrupt may now be answered."""
        with self._changed:
            self._critical -= 1
            if self._critical == 0 and self._stop_now_pending:
                self._stop_now_pending = False
                self._limit_now()
            return self._critical == 0 and self._agreement != 0

    def finish(self) -> None:
        """The loop is over: any stop step suits this rank."""
        with self._changed:
            self._finished = True

    def yield_after_this_step(self) -> None:
        with self._changed:
            self._yielding = True
            self._changed.notify_all()

    # ---- socket's thread

    def interrupt(self, agreement: int) -> Optional[int]:
        """The flag is up. Returns the hold to acknowledge, the same one for a repeat; None: do not acknowledge with a
        hold (no boundary known to us, a critical section, finished, or an older agreement)."""
        with self._changed:
            if agreement < self._agreement:
                return None
            if agreement > self._agreement:
                self._lift()
                self._agreement = agreement
            if not self._participates or self._finished or self._critical or self._stop_now_pending:
                return None
            if self._hold is None and not (self._stop is not None and not self._agreed):
                self._hold = self._started + self._steps_ahead()
            return self._hold

    def stop_at(self, agreement: int, step: int) -> None:
        """S is known. It never changes within an agreement, and `stop_now` is never followed by one."""
        with self._changed:
            if agreement == self._agreement and agreement != 0 and self._stop is None and not self._stop_now_pending:
                self._stop, self._agreed = step, True
                self._changed.notify_all()

    def stop_now(self, agreement: int) -> None:
        """No agreement. Rank 0 stops after the step it is in. In lockstep training it can finish that step only
        if its peers do their part of it, so the others may start up to K more steps before they leave unsaved."""
        with self._changed:
            if agreement != self._agreement or agreement == 0 or self._stop is not None:
                return
            if self._critical:
                self._stop_now_pending = True
            else:
                self._limit_now()

    def withdrawn(self, agreement: int) -> bool:
        """The notice is withdrawn. False: too late. A stop is in force (the scheduler never does that), or it is of
        another agreement."""
        with self._changed:
            if agreement != self._agreement or self._stop is not None:
                return False
            self._lift()
            return True

    # ---- anyone

    @property
    def started(self) -> int:
        with self._changed:
            return self._started

    @property
    def participates(self) -> bool:
        with self._changed:
            return self._participates

    @property
    def finished(self) -> bool:
        with self._changed:
            return self._finished

    @property
    def stopped(self) -> bool:
        """A `begin_step` was refused: the loop is over for this process."""
        with self._changed:
            return self._stopped

    @property
    def yielding(self) -> bool:
        with self._changed:
            return self._yielding

    @property
    def waiting(self) -> bool:
        """The training thread stands at the hold."""
        with self._changed:
            return self._waiting

    @property
    def stop_step(self) -> Optional[int]:
        """The agreed S."""
        with self._changed:
            return self._stop if self._agreed else None

    @property
    def no_agreement(self) -> bool:
        with self._changed:
            return self._stop_now_pending or (self._stop is not None and not self._agreed)

    def step_ms(self) -> int:
        """Median duration of the last steps; 0: not known yet."""
        with self._changed:
            return round(statistics.median(self._durations) * 1000) if self._durations else 0

    # ---- with the lock held

    def _is_held_back(self, step: int) -> bool:
        if self._yielding or (self._stop is not None and step > self._stop):
            return True
        return self._stop is None and self._hold is not None and step > self._hold

    def _lift(self) -> None:
        self._agreement, self._hold, self._stop, self._agreed, self._stop_now_pending = 0, None, None, False, False
        self._changed.notify_all()

    def _limit_now(self) -> None:
        self._stop = self._started + (0 if self._is_rank_zero else self._steps_ahead())
        self._changed.notify_all()

    def _steps_ahead(self) -> int:
        if not self._durations:
            return 1
        median_ms = statistics.median(self._durations) * 1000
        if median_ms * HOLD_STEPS_MAX <= AGREEMENT_MS:
            return HOLD_STEPS_MAX
        return max(1, math.ceil(AGREEMENT_MS / median_ms))

    def _note_duration(self) -> None:
        if self._step_began is not None:
            self._durations.append(self._clock() - self._step_began)
            self._step_began = None
