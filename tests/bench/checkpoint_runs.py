"""How the checkpoint bench runs its programs: ckpt-bench, fio, and torch in a process of its own."""

import os
import sys

from programs import told_by

BLOCK_BYTES, DEPTH = 4 << 20, 4  # ckpt-bench's own
SMALL_BYTES = 4096  # torch_checkpoint.py's


class Runs:
    """`folder` is on the disk in question; what is made there is removed."""

    def __init__(self, bin_folder, folder, size, rounds, small_tensors):
        self.bin, self.folder, self.size, self.rounds = bin_folder, folder, size, rounds
        self.small_tensors = small_tensors  # of 4 KiB

    def ckpt(self, bench, *options, rounds=1):
        size = self.small_tensors * SMALL_BYTES if bench == "small" else self.size
        argv = [os.path.join(self.bin, "ckpt-bench"), bench, "--dir", self.folder, "--json", "--rounds", rounds]
        return told_by([*argv, "--bytes", size, *options])

    def fio(self, way):
        """write: a fresh file, flushed at the end. read: that of an earlier write, which stays until `remove`."""
        path = os.path.join(self.folder, "fio")
        if way == "write" and os.path.exists(path):
            os.unlink(path)
        argv = ["fio", "--name=bench", f"--filename={path}", f"--rw={way}", f"--size={self.size}"]
        argv += [f"--bs={BLOCK_BYTES}", f"--iodepth={DEPTH}", "--ioengine=io_uring", "--direct=1", "--end_fsync=1"]
        told = told_by([*argv, "--invalidate=1", "--output-format=json"])
        # The job's time has the flush in it, fio's own bandwidth has not.
        job = told["jobs"][0]
        return {"ms": job["job_runtime"], "GBps": self.size / job["job_runtime"] / 1e6}

    def torch(self, bench, count=64):
        """torch_checkpoint.py's line; `count` tensors."""
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_checkpoint.py")
        return told_by([sys.executable, script, bench, self.folder, self.size, count])
