"""An interrupt as a script sees it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Interrupt:
    """The scheduler wants the nodes back: save and leave. A snapshot; ask `run.interrupted()` again for news."""

    agreement: int  # number of this agreement; grows with every interrupt of the job
    reason: str  # in words: "job 12 (high) needs 4 nodes"
    preemptor: str  # who gets the nodes, in words; may be empty
    deadline: float  # on time.monotonic()'s clock; afterwards SIGTERM, then SIGKILL
    stop_step: Optional[int] = None  # the agreed last step S; None: not agreed (yet)
    no_agreement: bool = False  # every rank stops at its own next boundary; only rank 0 saves, alone

    @property
    def seconds_left(self) -> float:
        """Grace that is left, never below 0."""
        return max(0.0, self.deadline - time.monotonic())
