"""Twenty faults on a real cluster, and what ranks wrote down held against what users were told (tests/faults)."""

import os
import subprocess

from conftest import ROOT

ROUNDS = 20


def test_twenty_faults_break_no_promise():
    argv = [os.path.join(ROOT, "tests", "faults", "run"), "--rounds", str(ROUNDS)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=900)
    print(done.stdout + done.stderr)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == f"{ROUNDS} passed, 0 failed"
