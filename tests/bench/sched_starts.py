"""Starts: jobs a second through the real scheduler, with simulated agents whose tasks end at once.

1,250 agents with a stream each, jobs of 1 to 16 nodes, SQLite on disk. Twice: each task is reported as running and then
as ended, or as ended alone. The programs share this machine's cores with the scheduler. Slurm 22.05 with as many real
slurmd sustains 142 jobs/s of such jobs.
"""

import os

from clusters import add_dir, folder_on_disk
from figures import fdatasync_ms, filesystem_of, percentile
from programs import told_by

JOBS_AIM = 500
SLURM = 142
PATIENCE_S = 300


def add_options(group):
    group.add_argument("--starts", type=float, metavar="SECONDS", help="how long, each way; none: the part is left out")
    group.add_argument("--agents", type=int, default=1250, help="that are simulated [1250]")
    group.add_argument("--warm-up", type=float, default=10, help="seconds before what is measured [10]")
    add_dir(group)


def run(args, figures):
    if not args.starts:
        return False
    argv = [os.path.join(args.bin, "glim-bench-starts"), "--scheduler", os.path.join(args.bin, "glim-scheduler")]
    argv += ["--agents", args.agents, "--seconds", args.starts, "--warm-up", args.warm_up]
    for metric, flags in (("starts", []), ("starts_ends_only", ["--ends-only"])):
        with folder_on_disk(args.dir) as folder:
            kind, sync_ms = filesystem_of(folder), round(percentile(fdatasync_ms(folder), 0.5), 3)
            told = told_by([*argv, "--folder", folder, *flags], args.starts + PATIENCE_S)
        jobs = told.pop("jobs_per_second")
        figures.tell(
            metric,
            jobs,
            "jobs/s",
            told.pop("succeeded"),
            JOBS_AIM,
            met=jobs >= JOBS_AIM,
            slurm=SLURM,
            **told,
            cores=os.cpu_count(),
            filesystem=kind,
            fdatasync_p50_ms=sync_ms,
        )
    return True
