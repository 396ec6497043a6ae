"""tests/bench/run node: what watches over a node, each part a module node_PART.py beside this one. `load` of a line is
the machine's load average: the times mean something where it is low. For root (the validator, a rank that hangs)."""

import os
import sys

from programs import ROOT, chosen, options_of, parser_of

sys.path[:0] = [os.path.join(ROOT, name) for name in ("tests/e2e", "tests/faults")]
sys.dont_write_bytecode = True

import node_death  # noqa: E402
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
    "death": node_death,
    "found": node_found,
    "false_alarms": node_false_alarms,
    "validator": node_validator,
}


# A folder that hangs, a network that is cut, a core and a link that are made slow.
ROOTS = ("recovery", "death", "validator")
QUICK = {"seconds": 2, "rounds": 2, "node_days": 500, "state": 1 << 26}


def main():
    mine = [name for name in PARTS if os.geteuid() == 0 or name not in ROOTS]
    parser = parser_of("node", __doc__, QUICK)
    parser.add_argument("--parts", default=",".join(mine), help=f"some of {','.join(PARTS)} [all that this user can]")
    parser.add_argument("--seconds", type=int, default=60, help="idle: for how long it is measured [60]")
    parser.add_argument("--rounds", type=int, default=30, help="recovery, death: how many faults [30]")
    parser.add_argument("--state", type=int, default=1 << 30, help="death: bytes of the job's save [1 GiB]")
    parser.add_argument("--node-days", type=int, default=10_000, help="false_alarms: simulated [10000]")
    parser.add_argument("--seed", type=int, default=1, help="false_alarms: of the simulation [1]")
    args = options_of(parser)
    args.library = os.path.join(os.path.dirname(args.bin), "test", "libfake-nvml.so")
    wanted = chosen(parser, "parts", args.parts, PARTS)
    closed = [name for name in wanted if name not in mine]
    if closed:
        sys.exit(f"{', '.join(closed)}: only root can make the faults that are measured there")
    figures = Figures("node")
    for name in wanted:
        folder = make_folder("glim-b-")
        try:
            PARTS[name].run(args, figures, folder)
        finally:
            remove_folder(folder)


if __name__ == "__main__":
    main()
