"""tests/device/run: what did not run has not passed. test_stand_in.py beside it has the run over the stand-in."""

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
