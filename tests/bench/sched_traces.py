"""Traces: glim-sim on public traces, beside what others reach on them.

A trace's folder holds itp02.csv and so on (columns: scheduler/sim/trace/trace_reader.h). The other figures come from an
independent event-driven simulation of the same traces: whole nodes, 40 s (more than 8 GPUs: 60 s) an interruption.
Each: mean queue (s), mean slowdown (bounded at 600 s), its 99.9th percentile, the longest continuous wait of the job at
the 99.9th percentile (s). SRTF is an oracle that knows the remaining time; the sketch knows nothing, as we do.
"""

import math
import os

from programs import told_by
from synthetic_trace import Mix, write

KEYS = ("queue_mean_s", "slowdown_mean", "slowdown_p999", "wait_p999_s")
CELLS = {
    "itp02@32": {
        "load": 0.78,
        "overhead_max": 0.005,
        "fifo": (225609, 66.19, 983, 765404),
        "easy": (221354, 64.25, 971, 757923),
        "tiresias": (130018, 7.13, 217, 767340),
        "sketch": (75069, 3.37, 54, 95700),
        "srtf": (30241, 1.50, 7, 1000922),
    },
    "itp04@84": {
        "load": 0.98,
        "overhead_max": 0.005,
        "fifo": (319432, 69.71, 644, 647690),
        "easy": (315204, 67.40, 623, 644704),
        "tiresias": (126045, 10.47, 351, 800280),
        "sketch": (58009, 4.02, 51, 89802),
        "srtf": (18319, 1.36, 7, 2013679),
    },
    "itp04@96": {
        "load": 0.86,
        "overhead_max": 0.005,
        "fifo": (97680, 19.80, 206, 285025),
        "easy": (96672, 19.35, 199, 283536),
        "tiresias": (37988, 3.96, 100, 396240),
        "sketch": (14994, 1.74, 17, 86700),
        "srtf": (8279, 1.24, 5, 172472),
    },
    "itp06@18": {
        "load": 0.71,
        "overhead_max": 0.005,
        "fifo": (60359, 25.15, 439, 363765),
        "easy": (55226, 22.93, 263, 354339),
        "tiresias": (34721, 3.69, 124, 378660),
        "sketch": (13095, 1.72, 27, 86700),
        "srtf": (6104, 1.27, 4, 144070),
    },
    "thetagpu_jan_apr@16": {
        "load": 0.79,
        "overhead_max": 0.01,
        "fifo": (168992, 163.97, 782, 475024),
        "easy": (22180, 18.01, 161, 182594),
        "tiresias": (12653, 3.24, 80, 162900),
        "sketch": (10996, 1.82, 34, 92948),
        "srtf": (8389, 1.22, 31, 772538),
    },
    "theta_div4@1098": {
        "load": 0.85,
        "overhead_max": 0.01,
        "fifo": (477180, 425.01, 1480, 917766),
        "easy": (14151, 5.21, 264, 427550),
        "tiresias": (20386, 7.76, 326, 358680),
        "sketch": (7823, 1.37, 49, 125633),
        "srtf": (5010, 1.12, 26, 831303),
    },
}
BASELINES = ("fifo", "easy", "tiresias")
G_AIM = 0.7
OF_SKETCH = 0.6  # of its slowdown, beyond 1, and of its percentile
WAIT_MAX_S = 25 * 3600  # on itp traces at a load under 0.9: the bound of 24 h, and an hour
BASELINE_WITHIN = 0.10
PATIENCE_S = 6 * 3600  # the longest trace under the slowest baseline takes hours on a busy machine
MADE = "itp06@18"  # the cell that a made trace stands for
MADE_MIX = Mix(jobs=100, cluster_nodes=18, load=0.7, days=2, nodes_min=1, nodes_max=8)


