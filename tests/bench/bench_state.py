"""tests/bench/run state: the state that changes all the time (glim-bench-state).

Rows stored a second while every rank of 10,000 nodes steps each second, of 1-node jobs and of gangs; and what is kept
of a 512-node job after 1,000 attempts: bytes of its rows, and how long a start takes to read them.
"""

import argparse
import json
import os
import subprocess

BIN = os.path.join(os.path.dirname(__file__), "..", "..", "build", "release", "bin")
PATIENCE_S = 1800
AIMS = {"rows_a_second": 200, "bytes": 2_000_000, "load_ms": 50}


def main():
    parser = argparse.ArgumentParser(
        prog="tests/bench/run state",
        usage="%(prog)s [--nodes N] [--gang N] [--attempts N] [--seconds S]",
        description=__doc__,
    )
    _, options = parser.parse_known_args()
    result = subprocess.run(
        [os.path.join(BIN, "glim-bench-state"), *options],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    for line in result.stdout.splitlines():
        figure = json.loads(line)
        for name, aim in AIMS.items():
            if name in figure:
                figure[name + "_aim"] = aim
                figure[name + "_met"] = figure[name] < aim
        print(json.dumps(figure))


if __name__ == "__main__":
    main()
