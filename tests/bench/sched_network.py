"""Network: what a second zone costs, and what crossing gives back (with --traces DIR: theta_div4 too).

One zone of as many nodes is the bound: there every free node is as good as another. The public trace has jobs larger
than a zone of half its nodes, which only crossing can serve; the made mixes have none, so that they tell what crossing
is worth to jobs that could do without.
"""

import os
import tempfile

from sched_traces import play_file
from synthetic_trace import Mix, write

TRACE, TRACE_NODES = "theta_div4", 1098
MIX_NODES = 1200
MIXES = {
    f"mix_load_{load}": Mix(jobs=5_000, cluster_nodes=MIX_NODES, load=load, days=90, nodes_min=16, nodes_max=600)
    for load in (0.8, 0.95)
}
QUICK = {"mix_quick": Mix(jobs=40, cluster_nodes=MIX_NODES, load=0.8, days=2, nodes_min=16, nodes_max=600)}
FORBIDDEN = "links: [{zone_a: z1, zone_b: z2, jobs_max: 0}]\n"
SHOWN = (
    "queue_mean_s",
    "queue_p999_s",
    "slowdown_mean",
    "slowdown_p999",
    "wait_max_s",
    "util_until_last_submit",
    "cross_zone_allocations_max",
    "interrupts",
    "checkpoint_overhead_fraction",
    "idle_while_fit_fraction",
    "backfill_hold_idle_fraction",
    "promises_broken",
    "invariant_violations",
    "wall_s",
)


def add_options(group):
    group.add_argument("--network", action="store_true", help="compare one zone with two")
    group.add_argument("--mix-seed", type=int, default=1, help="of the made traces [%(default)s]")


def run(args, figures):
    if not args.network:
        return False
    with tempfile.TemporaryDirectory() as folder:
        forbidden = os.path.join(folder, "forbidden.yaml")
        with open(forbidden, "w") as file:
            file.write(FORBIDDEN)
        for name, mix in (QUICK if args.quick else MIXES).items():
            path = os.path.join(folder, name + ".csv")
            write(path, Mix(**{**vars(mix), "seed": args.mix_seed}))
            compare(
                args,
                figures,
                name,
                path,
                MIX_NODES,
                {"one zone": (1, None), "two zones": (2, None), "two zones, no crossing": (2, forbidden)},
            )
        if args.traces and not args.quick:
            path = os.path.join(args.traces, TRACE + ".csv")
            compare(args, figures, TRACE, path, TRACE_NODES, {"one zone": (1, None), "two zones": (2, None)})
    return True


def compare(args, figures, name, path, nodes, ways):
    bound = None
    for way, (zones, policy) in ways.items():
        ours = play_file(args, path, nodes, zones, policy)
        bound = bound or ours["queue_mean_s"]
        figures.tell(
            "network",
            round(ours["queue_mean_s"] / max(bound, 1), 3),
            "mean queue / that of one zone",
            ours["jobs"],
            trace=name,
            nodes=nodes,
            way=way,
            **{key: ours[key] for key in SHOWN},
        )
