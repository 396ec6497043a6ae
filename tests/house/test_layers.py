"""The house's rules, each held against the tree: who may use whom, what is pure, how large a file may grow.

The floor plan is layers.toml; what is not mended yet stands in known.toml, which may only shrink. That each rule finds
what it looks for is shown in test_planted.py.
"""

from collections.abc import Callable, Iterator

import pytest
import rules_files
import rules_links
import rules_names
import rules_rooms
from floor_plan import FloorPlan
from known import complaints, read_known
from source_tree import Offence, Tree

Rule = Callable[[Tree, FloorPlan], Iterator[Offence]]
RULES: tuple[Rule, ...] = (*rules_rooms.RULES, *rules_files.RULES, *rules_names.RULES, *rules_links.RULES)


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree.read()


@pytest.fixture(scope="module")
def plan() -> FloorPlan:
    return FloorPlan.read()


@pytest.fixture(scope="module")
def offences(tree: Tree, plan: FloorPlan) -> dict[str, list[Offence]]:
    return {rule.__name__: list(rule(tree, plan)) for rule in RULES}


def test_the_sources_are_found(tree: Tree) -> None:
    assert len(tree.cpp) > 500
    for path in ("sdk/base/check.h", "scheduler/core/core.h", "cli/main.cc", "nodeagent/main.cc"):
        assert path in tree.files


def test_the_house_is_as_the_floor_plan_says(offences: dict[str, list[Offence]]) -> None:
    known = [entry for entry in read_known() if entry.rule != "home"]  # test_homes.py
    found = complaints([offence for some in offences.values() for offence in some], known)
    assert not found, "\n" + "\n".join(found)


def test_the_known_offences_say_why() -> None:
    for entry in read_known():
        assert entry.why and entry.count > 0, entry


def test_the_exceptions_of_the_table_are_needed(tree: Tree, plan: FloorPlan) -> None:
    for key in ("declarations", "no_header"):
        for path in plan.table[key]:
            assert path in tree.files, f"layers.toml, [{key}]: {path} is not there: take the entry out"
    for path, row in plan.table["pure"]["exceptions"].items():
        includes = {f"<{include.name}>" for include in tree.files[path].includes}
        for word in row["may"]:
            needed = word in includes if word[0] == "<" else word in tree.files[path].code
            assert needed, f"layers.toml, [pure.exceptions]: {path} does not use {word}: take it out"
