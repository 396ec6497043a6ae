"""Made traces, for what no public trace has: sizes log-uniform, durations lognormal, submissions even in time.

The same seed and mix give the same file (columns: scheduler/sim/trace/trace_reader.h).
"""

import csv
import math
import random
from dataclasses import dataclass

SIGMA = 1.5  # of the logarithm of the durations: the mean is three times the median


@dataclass(frozen=True)
class Mix:
    jobs: int
    cluster_nodes: int
    load: float  # node-seconds of work / node-seconds from the first submission to the last
    days: float  # between these two
    nodes_min: int
    nodes_max: int
    seed: int = 1


def rows_of(mix):
    """(submit_s, duration_s, nodes) by submission. Durations are scaled so that the load is as asked."""
    rng = random.Random(mix.seed)
    low, high = math.log(mix.nodes_min), math.log(mix.nodes_max + 1)
    nodes = [min(int(math.exp(rng.uniform(low, high))), mix.nodes_max) for _ in range(mix.jobs)]
    drawn = [rng.lognormvariate(0, SIGMA) for _ in range(mix.jobs)]
    span = mix.days * 86400
    scale = mix.load * mix.cluster_nodes * span / sum(n * d for n, d in zip(nodes, drawn))
    inner = sorted(rng.uniform(0, span) for _ in range(mix.jobs - 2))
    submits = [0.0, *inner, span]
    return [(round(s), max(1, round(d * scale)), n) for s, d, n in zip(submits, drawn, nodes)]


def write(path, mix):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(("job_id", "submit_s", "duration_s", "nodes"))
        for i, row in enumerate(rows_of(mix), start=1):
            out.writerow((i, *row))
