"""What tests/bench makes of what it measured: percentiles, the steps of a switch, lines of its programs, and the
container that runc starts alone."""

import json
import os
import sys

import pytest

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench")
sys.path.insert(0, BENCH)

import bare_runc  # noqa: E402
import bench_reports  # noqa: E402
import bench_state  # noqa: E402
import hfreduce_rows  # noqa: E402
from figures import Figures, percentile  # noqa: E402


@pytest.mark.parametrize(
    "values, share, value",
    [
        ([5], 0.5, 5),
        ([3, 1, 2], 0.5, 2),
        ([4, 3, 2, 1], 0.5, 2),
        (range(1, 101), 0.99, 99),
        (range(1, 101), 1, 100),
    ],
)
def test_a_percentile_is_the_smallest_that_so_many_do_not_exceed(values, share, value):
    assert percentile(values, share) == value


def lines_told(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_percentiles_of_nothing_are_not_told(capsys):
    Figures("main").percentiles("metric", [])
    Figures("main").percentiles("metric", [1, 2], {"p99": 3}, beside="nothing")
    assert [(line["metric"], line["value"], line["aim"]) for line in lines_told(capsys)] == [
        ("metric_p50", 1, None),
        ("metric_p99", 2, 3),
    ]


def test_lists_and_reports_are_judged_by_their_aims(capsys):
    for line in (
        {"part": "page", "filter": "pool", "of": 1000, "found": 5, "p50_ms": 1.0, "p99_ms": 20.0},
        {"part": "report", "by": "user", "jobs": 1000, "p50_ms": 5, "max_ms": 1999},
        {"part": "meanwhile", "what": "pass", "alone": 3, "p50_ms_alone": 1, "meanwhile": 4, "p50_ms": 2, "p99_ms": 3},
    ):
        bench_reports.tell(Figures("reports"), line)
    page, report, meanwhile = lines_told(capsys)
    assert (page["metric"], page["value"], page["met"], page["filter"]) == ("page_p99", 20.0, False, "pool")
    assert (report["metric"], report["value"], report["met"], report["n"]) == ("report_max", 1999, True, 1000)
    assert (meanwhile["metric"], meanwhile["value"], meanwhile["n"]) == ("pass_meanwhile_p99", 3, 4)


def test_rows_and_bytes_of_the_state_are_figures_each(capsys):
    bench_state.tell(Figures("state"), {"part": "attempts", "nodes": 8, "attempts": 5, "bytes": 2e6, "load_ms": 1.5})
    told = lines_told(capsys)
    assert [(line["metric"], line["value"], line["met"]) for line in told] == [
        ("bytes", 2e6, False),
        ("load_ms", 1.5, True),
    ]
    assert all(line["attempts"] == 5 for line in told)


@pytest.mark.parametrize(
    "links, told",
    [
        ({"0-1": 5, "2-3": 7}, (0, 0)),
        ({"0-2": 5, "2-0": 9, "1-3": 4}, (9, 4)),
    ],
)
def test_bytes_between_the_gateways_and_elsewhere(links, told):
    assert hfreduce_rows.bytes_across(links, 4) == told


def test_the_container_alone_has_the_tasks_confinement_and_nothing_that_goes_with_the_task():
    config = {
        "process": {"args": ["/run/glim-init"], "user": {"uid": 1001}, "noNewPrivileges": True},
        "root": {"path": "/run/glim/root", "readonly": True},
        "mounts": [{"destination": "/proc"}],
        "linux": {
            "cgroupsPath": "/glim/tag/1.1.0",
            "namespaces": [{"type": "pid"}, {"type": "user"}],
            "uidMappings": [{}],
            "gidMappings": [{}],
            "seccomp": {"defaultAction": "SCMP_ACT_ERRNO"},
            "maskedPaths": ["/etc/shadow"],
        },
    }
    state = "/var/tmp/c/n1"
    order = {
        "mounts": [
            ["", "", "/usr", "/usr", True, False, True],
            ["", "", f"{state}/tasks/1.1.0/tmp", "/tmp", False, False, True],
            ["", "", "/build/glim-init", "/run/glim-init", True, False, True],
            ["", "", "/run/secrets-of-n1/1.1.0", "/run/glim/private", True, False, True],
            ["mounts[0].source", "/data", "/data", "/data", False, False, False],
        ]
    }
    made = bare_runc.bare_config(
        config, order, state, lambda number, _: f"/stands/{number}", "/rootfs", "/glim/tag/bare"
    )
    assert {mount["destination"]: (mount["source"], mount["options"][-1]) for mount in made["mounts"][1:]} == {
        "/sys": ("sysfs", "ro"),
        "/usr": ("/usr", "ro"),
        "/tmp": ("/stands/1", "rw"),
        "/run/glim/private": ("/stands/3", "ro"),
        "/data": ("/data", "rw"),
    }
    assert made["process"]["args"] == bare_runc.PRINT_TIME
    assert made["process"]["user"] == {"uid": 1001} and made["process"]["noNewPrivileges"]
    assert made["root"] == {"path": "/rootfs", "readonly": True}
    assert made["linux"] == {
        "cgroupsPath": "/glim/tag/bare",
        "namespaces": [{"type": "pid"}],
        "seccomp": {"defaultAction": "SCMP_ACT_ERRNO"},
        "maskedPaths": ["/etc/shadow"],
    }
