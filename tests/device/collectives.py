"""AllReduce of buffers on one card: hfreduce beside NCCL and Gloo, a JSON line for each size and number of ranks.

`bus_GBps` is 2(N-1)/N of the buffer's bytes over the median of the slowest rank's times: what NCCL's own tests call bus
bandwidth. Over the stand-in, and where torch sees no GPU, the buffers of Gloo lie in the host's memory: `memory` tells.
"""

import os
import sys

from journal import json_lines

SIZES = [4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30]
STANDIN_SIZES = [4 << 10, 1 << 20]
RANKS = [2, 4]


def iterations(size):
    return 200 if size <= 64 << 10 else 50 if size <= 1 << 20 else 20 if size <= 16 << 20 else 5


def compare(journal, build, cuda, quick):
    sizes = SIZES if cuda.is_real else STANDIN_SIZES[:1] if quick else STANDIN_SIZES
    for ranks in RANKS if not quick else RANKS[:1]:
        for size in sizes:
            _hfreduce(journal, build, cuda, size, ["--nodes", "1", "--local", str(ranks)], ranks)
        if not quick:
            _torch(journal, cuda, "gloo", ranks, sizes)
            if cuda.is_real:
                _torch(journal, cuda, "nccl", ranks, sizes)
    if not quick:
        for size in sizes:  # between nodes, over sockets of this machine
            _hfreduce(journal, build, cuda, size, ["--nodes", "2", "--local", "1", "--transport", "tcp"], 2)


def _hfreduce(journal, build, cuda, size, shape, ranks):
    count = iterations(size)
    command = [
        os.path.join(build, "bin/hfreduce-bench"),
        *shape,
        "--memory",
        "device",
        "--cuda-runtime",
        cuda.runtime,
        "--bytes",
        str(size),
        "--iters",
        str(count),
        "--warmup",
        str(max(count // 10, 1)),
    ]
    code, text = journal.output(command, 60)
    what = f"allreduce hfreduce {size} bytes, {ranks} ranks"
    if code != 0:
        journal.fail(what, f"exit code {code}: {text.strip().splitlines()[-1:]}")
        return
    line = json_lines(text)[-1]
    journal.passes(what)
    journal.line(
        "allreduce",
        by="hfreduce",
        transport=line["transport"],
        nodes=line["nodes"],
        ranks=ranks,
        bytes=size,
        memory="device",
        median_us=line["median_us"],
        best_us=line["best_us"],
        bus_GBps=bus(size, ranks, line["median_us"]),
        iterations=count,
    )


def _torch(journal, cuda, backend, ranks, sizes):
    where = "cuda" if cuda.is_real else "cpu"
    command = [
        sys.executable,
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_allreduce.py"),
        backend,
        str(ranks),
        where,
        *[f"{size}:{iterations(size)}" for size in sizes],
    ]
    code, text = journal.output(command, 120)
    lines = json_lines(text)
    for line in lines:
        journal.line(
            "allreduce",
            by=backend,
            ranks=ranks,
            memory=where,
            **line,
            bus_GBps=bus(line["bytes"], ranks, line["median_us"]),
        )
    if code != 0 or len(lines) < len(sizes):
        # NCCL refuses two ranks on one card: that is no fault of ours, and there is nothing to compare with.
        said = [line for line in text.splitlines() if "Error" in line or "Duplicate" in line or "not done" in line]
        journal.absent(f"allreduce by {backend}, {ranks} ranks", (said or text.splitlines() or ["said nothing"])[-1])


def bus(size, ranks, median_us):
    return round(2 * (ranks - 1) / ranks * size / median_us / 1e3, 3)
