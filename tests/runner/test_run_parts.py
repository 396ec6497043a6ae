"""tests/run's own work as a whole: run_parts.py over programs that pass, fail and die as the test says."""

import os
import shutil
import subprocess
import sys

import pytest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# A program as GoogleTest makes them. A case that begins with Bad fails, with Once for the first time, with Twice for
# two times, and with Dies the program dies in it.
PROGRAM = """#!/usr/bin/python3
import os, sys
options = dict(word.partition("=")[::2] for word in sys.argv[1:])
suite, source, cases = NAMES
if "--gtest_list_tests" in options:
    print(suite + ".", *("  " + case for case in cases), sep=os.linesep)
    sys.exit()
chosen = [case for case in cases if options.get("--gtest_filter", "*") in ("*", f"{suite}.{case}")]
marks, failed, xml = os.path.dirname(os.path.abspath(__file__)), 0, ""
for case in chosen:
    print(f"[ RUN      ] {suite}.{case}", flush=True)
    with open(f"{marks}/{suite}.{case}.ran", "a+") as file:
        file.write("x")
        file.seek(0)
        times = len(file.read())
    if case.startswith("Dies"):
        os.abort()
    bad = case.startswith("Bad") or case.startswith("Once") and times == 1 or case.startswith("Twice") and times <= 2
    failed += bad
    print(f"{case} was run for time {times}" + (", and waited in vain" if bad else ""))
    print(f"[{'  FAILED  ' if bad else '       OK '}] {suite}.{case} (1 ms)")
    mark = "<failure message='m'/>" if bad else ""
    xml += f"<testcase classname='{suite}' name='{case}' status='run' file='{source}'>{mark}</testcase>"
with open(options["--gtest_output"][4:], "w") as file:
    file.write(f"<testsuites><testsuite>{xml}</testsuite></testsuites>")
sys.exit(bool(failed))
"""


class Tree:
    """A checkout with two commits; the second one changes room/changed/a.cc."""

    def __init__(self, root):
        self.root = root
        shutil.copytree(
            os.path.join(TESTS, "runner"), root / "tests" / "runner", ignore=shutil.ignore_patterns("test_*")
        )
        for name in ("run_parts.py", "count_results.py", "choose_programs.py", "unsteady.md"):
            shutil.copy(os.path.join(TESTS, name), root / "tests")
        self.write("tests/nightly", "#!/bin/sh\necho 'story: 12 commits ago'\nexit ${TOO_OLD:-0}\n")
        self.write(".gitignore", "/build/\n__pycache__/\n")
        (root / "build" / "release" / "test").mkdir(parents=True)
        self.write("build/release/tests.txt", "")
        self.git("init")
        self.commit()
        self.write("room/changed/a.cc", "")
        self.commit()

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)
        (self.root / path).chmod(0o755)

    def git(self, *words):
        who = ["-c", "user.name=ana", "-c", "user.email=ana@example.org"]
        subprocess.run(["git", "-C", self.root, *who, *words], check=True, capture_output=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-m", "a change")

    def program(self, name, label, folder, *cases):
        source = f"room/{folder}/{name}.cc"
        names = repr((name.title().replace("_", ""), source, list(cases)))
        self.write(f"build/release/test/{name}", PROGRAM.replace("NAMES", names))
        with open(self.root / "build" / "release" / "tests.txt", "a") as file:
            file.write(f"{name} {label} {self.root}/{source}\n")

    def run(self, *words, **environment):
        command = [sys.executable, "-B", self.root / "tests" / "run_parts.py", "--no-build", *words]
        env = {**os.environ, "GLIM_TEST_SLOWER": "1", "GLIM_CI_BASE": "HEAD~1", **environment}
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=600)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def last(said):
    return said.splitlines()[-1]


