"""tests/bench/run sched: figures of the scheduling engine. A part is a module sched_*.py with add_options(parser) and
run(args, figures); without --parts, all run that are asked for by their options."""

import argparse
import os
import sys

import sched_growth
import sched_month
import sched_network
import sched_pareto
import sched_passes
import sched_starts
import sched_traces
from figures import Figures

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PARTS = {
    "traces": sched_traces,
    "pareto": sched_pareto,
    "network": sched_network,
    "month": sched_month,
    "passes": sched_passes,
    "growth": sched_growth,
    "starts": sched_starts,
}


def main():
    parser = argparse.ArgumentParser(prog="tests/bench/run sched", description=__doc__)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), help="where the programs are")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of: {','.join(PARTS)}")
    for part in PARTS.values():
        part.add_options(parser.add_argument_group(part.__doc__.splitlines()[0]))
    args = parser.parse_args()
    wanted = args.parts.split(",")
    for name in wanted:
        if name not in PARTS:
            parser.error(f"--parts: '{name}' is no part; there are: {', '.join(PARTS)}")
    figures = Figures("sched")
    ran = [PARTS[name].run(args, figures) for name in wanted]
    if not any(ran):
        sys.exit("nothing was measured: say what to measure, for example --traces DIR, --passes or --starts 10")


if __name__ == "__main__":
    main()
