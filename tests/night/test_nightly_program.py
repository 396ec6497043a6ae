"""tests/nightly as a program: what it says, its exit codes and the row that it writes; with programs in place of those
that it runs, in a clone of their own."""

import os
import re
import shutil
import subprocess

import pytest

from cluster.processes import SLOWER
from night import page

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIM = """#!/bin/bash
seed=$2 seeds=$4 code=0
for ((i = seed; i < seed + seeds; ++i)); do
  if [ "$((i % 10000))" = "$DIES" ]; then exit 139; fi
  if [ "$((i % 10000))" = "$VIOLATED" ]; then
    echo "seed $i: a node has two holders" >&2
    echo "{\\"seed\\":$i,\\"invariant_violations\\":1}"
    code=1
  else
    echo "{\\"seed\\":$i,\\"invariant_violations\\":0}"
  fi
done
exit $((code + ${ENDS:-0}))
"""
PLANTED = """#!/bin/bash
if [ "$1" = --gtest_list_tests ]; then
  [ "$2" = "--gtest_filter=*Planted.*:*PlantedNone.*" ] || exit 1
  printf 'All/Planted.\\n  IsCaught/LostRelease  # GetParam() = 1\\n  IsCaught/HalfGang\\nPlantedNone.\\n  IsClean\\n'
  exit
fi
out=${1#--gtest_output=xml:} name=${2#--gtest_filter=}
echo "${name#All/Planted.IsCaught/}" >>ran
if [ "$name" = "$WAITS" ]; then kill -TERM "$(cat "$XDG_STATE_HOME/glim/nightly/lock")"; sleep 600; fi
[ -z "$EDITS" ] || echo other >proto/edited
if [ "$name" = "$MISSED" ]; then bad='<failure/>'; fi
echo "<testsuites><testsuite><testcase name='$name'>$bad</testcase></testsuite></testsuites>" >"$out"
[ -z "$bad" ]
"""
CASES = ["LostRelease", "HalfGang", "PlantedNone.IsClean"]
HALF_GANG = "All/Planted.IsCaught/HalfGang"
TABLE = f"# Page\n\n{page.BEGIN}\n{page.HEAD}{page.END}\n"
PROGRAM = ("tests/nightly", "tests/run_parts.py", "tests/count_results.py", "tests/choose_programs.py")
SOURCE = "scheduler/sim/world/planted_test.cc"


