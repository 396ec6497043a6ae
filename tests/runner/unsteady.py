"""Tests that failed in CI, and passed when they were run again: which failures are run again, and the table of those
that were (tests/unsteady.md)."""

import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass

from .outcomes import CRASH, ROOT

PAGE = "tests/unsteady.md"
NAMES_MOST = 3  # a run
RUNS_MOST = 10  # of a line's age
COMMITS_A_RUN = 20  # what is tried in CI is a change of some twenty commits
ROW = re.compile(r"^\| *(\d{4}-\d\d-\d\d) *\| *([0-9a-f]{7,40}) *\| *`([^`|]+)` *\| *(.*?) *\|$")
HEAD = ("| date | commit | test | suspected cause |", "| --- | --- | --- | --- |")
IMPORT = re.compile(r"^\s*(?:from\s+(\w+)\s+import|import\s+(\w+))", re.MULTILINE)


def why_not_again(failed, ended, changed):
    """Why a case that failed is not run again; None if it is. `changed`: the files that differ from the base, None if
    the base is unknown."""
    if failed.job.kind not in ("gtest", "pytest"):
        return "only cases of GoogleTest and of pytest are"
    if failed.job.label == "sim":
        return "what the simulator finds is a broken invariant"
    if failed.source is None:
        return "its source is not known"
    if ended.code != 1:
        return "its program crashed"
    crash = CRASH.search(failed.text) or CRASH.search(message_of(failed.element))
    if crash:
        return f"'{crash[0].strip()}' is no chance"
    if changed is None:
        return "the commit to compare with is not known"
    touched = sorted(path for path in changed if path in touches(failed.source, changed))
    return f"{touched[0]} differs" if touched else None


def message_of(element):
    return "\n".join(f"{child.get('message') or ''}\n{child.text or ''}" for child in element)


def touches(source, changed):
    """Which of `changed` touch the test that is defined in `source`. A program's test: what lies in its folder, or
    helps tests there (testing/). A Python test: its module, the folder's conftest.py, and what of the folder these
    import."""
    folder = os.path.dirname(source)
    if not source.endswith(".py"):
        return {path for path in changed if os.path.dirname(path) in (folder, os.path.join(folder, "testing"))}
    seen, pending = set(), [source, os.path.join(folder, "conftest.py")]
    while pending:
        path = pending.pop()
        if path in seen or not (path in changed or os.path.exists(os.path.join(ROOT, path))):
            continue
        seen.add(path)
        try:
            with open(os.path.join(ROOT, path), errors="replace") as file:
                names = {name for pair in IMPORT.findall(file.read()) for name in pair if name}
        except OSError:
            continue
        pending += [os.path.join(folder, f"{name}.py") for name in names]
    return seen & set(changed)


def again(failed, report):
    """(command, environment) that run the case alone, in a process of its own, and write `report`."""
    job = failed.job
    if job.kind == "gtest":
        return [job.argv[0], f"--gtest_filter={failed.name}", f"--gtest_output=xml:{report}"], {}
    return [*job.argv[: job.argv.index("--junitxml")], "--junitxml", report, failed.name], job.env


def line_of(name, date, commit):
    """A row for the table, without its cause."""
    return f"| {date} | {commit} | `{name.replace('|', '?').replace('`', '?')}` | |"


@dataclass(frozen=True)
class Row:
    at: int
    name: str
    cause: str


def rows_of(text):
    """(the table's rows, what is wrong with its lines)"""
    rows, faults = [], []
    for at, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|") or line in HEAD:
            continue
        match = ROW.match(line)
        if match:
            rows.append(Row(at, match[3], match[4]))
        else:
            faults.append(f"{PAGE}:{at} is no row of the table: | YYYY-MM-DD | COMMIT | `TEST` | CAUSE |")
    return rows, faults


def faults_of(text, age_of):
    """What is wrong with the table. `age_of(line)`: how many runs ago the line was entered."""
    rows, faults = rows_of(text)
    for name, times in Counter(row.name for row in rows).items():
        if times > 1:
            faults.append(f"{PAGE}: {name} stands there {times} times: mend or remove the test, and both lines")
    for row in rows:
        if not row.cause:
            faults.append(f"{PAGE}:{row.at} has no suspected cause: write what {row.name} may have waited for")
        age = age_of(row.at)
        if age > RUNS_MOST:
            faults.append(
                f"{PAGE}:{row.at} is {age} runs old: mend {row.name} (at most {RUNS_MOST}), and remove the line"
            )
    return faults


class Ages:
    """How many runs ago lines were entered: the first parents from HEAD down to the commit that entered the line, by
    COMMITS_A_RUN. A line that is not committed is of this run."""

    def __init__(self, path=PAGE, root=ROOT, commits_a_run=COMMITS_A_RUN):
        self._root, self._commits_a_run = root, commits_a_run
        said = self._git("blame", "--porcelain", "--", path)
        found = re.findall(r"^([0-9a-f]{40}) \d+ (\d+)", said, re.MULTILINE)
        self._commits, self._ages = {int(at): commit for commit, at in found}, {}

    def _git(self, *words):
        done = subprocess.run(["git", "-C", self._root, *words], capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else ""

    def __call__(self, line):
        commit = self._commits.get(line, "0")
        if not commit.strip("0"):
            return 0
        if commit not in self._ages:
            said = self._git("rev-list", "--count", "--first-parent", f"{commit}..HEAD")
            self._ages[commit] = int(said.strip() or 0) // self._commits_a_run
        return self._ages[commit]


def check_page():
    """What is wrong with tests/unsteady.md as it is now."""
    try:
        with open(os.path.join(ROOT, PAGE)) as file:
            text = file.read()
    except OSError as error:
        return [f"{PAGE} cannot be read: {error}"]
    return faults_of(text, Ages())
