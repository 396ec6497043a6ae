"""tests/bench/run reports: lists with filters and reports over history (glim-bench-reports).

A page of 200 jobs out of a million by each filter; a report of a month over a million ended jobs in a SQLite file, and
what planning passes and submissions take meanwhile, beside what they take alone.
"""

import os

from programs import lines_of, options_of, parser_of

from clusters import add_dir, folder_on_disk
from figures import Figures

PATIENCE_S = 3600
PAGE_AIM_MS, REPORT_AIM_MS = 20, 2000
NUMBERS = {"jobs": 1_000_000, "pages": 300, "reports": 5, "alone": 10}
QUICK = {"jobs": 20_000, "pages": 5, "reports": 20, "alone": 1}


def tell(figures, line):
    part, more = line.pop("part"), line
    if part == "page":
        value = line.pop("p99_ms")
        figures.tell("page_p99", value, "ms", line["of"], PAGE_AIM_MS, met=value < PAGE_AIM_MS, **more)
    elif part == "report":
        value = line.pop("max_ms")
        figures.tell("report_max", value, "ms", line["jobs"], REPORT_AIM_MS, met=value < REPORT_AIM_MS, **more)
    elif part == "cluster":
        figures.tell("running", line["running"], "jobs", 1)
    else:
        figures.tell(f"{line.pop('what')}_meanwhile_p99", line.pop("p99_ms"), "ms", line.pop("meanwhile"), **more)


def main():
    parser = parser_of("reports", __doc__, QUICK)
    add_dir(parser)
    parser.add_argument("--store", default="", help="its URL, in place of a file of SQLite")
    for name, number in NUMBERS.items():
        parser.add_argument(f"--{name}", type=int, default=number, help=f"[{number}]")
    args = options_of(parser)
    figures = Figures("reports")
    argv = [os.path.join(args.bin, "glim-bench-reports")]
    for name in NUMBERS:
        argv += [f"--{name}", getattr(args, name)]
    with folder_on_disk(args.dir) as folder:
        store = args.store or "sqlite:" + os.path.join(folder, "history.db")
        for line in lines_of([*argv, "--store", store], PATIENCE_S):
            tell(figures, line)


if __name__ == "__main__":
    main()
