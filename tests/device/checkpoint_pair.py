"""Saves and loads tensors of a device, three times, and prints the medians as one JSON line.

    checkpoint_pair.py glim|torch FOLDER cuda|cpu BYTES        FOLDER's disk is written; nothing stays there
"""

import json
import os
import shutil
import statistics
import sys
import tempfile
import time

import torch

ROUNDS, TENSORS = 3, 32


def settle(where):
    if where == "cuda":
        torch.cuda.synchronize()


def forget(path):
    """Has the page cache let go of a file, or of those in a folder: who goes on elsewhere finds nothing in it."""
    for file in [path] if os.path.isfile(path) else [entry.path for entry in os.scandir(path) if entry.is_file()]:
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def by_glim(folder, where, model):
    from glim.checkpoint import Checkpointer, open_checkpoint

    stalls, saves, loads = [], [], []
    with Checkpointer(os.path.join(folder, "glim"), keep=1) as saver:
        for step in range(ROUNDS + 1):  # the first takes the memory
            began = time.perf_counter()
            handle = saver.save_async(step, model)
            stalled = time.perf_counter()
            path = handle.wait().path
            saved = time.perf_counter()
            forget(path)
            reads = time.perf_counter()
            loaded = open_checkpoint(path).load()
            loaded = {name: tensor.to(where) for name, tensor in loaded.items()}
            settle(where)
            ended = time.perf_counter()
            if step > 0:
                stalls.append(stalled - began)
                saves.append(saved - began)
                loads.append(ended - reads)
    return stalls, saves, loads, loaded


def by_torch(folder, where, model):
    path = os.path.join(folder, "torch")
    stalls, saves, loads = [], [], []
    for step in range(ROUNDS + 1):
        began = time.perf_counter()
        with open(path, "wb") as file:
            torch.save(model, file)
            file.flush()
            os.fsync(file.fileno())
        saved = time.perf_counter()
        forget(path)
        reads = time.perf_counter()
        loaded = torch.load(path, map_location=where)
        settle(where)
        ended = time.perf_counter()
        if step > 0:
            stalls.append(saved - began)
            saves.append(saved - began)
            loads.append(ended - reads)
    return stalls, saves, loads, loaded


def main():
    by, where, size = sys.argv[1], sys.argv[3], int(sys.argv[4])
    model = {f"layers.{i}.weight": torch.rand(size // TENSORS // 4, device=where) for i in range(TENSORS)}
    settle(where)
    folder = tempfile.mkdtemp(prefix="checkpoints-", dir=sys.argv[2])
    try:
        stalls, saves, loads, loaded = {"glim": by_glim, "torch": by_torch}[by](folder, where, model)
        wrong = [name for name, tensor in model.items() if not torch.equal(tensor, loaded[name])]
        if wrong:
            sys.exit(f"{wrong[0]} is not what was saved")
    finally:
        shutil.rmtree(folder)
    save, load = statistics.median(saves), statistics.median(loads)
    print(
        json.dumps(
            {
                "memory": where,
                "tensors": TENSORS,
                "stall_ms": round(1e3 * statistics.median(stalls), 2),
                "durable_ms": round(1e3 * save, 2),
                "save_GBps": round(size / save / 1e9, 3),
                "load_ms": round(1e3 * load, 2),
                "load_GBps": round(size / load / 1e9, 3),
            }
        )
    )


if __name__ == "__main__":
    main()