def test_a_test_that_fails_once_is_listed_and_the_run_goes_on(tree):
    tree.program("a_test", "unit", "steady", "Good", "Once")
    code, said = tree.run("--ci", "unit")
    assert (code, last(said)) == (0, "4 passed, 0 failed"), said  # with the table's and the nightly parts' cases
    section = said.partition("==> unsteady")[2]
    assert "ATest.Once failed, and passed twice" in section and "was run for time 1, and waited in vain" in section
    (line,) = [line for line in section.splitlines() if line.startswith("| 20")]
    assert line.endswith("| `ATest.Once` | |")
    # The next change enters the line, with its cause.
    with open(tree.root / "tests" / "unsteady.md", "a") as file:
        file.write(line.replace("| |", "| a bound of 1 s |") + "\n")
    assert tree.run("--ci", "unit")[0] == 0
    with open(tree.root / "tests" / "unsteady.md", "a") as file:
        file.write(line.replace("| |", "| a bound of 2 s |") + "\n")
    code, said = tree.run("--ci", "unit")
    assert code == 1 and "ATest.Once stands there 2 times: mend or remove the test" in said


@pytest.mark.parametrize(
    "words, cases, folder, end, told",
    [
        (
            ["--ci"],
            ["Good", "Twice"],
            "steady",
            "3 passed, 1 failed",
            "ATest.Twice failed again, alone, the first time",
        ),
        (["--ci"], ["Good", "Bad"], "steady", "3 passed, 1 failed", "ATest.Bad failed again"),
        (
            ["--ci"],
            ["Good", "Once"],
            "changed",
            "3 passed, 1 failed",
            "Once is not run again: room/changed/a.cc differs",
        ),
        (["--ci"], ["Once1", "Once2", "Once3", "Once4"], "steady", "2 passed, 4 failed", "4 tests failed"),
        (["--ci"], ["Once1", "Once2", "Once3"], "steady", "5 passed, 0 failed", "Once3 failed, and passed twice"),
        (["--ci"], ["Good", "Dies"], "steady", "2 passed, 1 failed", "a_test ended with -6 in ATest.Dies"),
        ([], ["Good", "Once"], "steady", "1 passed, 1 failed", "waited in vain"),  # contributors are told at once
    ],
)
def test_what_fails_the_run(tree, words, cases, folder, end, told):
    tree.program("a_test", "unit", folder, *cases)
    code, said = tree.run(*words, "unit")
    assert last(said) == end and code == (0 if " 0 failed" in end else 1), said
    assert told in said, said


def test_the_simulator_is_never_run_again(tree):
    tree.program("sim_test", "sim", "steady", "Once")
    code, said = tree.run("--ci", "sim")
    assert code == 1 and "SimTest.Once is not run again: what the simulator finds is a broken invariant" in said


def test_each_part_has_a_section_of_its_own_with_what_it_took(tree):
    for number in range(3):
        tree.program(f"a{number}_test", "unit", "steady", "Bad", "Good")
        tree.program(f"s{number}_test", "sim", "steady", "Bad")
    code, said = tree.run("unit", "sim")
    assert code == 1 and last(said) == "3 passed, 6 failed"
    sections = {part.split("\n")[0]: part for part in said.split("\n==> ")[1:]}
    assert "---- a1_test" in sections["unit"] and "s1_test" not in sections["unit"]
    assert "---- s1_test" in sections["sim"] and "a1_test" not in sections["sim"]
    assert "unit took " in sections["unit"] and "processor minutes" in sections["sim"]


def test_a_part_that_no_change_can_break_is_left_out_and_told(tree):
    tree.program("a_test", "unit", "steady", "Good")
    code, said = tree.run("--ci", "unit", "web", "openapi", "pages")
    assert (code, last(said)) == (0, "3 passed, 0 failed"), said
    for part in ("web", "openapi", "pages"):
        assert f"{part} is left out: nothing of " in said


def test_ages_of_the_nightly_parts_are_printed_and_one_that_is_too_old_fails_ci(tree):
    tree.program("a_test", "unit", "steady", "Good")
    code, said = tree.run("--ci", "unit", TOO_OLD="1")
    assert code == 1 and "story: 12 commits ago" in said and last(said) == "2 passed, 1 failed"
    assert "tests/nightly --ages ended with 1" in said


def test_a_part_without_programs_is_a_failure(tree):
    code, said = tree.run("unit")
    assert (code, last(said)) == (1, "0 passed, 1 failed"), said
