"""The table of parts: what they name is there, and docs/nightly.md has them."""

import os
import re

import pytest

import runner.parts
from night import page
from night.parts import BY_NAME, CALLS, PARTS, SEED_PARTS, SEEDS
from night.tree import Tree, share
from runner.seeds import first_seed

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def test_the_page_has_a_row_for_each_part_in_its_words():
    text = read("docs", "nightly.md")
    rows = page.read(text)
    again = page.write(text, [(part.name, part.what) for part in PARTS], rows, "0" * 8, "2026-01-01")
    assert text == again, "tests/nightly --page writes it"


def test_names_are_given_once():
    assert len(BY_NAME) == len(PARTS)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_the_sources_of_a_part_are_there(part):
    for source in part.sources:
        if not source.startswith(":(exclude)*"):
            assert os.path.exists(os.path.join(ROOT, source.removeprefix(":(exclude)"))), source


def test_the_fuzz_targets_that_are_calls_are_there():
    targets = {
        f"fuzz_{name}" for name in re.findall(r"^glim_fuzz\((\w+)", read("tests", "fuzz", "CMakeLists.txt"), re.M)
    }
    assert set(CALLS) <= targets


@pytest.mark.parametrize("name", ["stories", "newcomer", "contract"])
def test_the_tests_of_a_part_are_there(name):
    for item in BY_NAME[name].items(Tree(ROOT)):
        file, test = re.fullmatch(r"(.+\.py)::(\w+)(?:\[[\w-]+\])?", item.argv[-1]).groups()
        assert f"def {test}(" in read(file)


def test_lives_of_the_faults_have_numbers_of_their_own():
    items = BY_NAME["faults-postgres"].items(Tree(ROOT))
    assert len({item.name for item in items}) == len(items) == 25
    words = " ".join(items[24].argv)
    assert words == "tests/faults/run --seed 1 --rounds 20 --store postgres --runtime runc --life 25"


@pytest.mark.parametrize("part", [part for part in PARTS if "`tests/run " in part.what], ids=lambda part: part.name)
def test_a_part_of_tests_run_is_one_that_it_has(part):
    (item,) = part.items(Tree(ROOT))
    assert item.argv == ("tests/run", part.name, "--no-build")
    assert part.name in runner.parts.PARTS
    assert bool(part.preset) == (part.name in runner.parts.NEED_RELEASE), "what it runs over is built before"
    assert ("npm" in part.needs) == (part.name in runner.parts.OF_NPM)


def test_each_seed_is_in_one_part():
    seeds = []
    for at in range(1, SEED_PARTS + 1):
        for item in BY_NAME[f"seeds-{at}"].items(Tree(ROOT)):
            first, count = int(item.argv[2]), int(item.argv[4])
            seeds += range(first, first + count)
    first = first_seed(ROOT)
    assert seeds == list(range(first, first + SEEDS))


def test_the_sanitizers_are_cut_into_shares():
    for name in ("asan-ubsan", "tsan"):
        parts = [part for part in PARTS if part.name.startswith(f"{name}-")]
        assert len(parts) > 1 and all(f"of {len(parts)} of the test programs" in part.what for part in parts)


@pytest.mark.parametrize("of", [1, 2, 4])
def test_each_program_is_in_one_share_and_shares_are_about_as_heavy(of):
    weights = {f"{name}_test": weight for name, weight in zip("abcdefghij", (90, 3, 40, 40, 1, 7, 30, 30, 12, 12))}
    shares = [share(weights, at, of) for at in range(1, of + 1)]
    assert sorted(name for one in shares for name in one) == sorted(weights)
    heavy = [sum(weights[name] for name in one) for one in shares]
    assert max(heavy) <= max(90, sum(weights.values()) / of + 12)


def test_programs_are_found_by_their_sources(tmp_path):
    build = tmp_path / "build" / "release"
    build.mkdir(parents=True)
    (build / "tests.txt").write_text(f"a_test unit {tmp_path}/x/a_test.cc\nb_test server x/b_test.cc x/c_test.cc\n")
    tree = Tree(str(tmp_path))
    assert tree.program_with("release", "x/a_test.cc") == "a_test"
    assert tree.program_with("release", "x/c_test.cc") == "b_test"
    with pytest.raises(LookupError, match="no test program of preset release has x/d_test.cc"):
        tree.program_with("release", "x/d_test.cc")


@pytest.mark.parametrize("name", ["planted", "hfreduce-rounds", "hostile"])
def test_a_part_of_one_source_names_one_that_is_there(tmp_path, name):
    """Its cases are found by the suites that the source has."""
    preset = tmp_path / "build" / "release"
    (preset / "test").mkdir(parents=True)
    with pytest.raises(LookupError) as error:
        (preset / "tests.txt").write_text("")
        BY_NAME[name].items(Tree(str(tmp_path)))
    source = re.search(r"has (\S+\.cc)", str(error.value))[1]
    assert re.search(r"^TEST", read(source), re.M)
