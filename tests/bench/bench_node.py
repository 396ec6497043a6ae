"""tests/bench/run node: what watches over a node, each part a module node_PART.py beside this one. `load` of a line is
the machine's load average: the times mean something where it is low. For root (the validator, a rank that hangs)."""

import argparse
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, name) for name in ("deploy", "tests/e2e", "tests/faults")]
sys.dont_write_bytecode = True

import node_false_alarms  # noqa: E402
import node_found  # noqa: E402
import node_idle  # noqa: E402
import node_recovery  # noqa: E402
import node_validator  # noqa: E402
from cluster.folders import make_folder, remove_folder  # noqa: E402
from figures import Figures  # noqa: E402

PARTS = {
    "idle": node_idle,
    "recovery": node_recovery,
    "found": node_found,
    "false_alarms": node_false_alarms,
    "validator": node_validator,
}


def main():
    parser = argparse.ArgumentParser(prog="tests/bench/run node", description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {','.join(PARTS)} [all]")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), help="where the programs are")
    parser.add_argument("--seconds", type=int, default=60, help="idle: for how long it is measured [60]")
    parser.add_argument("--rounds", type=int, default=30, help="recovery: how many faults [30]")
    parser.add_argument("--node-days", type=int, default=10_000, help="false_alarms: simulated [10000]")
    parser.add_argument("--seed", type=int, default=1, help="false_alarms: of the simulation [1]")
    parser.add_argument("--quick", action="store_true", help="every part for a moment: that it works, and no figures")
    args = parser.parse_args()
    args.library = os.path.join(os.path.dirname(args.bin), "test", "libfake-nvml.so")
    if args.quick:
        args.seconds, args.rounds, args.node_days = 2, 2, 500
    wanted = args.parts.split(",")
    for name in wanted:
        if name not in PARTS:
            parser.error(f"--parts: '{name}' is no part; there are: {', '.join(PARTS)}")
    figures = Figures("node")
    for name in wanted:
        folder = make_folder("glim-b-")
        try:
            PARTS[name].run(args, figures, folder)
        finally:
            remove_folder(folder)


if __name__ == "__main__":
    main()
