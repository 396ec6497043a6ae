"""tests/bench/run node measures, and this looks that it works: every part for a moment, and what it says has the shape
of a figure. Whether the figures are good is docs/figures.md's."""

import json
import os
import subprocess
import sys

import pytest

from cluster.processes import SLOWER
from conftest import BIN, ROOT

BENCH = os.path.join(ROOT, "tests", "bench", "bench_node.py")
SECONDS = 300


@pytest.mark.parametrize(
    "part, metrics",
    [
        ("idle", {"idle_core", "idle_memory", "idle_core.glim-agent", "idle_core.glim-health"}),
        ("recovery", {"recovery_write_to_running_p99", "recovery_event_to_running_p99"}),
        ("found", {"found", "found_of_all"}),
        ("false_alarms", {"false_alarms", "faults_missed"}),
    ],
)
@pytest.mark.skipif(os.geteuid() != 0, reason="a rank that hangs in a file system is root's to make")
def test_a_part_of_the_nodes_benchmark_tells_its_figures(part, metrics):
    argv = [sys.executable, BENCH, "--quick", "--parts", part, "--bin", BIN]
    told = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS * SLOWER)
    assert told.returncode == 0, told.stderr
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    assert metrics <= {line["metric"] for line in lines}, lines
    assert all(line["bench"] == "node" for line in lines)
    for line in lines:
        assert line["found"] if line["metric"] == "found" else line["value"] >= 0, line
