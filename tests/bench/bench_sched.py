"""tests/bench/run sched: figures of the scheduling engine. A part is a module sched_*.py with add_options(parser) and
run(args, figures); without --parts, all run that are asked for by their options."""

import sys
import tempfile

import sched_growth
import sched_month
import sched_network
import sched_pareto
import sched_passes
import sched_starts
import sched_traces
from figures import Figures
from programs import chosen, options_of, parser_of

PARTS = {
    "traces": sched_traces,
    "pareto": sched_pareto,
    "network": sched_network,
    "month": sched_month,
    "passes": sched_passes,
    "growth": sched_growth,
    "starts": sched_starts,
}


MEASURED = ("pareto", "network", "month", "passes", "growth", "baselines")
QUICK = {**dict.fromkeys(MEASURED, True), "starts": 1, "warm_up": 1, "agents": 20, "bounds": "8"}


def main():
    parser = parser_of("sched", __doc__, QUICK)
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of: {','.join(PARTS)}")
    for part in PARTS.values():
        part.add_options(parser.add_argument_group(part.__doc__.splitlines()[0]))
    args = options_of(parser)
    wanted = chosen(parser, "parts", args.parts, PARTS)
    figures = Figures("sched")
    with tempfile.TemporaryDirectory() as folder:
        if args.quick:
            args.traces, args.cells = folder, sched_traces.made_trace(folder)
        ran = [PARTS[name].run(args, figures) for name in wanted]
    if not any(ran):
        sys.exit("nothing was measured: say what to measure, for example --traces DIR, --passes or --starts 10")


if __name__ == "__main__":
    main()
