"""Checkpoints of tensors on a card: glim.checkpoint beside torch.save, a JSON line for each size.

Both write to the same folder and end on the disk (fsync); both read what they wrote, from the disk, and leave the
tensors on the device. `stall_ms` is how long the training would have stood still.
"""

import os
import sys

from journal import json_lines

SIZES = [64 << 20, 1 << 30, 2 << 30]
STANDIN_SIZES = [8 << 20]


def compare(journal, root, build, cuda):
    modules = os.path.join(build, "python")
    if not os.path.isdir(modules):
        journal.absent("checkpoints beside torch.save", "the Python modules were not built: Python.h is not there")
        return
    environment = {"PYTHONPATH": os.path.join(root, "sdk/python") + os.pathsep + modules}
    program = os.path.join(root, "tests/device/checkpoint_pair.py")
    for size in SIZES if cuda.is_real else STANDIN_SIZES:
        for by in ("glim", "torch"):
            command = [sys.executable, program, by, build, "cuda" if cuda.is_real else "cpu", str(size)]
            code, text = journal.output(command, 120, environment)
            what = f"checkpoint by {by}, {size} bytes"
            if code != 0:
                journal.fail(what, f"exit code {code}: {text.strip().splitlines()[-1:]}")
                continue
            journal.passes(what)
            journal.line("checkpoint", by=by, bytes=size, **json_lines(text)[-1])
