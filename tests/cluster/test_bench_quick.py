"""What tests/bench/run quick lets pass, and what options mean. That the benchmarks measure is shown by running it."""

import json
import os
import sys

import pytest

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench")
sys.path.insert(0, BENCH)

import bench_quick  # noqa: E402
import programs  # noqa: E402

GOOD = {"bench": "http", "metric": "http_stream_cores", "value": 0.02, "unit": "cores", "n": 8}


def test_each_benchmark_is_known():
    names = [name for name in os.listdir(BENCH) if name.startswith("bench_") and name.endswith(".py")]
    found = {name[len("bench_") : -len(".py")] for name in names}
    assert set(bench_quick.EXPECTED) == found - {"quick"}
    assert set(bench_quick.MORE_AS_ROOT) | set(bench_quick.ROOTS) <= set(bench_quick.EXPECTED)


@pytest.mark.parametrize(
    "change, fault",
    [
        ({}, None),
        ({"value": [1, 2]}, None),
        ({"value": None}, "no number"),
        ({"value": "12"}, "no number"),
        ({"value": float("nan")}, "no number"),
        ({"value": -1}, "less than nothing"),
        ({"value": -1, "metric": "started_to_first_line_sdk_costs"}, None),
        ({"value": []}, "of nothing"),
        ({"n": 0}, "of nothing"),
        ({"unit": ...}, "lacks unit"),
    ],
)
def test_a_figure_is_a_number_of_something(change, fault):
    line = {key: value for key, value in {**GOOD, **change}.items() if value is not ...}
    found = bench_quick.fault_in(line)
    assert found is None if fault is None else fault in found


@pytest.mark.parametrize(
    "out, fault",
    [
        (json.dumps(GOOD), None),
        ("", "does not tell: http_stream_cores"),
        ("Traceback\n", "not a line of JSON"),
        (json.dumps({**GOOD, "bench": "web"}), "of another benchmark"),
        (json.dumps(GOOD) + "\n" + json.dumps({**GOOD, "value": -1}), "less than nothing"),
    ],
)
def test_all_that_a_benchmark_says_are_its_figures(out, fault):
    found = bench_quick.fault_of("http", out, is_root=False)
    assert found is None if fault is None else fault in found


def test_root_owes_more():
    assert "bare_runc_start_to_first_line_p50" in bench_quick.expected_of("main", is_root=True)
    assert "bare_runc_start_to_first_line_p50" not in bench_quick.expected_of("main", is_root=False)


@pytest.mark.parametrize(
    "words, told",
    [([], (200, False)), (["--quick"], (3, True)), (["--quick", "--jobs=7"], (7, True)), (["--jobs=7"], (7, False))],
)
def test_quick_changes_defaults_and_nothing_that_is_given(monkeypatch, words, told):
    monkeypatch.setattr(sys, "argv", ["bench", *words])
    parser = programs.parser_of("main", "what it does", {"jobs": 3})
    parser.add_argument("--jobs", type=int, default=200)
    args = programs.options_of(parser)
    assert (args.jobs, args.quick) == told


@pytest.mark.parametrize("word, size", [("64", 64), ("64KiB", 65536), ("2MiB", 2 << 20), ("1GiB", 1 << 30)])
def test_sizes(word, size):
    assert programs.size_of(word) == size


@pytest.mark.parametrize("word", ["", "MiB", "1.5MiB", "1MB"])
def test_what_is_no_size(word):
    with pytest.raises(ValueError):
        programs.size_of(word)


def test_a_program_that_fails_ends_the_benchmark_with_its_words(tmp_path):
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "[1]"\necho "it is broken" >&2\nexit $1\n')
    program.chmod(0o755)
    assert programs.told_by([program, 0]) == [1]
    assert programs.told_by([program, 1], codes=(0, 1)) == [1]
    with pytest.raises(SystemExit, match="exit code 3: it is broken"):
        programs.told_by([program, 3])
    with pytest.raises(SystemExit, match="gone is not there"):
        programs.told_by([tmp_path / "gone"])


def test_contenders_take_turns():
    calls = []
    told = programs.alternate({name: lambda name=name: calls.append(name) or len(calls) for name in "ab"}, 2)
    assert calls == ["a", "b", "a", "b"]
    assert told == {"a": [1, 3], "b": [2, 4]}


def test_the_program_of_a_source_is_found_in_the_build(tmp_path):
    (tmp_path / "tests.txt").write_text("one unit /r/a/x_test.cc\nwing server /r/b/../a/y_test.cc /r/z_test.cc\n\n")
    bin_folder = tmp_path / "bin"
    assert programs.test_program(bin_folder, "a/y_test.cc") == str(tmp_path / "test" / "wing")
    assert programs.test_program(bin_folder, "a/x_test.cc") == str(tmp_path / "test" / "one")
    with pytest.raises(SystemExit, match="no test program in .* has y_test2.cc"):
        programs.test_program(bin_folder, "y_test2.cc")
    with pytest.raises(SystemExit, match="is no folder of a build"):
        programs.test_program(bin_folder / "deeper", "a/y_test.cc")
