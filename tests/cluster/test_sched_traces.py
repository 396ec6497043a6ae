"""What tests/bench/run sched says of a cell: the figures are the simulator's; here, what it makes of them."""

import json
import os
import sys
from argparse import Namespace

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench"))

import sched_traces  # noqa: E402
from figures import Figures  # noqa: E402

GOOD = {
    "jobs": 5,
    "queue_mean_s": 9000.0,
    "slowdown_mean": 1.4,
    "slowdown_p999": 16.0,
    "wait_p999_s": 86400.0,
    "wait_max_s": 90000.0,
    "checkpoint_overhead_fraction": 0.005,
    "invariant_violations": 0,
}


@pytest.mark.parametrize(
    "key, bad, aim",
    [
        ("slowdown_mean", 1.44, "slowdown_mean"),
        ("slowdown_p999", 16.3, "slowdown_p999"),
        ("wait_max_s", 90001, "wait_max"),
        ("checkpoint_overhead_fraction", 0.0051, "checkpoint_overhead"),
        ("invariant_violations", 1, "invariants"),
    ],
)
def test_each_aim_is_judged_by_its_own_figure(key, bad, aim):
    assert all(sched_traces.judge("itp06@18", GOOD, 0.7).values())
    aims = sched_traces.judge("itp06@18", {**GOOD, key: bad}, 0.7)
    assert [name for name, met in aims.items() if not met] == [aim]


def test_g_is_judged_and_a_full_cluster_has_no_longest_wait():
    assert sched_traces.judge("itp06@18", GOOD, 0.69)["g"] is False
    assert "wait_max" not in sched_traces.judge("itp04@84", GOOD, 1)
    assert "wait_max" not in sched_traces.judge("theta_div4@1098", GOOD, 1)


def fake(folder, script):
    """A program in place of the simulator, and the options of a run that uses it."""
    program = folder / "glim-sim"
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)
    return Namespace(
        traces=str(folder),
        cells="itp06@18",
        baselines=True,
        policy=None,
        faults=None,
        zones="1",
        bin=str(folder),
        pareto=False,
        network=False,
        quick=False,
    )


@pytest.mark.parametrize(
    "cell, sketch_g",
    [
        ("itp02@32", 0.38),
        ("itp04@84", 0.40),
        ("itp04@96", 0.61),
        ("itp06@18", 0.56),
        ("thetagpu_jan_apr@16", 0.34),
        ("theta_div4@1098", 0.68),
    ],
)
def test_g_of_the_sketch_is_what_was_published(cell, sketch_g, tmp_path, capsys):
    """With a program that says the sketch's own figures."""
    said = {**GOOD, **dict(zip(sched_traces.KEYS, sched_traces.CELLS[cell]["sketch"]))}
    args = fake(tmp_path, f"cat <<'END'\n{json.dumps(said)}\nEND\n")
    args.cells = cell
    assert sched_traces.run(args, Figures("sched"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["metric"] for line in lines] == [
        "trace_mean_queue",
        "baseline_fifo",
        "baseline_easy",
        "baseline_tiresias",
    ]
    assert lines[0]["value"] == pytest.approx(sketch_g, abs=0.006)
    assert lines[0]["met"] is False
    assert lines[1]["met"] is False


def test_a_simulator_that_fails_ends_it(tmp_path):
    args = fake(tmp_path, "echo no such trace >&2\nexit 2\n")
    with pytest.raises(SystemExit, match="no such trace"):
        sched_traces.run(args, Figures("sched"))
