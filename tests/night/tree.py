"""What is built of a checkout, as the parts ask for it."""

import json
import os
import re
import subprocess

from . import items

# How many cases are one item: few enough that a part that is cut off loses little.
CASES = 30
SUITE = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+),", re.MULTILINE)


def share(weights, at, of):
    """Of {name: weight} the names of share `at` (1 to `of`), sorted: the heaviest goes where least lies."""
    loads, shares = [0] * of, [[] for _ in range(of)]
    for name in sorted(weights, key=lambda one: (-weights[one], one)):
        least = loads.index(min(loads))
        loads[least] += weights[name]
        shares[least].append(name)
    return sorted(shares[at - 1])


class Tree:
    def __init__(self, root):
        self.root = root

    def built(self, preset, *names):
        return os.path.join(self.root, "build", preset, *names)

    def tests(self, preset):
        """[(program, label, [sources])] as CMake lists them; sources from the checkout on."""
        found = []
        with open(self.built(preset, "tests.txt")) as file:
            for line in file:
                name, label, *sources = line.split()
                full = [os.path.join(self.root, source) for source in sources]
                found.append((name, label, [os.path.relpath(source, self.root) for source in full]))
        return found

    def program_with(self, preset, source):
        for name, _, sources in self.tests(preset):
            if source in sources:
                return name
        raise LookupError(f"no test program of preset {preset} has {source}: tests/night/parts.py names the source")

    def _text(self, source):
        with open(os.path.join(self.root, source), errors="replace") as file:
            return file.read()

    def cases(self, preset, program, pattern):
        said = subprocess.run(
            [self.built(preset, "test", program), "--gtest_list_tests", f"--gtest_filter={pattern}"],
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=300,
        )
        names = items.cases_of(said.stdout)
        if said.returncode != 0 or not names:
            raise LookupError(f"{program} lists no cases of {pattern}: {(said.stderr or said.stdout)[-2000:]}")
        return names

    def cases_in(self, source, preset="release", portion=CASES, **env):
        """Items of the cases of one source."""
        program = self.program_with(preset, source)
        pattern = ":".join(f"*{suite}.*" for suite in sorted(set(SUITE.findall(self._text(source)))))
        cases = self.cases(preset, program, pattern)
        return list(items.gtest_items(self.built(preset, "test", program), cases, portion, env))

    def programs_of_share(self, preset, labels, at, of):
        """Each program weighs as much as its sources have tests."""
        weights = {}
        for name, label, sources in self.tests(preset):
            if label in labels:
                weights[name] = 1 + sum(len(SUITE.findall(self._text(one))) for one in sources if one.endswith(".cc"))
        return share(weights, at, of)

    def sanitized(self, preset, programs, pattern):
        reports = self.built(preset, "reports")
        found = []
        for name in programs:
            cases = self.cases(preset, name, pattern)
            found += items.gtest_items(self.built(preset, "test", name), cases, CASES, reports=reports)
        return found

    def fuzz_targets(self):
        return [name for name, label, _ in self.tests("asan-ubsan") if label == "fuzz"]

    def fuzz_commands(self):
        """{target: its command} as CTest has them."""
        said = subprocess.run(
            ["ctest", "--test-dir", self.built("asan-ubsan"), "--show-only=json-v1"],
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        return {test["name"]: test["command"] for test in json.loads(said.stdout)["tests"] if "command" in test}
