"""tests/bench/run hfreduce: hfreduce beside OpenMPI's MPI_Allreduce, on this machine.

Whoever is compared takes turns, so that all see the same noise; ratios are medians over the rounds. Everything runs in
one network namespace where TCP's congestion control is reno: OpenMPI cannot choose it for its sockets. Without root it
is made in a user namespace, where the system allows these. --model prints what a cluster would give instead, and
measures nothing.
"""

import os
import shutil
import sys
import tempfile

import hfreduce_model
import hfreduce_rows
from figures import Figures
from hfreduce_runs import CONGESTION, LARGE_MIB, MIB, Runs
from programs import chosen, options_of, parser_of

IN_NAMESPACE = "--in-namespace"
QUICK = {"rounds": 1, "shorter": 100, "large_mib": 2, "stands_s": 0.5}


def enter_namespace():
    """Starts this program again in namespaces of its own: what it leaves running goes with it, whatever happens."""
    setup = f'ip link set lo up && sysctl -qw net.ipv4.tcp_congestion_control={CONGESTION} && exec "$@"'
    namespaces = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        namespaces += ["--user", "--map-root-user"]
    environment = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}  # ip's and sysctl's
    program = [sys.executable, *sys.argv, IN_NAMESPACE]
    os.execvpe("unshare", ["unshare", *namespaces, "sh", "-c", setup, "sh", *program], environment)


def main():
    parser = parser_of("hfreduce", __doc__, QUICK)
    parser.add_argument("--rounds", type=int, default=5, help="turns of each [5]")
    parser.add_argument("--shorter", type=int, default=1, help="by what the numbers of iterations are divided [1]")
    parser.add_argument("--large-mib", type=int, default=LARGE_MIB, help=f"of the largest buffers [{LARGE_MIB}]")
    parser.add_argument("--stands-s", type=float, default=2, help="for how long a rank stands still [2]")
    parser.add_argument("--rows", default=",".join(hfreduce_rows.ROWS), help=f"some of: {','.join(hfreduce_rows.ROWS)}")
    parser.add_argument("--model", action="store_true", help="the scale model beside the Fire-Flyer paper's figure 7")
    parser.add_argument(IN_NAMESPACE, action="store_true", help="it runs in its own already")
    args = options_of(parser)
    figures = Figures("hfreduce")
    if args.model:
        return hfreduce_model.run(figures)
    rows = chosen(parser, "rows", args.rows, hfreduce_rows.ROWS)
    if not args.in_namespace:
        enter_namespace()
    folder = tempfile.mkdtemp(prefix="glim-b-")
    try:
        runs = Runs(args.bin, folder, args.rounds, args.shorter, args.large_mib * MIB, args.stands_s)
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
