"""The items of a part: each is one command, and a judge that says from what the command left what passed. A part that
is cut off goes on behind the items that ended."""

import json
import os
import re
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field
from typing import Callable

import count_results

MINUTE = 60


@dataclass(frozen=True)
class Left:
    """What a command left: its exit code (or why it was killed), what it printed, and its folder."""

    code: object
    out: str
    folder: str


@dataclass(frozen=True)
class Item:
    name: str
    argv: tuple  # run in the checkout; {folder} is the item's own
    judge: Callable[[Left], tuple]  # (number that passed, [names that failed])
    env: dict = field(default_factory=dict)
    lane: str = ""  # items of one lane run one after the other; "" is a lane of its own
    limit_s: float = 20 * MINUTE  # then it hangs, and is killed
    reports: str = ""  # a folder where sanitizers write: each file there is a failure


# Judges


def ended_well(name):
    """One case: the exit code."""

    def judge(left):
        return (1, []) if left.code == 0 else (0, [f"{name}: exit code {left.code}"])

    return judge


LAST = re.compile(r"(\d+) passed, (\d+) failed(?:, \d+ absent)?")


def last_line(name):
    """The command counts by itself: "N passed, M failed" is its last line."""

    def judge(left):
        lines = left.out.strip().splitlines()
        found = LAST.fullmatch(lines[-1].strip()) if lines else None
        if not found:
            return 0, [f"{name}: exit code {left.code}, and its last line counts nothing"]
        passed, bad = int(found[1]), int(found[2])
        named = [line.partition("failed: ")[2] for line in lines if line.lstrip().startswith("failed: ")][:bad]
        failed = named + [f"{name}: one of {bad}"] * (bad - len(named))
        if left.code != 0 and not failed:
            failed = [f"{name}: exit code {left.code}"]
        return passed, failed

    return judge


def junit(name):
    """A JUnit file, result.xml. A skipped case has not passed."""

    def judge(left):
        try:
            passed, failed = count_results.count(os.path.join(left.folder, "result.xml"))
        except (OSError, xml.ParseError) as error:
            return 0, [f"{name}: exit code {left.code}, no result: {error}"]
        if not failed and (left.code != 0 or passed == 0):
            failed = [f"{name}: exit code {left.code}, {passed} cases"]
        return passed, failed

    return judge


def seeds(first, count):
    """A line of JSON for each seed; only one that says so has passed."""

    def judge(left):
        good = set()
        for line in left.out.splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said, dict) and said.get("invariant_violations") == 0:
                good.add(said.get("seed"))
        failed = [f"seed {seed}" for seed in range(first, first + count) if seed not in good]
        if not failed and left.code != 0:
            failed = [f"seeds {first} to {first + count - 1}: exit code {left.code}"]
        return count - sum(name.startswith("seed ") for name in failed), failed

    return judge


# Kinds of items


def seed_items(program, first, count, events, portion):
    for at in range(first, first + count, portion):
        some = min(portion, first + count - at)
        argv = (program, "--seed", at, "--seeds", some, "--events", events, "--faults", "--json")
        yield Item(f"seeds {at} to {at + some - 1}", tuple(map(str, argv)), seeds(at, some))


CASE = re.compile(r"  (\S+)")


def cases_of(listed):
    """Full names out of what --gtest_list_tests printed, without disabled ones."""
    suite, names = "", []
    for line in listed.splitlines():
        if found := CASE.match(line):
            names.append(suite + found[1])
        elif re.match(r"\S+\.(\s|$)", line):
            suite = line.split()[0]
    return [name for name in names if "DISABLED_" not in name]


def gtest_items(program, cases, portion, env=None, reports=""):
    """The cases of a program, `portion` of them an item."""
    base = os.path.basename(program)
    for number, at in enumerate(range(0, len(cases), portion), 1):
        name = f"{base} {number}"
        argv = (
            program,
            "--gtest_output=xml:{folder}/result.xml",
            "--gtest_filter=" + ":".join(cases[at : at + portion]),
        )
        yield Item(name, argv, junit(name), env or {}, limit_s=15 * MINUTE, reports=reports)


def pytest_item(name, test, env, limit_s):
    argv = (
        "/usr/bin/python3",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--junitxml",
        "{folder}/result.xml",
        test,
    )
    env = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", **env}
    return Item(name, argv, junit(name), env, lane="cluster", limit_s=limit_s)


def fuzz_items(command, runs, portion):
    """`command` as CTest has it; its bounds are replaced. Each portion begins with what those before it found."""
    target = os.path.basename(command[0])
    flags = [word for word in command[1:] if not word.startswith(("-seed=", "-runs=", "-max_total_time="))]
    for number in range(1, runs // portion + 1):
        name = f"{target} {number}"
        argv = (command[0], f"-seed={number}", f"-runs={portion}", *flags)
        yield Item(name, argv, ended_well(name), lane=target, limit_s=45 * MINUTE)
