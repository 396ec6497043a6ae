"""Which sanitized programs are built and run, in what order, and what the time does not allow."""

import pytest

from runner import parts, programs, sanitized

TESTS = {
    "asan-ubsan": [
        ("cli_test", "unit", ["cli/a_test.cc"]),
        ("core_a_test", "unit", ["scheduler/core/a/a_test.cc"]),
        ("core_b_test", "unit", ["scheduler/core/b/b_test.cc"]),
        ("server_test", "server", ["scheduler/server/a_test.cc"]),
        ("bare_test", "not_sanitized", ["sdk/a_test.cc"]),
        ("fuzz_spec", "fuzz", ["tests/fuzz/spec_fuzz.cc"]),
    ],
    "tsan": [("cli_test", "unit", ["cli/a_test.cc"]), ("server_test", "server", ["scheduler/server/a_test.cc"])],
}


@pytest.fixture(autouse=True)
def tests(monkeypatch):
    monkeypatch.setattr(programs, "read_tests", TESTS.get)
    monkeypatch.setattr(programs, "count_cases", lambda *words: 40)
    monkeypatch.setattr(sanitized.choose_programs, "reaches", lambda sources, changed: bool(changed & set(sources)))


ALL = {source for tests in TESTS.values() for _, _, sources in tests for source in sources}


@pytest.mark.parametrize(
    "chosen, ci, changed, names",
    [
        # the core first, then the parts by turns
        (["asan-ubsan", "tsan"], True, ALL, "core_a_test core_b_test cli_test server_test/tsan server_test"),
        (["asan-ubsan", "tsan"], True, {"scheduler/core/b/b_test.cc"}, "core_b_test"),
        (["asan-ubsan", "tsan"], True, {"README.md"}, ""),
        (["tsan"], True, None, "server_test/tsan"),
        (["fuzz"], False, {"README.md"}, "fuzz_spec"),  # not in ci: everything
    ],
)
def test_what_differs_is_chosen(chosen, ci, changed, names):
    found = sanitized.targets_of(chosen, ci, changed)
    assert " ".join(one.name + "/tsan" * (one.part == "tsan") for one in found) == names


class Pool:
    def __init__(self):
        self.jobs = []

    def add(self, jobs):
        self.jobs += jobs


@pytest.mark.parametrize(
    "minutes, run, late",
    [
        (None, ["core_a_test", "core_b_test", "cli_test", "server_test"], []),
        (5, ["core_a_test", "core_b_test", "cli_test", "server_test"], []),
        (0, ["core_a_test", "core_b_test"], ["cli_test", "server_test"]),
    ],
)
def test_the_core_is_run_whatever_the_time(tmp_path, minutes, run, late):
    settings, pool = parts.Settings(True, False, "HEAD~1", str(tmp_path), 1, 2), Pool()
    background = sanitized.Background(["asan-ubsan"], settings, ALL, pool, minutes, build=False)
    background.hurry()
    background._work()
    assert background.done and background.faults == []
    assert list(dict.fromkeys(job.name for job in pool.jobs)) == run
    assert all(job.wanted() for job in pool.jobs)
    assert [target.name for target in background.left_out] == late
    words = background.told("asan-ubsan")
    assert f"4 programs differ from HEAD~1, {len(run)} were run" in words
    assert all(name in words.partition("left out")[2] for name in late)


def test_what_has_begun_comes_to_its_end_and_what_has_not_is_dropped(tmp_path):
    settings, pool = parts.Settings(True, False, "HEAD~1", str(tmp_path), 1, 2), Pool()
    background = sanitized.Background(["asan-ubsan"], settings, ALL, pool, 0, build=False)
    background._work()  # the other parts are not done yet: everything may begin
    shards = {
        name: [job for job in pool.jobs if job.name == name] for name in ("cli_test", "server_test", "core_a_test")
    }
    assert shards["cli_test"][0].wanted()
    background.hurry()
    assert shards["cli_test"][1].wanted() and shards["core_a_test"][0].wanted()
    assert not shards["server_test"][0].wanted() and not shards["server_test"][1].wanted()
    assert [target.name for target in background.left_out] == ["server_test"]


def test_a_program_that_cannot_be_built_is_a_fault(tmp_path, monkeypatch):
    settings, pool = parts.Settings(False, False, "HEAD~1", str(tmp_path), 1, 2), Pool()
    background = sanitized.Background(["tsan"], settings, None, pool, None)
    monkeypatch.setattr(background, "_made", lambda argv, name: argv[0] != "ninja")
    background._work()
    assert background.faults == [("tsan", "server_test does not build")] and pool.jobs == []
    monkeypatch.setattr(background, "_made", lambda argv, name: False)
    background._work()
    assert background.faults[-1] == ("tsan", "tsan cannot be configured")
