"""docs/security.md promises: each line of its tables names the tests that show it, and these tests are there."""

import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAME = re.compile(r"`(\w+(?:\.|::)\w+)`")
OF_CPP = re.compile(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", re.MULTILINE)
OF_PYTHON = re.compile(r"^def (test_\w+)\(", re.MULTILINE)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def names_that_are_there():
    found = set()
    for folder in ("cli", "nodeagent", "scheduler", "sdk", "tests"):
        for path in glob.glob(f"{folder}/**/*.cc", root_dir=ROOT, recursive=True):
            if path.endswith("_test.cc"):
                found |= {f"{suite}.{name}" for suite, name in OF_CPP.findall(read(path))}
    for path in glob.glob("tests/**/test_*.py", root_dir=ROOT, recursive=True):
        stem = os.path.basename(path).removesuffix(".py")
        found |= {f"{stem}::{name}" for name in OF_PYTHON.findall(read(path))}
    return found


def rows_of_tables(text):
    """The lines below a table's head whose last column is "shown by"."""
    shown = False
    for line in text.splitlines():
        if not line.startswith("|"):
            shown = False
        elif line.rstrip(" |").endswith("shown by"):
            shown = True
        elif shown and not set(line) <= set("|- "):
            yield line


def test_each_line_names_a_test_that_is_there():
    there = names_that_are_there()
    faults = []
    rows = list(rows_of_tables(read("docs/security.md")))
    assert len(rows) > 30
    for row in rows:
        names = NAME.findall(row.rstrip(" |").rpartition("|")[2])
        faults += [f"names no test: {row}"] if not names else []
        faults += [f"{name} is not there: {row}" for name in names if name not in there]
    assert faults == [], "\n".join(faults)
