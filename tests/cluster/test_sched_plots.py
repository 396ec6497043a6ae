"""What tests/bench makes itself: traces that no public one replaces, and figures of its lines."""

import json
import os
import subprocess
import sys
from argparse import Namespace

import pytest

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench")
sys.path.insert(0, BENCH)

import plot_lines  # noqa: E402
import sched_network  # noqa: E402
import sched_pareto  # noqa: E402
import svg_chart  # noqa: E402
from figures import Figures  # noqa: E402
from synthetic_trace import Mix, rows_of, write  # noqa: E402

MIX = Mix(jobs=2000, cluster_nodes=1200, load=0.8, days=30, nodes_min=16, nodes_max=600)
SAID = {
    "jobs": 5,
    "wall_s": 1.0,
    "util_until_last_submit": 0.8,
    "cross_zone_allocations_max": 1,
    "idle_while_fit_fraction": 0,
    "backfill_hold_idle_fraction": 0,
    "queue_mean_s": 7200.0,
    "queue_p999_s": 90000.0,
    "slowdown_mean": 1.4,
    "slowdown_p999": 16.0,
    "wait_p999_s": 86400.0,
    "wait_max_s": 90000.0,
    "interrupts": 3,
    "checkpoint_overhead_fraction": 0.005,
    "promises_broken": 0,
    "invariant_violations": 0,
}


def test_a_made_trace_has_the_load_and_the_sizes_that_it_was_asked_for():
    rows = rows_of(MIX)
    assert len(rows) == 2000
    assert rows == sorted(rows, key=lambda row: row[0])
    assert (rows[0][0], rows[-1][0]) == (0, 30 * 86400)
    sizes = [nodes for _, _, nodes in rows]
    assert min(sizes) == 16 and 590 <= max(sizes) <= 600
    # Log-uniform: as many below the geometric mean as above.
    assert sum(size < (16 * 601) ** 0.5 for size in sizes) == pytest.approx(1000, abs=100)
    work = sum(duration * nodes for _, duration, nodes in rows)
    assert work / (1200 * 30 * 86400) == pytest.approx(0.8, rel=0.001)


def test_the_seed_makes_the_trace(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write(tmp_path / name, Mix(**{**vars(MIX), "seed": seed}))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() != (tmp_path / "c").read_bytes()


def simulator(folder):
    """Says always the same; keeps the options and the policy that it was given."""
    program = folder / "glim-sim"
    program.write_text(
        f"""#!/bin/sh
echo "$@" >> {folder}/asked
while [ $# -gt 1 ]; do [ "$1" = --policy ] && cat "$2" >> {folder}/policies; shift; done
cat <<'END'
{json.dumps(SAID)}
END
"""
    )
    program.chmod(0o755)


def test_pareto_plays_each_trace_under_each_bound(tmp_path, capsys):
    simulator(tmp_path)
    args = Namespace(
        bin=str(tmp_path), traces=str(tmp_path), pareto=True, bounds="2,24", zones="1", faults=None, quick=False
    )
    assert sched_pareto.run(args, Figures("sched"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["cell"], line["starvation_bound_h"]) for line in lines] == [
        (cell, hours) for cell in sched_pareto.CELLS for hours in (2, 24)
    ]
    assert (tmp_path / "policies").read_text() == "starvation_bound: 2h\nstarvation_bound: 24h\n" * 3


def test_the_network_is_compared_with_one_zone_and_with_no_crossing(tmp_path, capsys):
    simulator(tmp_path)
    args = Namespace(bin=str(tmp_path), traces=None, network=True, mix_seed=1, quick=False)
    assert sched_network.run(args, Figures("sched"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["way"] for line in lines] == ["one zone", "two zones", "two zones, no crossing"] * 2
    assert {line["value"] for line in lines} == {1.0}
    asked = (tmp_path / "asked").read_text().splitlines()
    assert ["--zones 2" in line for line in asked] == [False, True, True] * 2
    assert ["--policy" in line for line in asked] == [False, False, True] * 2


def test_an_axis_is_logarithmic_where_values_are_far_apart():
    assert [svg_chart.scale_of(values) for values in ([2, 9.9], [2, 20], [0, 20])] == ["linear", "log", "linear"]


def draw(folder, lines):
    (folder / "lines").write_text("".join(json.dumps(line) + "\n" for line in lines))
    argv = [sys.executable, os.path.join(BENCH, "plot_lines.py"), str(folder / "lines"), "--out", str(folder / "out")]
    return subprocess.run(argv, capture_output=True, text=True)


def test_pareto_has_a_panel_a_trace_and_a_point_a_bound():
    lines = [
        {
            "metric": "pareto",
            "cell": cell,
            "starvation_bound_h": hours,
            "queue_mean_s": 7200,
            "queue_p999_s": 3600.0 * hours,
            "wait_p999_s": 1800.0 * hours,
        }
        for cell in ("itp06@18", "x<y")
        for hours in (24, 2, 8)
    ]
    panels = plot_lines.pareto(lines)
    assert [panel.title for panel in panels] == ["itp06@18", "x<y"]
    queue, wait = panels[0].series
    assert queue.labels == ["2 h", "8 h", "24 h"]  # joined in the order of the bound
    assert (queue.points, wait.points) == ([(2, 2), (8, 2), (24, 2)], [(1, 2), (4, 2), (12, 2)])


def test_growth_has_a_line_a_percentile():
    lines = [
        {"metric": "growth_by_nodes", "nodes": n, "queued": 10_000, "shapes": 300, "p50_ms": n / 100, "p99_ms": n / 50}
        for n in (1250, 150)
    ]
    (panel,) = plot_lines.growth(lines)
    assert (panel.title, panel.x_label) == ("10,000 queued, 300 shapes", "nodes")
    assert [(series.name, series.points) for series in panel.series] == [
        ("p50", [(150, 1.5), (1250, 12.5)]),
        ("p99", [(150, 3.0), (1250, 25.0)]),
    ]


def test_lines_of_something_else_draw_nothing(tmp_path):
    result = draw(tmp_path, [{"metric": "pass_p99", "value": 3}])
    assert (result.returncode, os.listdir(tmp_path / "out")) == (1, [])
    assert "nothing to draw" in result.stderr
