"""tests/bench/run checkpoint: the checkpoint manager beside fio, torch.save and plain writes, on one disk.

Whoever is compared takes turns, so that all see the same noise; ratios are medians over the rounds. Files are fresh
each time, and durable: fio ends with an fsync, torch.save and the plain write are followed by one.
"""

import argparse
import os
import shutil
import sys
import tempfile

import checkpoint_rows
from checkpoint_runs import Runs
from figures import Figures, filesystem_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def size(word):
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    number, unit = (word[:-3], units[word[-3:]]) if word[-3:] in units else (word, 1)
    return int(number) * unit


def main():
    parser = argparse.ArgumentParser(
        prog="tests/bench/run checkpoint", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), help="where the programs are")
    parser.add_argument("--dir", default=ROOT, help="a folder on the disk in question [the checkout]")
    parser.add_argument("--bytes", type=size, default=1 << 30, help="of all tensors [1GiB]")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each [5]")
    every = ",".join(checkpoint_rows.ROWS)
    parser.add_argument("--rows", default=every, help=f"some of: {every}")
    args = parser.parse_args()
    rows = args.rows.split(",")
    for name in rows:
        if name not in checkpoint_rows.ROWS:
            parser.error(f"--rows: '{name}' is none; there are: {', '.join(checkpoint_rows.ROWS)}")
    if not shutil.which("fio"):
        sys.exit("fio is not there; install it: deploy/install-deps bench")
    figures = Figures("checkpoint")
    folder = tempfile.mkdtemp(prefix="glim-bench-", dir=args.dir)
    try:
        runs = Runs(args.bin, folder, args.bytes, args.rounds)
        for name in rows:
            figures.tell(
                "load_average_before",
                round(os.getloadavg()[0], 2),
                "processes",
                1,
                row=name,
                cores=os.cpu_count(),
                filesystem=filesystem_of(folder),
                bytes=args.bytes,
            )
            checkpoint_rows.ROWS[name](runs, figures)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
