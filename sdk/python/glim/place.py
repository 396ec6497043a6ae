"""Where a script stands, counted: what a save says of it, and how a resumed attempt finds it again.

The attempt runs the script from its beginning. The calls of steps() that were over give nothing, epochs() begins with
the epoch that was not over, and the call that was under way leaves out the batches that were done.
"""

from __future__ import annotations

from typing import Any, Dict, Optional


class NextStep(int):
    """What restore() returns: a number, and it notices whether the script divides it. Whoever does that wants the
    number of the epoch, and begins a loop of its own there, and not at its beginning."""

    def __new__(cls, value: int, place: "Place") -> "NextStep":
        made = super().__new__(cls, value)
        made._place = place
        return made

    _place: "Place"

    def __floordiv__(self, other: Any) -> Any:
        self._place.begins_where_restored(other)
        return int(self) // other

    def __truediv__(self, other: Any) -> Any:
        self._place.begins_where_restored(other)
        return int(self) / other

    def __divmod__(self, other: Any) -> Any:
        self._place.begins_where_restored(other)
        return divmod(int(self), other)

    def __reduce__(self) -> Any:
        return int, (int(self),)


class Place:
    """Used by the training thread only; `run` is the session that owns it."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self.next_step = 0
        self.epoch = 0  # that are over, of all loops
        self.position = 0  # batches done in this epoch of the call that is under way
        self._outside = 0  # epochs that calls outside of epochs() have counted
        self._base: Optional[int] = 0  # the epoch in which the call under way began; None: a save of format 2
        self._calls = 0  # of steps() outside of epochs() that are over
        self._inner = 0  # the same in this epoch's body
        self._loops = 0  # of epochs() that are over
        self._has_begun = False  # the call under way has: what stands above it is done
        self._in_epochs = False
        self._shots: Dict[str, Any] = {}  # calls over iterators: the epoch, and the items taken, -1: all
        self._left_over = 0  # batches of a save that does not say of which epoch they are
        self._skip: Dict[str, Any] = {}  # of a restored save, until the script has come there
        self._at_stop: Optional[Dict[str, Any]] = None
        self._begins_late = False  # the script leaves out by itself the calls that were over
        self._is_behind = False  # and one that was not over, but at its end

    def cursor(self) -> Dict[str, Any]:
        """What a save holds of it, beside the number of the last complete step."""
        if self._skip:
            return {name: value for name, value in self._skip.items() if name != "step"}
        if self._at_stop is not None:
            return self._at_stop
        return {
            "epoch": self.epoch,
            "position": self.position,
            "outside": self._outside,
            "base": self._base,
            "calls": self._calls,
            "inner": self._inner,
            "loops": self._loops,
            "in_body": self._in_epochs,
            "begun": self._has_begun,
            "shots": dict(self._shots),
        }

    def go_on_from(self, step: int, epoch: int, position: int, **more: Any) -> None:
        self.next_step, self.epoch, self.position = step + 1, epoch, position
        self._outside, self._base = more.get("outside", 0), more.get("base")
        begun = more.get("begun", position > 0)
        at = {"calls": 0, "inner": 0, "loops": 0, "in_body": False, "shots": {}, **more, "begun": begun}
        self._skip = {**at, "step": step, "epoch": epoch, "position": position}
        self._shots = dict(at["shots"])
        self._arrive_between()

    @property
    def _call(self) -> str:
        return f"inner {self._inner}" if self._in_epochs else f"call {self._calls}"

    @property
    def _key(self) -> str:
        """Of the epoch that is gone over; random numbers are seeded by it."""
        return f"{self.epoch}.{self._inner}" if self._inner else str(self.epoch)

    def _begin_body(self) -> None:
        self._inner, self._has_begun = 0, False
        if self._skip and not self._skip["inner"] and not self._skip["begun"]:
            self._arrive()
        if self._run.state is not None:
            self._run.state.begin_part(f"body {self.epoch}")

    def _loop_over(self) -> None:
        self._loops += 1
        if self._run.state is not None:
            self._run.state.begin_part(f"loop {self._loops}")

    def _count_epoch(self) -> None:
        self.epoch, self._outside = self.epoch + 1, self._outside + 1
        self.position, self._left_over = self._left_over, 0

    def begins_where_restored(self, steps: Any) -> None:
        """The script counts by itself, epochs of so many `steps`: its first call of steps() is the one that was under
        way, or the next one where that had done all of its steps."""
        self._begins_late = True
        if self._skip and not self._calls:
            self._calls = self._skip["calls"]
            self._is_behind = bool(self._skip["begun"] and self.position and steps and self.next_step % steps == 0)
            self._arrive_between()

    def _arrive_between(self) -> None:
        """Where the save was made outside of all loops: they count together."""
        at = self._skip
        if at and not at["begun"] and not at["in_body"]:
            if (self._calls, self._loops) == (at["calls"], at["loops"]):
                self._arrive()

    def _arrive(self) -> None:
        """The script has come to where the save was made."""
        if self._skip:
            self._skip = {}
            if self._run.state is not None:
                self._run.state.go_on()

    def _count_call(self) -> None:
        if self._in_epochs:
            self._inner += 1
        else:
            self._calls += 1
