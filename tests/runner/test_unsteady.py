"""Which failures are run again, and what the table of unsteady tests may hold."""

import subprocess
import xml.etree.ElementTree as xml

import pytest

from runner import unsteady
from runner.outcomes import Failed
from runner.pool import Ended, Job

CORE = "scheduler/core/planning/planner_test.cc"
E2E = "tests/e2e/test_machines.py"


def failed(source=CORE, text="[ RUN      ] A.B\nnot within 10 s\n", kind="gtest", label="unit", message=""):
    job = Job("part", "a_test", ["a_test"], kind, label=label)
    element = xml.Element("testcase")
    xml.SubElement(element, "failure", message=message)
    return Failed("A.B", element, source, text, job)


@pytest.mark.parametrize(
    "one, code, changed, why",
    [
        (failed(), 1, set(), None),
        (failed(label="server"), 1, {"README.md", "scheduler/core/core.cc"}, None),
        (failed(kind="pytest", source=E2E), 1, {"tests/e2e/test_story.py", "scheduler/core/core.cc"}, None),
        # touched
        (failed(), 1, {CORE}, CORE),
        (failed(), 1, {"scheduler/core/planning/planner.cc"}, "planner.cc differs"),
        (failed(), 1, {"scheduler/core/planning/testing/cluster.h"}, "cluster.h differs"),
        (failed(kind="pytest", source=E2E), 1, {E2E}, E2E),
        (failed(kind="pytest", source=E2E), 1, {"tests/e2e/conftest.py"}, "conftest.py differs"),
        (failed(kind="pytest", source="tests/e2e/test_three_machines.py"), 1, {"tests/e2e/machines.py"}, "machines.py"),
        (failed(), 1, None, "the commit to compare with is not known"),
        # no chance
        (failed(label="sim"), 1, set(), "broken invariant"),
        (failed(kind="command"), 1, set(), "only cases"),
        (failed(source=None), 1, set(), "not known"),
        (failed(), -6, set(), "crashed"),
        (failed(), None, set(), "crashed"),
        (failed(text="core.cc:3: CHECK failed: a == b: two holders"), 1, set(), "'CHECK failed:'"),
        (failed(text="==7==ERROR: AddressSanitizer: heap-use-after-free"), 1, set(), "'AddressSanitizer'"),
        (failed(text="a.cc:7:3: runtime error: signed integer overflow"), 1, set(), "runtime error"),
        (failed(text="WARNING: ThreadSanitizer: data race"), 1, set(), "'ThreadSanitizer'"),
        (failed(message="glim-scheduler ended with exit code -6:"), 1, set(), "'exit code -6'"),
        (failed(message="worker 'gw1' crashed while running 'a'"), 1, set(), "crashed while running"),
        (failed(text="VIOLATION a step was lost"), 1, set(), "'VIOLATION'"),
        (failed(text="rank 0 ended with exit code -9, as it was told"), 1, set(), None),
    ],
)
def test_what_is_run_again(one, code, changed, why):
    said = unsteady.why_not_again(one, Ended(code, "", 0, 1, 1), changed)
    assert said is None if why is None else said is not None and why in said, said


def test_a_case_is_run_alone_and_not_in_shards():
    one = failed()
    one.job.argv, one.job.env = ["build/a_test", "--gtest_output=xml:old", "--gtest_filter=-C.*"], {
        "GTEST_SHARD_INDEX": "1"
    }
    assert unsteady.again(one, "new") == (["build/a_test", "--gtest_filter=A.B", "--gtest_output=xml:new"], {})
    one = failed(kind="pytest", source=E2E)
    one.name = f"{E2E}::test_a[b]"
    one.job.argv = ["python3", "-m", "pytest", "-q", "--junitxml", "old", "-n", "5", "--dist", "loadfile", "tests/e2e"]
    one.job.env = {"GLIM_TEST_STORIES": "2"}
    words = ["python3", "-m", "pytest", "-q", "--junitxml", "new", one.name]
    assert unsteady.again(one, "new") == (words, {"GLIM_TEST_STORIES": "2"})


TABLE = "\n".join(["# Tests that are unsteady", "", *unsteady.HEAD, ""])


def row(name, cause="a wait of 2 s"):
    return unsteady.line_of(name, "2026-11-28", "5f86bd18").replace("| |", f"| {cause} |")


@pytest.mark.parametrize(
    "lines, ages, faults",
    [
        ([], [], []),
        ([row("A.B"), row("tests/e2e/test_a.py::test_b[c|d]")], [0, 10], []),
        ([row("A.B"), row("A.C"), row("A.B")], [3, 2, 1], ["A.B stands there 2 times"]),
        ([row("A.B")], [11], [":5 is 11 runs old: mend A.B"]),
        ([row("A.B", cause="")], [0], [":5 has no suspected cause"]),
        (["| yesterday | 5f86bd18 | `A.B` | a wait |"], [], [":5 is no row of the table"]),
        ([row("A.B"), row("A.B")], [12, 0], ["stands there 2 times", ":5 is 12 runs old"]),
    ],
)
def test_the_table(lines, ages, faults):
    found = unsteady.faults_of(TABLE + "\n".join(lines), lambda line: ages[line - 5])
    assert len(found) == len(faults), found
    for words in faults:
        assert any(words in fault for fault in found), found


def test_the_table_as_it_is_has_no_fault_but_its_age():
    with open(f"{unsteady.ROOT}/{unsteady.PAGE}") as file:
        assert unsteady.faults_of(file.read(), lambda line: 0) == []


def test_a_line_ages_by_the_first_parents_since_it_was_entered(tmp_path):
    def git(*words):
        who = ["-c", "user.name=ana", "-c", "user.email=ana@example.org"]
        subprocess.run(["git", "-C", tmp_path, *who, *words], check=True, capture_output=True)

    def commit(path, text):
        (tmp_path / path).write_text(text)
        git("add", "-A")
        git("commit", "-m", path)

    (tmp_path / "tests").mkdir()
    git("init", "-b", "main")
    commit("first", "")
    commit(unsteady.PAGE, "one\n")
    for turn in range(3):
        commit("other", f"{turn}")
    git("checkout", "-b", "side")
    for turn in range(4):
        commit("side", f"{turn}")
    git("checkout", "main")
    commit(unsteady.PAGE, "one\ntwo\n")
    git("merge", "--no-ff", "-m", "merge", "side")
    (tmp_path / unsteady.PAGE).write_text("one\ntwo\nthree\n")
    ages = unsteady.Ages(root=str(tmp_path), commits_a_run=1)
    assert [ages(line) for line in (1, 2, 3)] == [5, 1, 0]
    ages = unsteady.Ages(root=str(tmp_path), commits_a_run=2)
    assert [ages(line) for line in (1, 2, 3)] == [2, 0, 0]