class Clone:
    def __init__(self, tmp_path):
        self.folder, self.state = tmp_path / "clone", tmp_path / "state"
        for name in (*PROGRAM, SOURCE):
            self.write(name, "")
            shutil.copy(os.path.join(ROOT, name), self.folder / name)
        for name in ("night", "runner"):
            shutil.copytree(os.path.join(ROOT, "tests", name), self.folder / "tests" / name)
        self.write("deploy/install-deps", "#!/bin/sh\n")
        self.write("build/release/bin/glim-sim", SIM)
        self.write("build/release/test/planted_test", PLANTED)
        self.write("build/release/tests.txt", f"other_test unit a.cc\nplanted_test sim {SOURCE} b.cc\n")
        self.write("docs/nightly.md", TABLE)
        self.write("proto/edited", "as it was\n")
        self.write(".gitignore", "/build/\n__pycache__/\n/ran\n")
        self.programs = tmp_path / "programs"
        self.programs.mkdir()
        (self.programs / "cmake").write_text('#!/bin/sh\necho "$*" >>build/cmake\n')
        (self.programs / "cmake").chmod(0o755)
        self.git("init", "-q")
        self.commit()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def git(self, *words):
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = subprocess.run(["git", "-C", self.folder, *who, *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")

    def run(self, *words, **environment):
        paths = f"{self.programs}:{os.environ['PATH']}"
        own = {"PATH": paths, "XDG_STATE_HOME": str(self.state), "GLIM_TEST_SLOWER": "1"}
        env = {**os.environ, **own, **environment}
        argv = [self.folder / "tests" / "nightly", *map(str, words)]
        return subprocess.run(argv, capture_output=True, text=True, env=env, timeout=120 * SLOWER)

    @property
    def rows(self):
        return page.read((self.folder / "docs" / "nightly.md").read_text())

    @property
    def ran(self):
        return (self.folder / "ran").read_text().split()


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


def last(done):
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "environment, counts, code",
    [
        ({}, "3333 passed, 0 failed", 0),
        ({"VIOLATED": "29"}, "3332 passed, 1 failed", 1),
        ({"DIES": "43"}, "3325 passed, 8 failed", 1),
        ({"ENDS": "7"}, "3333 passed, 67 failed", 1),
    ],
)
def test_seeds_that_pass_are_violated_or_end_the_simulator(clone, environment, counts, code):
    done = clone.run("--part", "seeds-1", "--no-build", **environment)
    assert (last(done), done.returncode) == (counts, code), done.stdout + done.stderr
    assert clone.rows == {}, "who knows what was built"
    if "VIOLATED" in environment:
        assert re.search(r"seed \d*29: a node has two holders", done.stdout), done.stdout
        assert re.search(r"  failed: seed \d*29\n", done.stdout), done.stdout


@pytest.mark.parametrize("missed, result", [("", "3 passed, 0 failed"), (HALF_GANG, "2 passed, 1 failed")])
def test_a_part_that_ended_has_its_row_also_if_it_failed(clone, missed, result):
    done = clone.run("--part", "planted", MISSED=missed)
    assert (last(done), done.returncode) == (result, 1 if missed else 0), done.stdout + done.stderr
    assert sorted(clone.ran) == sorted(CASES)
    assert (clone.folder / "build" / "cmake").read_text().splitlines() == [
        "--preset release",
        f"--build {clone.folder}/build/release --target planted_test",
    ]
    row = clone.rows["planted"]
    assert (row.result, row.commit, row.minutes) == (result, clone.git("rev-parse", "--short=8", "HEAD"), "1")
    assert clone.rows["vm"].result == page.NOT_YET
    assert list((clone.state / "glim" / "nightly").glob("planted@*")) == []


def test_a_result_of_what_is_not_committed_has_no_row(clone):
    clone.write("proto/edited", "other\n")
    done = clone.run("--part", "planted")
    assert done.returncode == 0 and "1 files are not as the commit has them (proto/edited)" in done.stdout
    assert clone.rows == {}


def test_what_was_stopped_goes_on_behind_what_ended(clone):
    done = clone.run("--part", "planted", "--jobs", 1, WAITS=HALF_GANG)
    assert done.returncode == 130 and "run it again to go on" in done.stderr
    left = subprocess.run(["pgrep", "-f", f"{clone.folder}/build/release/test/"], capture_output=True, text=True).stdout
    assert left == "", "what ran ended with it"
    assert clone.ran == CASES[:2] and clone.rows == {}
    done = clone.run("--part", "planted", "--jobs", 1)
    assert done.returncode == 0 and "1 of 3 ended before: going on behind them" in done.stdout, done.stdout
    assert clone.ran == [*CASES[:2], *CASES[1:]]
    assert clone.rows["planted"].result == "3 passed, 0 failed"


def test_after_a_commit_that_changes_its_sources_it_begins_again(clone):
    clone.run("--part", "planted", "--jobs", 1, WAITS=HALF_GANG)
    clone.write("proto/edited", "other\n")
    clone.commit()
    assert clone.run("--part", "planted", "--jobs", 1).returncode == 0
    assert clone.ran == [*CASES[:2], *CASES]


def test_what_was_edited_while_it_ran_has_no_result(clone):
    done = clone.run("--part", "planted", EDITS="1")
    assert done.returncode == 1 and "changed while it ran" in done.stdout
    assert clone.rows == {}
    clone.git("checkout", "-q", "proto/edited")
    assert clone.run("--part", "planted").returncode == 0
    assert sorted(clone.ran) == sorted(CASES * 2), "nothing of it is kept"


def test_beside_it_runs_what_is_committed_and_writes_the_row_here(clone):
    shutil.copytree(
        clone.folder / "build" / "release", clone.folder / "build" / "nightly" / "tree" / "build" / "release"
    )
    clone.write("proto/edited", "other\n")
    done = clone.run("--part", "planted", "--beside")
    assert done.returncode == 0, done.stdout + done.stderr
    tree = clone.folder / "build" / "nightly" / "tree"
    assert sorted((tree / "ran").read_text().split()) == sorted(CASES)
    assert (tree / "proto/edited").read_text() == "as it was\n"
    assert clone.rows["planted"].result == "3 passed, 0 failed"


def test_a_build_that_fails_fails_the_part(clone):
    (clone.programs / "cmake").write_text("#!/bin/sh\necho 'no such header' >&2\nexit 1\n")
    done = clone.run("--part", "planted")
    assert done.returncode == 1 and "no such header" in done.stdout and last(done) == "0 passed, 1 failed"


def test_ages_are_refused_from_61_commits_on(clone):
    assert clone.run("--page").returncode == 0
    clone.git("commit", "-q", "-a", "-m", "the page")
    done = clone.run("--ages")
    assert done.returncode == 0 and "seeds-1: 1 commits: has not run" in done.stdout, "the commit that brings the page"
    for number in range(59):
        clone.git("commit", "-q", "--allow-empty", "-m", "x")
    assert clone.run("--ages").returncode == 0
    clone.git("commit", "-q", "--allow-empty", "-m", "x")
    done = clone.run("--ages")
    assert done.returncode == 1 and "TOO OLD: tests/nightly --part seeds-1" in done.stdout
    assert last(done) == f"{len(clone.rows)} parts, {len(clone.rows)} older than 60 commits"


def test_the_part_that_is_due(clone):
    assert clone.run("--page").returncode == 0
    clone.git("commit", "-q", "-a", "-m", "the page")
    assert clone.run("--oldest").stdout == "seeds-1\n"
    text = (clone.folder / "docs" / "nightly.md").read_text()
    rows = {
        **clone.rows,
        "seeds-1": page.Row("seeds-1", "1 passed, 0 failed", clone.git("rev-parse", "HEAD"), "2026-11-28", "1"),
    }
    clone.write("docs/nightly.md", page.write(text, [(name, "x") for name in rows], rows, "0" * 8, "2026-11-28"))
    assert clone.run("--oldest").stdout == "seeds-2\n"


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["--part", "vm", "--minutes", "0"], "'0' is no number from 1 to 999999999"),
        (["--part", "sead"], "invalid choice: 'sead'"),
        (["--part", "vm", "--ages"], "not allowed with argument"),
    ],
)
def test_wrong_use_is_refused(clone, words, complaint):
    done = clone.run(*words)
    assert done.returncode == 2 and complaint in done.stderr


def test_one_run_at_a_time(clone):
    import fcntl

    lock = clone.state / "glim" / "nightly" / "lock"
    lock.parent.mkdir(parents=True)
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("4711")
        file.flush()
        done = clone.run("--part", "planted")
    assert done.returncode == 1 and "process 4711 runs a part already" in done.stderr
