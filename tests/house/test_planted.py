"""The test of the tests: each wrong thing is planted in a copy of the tree, and the rule must find it and say where it
is, which rule it breaks and what to do."""

from collections.abc import Callable, Iterator

import known as known_offences
import pytest
import rules_files
import rules_links
import rules_names
import rules_rooms
from floor_plan import FloorPlan
from known import Known
from source_tree import Offence, SourceFile, Tree, circles

Rule = Callable[[Tree, FloorPlan], Iterator[Offence]]
MODEL = "scheduler/core/model/rows.h"
PLANNER = "scheduler/core/planning/planner.cc"


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree.read()


@pytest.fixture(scope="module")
def plan() -> FloorPlan:
    return FloorPlan.read()


FOUND_BEFORE: dict[tuple[str, int], set[tuple[str, str]]] = {}


def new(rule: Rule, before: Tree, after: Tree, plan: FloorPlan) -> list[Offence]:
    """What the rule finds in `after` and did not find in `before`."""
    key = (rule.__name__, id(before))
    if key not in FOUND_BEFORE:
        FOUND_BEFORE[key] = {(o.file, o.what) for o in rule(before, plan)}
    return [o for o in rule(after, plan) if (o.file, o.what) not in FOUND_BEFORE[key]]


def includes(name: str) -> str:
    return f"#include {name}" if name.startswith("<") else f'#include "{name}"'


# rule, file, what is included there, words of the message
WRONG_INCLUDES = [
    (rules_rooms.edges, MODEL, "scheduler/core/planning/pass.h", "stands above scheduler/core/model"),
    (rules_rooms.edges, MODEL, "scheduler/store/contract/store.h", "stands above scheduler/core/model"),
    (rules_rooms.edges, "scheduler/core/planning/pass.h", "scheduler/core/lifecycle/changes.h", "may not use"),
    (rules_rooms.edges, "sdk/base/status.h", "scheduler/core/core.h", "stands above sdk/base"),
    (rules_rooms.edges, "cli/text/text.cc", "nodeagent/os/processes.h", "may not use nodeagent/os"),
    (rules_rooms.edges, PLANNER, "scheduler/core/testing/specs.h", "production code includes"),
    (rules_rooms.edges, "sdk/snapshot/archive.cc", "sdk/base/testing/seeds.h", "production code includes"),
    (rules_rooms.edges, PLANNER, "scheduler/core/planning/planner_test.cc", "_test.cc"),
    (rules_rooms.edges, "scheduler/core/testing/specs.h", "scheduler/server/config.h", "a test of scheduler/core"),
    (rules_rooms.libraries, "scheduler/store/codec/row_codec.cc", "<grpcpp/grpcpp.h>", "may not use grpc"),
    (rules_rooms.libraries, "scheduler/server/server.cc", "<sqlite3.h>", "may not use sqlite"),
    (rules_rooms.libraries, "scheduler/server/server.cc", "<gtest/gtest.h>", "may not use gtest"),
    (rules_rooms.libraries, "cli/main.cc", "<abseil/strings.h>", "no header that the house knows"),
    (rules_rooms.libraries, "cli/main.cc", "cli/text/no_such_file.h", "no header that the house knows"),
    (rules_files.pure, MODEL, "<chrono>", "includes chrono"),
    (rules_files.pure, MODEL, "<thread>", "includes thread"),
    (rules_files.pure, MODEL, "<atomic>", "includes atomic"),
    (rules_files.pure, MODEL, "<unistd.h>", "includes unistd.h"),
    (rules_files.pure, MODEL, "spdlog/spdlog.h", "includes spdlog/spdlog.h"),
    (rules_files.pure, "nodeagent/core/reconcile.cc", "<random>", "includes random"),
    (rules_files.pure, "nodeagent/core/reconcile.h", "sdk/log/log.h", "sdk/log, which is not"),
    (rules_files.pure, "sdk/base/status.h", "<fstream>", "includes fstream"),
    (rules_links.missing, "scheduler/store/codec/row_codec.cc", "<grpcpp/grpcpp.h>", "does not link glim_proto"),
    (rules_links.missing, "scheduler/policy/policy_file.cc", "scheduler/core/core.h", "does not link glim_core, whose"),
]


@pytest.mark.parametrize("rule, path, included, words", WRONG_INCLUDES)
def test_a_wrong_include_is_found(
    tree: Tree, plan: FloorPlan, rule: Rule, path: str, included: str, words: str
) -> None:
    planted = tree.with_line(path, includes(included))
    [offence] = new(rule, tree, planted, plan)
    line = tree.files[path].includes[0].line + 1
    assert (offence.file, offence.line) == (path, line)
    assert words in str(offence), str(offence)
    assert f"{path}:{line}: {offence.rule}: " in str(offence) and offence.mend


