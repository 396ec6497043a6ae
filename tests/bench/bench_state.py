"""tests/bench/run state: the state that changes all the time (glim-bench-state).

Rows stored a second while every rank of 10,000 nodes steps each second, of 1-node jobs and of gangs; and what is kept
of a 512-node job after 1,000 attempts: bytes of its rows, and how long a start takes to read them.
"""

import os

from figures import Figures
from programs import lines_of, options_of, parser_of

PATIENCE_S = 1800
AIMS = {"rows_a_second": 200, "cpu_ms_a_second": None, "bytes": 2_000_000, "load_ms": 50}
UNITS = {"rows_a_second": "rows/s", "cpu_ms_a_second": "ms/s", "bytes": "bytes", "load_ms": "ms"}
NUMBERS = {"nodes": 10_000, "gang": 512, "attempts": 1_000, "seconds": 120}
QUICK = {"nodes": 128, "gang": 8, "attempts": 5, "seconds": 2}


def tell(figures, line):
    """A figure for each value that has a unit; the others say of what it is."""
    more = {name: value for name, value in line.items() if name not in UNITS}
    for name in UNITS:
        if name in line:
            aim = AIMS[name]
            judged = {} if aim is None else {"met": line[name] < aim}
            figures.tell(name, line[name], UNITS[name], line["nodes"], aim, **judged, **more)


def main():
    parser = parser_of("state", __doc__, QUICK)
    for name, number in NUMBERS.items():
        parser.add_argument(f"--{name}", type=int, default=number, help=f"[{number}]")
    args = options_of(parser)
    figures = Figures("state")
    argv = [os.path.join(args.bin, "glim-bench-state")]
    for name in NUMBERS:
        argv += [f"--{name}", getattr(args, name)]
    for line in lines_of(argv, PATIENCE_S):
        tell(figures, line)


if __name__ == "__main__":
    main()
