"""What tests/nightly makes of seeds that pass, are violated, or end the simulator; with programs in their place."""

import os
import shutil
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIM = """#!/bin/bash
seed=$2 seeds=$4 code=0
for ((i = seed; i < seed + seeds; ++i)); do
  if [ "$i" = "$DIES" ]; then exit 139; fi
  if [ "$i" = "$VIOLATED" ]; then
    echo "seed $i: a node has two holders" >&2
    echo "{\\"seed\\":$i,\\"invariant_violations\\":1}"
    code=1
  else
    echo "{\\"seed\\":$i,\\"invariant_violations\\":0}"
  fi
done
exit $((code + ${ENDS:-0}))
"""
PLANTED = """#!/bin/sh
echo '[       OK ] All/Planted.IsCaught/LostRelease (3 ms)'
[ -n "$MISSED" ] || exit 0
echo "[  FAILED  ] All/Planted.IsCaught/HalfGang, where GetParam() = HalfGang (9 ms)"
echo "[  FAILED  ] 1 test, listed below:"
exit 1
"""
ROUNDS = """#!/bin/sh
echo "[       OK ] $GLIM_HFREDUCE_ROUNDS rounds (5 ms)"
"""
HOSTILE = """#!/bin/sh
[ -n "$GTEST_FILTER" ] && echo "[       OK ] $GLIM_HOSTILE_ROUNDS rounds: nothing is left (7 ms)"
"""
READER = """#!/bin/sh
[ "$TORN" = "$(basename "$0")" ] && exit 77
echo 'Done 1000000 runs in 9 second(s)'
"""
READERS = (
    *("certificate", "certificate_request", "opaque_token", "jwt", "sealed_row"),
    *("message_json", "http_connection", "handlers", "fetch"),
)


def nightly(folder, words, **environment):
    (folder / "tests").mkdir()
    shutil.copy(os.path.join(ROOT, "tests", "nightly"), folder / "tests")
    for name, script in (
        ("bin/glim-sim", SIM),
        ("test/planted_test", PLANTED),
        ("test/hfreduce_rounds_test", ROUNDS),
        ("test/agent_test", HOSTILE),
        *((f"../asan-ubsan/fuzz/{reader}", READER) for reader in READERS),
    ):
        program = folder / "build" / "release" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(script)
        program.chmod(0o755)
    return subprocess.run(
        [folder / "tests" / "nightly", "--no-build", "--no-clusters", *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=60,
    )


@pytest.mark.parametrize(
    "environment, last, code",
    [
        ({}, "57 passed, 0 failed", 0),
        ({"VIOLATED": "29"}, "56 passed, 1 failed", 1),
        ({"DIES": "43"}, "53 passed, 4 failed", 1),
        ({"ENDS": "7"}, "57 passed, 3 failed", 1),
        ({"MISSED": "1"}, "57 passed, 1 failed", 1),
        ({"TORN": "sealed_row"}, "56 passed, 1 failed", 1),
    ],
)
def test_only_a_seed_that_says_so_has_passed(tmp_path, environment, last, code):
    result = nightly(tmp_path, ["--seeds", "45", "--first", "2", "--jobs", "2"], **environment)
    assert result.stdout.splitlines()[-1] == last
    assert result.returncode == code
    if "VIOLATED" in environment:
        assert "seed 29: a node has two holders" in result.stdout


def test_what_is_no_number_of_seeds_is_refused(tmp_path):
    result = nightly(tmp_path, ["--seeds", "0"])
    assert result.returncode == 2
    assert "--seeds takes a number" in result.stderr
