"""tests/bench/run reports: lists with filters and reports over history (glim-bench-reports).

A page of 200 jobs out of a million by each filter; a report of a month over a million ended jobs in a SQLite file, and
what planning passes and submissions take meanwhile, beside what they take alone.
"""

import argparse
import json
import os
import subprocess
import tempfile

BIN = os.path.join(os.path.dirname(__file__), "..", "..", "build", "release", "bin")
PATIENCE_S = 3600
AIMS = {"page": ("p99_ms", 20), "report": ("max_ms", 2000)}


def main():
    parser = argparse.ArgumentParser(
        prog="tests/bench/run reports",
        usage="%(prog)s [--dir DIR] [--jobs N] [--pages N] [--reports N] [--alone SECONDS] [--store URL]",
        description=__doc__,
    )
    parser.add_argument("--dir", default=None, help="where the database lies: a disk, not a tmpfs")
    parser.add_argument("--store", default="")
    known, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory(dir=known.dir) as folder:
        store = known.store or "sqlite:" + os.path.join(folder, "history.db")
        result = subprocess.run(
            [os.path.join(BIN, "glim-bench-reports"), "--store", store, *options],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    for line in result.stdout.splitlines():
        figure = json.loads(line)
        if figure["part"] in AIMS:
            name, aim = AIMS[figure["part"]]
            figure[name + "_aim"] = aim
            figure[name + "_met"] = figure[name] < aim
        print(json.dumps(figure))


if __name__ == "__main__":
    main()
