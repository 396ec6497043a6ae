"""How the checkpoint bench runs its programs: ckpt-bench, fio, and torch in a process of its own."""

import json
import os
import statistics
import subprocess
import sys

PATIENCE_S = 600
BLOCK_BYTES, DEPTH = 4 << 20, 4  # ckpt-bench's own


class Runs:
    """`folder` is on the disk in question; what is made there is removed."""

    def __init__(self, bin_folder, folder, size, rounds):
        self.bin, self.folder, self.size, self.rounds = bin_folder, folder, size, rounds

    def ckpt(self, bench, *options, rounds=1):
        return tell_of(
            [
                os.path.join(self.bin, "ckpt-bench"),
                bench,
                "--dir",
                self.folder,
                "--json",
                "--rounds",
                rounds,
                *(("--bytes", self.size) if bench != "small" else ()),
                *options,
            ]
        )

    def fio(self, way):
        """write: a fresh file, flushed at the end. read: that of an earlier write, which stays until `remove`."""
        path = os.path.join(self.folder, "fio")
        if way == "write" and os.path.exists(path):
            os.unlink(path)
        told = tell_of(
            [
                "fio",
                "--name=bench",
                f"--filename={path}",
                f"--rw={way}",
                f"--size={self.size}",
                f"--bs={BLOCK_BYTES}",
                f"--iodepth={DEPTH}",
                "--ioengine=io_uring",
                "--direct=1",
                "--end_fsync=1",
                "--invalidate=1",
                "--output-format=json",
            ]
        )
        # The job's time has the flush in it, fio's own bandwidth has not.
        job = told["jobs"][0]
        return {"ms": job["job_runtime"], "GBps": self.size / job["job_runtime"] / 1e6}

    def torch(self, bench, count=64):
        """torch_checkpoint.py's line; `count` tensors."""
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_checkpoint.py")
        return tell_of([sys.executable, script, bench, self.folder, self.size, count])

    def alternate(self, contenders):
        """{name: call} -> {name: [what each round's call gave]}"""
        told = {name: [] for name in contenders}
        for _ in range(self.rounds):
            for name, call in contenders.items():
                told[name].append(call())
        return told


def tell_of(argv):
    argv = [str(word) for word in argv]
    try:
        result = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S)
    except FileNotFoundError:
        raise SystemExit(f"{argv[0]} is not there; build it, or say --bin") from None
    except subprocess.TimeoutExpired:
        raise SystemExit(f"{' '.join(argv)}: not done after {PATIENCE_S} s") from None
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(argv)}: {result.stderr}")
    return json.loads(result.stdout)


def median(values):
    return statistics.median(values)
