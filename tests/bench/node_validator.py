"""A core, a disk and a link are made slow on purpose, and glim-validate is to find each, and nothing else: 1 is found,
0 is not. For root."""

import json
import os
import subprocess

from slowed import BAD_NODE, Validate, cpus, on_all, slow_core, slow_disk, slow_link

AIM = 1  # each is found


def devices(ended):
    return sorted(device for _, _, device in ended.bad())


def tell(figures, what, ended, slow):
    """`slow`: the devices that are."""
    bad = devices(ended)
    found = ended.code == BAD_NODE and set(slow) <= set(bad)
    ratios = [line["ratio"] for line in ended.lines if line["device"] in slow and line["ratio"]]
    worst = round(min(ratios), 3) if ratios else None
    figures.tell(f"validator_slow_{what}", int(found), "found", 1, AIM, ratio=worst, bad=bad, slow=sorted(slow))


def a_core(figures, validate):
    slow = cpus()[-1]
    with slow_core(slow):
        tell(figures, "core", validate("--part", "cpu"), {f"cpu{slow}"})


def a_disk(figures, validate, folder):
    with slow_disk(folder) as (slow, good):
        lines = os.path.join(folder, "lines")
        with open(lines, "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in validate("--part", "disk", "--folder", good).lines)
        baseline = os.path.join(folder, "baseline.json")
        with open(baseline, "w") as file:
            subprocess.run([validate.program, "--merge", lines], stdout=file, check=True)
        both = ("--folder", good, "--folder", slow)
        tell(figures, "disk", validate("--part", "disk", *both, "--baseline", baseline), {slow})


def a_link(figures, validate):
    with slow_link("glim-bench", ["a", "b", "c"], slow="b") as network:
        a, b, c = map(network.address, network.nodes)
        tell(figures, "link", on_all(validate, network)[0], {f"{b} -> {a}", f"{b} -> {c}"})


def run(args, figures, folder):
    validate = Validate(os.path.join(args.bin, "glim-validate"))
    a_core(figures, validate)
    a_disk(figures, validate, folder)
    a_link(figures, validate)
    well = validate("--folder", folder)
    figures.tell("validator_false_alarms", len(well.bad()), "readings", len(well.lines), 0, bad=devices(well))
