"""Month: how long the simulator takes for a made month of a large cluster, with faults."""

import os
import resource
import tempfile

from sched_traces import play_file
from synthetic_trace import Mix, write

MONTH = Mix(jobs=50_000, cluster_nodes=1250, load=0.9, days=30, nodes_min=1, nodes_max=64)
QUICK = Mix(jobs=200, cluster_nodes=50, load=0.9, days=2, nodes_min=1, nodes_max=8)
FAULTS = "node_mtbf_days: 1000\n"
WALL_AIM_S = 20
SHOWN = (
    "queue_mean_s",
    "queue_p999_s",
    "slowdown_mean",
    "util_until_last_submit",
    "interrupts",
    "node_failures",
    "thrown_back",
    "goodput_fraction",
    "checkpoint_overhead_fraction",
    "invariant_violations",
    "batches",
    "passes",
    "pass_us_p50",
    "pass_us_p99",
)


def add_options(group):
    group.add_argument("--month", action="store_true", help="play it; without it the part is left out")


def run(args, figures):
    if not args.month:
        return False
    mix = QUICK if args.quick else MONTH
    with tempfile.TemporaryDirectory() as folder:
        path, faults = os.path.join(folder, "month.csv"), os.path.join(folder, "faults.yaml")
        write(path, mix)
        with open(faults, "w") as file:
            file.write(FAULTS)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ours = play_file(args, path, mix.cluster_nodes, 1, args.policy, faults)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    figures.tell(
        "month_wall",
        ours["wall_s"],
        "s",
        ours["jobs"],
        WALL_AIM_S,
        met=ours["wall_s"] < WALL_AIM_S,
        cpu_s=round(cpu_s, 1),
        nodes=mix.cluster_nodes,
        load=mix.load,
        **{key: ours[key] for key in SHOWN},
    )
    return True
