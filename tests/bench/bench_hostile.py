"""Tasks that do what they can to stay (they fork, hide, ignore signals, fill memory, disk and log) are started and
killed N times by a real agent in each runtime, a third of them without their shim; and what an idle agent costs beside
tasks. As root. One line of JSON a figure; a round that leaves anything behind ends the run with its evidence."""

import argparse
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "build", "release", "test", "agent_test")


def run(only, **more):
    command = [PROGRAM, f"--gtest_filter={only}"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **more})
    if done.returncode != 0 or "[  PASSED  ]" not in done.stdout:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-8000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500, help="tasks in each runtime (500)")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("hostile tasks are held by their groups, which only root's agent has: run as root")
    for runtime in ("process", "runc"):
        text = run(f"*HostileTest.NothingIsLeft/{runtime}", GLIM_HOSTILE_ROUNDS=str(options.rounds))
        seconds = int(re.search(r"NothingIsLeft/\w+ \((\d+) ms\)", text)[1]) / 1000
        row = {"figure": "hostile", "runtime": runtime, "rounds": options.rounds, "left": 0}
        print(json.dumps({**row, "seconds": seconds}), flush=True)
        text = run(f"*CensusTest.AnIdleAgentCostsNextToNothing/{runtime}")
        share = float(re.search(r"an idle agent: ([0-9.]+) %", text)[1])
        print(json.dumps({"figure": "idle_agent", "runtime": runtime, "core_percent": share}), flush=True)


if __name__ == "__main__":
    main()
