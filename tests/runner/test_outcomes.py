"""What a job's report, its exit code and its words come to."""

import pytest

from runner import outcomes
from runner.pool import Ended, Job

PASSED = '<testcase classname="Suite" name="Good" status="run" file="/somewhere/a_test.cc"/>'
FAILED = '<testcase classname="Suite" name="Bad" status="run" file="room/a_test.cc"><failure message="m"/></testcase>'


def read(tmp_path, cases, code, kind="gtest", said=""):
    report = tmp_path / "report.xml"
    if cases is not None:
        report.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    job = Job("part", "room_test", ["room_test"], kind, str(report), limit_s=9)
    return outcomes.read(job, Ended(code, said, 0, 1, 1))


@pytest.mark.parametrize(
    "cases, code, kind, failed, faults",
    [
        (PASSED, 0, "gtest", [], []),
        (PASSED + FAILED, 1, "gtest", ["Suite.Bad"], []),
        (None, -11, "gtest", [], ["room_test ended with -11 in Suite.Last"]),
        (PASSED, 66, "gtest", [], ["room_test ended with 66 in Suite.Last"]),  # a sanitizer's report
        (PASSED + FAILED, 66, "gtest", ["Suite.Bad"], ["room_test ended with 66 in Suite.Last"]),
        (PASSED, 1, "gtest", [], ["room_test ended with 1 in Suite.Last"]),
        (FAILED, 0, "gtest", ["Suite.Bad"], ["room_test ended with 0 in Suite.Last"]),
        (None, None, "gtest", [], ["room_test was killed after 9 s in Suite.Last"]),
        (PASSED, 2, "pytest", [], ["room_test ended with 2"]),
        (None, 0, "command", [], []),
        (None, 3, "command", ["room_test"], []),
        (PASSED + '<testcase name="x" status="fail"/>', 8, "ctest", ["x"], []),
        (PASSED + '<testcase classname="Suite" name="x"><skipped/></testcase>', 0, "pytest", ["Suite::x"], [1]),
    ],
)
def test_what_no_case_explains_is_a_fault(tmp_path, cases, code, kind, failed, faults):
    outcome = read(tmp_path, cases, code, kind, "[ RUN      ] Suite.First\n[ RUN      ] Suite.Last\n")
    assert [one.name for one in outcome.failed] == failed
    assert outcome.faults == faults if faults != [1] else len(outcome.faults) == 1
    assert outcome.well == (not failed and not faults)


def test_a_failed_case_has_its_source_and_what_was_said_while_it_ran(tmp_path):
    said = "[ RUN      ] Suite.Good\nfine\n[       OK ] Suite.Good\n"
    said += "[ RUN      ] Suite.Bad\nwrong\n[  FAILED  ] Suite.Bad (1 ms)\nend"
    (failed,) = read(tmp_path, PASSED + FAILED, 1, said=said).failed
    assert failed.source == "room/a_test.cc"
    assert failed.text == "[ RUN      ] Suite.Bad\nwrong\n[  FAILED  ] Suite.Bad (1 ms)"


@pytest.mark.parametrize(
    "source, suite, name, node",
    [
        ("tests/e2e/test_a.py", "tests.e2e.test_a", "test_b[c-1]", "tests/e2e/test_a.py::test_b[c-1]"),
        ("tests/e2e/test_a.py", "tests.e2e.test_a.TestC", "test_b", "tests/e2e/test_a.py::TestC::test_b"),
        (None, "tests.e2e.test_a", "", "tests.e2e.test_a::"),
    ],
)
def test_a_case_of_pytest_has_the_name_by_which_it_runs_alone(source, suite, name, node):
    assert outcomes.node_id(source, suite, name) == node


PYTEST = """\
=================================== FAILURES ===================================
_________________________________ test_b[c.1] __________________________________
[gw0] linux -- Python 3.11
E   the first
____________________________ TestC.test_other __________________________________
E   the other
=========================== short test summary info ============================
FAILED a
_____________________ ERROR at teardown of test_b[c.1] _________________________
E   the second
"""


@pytest.mark.parametrize("name, words", [("test_b[c.1]", ["the first", "the second"]), ("test_other", ["the other"])])
def test_what_pytest_says_of_a_case_is_below_its_heading(name, words):
    block = outcomes.pytest_block(PYTEST, name)
    assert [word for word in ("the first", "the second", "the other", "FAILED a") if word in block] == words
