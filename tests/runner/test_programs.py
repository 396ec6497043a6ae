"""Test programs as jobs: in how many shards, and what waits first."""

import pytest

from runner import programs


@pytest.mark.parametrize("cases, shards", [(0, 1), (1, 1), (30, 1), (31, 2), (95, 4), (900, 30)])
def test_a_program_is_cut_by_the_number_of_its_cases(cases, shards):
    assert programs.shards_of(cases) == shards


LISTED = """#!/bin/sh
[ "$1" = --gtest_list_tests ] || exit 9
[ "$2" != --gtest_filter=-Few.* ] || { echo Many.; echo '  A'; exit; }
echo Few.
echo '  A'
echo 'Many.  # TypeParam = int'
for case in $(seq 70); do echo "  Case/$case  # GetParam() = $case"; done
"""


@pytest.fixture
def built(tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "ROOT", str(tmp_path))
    folder = tmp_path / "build" / "release" / "test"
    folder.mkdir(parents=True)
    lines = []
    for name, label, script in (
        ("small_test", "unit", "#!/bin/sh\necho Suite.\necho '  A'\n"),
        ("big_test", "unit", LISTED),
        ("served_test", "server", "#!/bin/sh\necho Suite.\necho '  A'\n"),
        ("broken_test", "unit", "#!/bin/sh\nexit 1\n"),
    ):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
        lines.append(f"{name} {label} {tmp_path}/room/{name}.cc room/more.cc\n")
    (tmp_path / "build" / "release" / "tests.txt").write_text("".join(lines))
    return [(name, label) for name, label, _ in programs.read_tests("release")]


def test_the_sources_of_a_program_are_told_from_the_root(built):
    assert programs.read_tests("release")[0] == ("small_test", "unit", ["room/small_test.cc", "room/more.cc"])


def test_what_waits_begins_first_and_then_what_has_most_cases(built, tmp_path):
    jobs = programs.jobs_of("unit", "release", built, str(tmp_path / "reports"), slower=2)
    assert [job.name for job in jobs] == ["served_test", *["big_test"] * 3, "small_test", "broken_test"]
    assert [job.env["GTEST_SHARD_INDEX"] for job in jobs] == ["0", "0", "1", "2", "0", "0"]
    assert {job.env["GTEST_TOTAL_SHARDS"] for job in jobs if job.name == "big_test"} == {"3"}
    assert len({job.report for job in jobs}) == len(jobs)
    assert jobs[0].weight == pytest.approx(1 / 3) and jobs[1].weight == 1
    assert jobs[0].limit_s == 2 * programs.LIMIT_S


def test_what_a_filter_leaves_counts(built, tmp_path):
    jobs = programs.jobs_of("unit", "release", [("big_test", "unit")], str(tmp_path / "r"), pattern="-Few.*")
    assert len(jobs) == 1 and jobs[0].argv[-1] == "--gtest_filter=-Few.*"
