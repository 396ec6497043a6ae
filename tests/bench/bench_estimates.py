"""tests/bench/run estimates: how often a job really started within the range that `glim why` would have shown it when
it began to wait. The range goes from the tenth to the ninetieth percentile of what may come: 0.8 is honest. One line a
trace; the value is the share within the range."""

import os
import tempfile

from figures import Figures
from programs import options_of, parser_of, told_by
from sched_traces import PATIENCE_S, made_trace

HONEST = 0.8
KEYS = (
    "estimates_unknown",
    "estimates_early_fraction",
    "estimates_late_fraction",
    "estimate_width_median_s",
    "invariant_violations",
    "wall_s",
)


def main():
    parser = parser_of("estimates", __doc__, {})
    parser.add_argument("--traces", metavar="DIR", help="the folder with the traces")
    parser.add_argument(
        "--cells", default="itp06@18,itp02@32,thetagpu_jan_apr@16", help="trace@nodes,... [%(default)s]"
    )
    parser.add_argument("--policy", help="a policy file")
    args = options_of(parser)
    with tempfile.TemporaryDirectory() as folder:
        if args.quick and not args.traces:
            args.traces, args.cells = folder, made_trace(folder)
        if not args.traces:
            parser.error("say where the traces are, --traces DIR (--quick makes one)")
        measure(parser, args, Figures("estimates"))


def measure(parser, args, figures):
    for cell in args.cells.split(","):
        trace, _, nodes = cell.partition("@")
        if not nodes.isdigit():
            parser.error(f"--cells: '{cell}' is no trace@nodes")
        argv = [os.path.join(args.bin, "glim-sim"), "--trace", os.path.join(args.traces, trace + ".csv")]
        argv += ["--nodes", nodes, "--estimates", "--json", *(["--policy", args.policy] if args.policy else [])]
        said = told_by(argv, PATIENCE_S, codes=(0, 1))
        figures.tell(
            "estimates_within",
            said["estimates_within_fraction"],
            "share",
            said["estimates_asked"],
            HONEST,
            cell=cell,
            **{key: said[key] for key in KEYS},
        )


if __name__ == "__main__":
    main()
