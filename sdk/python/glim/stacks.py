"""Lets the node's agent see where this process stands, whatever it hangs in: docs/protocols/task-socket.md, Stacks.

A file in memory whose name tells a signal; on that signal the interpreter's own fault handler appends the stacks of all
threads to it, in C, without the interpreter's lock. The training notices nothing.
"""

from __future__ import annotations

import faulthandler
import fcntl
import os
import signal

SIGNAL = getattr(signal, "SIGRTMIN", 34) + 3
_door = -1  # the file's descriptor: open for as long as the process lives


def open_door() -> bool:
    """Once a process. False: this interpreter cannot do it, or the program uses the signal itself."""
    global _door
    if _door >= 0:
        return True
    if not hasattr(os, "memfd_create") or not hasattr(faulthandler, "register"):
        return False
    if signal.getsignal(SIGNAL) != signal.SIG_DFL:
        return False
    try:
        file = os.memfd_create(f"glim-stacks-{SIGNAL}")
        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
        faulthandler.register(SIGNAL, file=file, all_threads=True, chain=False)
    except (OSError, RuntimeError, ValueError):
        return False
    _door = file
    return True
