"""Whether what run.steps() goes over works in threads of its own, which may draw random numbers at any time.

Found by who begins a thread, and not by how many there are: Glim's saves, a metrics' thread or a timer of the script's
come and go at times that are others in each attempt, and change nothing. A source's threads are those that the training
thread begins while it is inside of the source's code, and those that the source has had before the loop.
"""

from __future__ import annotations

import functools
import threading
import types
from typing import Any, Dict, Iterable, List, Tuple

from . import walk

_inside: Dict[int, "Readers"] = {}  # by thread: it goes over a source just now


class Readers:
    """Of one session; used by the training thread only. As a context: its thread is inside of the source's code."""

    def __init__(self) -> None:
        self._before_loop: List[threading.Thread] = []
        self._begun: List[str] = []  # names of threads that may draw
        self.untold: List[str] = []  # names of threads that were found

    def __enter__(self) -> None:
        _inside[threading.get_ident()] = self

    def __exit__(self, *_: Any) -> None:
        _inside.pop(threading.get_ident(), None)

    def look_around(self) -> None:
        """Before the first call of the loop: which threads the script has begun until here."""
        _notice_starts()
        here = threading.current_thread()
        self._before_loop = [t for t in threading.enumerate() if t is not here and not _is_known(t)]

    def begun(self) -> bool:
        """Whether the source has begun a thread since this was asked. One that is over again counts as well: whether it
        is, depends on chance."""
        names, self._begun = self._begun, []
        self.untold += names
        return bool(names)

    def had_before(self, nodes: Iterable[Tuple[str, Any]]) -> bool:
        """Whether the source, of these `nodes`, has threads that were begun before the loop."""
        if not self._before_loop:
            return False
        held = {id(value) for _, value in nodes if not isinstance(value, (type, types.FunctionType))}
        found = [thread for thread in self._before_loop if _is_of(thread, held)]
        self._before_loop = [thread for thread in self._before_loop if thread not in found]
        self.untold += [thread.name for thread in found]
        return bool(found)

    def is_inside(self, thread: threading.Thread) -> None:
        """Of one that is about to begin: one that is over no longer says what it was for."""
        if not _is_known(thread):
            self._begun.append(thread.name)


@functools.lru_cache(maxsize=1)
def _notice_starts() -> None:
    """Once in a process. Python does not say which thread has started which."""
    start = threading.Thread.start

    @functools.wraps(start)
    def noticed(self: threading.Thread) -> None:
        readers = _inside.get(threading.get_ident())
        if readers is not None:
            readers.is_inside(self)
        start(self)

    setattr(threading.Thread, "start", noticed)


def _is_of(thread: threading.Thread, held: Iterable[int]) -> bool:
    """Whether the source holds the thread, or the thread a part of the source: as whose method it runs, as an argument
    or an attribute."""
    own = {name: value for name, value in vars(thread).items() if name not in walk.HIDDEN_IN_THREADS}
    roots = [thread, *own.values(), *(getattr(thread, "_args", None) or ())]
    roots += (getattr(thread, "_kwargs", None) or {}).values()
    target = getattr(thread, "_target", None)
    roots += [value for _, value in walk.children(target)] if target is not None else []
    return any(id(root) in held for root in roots)


def _is_known(thread: threading.Thread) -> bool:
    """It draws no random numbers: of a loader, a queue or a pool of processes, of a save, or of a progress bar."""
    if type(thread).__module__ == "multiprocessing.dummy":  # a pool of threads
        return False
    target = getattr(thread, "_target", None)
    module = getattr(target, "__module__", "") or type(thread).__module__
    if module.startswith(("torch.", "multiprocessing.", "concurrent.futures.process", "tqdm.", "glim.")):
        return True
    return thread.name.startswith(("glim", "QueueFeeder"))