WRONG_CODE = [
    ("int x = rand();", "calls rand"),
    ("auto t = ::time(nullptr);", "calls time"),
    ("auto t = std::time(nullptr);", "calls time"),
    ('const char* h = getenv("HOME");', "calls getenv"),
    ("std::mutex m;", "uses std::mutex"),
    ("std::unordered_map<int, int> m;", "uses std::unordered_"),
    ("auto p = reinterpret_cast<int*>(q);", "uses reinterpret_cast"),
]


@pytest.mark.parametrize("code, words", WRONG_CODE)
def test_impure_code_is_found(tree: Tree, plan: FloorPlan, code: str, words: str) -> None:
    planted = tree.with_line(PLANNER, code)
    [offence] = new(rules_files.pure, tree, planted, plan)
    assert words in offence.what
    assert planted.files[PLANNER].lines[offence.line - 1] == code


@pytest.mark.parametrize(
    "code", ["// std::mutex, time(now)", "/* getenv(x) */", "TimePoint at_time(int);", 'T("rand()");', "x.time(1);"]
)
def test_pure_code_is_left_alone(tree: Tree, plan: FloorPlan, code: str) -> None:
    assert not new(rules_files.pure, tree, tree.with_line(PLANNER, code), plan)


def test_a_circle_of_two_units_is_found(tree: Tree, plan: FloorPlan) -> None:
    planted = tree.with_line("scheduler/core/model/spec.h", includes(MODEL))
    [offence] = new(rules_rooms.circles_of_units, tree, planted, plan)
    assert "scheduler/core/model/rows scheduler/core/model/spec" in offence.what
    assert "scheduler/core/model/spec.h:" in offence.mend and MODEL + ":" in offence.mend


def test_a_circle_of_rooms_is_found(tree: Tree, plan: FloorPlan) -> None:
    planted = tree.with_line(MODEL, includes("scheduler/core/lifecycle/changes.h"))
    [offence] = new(rules_rooms.circles_of_rooms, tree, planted, plan)
    assert "scheduler/core/lifecycle scheduler/core/model" in offence.what


def test_a_folder_that_is_no_room_is_found(tree: Tree, plan: FloorPlan) -> None:
    planted = tree.with_file("scheduler/extras/helper.cc", "int x;\n")
    [offence] = new(rules_rooms.rooms_of_the_table, tree, planted, plan)
    assert offence.file == "scheduler/extras/helper.cc" and "[room." in offence.mend


def test_a_room_without_files_is_found(tree: Tree, plan: FloorPlan) -> None:
    emptied = Tree({path: file for path, file in tree.files.items() if file.folder != "cli/checkpoints"})
    [offence] = new(rules_rooms.rooms_of_the_table, tree, emptied, plan)
    assert "cli/checkpoints" in offence.what


def test_a_permission_that_nothing_needs_is_found(tree: Tree, plan: FloorPlan) -> None:
    less = tree.replaced("scheduler/sim/main.cc", '#include "scheduler/sim/world/', '// include "')
    [offence] = new(rules_rooms.needless_permissions, tree, less, plan)
    assert "scheduler/sim/world" in offence.what


def test_a_link_that_is_missing_is_found(tree: Tree, plan: FloorPlan) -> None:
    path = "sdk/yaml/CMakeLists.txt"
    planted = tree.replaced(path, "glim_base glim_yaml_cpp", "glim_base")
    [offence] = new(rules_links.missing, tree, planted, plan)
    assert "glim_yaml does not link glim_yaml_cpp" in offence.what
    assert f"LINKS of glim_yaml in {path}:" in offence.mend


def test_a_link_too_many_is_found(tree: Tree, plan: FloorPlan) -> None:
    planted = tree.replaced(
        "scheduler/policy/CMakeLists.txt", "LINKS glim_core_model", "LINKS glim_core_model glim_log"
    )
    [offence] = new(rules_links.needless, tree, planted, plan)
    assert "glim_policy links glim_log" in offence.what


def test_a_neighbours_source_is_found(tree: Tree, plan: FloorPlan) -> None:
    path = "scheduler/policy/CMakeLists.txt"
    planted = tree.replaced(path, "SOURCES policy_file.cc", "SOURCES ../core/core.cc policy_file.cc")
    [offence] = new(rules_links.sources, tree, planted, plan)
    assert "scheduler/core/core.cc" in offence.what and offence.file == path


