"""tests/bench/run checkpoint: the checkpoint manager beside fio, torch.save and plain writes, on one disk.

Whoever is compared takes turns, so that all see the same noise; ratios are medians over the rounds. Files are fresh
each time, and durable: fio ends with an fsync, torch.save and the plain write are followed by one.
"""

import os
import shutil
import sys
import tempfile

import checkpoint_rows
from checkpoint_runs import Runs
from figures import Figures, filesystem_of
from programs import ROOT, chosen, options_of, parser_of, size_of

QUICK = {"bytes": 128 << 20, "rounds": 1, "tensors": 1000}  # a write that lasts for some of the trainer's steps


def main():
    parser = parser_of("checkpoint", __doc__, QUICK)
    parser.add_argument("--dir", default=ROOT, help="a folder on the disk in question [the checkout]")
    parser.add_argument("--bytes", type=size_of, default=1 << 30, help="of all tensors [1GiB]")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each [5]")
    every = ",".join(checkpoint_rows.ROWS)
    parser.add_argument("--rows", default=every, help=f"some of: {every}")
    parser.add_argument("--tensors", type=int, default=100_000, help="of 4 KiB, of the row 'small' [100000]")
    args = options_of(parser)
    rows = chosen(parser, "rows", args.rows, checkpoint_rows.ROWS)
    if not shutil.which("fio"):
        sys.exit("fio is not there; install it: deploy/install-deps bench")
    figures = Figures("checkpoint")
    folder = tempfile.mkdtemp(prefix="glim-bench-", dir=args.dir)
    try:
        runs = Runs(args.bin, folder, args.bytes, args.rounds, args.tensors)
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