def add_options(group):
    group.add_argument(
        "--traces",
        metavar="DIR",
        help="the folder with the traces; without it the part is left out, "
        "and where --pareto or --network take them",
    )
    group.add_argument("--cells", default=",".join(CELLS), help=f"some of: {','.join(CELLS)}")
    group.add_argument("--baselines", action="store_true", help="fifo, easy and tiresias inside our core as well")
    group.add_argument("--policy", help="a policy file, for our planner")
    group.add_argument("--faults", help="a fault file, for all")
    group.add_argument("--zones", default="1", help="that the nodes are dealt out to [1]")


def run(args, figures):
    if not args.traces or ((args.pareto or args.network) and not args.quick):
        return False
    for cell in args.cells.split(","):
        if cell not in CELLS:
            raise SystemExit(f"--cells: '{cell}' is no cell; there are: {', '.join(CELLS)}")
        tell_ours(args, figures, cell)
        for baseline in BASELINES if args.baselines else ():
            tell_baseline(args, figures, cell, baseline)
    return True


def play(args, cell, policy):
    trace, nodes = cell.split("@")
    return play_file(args, os.path.join(args.traces, trace + ".csv"), nodes, args.zones, policy, args.faults)


def play_file(args, path, nodes, zones, policy, faults=None):
    argv = [os.path.join(args.bin, "glim-sim"), "--trace", path, "--nodes", nodes, "--zones", zones, "--json"]
    if policy:
        argv += ["--policy", policy]
    if faults:
        argv += ["--faults", faults]
    return told_by(argv, PATIENCE_S, codes=(0, 1))


def made_trace(folder):
    """Writes a small one there, for --quick, and returns the cell that plays it."""
    write(os.path.join(folder, MADE.split("@")[0] + ".csv"), MADE_MIX)
    return MADE


def beside(cell, names):
    return {name: dict(zip(KEYS, CELLS[cell][name])) for name in names}


def judge(cell, ours, g):
    """Which aims are met, by name."""
    sketch = dict(zip(KEYS, CELLS[cell]["sketch"]))
    aims = {
        "g": g >= G_AIM,
        "slowdown_mean": ours["slowdown_mean"] - 1 <= OF_SKETCH * (sketch["slowdown_mean"] - 1),
        "slowdown_p999": ours["slowdown_p999"] <= OF_SKETCH * sketch["slowdown_p999"],
        "checkpoint_overhead": ours["checkpoint_overhead_fraction"] <= CELLS[cell]["overhead_max"],
        "invariants": ours["invariant_violations"] == 0,
    }
    if cell.startswith("itp") and CELLS[cell]["load"] < 0.9:
        aims["wait_max"] = ours["wait_max_s"] <= WAIT_MAX_S
    return aims


def tell_ours(args, figures, cell):
    ours = play(args, cell, args.policy)
    tiresias, srtf = CELLS[cell]["tiresias"][0], CELLS[cell]["srtf"][0]
    g = math.log(tiresias / max(ours["queue_mean_s"], 1)) / math.log(tiresias / srtf)
    aims = judge(cell, ours, g)
    figures.tell(
        "trace_mean_queue",
        round(g, 3),
        "g",
        ours["jobs"],
        G_AIM,
        cell=cell,
        met=all(aims.values()),
        aims=aims,
        ours=ours,
        **beside(cell, ("tiresias", "srtf", "sketch")),
    )


def tell_baseline(args, figures, cell, baseline):
    ours = play(args, cell, baseline)
    known = dict(zip(KEYS, CELLS[cell][baseline]))
    off = {key: round(ours[key] / known[key] - 1, 4) + 0.0 for key in KEYS}
    figures.tell(
        f"baseline_{baseline}",
        off["queue_mean_s"],
        "relative error",
        ours["jobs"],
        BASELINE_WITHIN,
        cell=cell,
        met=abs(off["queue_mean_s"]) <= BASELINE_WITHIN,
        off=off,
        ours=ours,
        known=known,
    )
