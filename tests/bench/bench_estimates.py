"""tests/bench/run estimates: how often a job really started within the range that `glim why` would have shown it
when it
began to wait. The range goes from the tenth to the ninetieth percentile of what may come: 0.8 is honest. One line a
trace; the value is the share within the range."""

import argparse
import json
import os
import subprocess

from figures import Figures

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
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
    parser = argparse.ArgumentParser(prog="tests/bench/run estimates", description=__doc__)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), help="where the programs are")
    parser.add_argument("--traces", metavar="DIR", required=True, help="the folder with the traces")
    parser.add_argument(
        "--cells", default="itp06@18,itp02@32,thetagpu_jan_apr@16", help="trace@nodes,... [%(default)s]"
    )
    parser.add_argument("--policy", help="a policy file")
    args = parser.parse_args()
    figures = Figures("estimates")
    for cell in args.cells.split(","):
        trace, _, nodes = cell.partition("@")
        if not nodes.isdigit():
            parser.error(f"--cells: '{cell}' is no trace@nodes")
        argv = [
            os.path.join(args.bin, "glim-sim"),
            "--trace",
            os.path.join(args.traces, trace + ".csv"),
            "--nodes",
            nodes,
            "--estimates",
            "--json",
        ] + (["--policy", args.policy] if args.policy else [])
        result = subprocess.run(argv, capture_output=True, text=True)
        if result.returncode not in (0, 1) or not result.stdout:
            raise SystemExit(f"{' '.join(argv)}: {result.stderr}")
        said = json.loads(result.stdout)
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
