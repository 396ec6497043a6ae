"""Tracked objects that a source of batches has as a part of it, or is: a sampler by any name, a data set that counts, a
dict that either counts in.

The batches of a broken-off epoch are fetched once more. So saves have such an object twice: as it was when the epoch
began, for the fetches, and as it is.
"""

from __future__ import annotations

import copy
from typing import Any, Dict, Iterable, List, Optional, Set

from . import walk
from .tracked import Tracked


class SourceParts:
    """Used by the training thread only."""

    def __init__(self) -> None:
        self._call = ""
        self._began: Dict[str, Any] = {}  # by name: as it was when the epoch under way began
        self._kept: Dict[str, List[str]] = {}  # by name: the parts that were the objects that they had been
        self._fetched = 0
        self._saved: Optional[Dict[str, Any]] = None  # until the epoch that it is of
        self._behind: Set[str] = set()  # names: to be put back before the first fetch of a batch that was not done
        self.settled: Set[str] = set()  # names: as they are to be when that fetch is over

    def adopt(self, saved: Optional[Dict[str, Any]]) -> None:
        self._saved = saved or None

    def begin(self, call: str, source: Any, objects: Dict[str, Tracked], not_these: Iterable[str]) -> None:
        """An epoch of `source` begins. After a restore its parts are put back to when it began."""
        saved, self._saved = self._saved, None
        if saved is not None and saved["call"] == call:
            for name, state in saved["objects"].items():
                objects[name].put_back(state, saved.get("kept", {}).get(name, ()))
            # To load a state in the middle of a pass may mean something else to who has methods for it, and the fetches
            # have brought it there.
            by_fetches = {name for name in saved["objects"] if objects[name].has_methods}
            self._behind = set() if saved["ahead"] else set(saved["objects"]) - by_fetches
            self.settled = self._behind | by_fetches
        reached = {id(value) for _, value in walk.walk({"": source})} if objects else set()
        self._call, self._fetched = call, 0
        self._began = {
            name: copy.deepcopy(one.state())
            for name, one in objects.items()
            if name not in not_these and id(one.value) in reached and _is_of_batches(one)
        }
        self._kept = {name: objects[name].kept() for name in self._began}

    def end(self) -> None:
        self._began, self._behind, self.settled = {}, set(), set()

    def fetch(self, position: int) -> None:
        self._fetched = position + 1

    def take_behind(self) -> Set[str]:
        """What was saved before the next batch was fetched, and is to be as it was then; once."""
        behind, self._behind = self._behind, set()
        return behind

    def state(self, position: int) -> Dict[str, Any]:
        """For the save of a place in an epoch, `position` of whose batches are done."""
        if not self._began:
            return {}
        return {"call": self._call, "objects": self._began, "kept": self._kept, "ahead": self._fetched > position}


def _is_of_batches(one: Tracked) -> bool:
    """Not a model or its optimizer, that a source asks what to give: the steps change them."""
    value = one.value
    if walk.is_module(value):
        return False
    return not one.has_methods or hasattr(value, "__iter__") or hasattr(value, "__getitem__")
