"""Growth: how a planning pass grows with queued jobs, and with nodes."""

from sched_passes import measure

NODES, QUEUED, SHAPES, PASSES = 1250, 10_000, 300, 300
BY_QUEUED = (1_000, 10_000, 100_000)
BY_NODES = (150, 1_250, 10_000)
LARGEST = (10_000, 1_000_000, 3_000, 100)  # nodes, queued, shapes, passes
QUICK = (64, 500, 20, 10)
LARGEST_AIM_MS = 100  # of the 99th percentile


def add_options(group):
    group.add_argument("--growth", action="store_true", help="measure it; without it the part is left out")


def run(args, figures):
    if not args.growth:
        return False
    if args.quick:
        tell(args, figures, "growth_largest", LARGEST_AIM_MS, *QUICK)
        return True
    for queued in BY_QUEUED:
        tell(args, figures, "growth_by_queued", None, NODES, queued, SHAPES, PASSES)
    for nodes in BY_NODES:
        tell(args, figures, "growth_by_nodes", None, nodes, QUEUED, SHAPES, PASSES)
    tell(args, figures, "growth_largest", LARGEST_AIM_MS, *LARGEST)
    return True


def tell(args, figures, metric, aim_ms, nodes, queued, shapes, passes):
    told = measure(args, nodes, queued, shapes, passes)
    ms = {f"{name}_ms": round(told[f"pass_us_{name}"] / 1000, 3) for name in ("p50", "p99", "max")}
    judged = {} if aim_ms is None else {"met": ms["p99_ms"] < aim_ms}
    figures.tell(
        metric,
        ms["p99_ms"],
        "ms",
        told["passes"],
        aim_ms,
        nodes=nodes,
        queued=queued,
        shapes=shapes,
        running=told["running"],
        **ms,
        **judged,
    )
