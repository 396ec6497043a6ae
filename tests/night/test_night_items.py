"""What an item's command left, and what of it passed; how a part is cut into items."""

import pytest

from night import items
from night.items import Left

GOOD = '{"seed":%d,"invariant_violations":0}\n'
JUNIT = "<testsuites><testsuite>{}</testsuite></testsuites>"
PASSED = '<testcase classname="A" name="b"/>'
FAILED = '<testcase classname="A" name="c"><failure/></testcase>'
SKIPPED = '<testcase classname="A" name="d"><skipped/></testcase>'


@pytest.mark.parametrize(
    "out, code, passed, failed",
    [
        (GOOD % 7 + GOOD % 8, 0, 2, []),
        (GOOD % 7 + '{"seed":8,"invariant_violations":1}\n', 1, 1, ["seed 8"]),
        (GOOD % 7, 139, 1, ["seed 8"]),
        (GOOD % 7 + GOOD % 7, 0, 1, ["seed 8"]),
        (GOOD % 7 + GOOD % 8, 7, 2, ["seeds 7 to 8: exit code 7"]),
        ("[1]\nno JSON\n", 0, 0, ["seed 7", "seed 8"]),
    ],
)
def test_only_a_seed_that_says_so_has_passed(out, code, passed, failed):
    assert items.seeds(7, 2)(Left(code, out, "")) == (passed, failed)


@pytest.mark.parametrize(
    "out, code, passed, failed",
    [
        ("3 passed, 0 failed\n", 0, 3, []),
        ("3 passed, 0 failed, 2 absent\n", 0, 3, []),
        ("3 passed, 0 failed\n", 1, 3, ["x: exit code 1"]),
        ("  failed: a b\n3 passed, 2 failed\n", 1, 3, ["a b", "x: one of 2"]),
        ("3 passed, 0 failed\nand more\n", 0, 0, ["x: exit code 0, and its last line counts nothing"]),
        ("", "killed after 9 s", 0, ["x: exit code killed after 9 s, and its last line counts nothing"]),
    ],
)
def test_a_command_that_counts_by_itself(out, code, passed, failed):
    assert items.last_line("x")(Left(code, out, "")) == (passed, failed)


@pytest.mark.parametrize(
    "cases, code, passed, failed",
    [
        (PASSED, 0, 1, []),
        (PASSED + FAILED, 1, 1, ["A c"]),
        (PASSED + SKIPPED, 0, 1, ["A d"]),
        (PASSED, 66, 1, ["x: exit code 66, 1 cases"]),
        ("", 0, 0, ["x: exit code 0, 0 cases"]),
    ],
)
def test_cases_of_a_junit_file(tmp_path, cases, code, passed, failed):
    (tmp_path / "result.xml").write_text(JUNIT.format(cases))
    assert items.junit("x")(Left(code, "", str(tmp_path))) == (passed, failed)


def test_a_program_that_died_has_left_no_file(tmp_path):
    passed, failed = items.junit("x")(Left(-11, "", str(tmp_path)))
    assert passed == 0 and len(failed) == 1 and failed[0].startswith("x: exit code -11, no result")


@pytest.mark.parametrize("code, passed, failed", [(0, 1, []), (77, 0, ["x: exit code 77"])])
def test_a_command_that_ends_well_is_one_case(code, passed, failed):
    assert items.ended_well("x")(Left(code, "", "")) == (passed, failed)


def test_seeds_are_cut_into_portions_and_none_is_lost():
    found = list(items.seed_items("sim", 2, 45, 5000, 20))
    assert [item.name for item in found] == ["seeds 2 to 21", "seeds 22 to 41", "seeds 42 to 46"]
    assert found[2].argv == ("sim", "--seed", "42", "--seeds", "5", "--events", "5000", "--faults", "--json")


def test_cases_are_listed_as_a_filter_names_them():
    listed = (
        "Running main() from gtest_main.cc\n"
        "Plain.\n  One\n  DISABLED_Two\n"
        'Of/Kinds.  # TypeParam = int\n  Three/0  # GetParam() = "a.b"\n  Four/tcp\n'
    )
    assert items.cases_of(listed) == ["Plain.One", "Of/Kinds.Three/0", "Of/Kinds.Four/tcp"]


def test_each_case_is_in_one_item():
    found = list(items.gtest_items("/b/a_test", ["A.a", "A.b", "B.c"], 2, {"X": "1"}, "/b/reports"))
    assert [(item.name, item.argv[-1]) for item in found] == [
        ("a_test 1", "--gtest_filter=A.a:A.b"),
        ("a_test 2", "--gtest_filter=B.c"),
    ]
    assert all(item.env == {"X": "1"} and item.reports == "/b/reports" and not item.lane for item in found)


def test_a_fuzz_target_keeps_its_flags_and_gets_other_bounds():
    command = [
        "/b/fuzz/jwt",
        "-seed=1",
        "-runs=100",
        "-max_total_time=120",
        "-max_len=9",
        "-entropic=0",
        "found",
        "corpus",
    ]
    found = list(items.fuzz_items(command, 1000, 500))
    assert [item.argv for item in found] == [
        ("/b/fuzz/jwt", f"-seed={seed}", "-runs=500", "-max_len=9", "-entropic=0", "found", "corpus") for seed in (1, 2)
    ]
    assert {item.lane for item in found} == {"jwt"}, "the second begins with what the first found"
