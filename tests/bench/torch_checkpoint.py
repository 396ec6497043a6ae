"""torch.save and torch.load as the checkpoint bench's peers: prints one line of JSON.

    torch_checkpoint.py save|write|load|small FOLDER BYTES COUNT

write: the tensors' bytes by plain writes, without torch. small: COUNT tensors of 4 KiB, whatever BYTES says.
"""

import json
import os
import sys
import time

import torch


def flushed(path, work):
    """Milliseconds of `work` on a fresh file, and with the flush after it."""
    if os.path.exists(path):
        os.unlink(path)
    began = time.perf_counter()
    with open(path, "wb") as file:
        work(file)
        file.flush()
        written = time.perf_counter()
        os.fsync(file.fileno())
    return {"ms": (time.perf_counter() - began) * 1e3, "without_fsync_ms": (written - began) * 1e3}


def main():
    bench, folder, size, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    elements = 1024 if bench == "small" else size // count // 4
    model = {f"layers.{i}.weight": torch.rand(elements) for i in range(count)}
    path = os.path.join(folder, "torch")
    if bench == "write":
        line = flushed(path, lambda file: [file.write(memoryview(tensor.numpy())) for tensor in model.values()])
    else:
        line = flushed(path, lambda file: torch.save(model, file))
    if bench == "load":
        with open(path, "rb") as file:  # into the page cache
            while file.read(1 << 20):
                pass
        began = time.perf_counter()
        torch.load(path)
        line = {"ms": (time.perf_counter() - began) * 1e3}
    os.unlink(path)
    line["GBps"] = elements * 4 * count / line["ms"] / 1e6
    print(json.dumps(line))


if __name__ == "__main__":
    main()
