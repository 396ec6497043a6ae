"""What this process waits for in NCCL, for whoever asks why a job stands still: docs/protocols/task-socket.md, Stacks.

torch keeps a record of the collectives of each process group (its flight recorder, from torch 2.5 on; it is on unless
TORCH_NCCL_TRACE_BUFFER_SIZE is 0). Once this process has done no step for a while, a thread looks there now and then,
and writes what it finds into a file in memory that the agent reads. The fields of the record are those of torch's
document "Flight Recorder" (version 2.x of the record). While steps are done nothing is asked.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any, Callable, Dict, List, Optional

STILL_S = 20.0  # without a step, before torch is asked
LOOK_EVERY_S = 5.0
_FILE_BYTES = 512  # all of the file: words, then zeros
_WORDS_BYTES = 390  # the agent reads 400 bytes
_GROUPS_MAX = 3


def _dump() -> Optional[Callable[..., bytes]]:
    """None: no torch, or none with such a record, or no process group yet. Imports nothing."""
    distributed = sys.modules.get("torch.distributed")
    c10d = getattr(getattr(sys.modules.get("torch"), "_C", None), "_distributed_c10d", None)
    dump = getattr(c10d, "_dump_nccl_trace_json", None)
    return dump if dump is not None and distributed is not None and distributed.is_initialized() else None


def words_of(record: Dict[str, Any]) -> str:
    """Of a record with active collectives alone: "NCCL: waits in all_reduce (operation 512 of default_pg)". Empty: no
    group has had an operation."""
    pending: Dict[str, Dict[str, Any]] = {}
    for entry in record.get("entries", []):
        if entry.get("is_p2p") or entry.get("state") == "completed":
            continue
        group = str(entry["pg_id"])
        if group not in pending or entry["record_id"] < pending[group]["record_id"]:
            pending[group] = entry  # the oldest holds up the others
    waits: List[str] = []
    for entry in sorted(pending.values(), key=lambda one: int(one["record_id"]))[:_GROUPS_MAX]:
        name = str(entry["profiling_name"]).rpartition(":")[2]
        number = entry["collective_seq_id"]
        described = [str(part) for part in entry.get("process_group", []) if part]
        waits.append(f"{name} (operation {number} of {described[-1] if described else entry['pg_id']})")
    if waits:
        return "NCCL: waits in " + ", ".join(waits)
    done: List[str] = []
    names = {str(key): one.get("desc") or key for key, one in record.get("pg_config", {}).items()}
    for group, status in sorted(record.get("pg_status", {}).items()):
        last = int(status["last_completed_collective"])
        if last >= 0:
            done.append(f"operation {last} of {names.get(str(group), group)}")
    return "NCCL: waits in nothing; done last: " + ", ".join(done[:_GROUPS_MAX]) if done else ""


class NcclWaits:
    """Owns a thread and a file descriptor until stop(). `still_s`: seconds since the last sign of life; any thread."""

    def __init__(self, still_s: Callable[[], float], look_every_s: float = LOOK_EVERY_S) -> None:
        self._still_s, self._look_every_s = still_s, look_every_s
        self._stopped = threading.Event()
        self._file = -1
        self._said = ""
        self._thread = threading.Thread(target=self._run, name="glim-nccl", daemon=True)

    def start(self) -> None:
        if hasattr(os, "memfd_create"):
            self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._look_every_s):
            try:
                words = ""
                if self._still_s() >= STILL_S:
                    dump = _dump()
                    if dump is not None:
                        words = words_of(json.loads(dump(includeCollectives=True, onlyActive=True)))
                self._say(words)
            except Exception:  # a record of another form, no descriptor left: the training is not to notice
                return

    def _say(self, words: str) -> None:
        """A reader may come at any moment: the first byte is zero while the others change."""
        if words == self._said:
            return
        if self._file < 0:
            self._file = os.memfd_create("glim-waits")
        self._said = words
        data = words.encode()[:_WORDS_BYTES].ljust(_FILE_BYTES, b"\0")
        os.pwrite(self._file, b"\0", 0)
        if words:
            os.pwrite(self._file, data[1:], 1)
            os.pwrite(self._file, data[:1], 0)
