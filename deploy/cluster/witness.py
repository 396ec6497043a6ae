"""Runs as the first thing in a task of the job that came in, and has it written down who was still there at that
moment.

    witness.py --out OUT      then the task's own command

In a container it cannot see for itself, and must not: it puts OUT/rank-R.asked, with where it is ({"time": seconds
since the epoch, "init": what process 1 is, "uid": ours, "namespaces": {"net": ..., "pid": ...}}), and waits. A Watch
(watch.py) outside looks at the machine's processes and answers with OUT/rank-R.json: the same, and who was alive.
"""

import argparse
import json
import os
import time


def where():
    with open("/proc/1/comm") as file:
        init = file.read().strip()
    spaces = {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in ("net", "pid")}
    return {"init": init, "uid": os.getuid(), "namespaces": spaces}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--wait", type=float, default=30, help="seconds until the answer has to be there [30]")
    args = parser.parse_args()
    path = os.path.join(args.out, f"rank-{os.environ.get('GLIM_RANK', '0')}")
    with open(path + ".part", "w") as file:
        json.dump({"time": time.time(), **where()}, file)
    os.replace(path + ".part", path + ".asked")
    until = time.monotonic() + args.wait
    while not os.path.exists(path + ".json"):
        if time.monotonic() >= until:
            raise SystemExit(f"nobody answered {path}.asked")
        time.sleep(0.005)
    with open(path + ".json") as file:
        for name, pids in json.load(file)["alive"].items():
            print(f"of attempt {name} {len(pids)} processes are alive", flush=True)


if __name__ == "__main__":
    main()
