"""Runs as the first thing in a task of the job that came in, and writes down who was still there at that moment.

    witness.py --cluster FOLDER --attempts 3.1,4.1 --out OUT      then the task's own command

OUT/rank-R.json: {"time": seconds since the epoch, "alive": {"job.attempt": [process ids]}, "init": what process 1 is,
"namespaces": {"net": ..., "pid": ...}}. In a container the machine's /proc is mounted at /host/proc. Every process of a task
carries GLIM_TASK, those that daemonised too, so an empty list means that the nodes were empty of that attempt. (A later
attempt of the same job may run already on a node that a quicker rank of ours has left.)
"""

import argparse
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from cluster.processes import processes_of  # noqa: E402


def where():
    with open("/proc/1/comm") as file:
        init = file.read().strip()
    return {"init": init, "namespaces": {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in ("net", "pid")}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cluster", required=True, help="the cluster's folder")
    parser.add_argument("--attempts", required=True, help="JOB.ATTEMPT, with commas between")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    now = time.time()
    proc = "/host/proc" if os.path.isdir("/host/proc") else "/proc"
    alive = {name: processes_of(args.cluster, *name.split("."), proc=proc) for name in args.attempts.split(",")}
    rank = os.environ.get("GLIM_RANK", "0")
    os.makedirs(args.out, exist_ok=True)
    path = os.path.join(args.out, f"rank-{rank}.json")
    with open(path + ".part", "w") as file:
        json.dump({"time": now, "alive": alive, **where()}, file)
    os.replace(path + ".part", path)
    for name, pids in alive.items():
        print(f"of attempt {name} {len(pids)} processes are alive", flush=True)


if __name__ == "__main__":
    main()
