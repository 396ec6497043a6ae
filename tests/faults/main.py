"""The fault run: real daemons on this machine, jobs of all sorts, and faults, one after the other. A round is one fault
and the recovery from it.

    tests/faults/run [--seed N] [--life L] [--rounds R] [--store sqlite|postgres] [--runtime runc|process] [--keep]

Run by root, each life has a world of its own (own_world.py), and more can be struck: disks, storage, clocks.

Twenty rounds are one life of a cluster; then all jobs end, and what their ranks wrote down themselves is held against
what users were told (tests/faults/checker.py). What is not as it must be is printed with the seed that plays it again,
as far as real processes can be: seed N.L is `--seed N --life L`. The last line is "N passed, M failed", in rounds."""

import argparse
import os
import signal
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy"))
sys.dont_write_bytecode = True

from cluster.folders import make_folder, remove_folder  # noqa: E402
from cluster.local_cluster import default_runtime  # noqa: E402
from life import Life  # noqa: E402
from own_world import run_apart  # noqa: E402

BIN = os.environ.get("GLIM_TEST_BIN", os.path.join(ROOT, "build", "release", "bin"))
ROUNDS_A_LIFE = 20


def run_life(args, number, rounds):
    """True if nothing was wrong. Root's lives have worlds of their own."""
    sys.stdout.flush()
    folder = make_folder("glim-faults-")
    try:
        if os.geteuid() == 0:
            return run_apart(lambda: 0 if live(args, folder, number, rounds, apart=True) else 1) == 0
        return live(args, folder, number, rounds, apart=False)
    except KeyboardInterrupt:
        remove_folder(folder)  # it says nothing
        raise


def live(args, folder, number, rounds, apart):
    seed = f"{args.seed}.{number}"
    began = time.monotonic()
    print(f"==> seed {seed}: {rounds} rounds, {args.runtime}, {args.store}", flush=True)
    life = Life(BIN, ROOT, folder, seed, args.runtime, args.store, lambda line: print(f"    {line}", flush=True), apart)
    found = life.live(rounds)
    for problem in found:
        print(f"VIOLATION seed {seed}: {problem}", flush=True)
    jobs, attempts = len(life.submitted), sum(len(job["attempts"]) for job in life.told.values())
    took = time.monotonic() - began
    print(f"    {jobs} jobs, {attempts} attempts, {len(found)} violations, {took:.0f} s", flush=True)
    if found or args.keep:
        print(f"    kept: {folder}", flush=True)
    else:
        life.remove()
    return not found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--life", type=int, default=1, help="the number of the first life (default: 1)")
    parser.add_argument("--rounds", type=int, default=ROUNDS_A_LIFE)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--runtime", choices=("runc", "process"), default=default_runtime())
    parser.add_argument("--keep", action="store_true", help="keep the folders of good lives too")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    lives = [min(ROUNDS_A_LIFE, args.rounds - at) for at in range(0, args.rounds, ROUNDS_A_LIFE)]
    passed = failed = 0
    for number, rounds in enumerate(lives, args.life):
        if run_life(args, number, rounds):
            passed += rounds
        else:
            failed += rounds
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
