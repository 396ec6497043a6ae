"""tests/bench/run hfreduce: hfreduce beside OpenMPI's MPI_Allreduce, on this machine.

Whoever is compared takes turns, so that all see the same noise; ratios are medians over the rounds. Everything runs in
one network namespace where TCP's congestion control is reno: OpenMPI cannot choose it for its sockets. That needs root.
--model prints what a cluster would give instead, and measures nothing.
"""

import argparse
import os
import shutil
import sys
import tempfile

import hfreduce_model
import hfreduce_rows
from figures import Figures
from hfreduce_runs import CONGESTION, Runs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IN_NAMESPACE = "--in-namespace"


def enter_namespace():
    """Starts this program again in namespaces of its own: what it leaves running goes with it, whatever happens."""
    if os.geteuid() != 0:
        sys.exit("a network namespace with its own congestion control needs root (--model does not)")
    setup = f'ip link set lo up && sysctl -qw net.ipv4.tcp_congestion_control={CONGESTION} && exec "$@"'
    namespaces = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    os.execvp("unshare", [*namespaces, "sh", "-c", setup, "sh", sys.executable, *sys.argv, IN_NAMESPACE])


def main():
    parser = argparse.ArgumentParser(
        prog="tests/bench/run hfreduce", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), help="where the programs are")
    parser.add_argument("--rounds", type=int, help="turns of each [5; --quick: 1]")
    parser.add_argument("--quick", action="store_true", help="a tenth of the iterations, one round")
    parser.add_argument("--rows", default=",".join(hfreduce_rows.ROWS), help=f"some of: {','.join(hfreduce_rows.ROWS)}")
    parser.add_argument("--model", action="store_true", help="the scale model beside the Fire-Flyer paper's figure 7")
    parser.add_argument(IN_NAMESPACE, action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    figures = Figures("hfreduce")
    if args.model:
        return hfreduce_model.run(figures)
    rows = args.rows.split(",")
    for name in rows:
        if name not in hfreduce_rows.ROWS:
            parser.error(f"--rows: '{name}' is none; there are: {', '.join(hfreduce_rows.ROWS)}")
    if not args.in_namespace:
        enter_namespace()
    folder = tempfile.mkdtemp(prefix="glim-b-")
    try:
        runs = Runs(args.bin, folder, args.rounds or (1 if args.quick else 5), 10 if args.quick else 1)
        for name in rows:
            figures.tell(
                "load_average_before",
                round(os.getloadavg()[0], 2),
                "processes",
                1,
                row=name,
                cores=os.cpu_count(),
                congestion=CONGESTION,
            )
            hfreduce_rows.ROWS[name](runs, figures)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
