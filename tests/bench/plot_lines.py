#!/usr/bin/env python3
"""Draws the lines of tests/bench/run sched --pareto and --growth: plot_lines.py LINES... [--out docs/figures].

SVG by matplotlib (deploy/install-deps bench). A figure is drawn if the lines hold what it shows.
"""

import argparse
import json
import os
import sys
from collections import defaultdict

from svg_chart import Panel, Series, write_figure

HOUR = 3600


def pareto(lines):
    """Mean queue against the tail, a panel a trace, a point a bound."""
    by_cell = defaultdict(list)
    for line in lines:
        if line["metric"] == "pareto":
            by_cell[line["cell"]].append(line)
    panels = []
    for cell, points in by_cell.items():
        points.sort(key=lambda line: line["starvation_bound_h"])
        labels = [f'{line["starvation_bound_h"]} h' for line in points]
        series = [
            Series(name, [(line[key] / HOUR, line["queue_mean_s"] / HOUR) for line in points], labels)
            for name, key in (
                ("queue, 99.9th percentile", "queue_p999_s"),
                ("longest wait, 99.9th percentile", "wait_p999_s"),
            )
        ]
        panels.append(Panel(cell, "tail (h)", "mean queue (h)", series))
    return panels


def growth(lines):
    """Time of a pass, by queued jobs and by nodes."""
    panels = []
    for metric, key, title, label in (
        ("growth_by_queued", "queued", "{nodes:,} nodes, {shapes} shapes", "queued jobs"),
        ("growth_by_nodes", "nodes", "{queued:,} queued, {shapes} shapes", "nodes"),
    ):
        points = sorted((line for line in lines if line["metric"] == metric), key=lambda line: line[key])
        if points:
            series = [Series(name, [(line[key], line[name + "_ms"]) for line in points]) for name in ("p50", "p99")]
            panels.append(Panel(title.format(**points[0]), label, "planning pass (ms)", series))
    return panels


FIGURES = {
    "pareto": ("Mean queue against its tail, as starvation_bound moves", pareto),
    "growth": ("What a planning pass costs", growth),
}


def main():
    parser = argparse.ArgumentParser(prog="plot_lines.py", description=__doc__)
    parser.add_argument("lines", nargs="+", help="files of JSON lines")
    parser.add_argument("--out", default="docs/figures", metavar="DIR", help="where the figures go [%(default)s]")
    args = parser.parse_args()
    lines = []
    for path in args.lines:
        with open(path) as file:
            lines += [json.loads(line) for line in file if line.strip()]
    drawn = 0
    os.makedirs(args.out, exist_ok=True)
    for name, (title, panels_of) in FIGURES.items():
        panels = panels_of(lines)
        if panels:
            write_figure(os.path.join(args.out, name + ".svg"), title, panels)
            drawn += 1
    if not drawn:
        sys.exit("nothing to draw: no line is of --pareto or --growth")


if __name__ == "__main__":
    main()
