"""Whoever asks a program of tests or deploy for help gets words, and neither pieces of its source nor a build."""

import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BENCHMARKS = [
    name[len("bench_") : -len(".py")]
    for name in sorted(os.listdir(os.path.join(ROOT, "tests", "bench")))
    if name.startswith("bench_") and name.endswith(".py")
]


def ask(tmp_path, *command):
    """What COMMAND --help says, where a build ends with an error."""
    for builder in ("cmake", "ninja"):
        program = tmp_path / builder
        program.write_text("#!/bin/sh\necho 'it builds' >&2\nexit 1\n")
        program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    environment.pop("BENCH_NO_BUILD", None)
    done = subprocess.run([*command, "--help"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "script", ["tests/run", "tests/vm/run", "tests/device/run", "tests/bench/run", "deploy/install-deps"]
)
def test_a_script_says_its_own_head_and_no_more(tmp_path, script):
    head = []
    with open(os.path.join(ROOT, script)) as file:
        for line in file.read().splitlines()[1:]:
            if not line.startswith("#"):
                break
            head.append(line[2:])
    assert ask(tmp_path, script).splitlines() == head


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_says_what_it_takes_and_builds_nothing(tmp_path, name):
    assert "usage:" in ask(tmp_path, "tests/bench/run", name)
