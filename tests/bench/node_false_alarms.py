"""Simulated node-days under the real rules of the nodes and the scheduler (glim-bench-false-alarms): how many nodes are
taken out without a fault, and how many faults are missed. Once at the paper's rates, once with whatever is no fault ten
times as often."""

import os

from programs import told_by

PATIENCE_S = 3600
NODES = 100
FAULTS_EACH = 5


def run(args, figures, folder):
    program = os.path.join(args.bin, "glim-bench-false-alarms")
    for times, aim in ((1, 0), (10, None)):
        words = {"--node-days": args.node_days, "--nodes": NODES, "--faults": FAULTS_EACH, "--seed": args.seed}
        if args.quick:
            words.update({"--nodes": 50, "--faults": 1})
        argv = [program, "--times", str(times), *(str(word) for pair in words.items() for word in pair)]
        told = told_by(argv, PATIENCE_S)
        of, seed = told["node_days"], told["seed"]
        more = {"times": times, "seed": seed, "happened": told["happened"], "why": told["why"]}
        figures.tell("false_alarms", told["false_alarms"], "nodes", of, aim, **more)
        missed = {"times": times, "seed": seed, "kinds": told["missed"]}
        figures.tell("faults_missed", sum(told["missed"].values()), "faults", told["faults"], aim, **missed)
