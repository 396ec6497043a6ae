"""Pareto: what the mean queue costs those that wait longest, as starvation_bound moves (with --traces DIR)."""

import os
import tempfile

from sched_traces import MADE, play

CELLS = ("itp06@18", "itp02@32", "thetagpu_jan_apr@16")
BOUNDS_H = (2, 4, 8, 16, 24, 48, 96)
SHOWN = (
    "queue_mean_s",
    "queue_p999_s",
    "wait_p999_s",
    "wait_max_s",
    "slowdown_mean",
    "slowdown_p999",
    "interrupts",
    "checkpoint_overhead_fraction",
    "promises_broken",
    "invariant_violations",
)


def add_options(group):
    group.add_argument("--pareto", action="store_true", help="play the traces under several bounds")
    group.add_argument("--bounds", default=",".join(map(str, BOUNDS_H)), metavar="HOURS", help="which [%(default)s]")


def run(args, figures):
    if not args.pareto:
        return False
    if not args.traces:
        raise SystemExit("--pareto: say where the traces are, --traces DIR")
    with tempfile.TemporaryDirectory() as folder:
        for cell in (MADE,) if args.quick else CELLS:
            for hours in map(int, args.bounds.split(",")):
                policy = os.path.join(folder, f"bound_{hours}h.yaml")
                with open(policy, "w") as file:
                    file.write(f"starvation_bound: {hours}h\n")
                ours = play(args, cell, policy)
                figures.tell(
                    "pareto",
                    ours["queue_mean_s"],
                    "s",
                    ours["jobs"],
                    cell=cell,
                    starvation_bound_h=hours,
                    **{key: ours[key] for key in SHOWN},
                )
    return True
