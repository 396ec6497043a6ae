"""Tasks that do what they can to stay (they fork, hide, ignore signals, fill memory, disk and log) are started and
killed N times by a real agent in each runtime, a third of them without their shim; and what an idle agent costs beside
tasks. As root. One line of JSON a figure; a round that leaves anything behind ends the run with its evidence."""

import os
import re
import sys

from figures import Figures
from programs import options_of, output_of, parser_of, test_program

PATIENCE_S = 6 * 3600
QUICK = {"rounds": 8}  # each kind of task once


def said_by(program, only, **more):
    text = output_of([program, f"--gtest_filter={only}"], PATIENCE_S, {**os.environ, **more})
    if not re.search(r"^\[  PASSED  \] [1-9]", text, re.MULTILINE):
        sys.exit(f"{program}: no test is named {only}")
    return text


def main():
    parser = parser_of("hostile", __doc__, QUICK)
    parser.add_argument("--rounds", type=int, default=500, help="tasks in each runtime [500]")
    args = options_of(parser)
    if os.geteuid() != 0:
        sys.exit("hostile tasks are held by their groups, which only root's agent has: run as root")
    figures = Figures("hostile")
    hostile = test_program(args.bin, "nodeagent/agent_hostile_test.cc")
    census = test_program(args.bin, "nodeagent/agent_census_test.cc")
    for runtime in ("process", "runc"):
        text = said_by(hostile, f"*HostileTest.NothingIsLeft/{runtime}", GLIM_HOSTILE_ROUNDS=str(args.rounds))
        seconds = int(re.search(r"NothingIsLeft/\w+ \((\d+) ms\)", text)[1]) / 1000
        figures.tell("hostile_tasks_left", 0, "tasks", args.rounds, 0, runtime=runtime, seconds=seconds)
        text = said_by(census, f"*CensusTest.AnIdleAgentCostsNextToNothing/{runtime}")
        share = float(re.search(r"an idle agent: ([0-9.]+) %", text)[1])
        figures.tell("idle_agent", share, "% of a core", 1, runtime=runtime)


if __name__ == "__main__":
    main()
