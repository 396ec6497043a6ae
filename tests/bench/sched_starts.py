"""Starts: jobs a second through the real scheduler, with simulated agents whose tasks end at once.

1,250 agents with a stream each, jobs of 1 to 16 nodes, SQLite on disk. Twice: each task is reported as running and then
as ended, or as ended alone. The programs share this machine's cores with the scheduler. Slurm 22.05 with as many real
slurmd sustains 142 jobs/s of such jobs.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from figures import fdatasync_ms, filesystem_of, percentile

JOBS_AIM = 500
SLURM = 142
PATIENCE_S = 300


def add_options(group):
    group.add_argument("--starts", type=float, metavar="SECONDS", help="how long, each way; none: the part is left out")
    group.add_argument("--agents", type=int, default=1250, help="that are simulated [1250]")
    group.add_argument("--dir", default="/var/tmp", help="where the store is made: not a tmpfs [/var/tmp]")


def run(args, figures):
    if not args.starts:
        return False
    kind = filesystem_of(args.dir)
    if kind in ("tmpfs", "ramfs"):
        sys.exit(f"{args.dir} is a {kind}: nothing is durable there; give another folder with --dir")
    for metric, flags in (("starts", []), ("starts_ends_only", ["--ends-only"])):
        folder = tempfile.mkdtemp(prefix="glim-b-", dir=args.dir)
        try:
            sync_ms = round(percentile(fdatasync_ms(folder), 0.5), 3)
            told = measure(args, folder, flags)
        finally:
            shutil.rmtree(folder)
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


def measure(args, folder, flags):
    argv = [
        os.path.join(args.bin, "glim-bench-starts"),
        "--scheduler",
        os.path.join(args.bin, "glim-scheduler"),
        "--folder",
        folder,
        "--agents",
        str(args.agents),
        "--seconds",
        str(args.starts),
        *flags,
    ]
    result = subprocess.run(argv, capture_output=True, text=True, timeout=args.starts + PATIENCE_S)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(argv)}: {result.stderr}")
    return json.loads(result.stdout)
