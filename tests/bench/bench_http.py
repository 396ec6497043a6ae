"""tests/bench/run http: what pages that watch the scheduler cost.

A real scheduler, 1,250 simulated agents, 100 one-node jobs a second, each submitted by itself: first nobody watches,
then 500 streams of `nodes,queue` are open. The programs share this machine's cores with the scheduler; the submitter,
the agents and the watchers take most of them, and a ratio of latencies says as much of them as of the scheduler."""

import os

from programs import options_of, parser_of, told_by

from clusters import add_dir, folder_on_disk
from figures import Figures

AIM_CORES = 0.1
QUICK = {"watchers": 8, "agents": 20, "seconds": 1}


def main():
    parser = parser_of("http", __doc__, QUICK)
    add_dir(parser)
    parser.add_argument("--watchers", type=int, default=500)
    parser.add_argument("--agents", type=int, default=1250)
    parser.add_argument("--rate", type=int, default=100, help="jobs a second [100]")
    parser.add_argument("--seconds", type=float, default=20, help="each way [20]")
    parser.add_argument("--topics", default="nodes,queue")
    args = options_of(parser)
    figures = Figures("http")
    argv = [os.path.join(args.bin, "glim-bench-stream"), "--scheduler", os.path.join(args.bin, "glim-scheduler")]
    for name in ("topics", "watchers", "agents", "rate", "seconds"):
        argv += [f"--{name}", getattr(args, name)]
    with folder_on_disk(args.dir) as folder:
        told = told_by([*argv, "--folder", folder])
    cores = told.pop("http_cores")
    shared = {"topics": args.topics, "cores": os.cpu_count(), **told}
    figures.tell("http_stream_cores", cores, "cores", args.watchers, AIM_CORES, met=cores < AIM_CORES, **shared)


if __name__ == "__main__":
    main()
