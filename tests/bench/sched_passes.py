"""Passes: what a planning pass costs and what a queued job weighs, in the core alone (glim-bench-pass).

A full cluster and a long queue of many shapes; again and again a job ends, another is submitted, and the pass that
follows is measured. Slurm 22.05 keeps 3.4 KiB a queued job: 340 MB for 100,000.
"""

import os

from programs import told_by

CASES = (  # nodes, queued, shapes, passes; the aim for the 99th percentile, ms
    (1250, 10_000, 300, 300, 5),
    (1250, 100_000, 300, 300, 10),
    (10_000, 1_000_000, 3000, 100, 100),
)
QUICK = ((64, 500, 20, 10, 5),)
MB_AIM = 150
MB_SLURM = 340
PATIENCE_S = 3600  # the core takes a million submissions first


def add_options(group):
    group.add_argument("--passes", action="store_true", help="measure them; without it the part is left out")


def run(args, figures):
    if not args.passes:
        return False
    for nodes, queued, shapes, passes, aim_ms in QUICK if args.quick else CASES:
        told = measure(args, nodes, queued, shapes, passes)
        case = {"nodes": nodes, "queued": told["queued"], "shapes": told["shapes"], "running": told["running"]}
        for name, aim in (("p50", None), ("p99", aim_ms)):
            ms = round(told[f"pass_us_{name}"] / 1000, 3)
            judged = {} if aim is None else {"met": ms < aim}
            figures.tell(f"pass_{name}", ms, "ms", told["passes"], aim, **case, **judged)
        megabytes = round(told["kib_per_100000_queued"] * 1024 / 1e6, 1)
        figures.tell(
            "memory_per_100000_queued",
            megabytes,
            "MB",
            told["queued"],
            MB_AIM,
            **case,
            met=megabytes < MB_AIM,
            slurm=MB_SLURM,
        )
    return True


def measure(args, nodes, queued, shapes, passes):
    argv = [os.path.join(args.bin, "glim-bench-pass"), "--nodes", nodes, "--queued", queued]
    return told_by([*argv, "--shapes", shapes, "--passes", passes], PATIENCE_S)
