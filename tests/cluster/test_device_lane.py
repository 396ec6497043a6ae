"""tests/device/run over the stand-in for CUDA: the SDK and the programs that look at a node build without gRPC, and
what did not run has not passed."""

import json
import os
import subprocess
import sys

import pytest

from cluster.processes import SLOWER

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "device"))

import no_leaks  # noqa: E402
import suites  # noqa: E402
from journal import Journal  # noqa: E402

BOUND_S = 1200


def test_the_sdk_builds_without_grpc_and_its_devices_hold(tmp_path):
    done = subprocess.run(
        [os.path.join(ROOT, "tests/device/run"), "--stand-in", "--quick", "--seconds", str(BOUND_S)],
        env={**os.environ, "OUT": str(tmp_path), "GLIM_PYTHON": sys.executable},
        text=True,
        capture_output=True,
        timeout=BOUND_S + 60,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert " 0 failed" in done.stdout.splitlines()[-1]
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    passed = {line["what"] for line in lines if line.get("passed")}
    assert passed.issuperset(suites.CONTRACTS)
    assert passed.issuperset({"glim-inventory", "glim-health", "glim-validate"})
    assert len(next(line for line in lines if line["what"] == "inventory")["gpus"]) == 2
    measured = {line["text"].split()[1] for line in lines if line["what"] == "reading"}
    assert measured >= {"patterns", "multiply", "tensor", "to_device", "to_host", "peer_pci", "link"}
    figure = next(line for line in lines if line["what"] == "allreduce")
    assert figure["device"] == "stand-in" and figure["bus_GBps"] > 0 and figure["date"] and figure["gcc"]
    with open(os.path.join(ROOT, "build/device/build.ninja")) as file:
        text = file.read()
    assert "glim_hfreduce" in text
    assert not [word for word in ("grpc", "protobuf", "absl", "spdlog") if word in text]


def test_a_header_of_a_package_is_a_leak_and_the_compilers_is_none():
    used = {"/usr/include/stdio.h": "a.o", "/usr/include/zlib.h": "b.o", "/x/ours.h": "c.o"}
    found = no_leaks.leaks(used, ["/x/"])
    assert len(found) == 1 and found[0].startswith("/usr/include/zlib.h of zlib1g-dev") and "used by b.o" in found[0]


@pytest.mark.parametrize(
    "cases, code, counts",
    [
        ([("COMPLETED", [])], 0, (1, 0, 0)),
        ([("COMPLETED", []), ("SKIPPED", [])], 0, (1, 0, 1)),
        ([("SKIPPED", [])], 0, (0, 1, 1)),
        ([("COMPLETED", [{"failure": "x"}])], 1, (0, 1, 0)),
        ([("COMPLETED", [])], -11, (1, 1, 0)),
        ([], 0, (0, 1, 0)),
    ],
)
def test_what_did_not_run_has_not_passed(tmp_path, cases, code, counts):
    report = tmp_path / "report.json"
    tests = [
        {"classname": "S", "name": f"T{at}", "result": result, "failures": failures}
        for at, (result, failures) in enumerate(cases)
    ]
    report.write_text(json.dumps({"testsuites": [{"testsuite": tests}]}))
    with Journal(str(tmp_path), 60) as journal:
        suites._count_gtest(journal, "program", str(report), code, "absent: GDRCopy: no driver\n")
        assert (journal.passed, journal.failed, journal.absences) == counts


def test_a_machine_without_a_gpu_says_so(tmp_path):
    environment = {"OUT": str(tmp_path), "GLIM_PYTHON": sys.executable, "PATH": no_gpu_path(tmp_path)}
    done = subprocess.run(
        [os.path.join(ROOT, "tests/device/run")], text=True, capture_output=True, timeout=60 * SLOWER, env=environment
    )
    assert done.returncode == 1
    assert "--stand-in" in done.stdout and "nvidia-smi" in done.stdout


def no_gpu_path(folder):
    """The programs that the lane looks for, without nvidia-smi."""
    programs = folder / "bin"
    programs.mkdir()
    for name in ("bash", "env", "dirname", "cmake", "ninja", "g++"):
        path = subprocess.run(["which", name], capture_output=True, text=True, check=True).stdout.strip()
        (programs / name).symlink_to(path)
    return str(programs)
