"""tests/bench/run sdkmount: what the mount of the SDK costs the start of a container. Two nodes of one cluster, one
with the SDK and one with --sdk none, get the same job in turn, from the task's dispatch to its first line; and copies
of their containers are started by runc alone, which varies less."""

import os
import statistics

from programs import options_of, parser_of

from bare_runc import BareRunc
from cluster.local_cluster import LocalCluster
from clusters import add_dir, folder_on_disk, running, runtimes
from figures import Figures

ZONES = {"with": "A", "without": "B"}
WARM_UP = 5
QUICK = {"jobs": 2, "containers": 2}


class TwoNodes(LocalCluster):
    def __init__(self, bin_folder, folder, runtime):
        nodes = {"with": ("A", "a1"), "without": ("B", "b1")}
        super().__init__(bin_folder, folder, nodes=nodes, log_level="error", runtime=runtime)

    def sdk_options(self, name):
        return ["--sdk", "none"] if name == "without" else super().sdk_options(name)


def start_ms(cluster, spec):
    """One job, to its end; the job itself prints when it got to run."""
    job_id = cluster.glim.submit(spec)
    job = cluster.wait_state(job_id, "succeeded", 30, every=0.01)
    cluster.wait_idle(10)
    with open(cluster.rank_log(job_id, 1, 0)) as file:
        return float(file.readline()) * 1000 - job["attempts"][0]["started_at_ms"]


def bare_container(cluster, examples, kind):
    """A copy of a task's container on the node `kind`, for runc alone."""
    job_id = cluster.glim.submit(examples.make(f"model-{kind}", "exec sleep 600", placement={"zones": [ZONES[kind]]}))
    cluster.wait_state(job_id, "running", 30)
    bare = BareRunc(
        os.path.join(cluster.folder, f"bare-{kind}"),
        os.path.join(cluster.folder, kind, "tasks", f"{job_id}.1.0"),
        cluster.control_group,
    )
    cluster.glim.text("cancel", job_id)
    cluster.wait_idle(10)
    return bare


def in_turn(start, rounds):
    """{kind: durations}, both kinds in each round, the first of them in turn. Some rounds before warm up the caches."""
    took = {kind: [] for kind in ZONES}
    for number in range(rounds + WARM_UP):
        for kind in sorted(ZONES, reverse=number % 2 == 1):
            value = start(kind)
            if number >= WARM_UP:
                took[kind].append(value)
    return took


def tell(figures, metric, took, aim=None, **more):
    for kind, values in took.items():
        figures.percentiles(f"{metric}_{kind}_sdk", values, **more)
    # Of pairs that ran one after the other: what else the machine does meanwhile is in both.
    pairs = list(zip(took["with"], took["without"]))
    figures.tell(
        f"{metric}_sdk_costs",
        round(statistics.median(a - b for a, b in pairs), 3),
        "ms",
        len(pairs),
        aim,
        ratio=round(statistics.median(a / b for a, b in pairs), 4),
        **more,
    )


def measure(cluster, examples, args, figures):
    if cluster.runtime == "runc":
        bare = {kind: bare_container(cluster, examples, kind) for kind in ZONES}
        took = in_turn(lambda kind: bare[kind].start_to_first_line_ms(), args.containers)
        tell(figures, "bare_runc_start_to_first_line", took, aim=3)
    specs = {
        kind: examples.make(kind, "echo $EPOCHREALTIME", placement={"zones": [zone]}) for kind, zone in ZONES.items()
    }
    took = in_turn(lambda kind: start_ms(cluster, specs[kind]), args.jobs)
    tell(figures, "started_to_first_line", took, runtime=cluster.runtime)


def main():
    parser = parser_of("sdkmount", __doc__, QUICK)
    add_dir(parser)
    parser.add_argument("--jobs", type=int, default=60, help="on each of the two nodes, in turn [60]")
    parser.add_argument("--containers", type=int, default=200, help="of each kind, by runc alone, in turn [200]")
    args = options_of(parser)
    figures = Figures("sdkmount")
    for runtime in runtimes():
        with folder_on_disk(args.dir) as folder:
            cluster = TwoNodes(args.bin, folder, runtime)
            with running(cluster) as examples:
                measure(cluster, examples, args, figures)


if __name__ == "__main__":
    main()