def test_a_source_of_no_target_is_found(tree: Tree, plan: FloorPlan) -> None:
    planted = tree.with_file("scheduler/policy/forgotten.cc", "int x;\n")
    [offence] = new(rules_links.sources, tree, planted, plan)
    assert offence.file == "scheduler/policy/forgotten.cc"


def test_long_files_functions_and_lines_are_found(tree: Tree, plan: FloorPlan) -> None:
    path = "scheduler/policy/long.cc"
    body = "".join(f"  x += {i};\n" for i in range(70))
    text = "namespace glim {\n\nint Long(int x) {\n" + body + "  return x;\n}\n}\n" + "// " + "x" * 120 + "\n" * 400
    found = {o.rule: o for o in new(rules_files.lengths, tree, tree.with_file(path, text), plan)}
    assert set(found) == {"file length", "function length", "columns"}
    assert found["function length"].line == 3 and "Long has 73 lines" in found["function length"].what


def test_functions_are_measured() -> None:
    text = """namespace a {
struct S {
  int Get() const { return x_; }
  S() : x_{1}, y_{{2}} {
  }
  int x_ = 0;
};
const int kRows[] = {
    1, 2,
};
template <typename T>
T Twice(T t) {
  const auto inner = [&] {
    return R"({ ( "not code)";
  };
  if (t) { return '{'; }  // }
  return inner();
}
TEST_F(Some, Thing) {
}
}  // namespace a
"""
    found = list(rules_files.functions(SourceFile("x.cc", text)))
    assert found == [("Get", 3, 1), ("S", 4, 2), ("Twice", 11, 8), ("TEST_F", 19, 2)]


def test_a_source_without_a_header_is_found(tree: Tree, plan: FloorPlan) -> None:
    planted = tree.with_file("scheduler/policy/more.cc", "int x;\n")
    [offence] = new(rules_names.headers_of_their_name, tree, planted, plan)
    assert offence.file == "scheduler/policy/more.cc" and "// Sources:" in offence.mend
    named = planted.replaced("scheduler/policy/policy_file.h", "#pragma once", "// Sources: more.cc\n#pragma once")
    assert not new(rules_names.headers_of_their_name, tree, named, plan)
    wrong = tree.replaced("scheduler/policy/policy_file.h", "#pragma once", "// Sources: gone.cc\n#pragma once")
    [offence] = new(rules_names.headers_of_their_name, tree, wrong, plan)
    assert "gone.cc, which is not there" in offence.what


def test_a_readme_that_is_missing_or_silent_is_found(tree: Tree, plan: FloorPlan) -> None:
    path = "scheduler/core/README.md"
    [offence] = new(rules_names.readmes, tree, tree.without(path), plan)
    assert offence.file == path
    silent = tree.replaced(path, "`planning/`", "planning")
    [offence] = new(rules_names.readmes, tree, silent, plan)
    assert "`planning/`" in offence.what


def test_a_wrong_python_import_is_found(tree: Tree, plan: FloorPlan) -> None:
    folder = "sdk/python/glim"
    planted = tree.with_file(f"{folder}/outbox.py", "import numpy\n" + tree.text(f"{folder}/outbox.py"))
    [offence] = new(rules_names.python_imports, tree, planted, plan)
    assert "outbox may not import numpy at the top" in offence.what
    planted = tree.with_file(f"{folder}/outbox.py", "from .client import Client\n" + tree.text(f"{folder}/outbox.py"))
    [offence] = new(rules_names.python_imports, tree, planted, plan)
    assert "client outbox" in offence.what


def test_circles_of_a_graph() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert circles({"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"e"}, "e": {"c"}}) == [["a", "b"], ["c", "d", "e"]]


def test_the_known_list_may_only_shrink() -> None:
    offences = [Offence("rule", "a/x.cc", n, f"wrong {n}", "mend it") for n in (1, 2)]
    entry = Known("rule", "a/*", 2, "why")
    assert known_offences.complaints(offences, [entry]) == []
    assert len(known_offences.complaints(offences, [])) == 2
    [more] = known_offences.complaints([*offences, Offence("rule", "a/y.cc", 1, "wrong", "")], [entry])
    assert "3, and 2 are known; one is new" in more
    [fewer] = known_offences.complaints(offences[:1], [entry])
    assert "set its count to 1" in fewer
    [none] = known_offences.complaints([], [entry])
    assert "take the entry out" in none
    assert "wrong 1" in known_offences.complaints(offences, [Known("rule", "b/*", 1, "why")])[0]
