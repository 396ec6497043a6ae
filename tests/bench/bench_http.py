"""tests/bench/run http: what pages that watch the scheduler cost.

A real scheduler, 1,250 simulated agents, 100 one-node jobs a second, each submitted by itself: first nobody watches,
then 500 streams of `nodes,queue` are open. The programs share this machine's cores with the scheduler; the submitter,
the agents and the watchers take most of them, and a ratio of latencies says as much of them as of the scheduler."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

from figures import Figures

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(ROOT, "build", "release", "bin")
AIM_CORES = 0.1
PATIENCE_S = 600


def main():
    parser = argparse.ArgumentParser(prog="tests/bench/run http", description=__doc__)
    parser.add_argument("--dir", default="/var/tmp", help="where the store is made: not a tmpfs [/var/tmp]")
    parser.add_argument("--watchers", type=int, default=500)
    parser.add_argument("--agents", type=int, default=1250)
    parser.add_argument("--rate", type=int, default=100, help="jobs a second [100]")
    parser.add_argument("--seconds", type=float, default=20, help="each way [20]")
    parser.add_argument("--topics", default="nodes,queue")
    args = parser.parse_args()
    figures = Figures("http")
    folder = tempfile.mkdtemp(prefix="glim-b-", dir=args.dir)
    try:
        told = measure(args, folder)
    finally:
        shutil.rmtree(folder)
    cores = told.pop("http_cores")
    shared = {"topics": args.topics, "cores": os.cpu_count(), **told}
    figures.tell("http_stream_cores", cores, "cores", args.watchers, AIM_CORES, met=cores < AIM_CORES, **shared)


def measure(args, folder):
    argv = [os.path.join(BIN, "glim-bench-stream"), "--scheduler", os.path.join(BIN, "glim-scheduler")]
    argv += ["--folder", folder, "--topics", args.topics]
    for name in ("watchers", "agents", "rate", "seconds"):
        argv += [f"--{name}", str(getattr(args, name))]
    result = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S)
    if result.returncode != 0:
        sys.exit(result.stderr)
    return json.loads(result.stdout)


if __name__ == "__main__":
    main()
