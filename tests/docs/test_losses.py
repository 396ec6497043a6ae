"""docs/protocols/losses.md: each row of what-is-lost.md has its line, and each test that a line names is there."""

import os
import re

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOST = "docs/explanation/what-is-lost.md"
TESTS = "docs/protocols/losses.md"
CPP_TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)")
NAMED = re.compile(r"`(\w+)(\.|::)(\w+)`")


def lines_of(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read().splitlines()


def rows_of(path):
    """The first cells of all tables, by the heading above, without what is bold or code."""
    rows, heading, in_table = [], "", False
    for line in lines_of(path):
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if not line.startswith("|"):
            in_table = False
            continue
        if line.startswith("| ---"):
            in_table = True
        elif in_table:
            rows.append((heading, line.split(" | ")[0].lstrip("| ").replace("**", "").replace("`", "").strip()))
    return rows


def sources(ends):
    for top in ("scheduler", "nodeagent", "sdk", "cli", "tests"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            if "node_modules" not in folder:
                yield from (os.path.join(folder, name) for name in names if name.endswith(ends))


@pytest.fixture(scope="module")
def tests():
    found = set()
    for path in sources("_test.cc"):
        with open(path) as file:
            found |= {f"{suite}.{name}" for suite, name in CPP_TEST.findall(file.read())}
    for path in sources(".py"):
        with open(path) as file:
            module = os.path.basename(path)[: -len(".py")]
            found |= {f"{module}::{name}" for name in re.findall(r"^ *def (\w+)\(", file.read(), re.MULTILINE)}
    return found


def test_each_row_of_what_is_lost_has_its_line():
    told = [row for _, row in rows_of(TESTS)]
    missing = [row for _, row in rows_of(LOST) if not any(row.startswith(one) for one in told)]
    assert missing == []


def test_each_test_that_is_named_is_there(tests):
    named = {"".join(parts) for line in lines_of(TESTS) for parts in NAMED.findall(line)}
    assert len(named) > 100
    assert sorted(named - tests) == []
