"""Where saves live: DIR/attempt-N/step-00000123.pt. Each attempt writes into its own folder only, so that an attempt
that lives on somewhere (a zombie behind a broken network) can never spoil the saves of its successors."""

from __future__ import annotations

import os
import re
from typing import Dict, List, Optional

from .atomic_file import TEMPORARY_SUFFIX
from .outbox import Entry

KEEP_DEFAULT = 3
_ATTEMPT = re.compile(r"attempt-(\d+)$")
_SAVE = re.compile(r"step-(\d+)\.pt$")


class SaveFolder:
    """One attempt's folder. One writer (the chief's training thread); readers need no lock."""

    def __init__(self, root: str, attempt: int, keep: int, base: str) -> None:
        """`base`: the save that this attempt went on from, never removed by it; may be empty."""
        self._root = os.path.abspath(root)
        self._attempt = attempt
        self._keep = max(1, keep or KEEP_DEFAULT)
        self._base = os.path.abspath(base) if base else ""
        self._entries: Dict[str, Optional[Entry]] = {}

    def path(self, step: int) -> str:
        return os.path.join(self._root, f"attempt-{self._attempt}", f"step-{step:08d}.pt")

    def saved(self, path: str, entry: Optional[Entry]) -> None:
        """`path` is durable, `entry` reports it (None: nobody to report to). Removes what is no longer needed."""
        self._entries[path] = entry
        self._prune()

    def newest(self) -> Optional[str]:
        """The newest save of this attempt's folder. Off the cluster only: on it, the platform says which counts."""
        saves = self._saves(os.path.dirname(self.path(0)))
        return saves[-1] if saves else None

    def _prune(self) -> None:
        own_folder = os.path.dirname(self.path(0))
        own = self._saves(own_folder)
        # What the platform was not told of yet cannot replace what it knows of.
        known = [path for path in own if self._entries.get(path) is None or self._entries[path].done]
        older = own[:own.index(known[-1])] if known else []
        doomed = [path for path in older if path not in known[-self._keep:]]
        if any(path in self._entries for path in known):
            for name in _listed(self._root):
                match = _ATTEMPT.fullmatch(name)
                if match and int(match.group(1)) < self._attempt:
                    doomed += self._saves(os.path.join(self._root, name))
        for path in doomed:
            if path != self._base:
                _unlink(path)
                self._entries.pop(path, None)
        for name in _listed(own_folder):         # what a killed writer left half done
            if name.endswith(TEMPORARY_SUFFIX):
                _unlink(os.path.join(own_folder, name))

    @staticmethod
    def _saves(folder: str) -> List[str]:
        named = ((int(match.group(1)), name) for name in _listed(folder) if (match := _SAVE.fullmatch(name)))
        return [os.path.join(folder, name) for _, name in sorted(named)]


def _listed(folder: str) -> List[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass                                     # it only takes room; the next save tries again
