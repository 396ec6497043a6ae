"""Forms of the contract by wholly new processes: nothing that one attempt has in memory can help the next. One form at
one step here; tests/nightly has all ten at each step (GLIM_TEST_CONTRACT=all)."""

import os
import subprocess
import sys

import forms_epochs  # noqa: F401
import forms_gradients  # noqa: F401
import forms_inside  # noqa: F401
import forms_order  # noqa: F401
import forms_parts  # noqa: F401
import forms_schedulers  # noqa: F401
import forms_sources  # noqa: F401
import forms_state  # noqa: F401
import forms_threads  # noqa: F401
import pytest
from attempts import KILL, STOP, notes_of
from bounds import BOUND_S
from extension import PYTHONPATH
from forms import FORMS

NAMES = (
    *("accumulate-to-the-epochs-end", "gradients-never-set-to-zero", "objects-that-the-steps-make"),
    *("loader-with-a-generator", "workers", "a-list-that-the-script-shuffles"),
    *("an-iterator-shared-by-two-loops", "left-by-break", "a-plateau-and-the-best-score", "one-cycle"),
)
IS_ALL = os.environ.get("GLIM_TEST_CONTRACT") == "all"
SCRIPT = """
import sys
import torch
torch.set_num_threads(1)
name, folder, number, at, how = sys.argv[1:]
import forms, attempts
for group in ("gradients", "order", "parts", "inside", "sources", "epochs", "schedulers", "state", "threads"):
    __import__("forms_" + group)
attempts.run_form(forms.FORMS[name], folder, int(number), int(at), how)
"""


def attempt(name, folder, number, at=-1, how=STOP):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([PYTHONPATH, *HERE]), "OMP_NUM_THREADS": "1"}
    argv = [sys.executable, "-c", SCRIPT, name, str(folder), str(number), str(at), how]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=BOUND_S)
    assert done.returncode == (-9 if how == KILL else 0), done.stderr


HERE = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]


@pytest.mark.parametrize("number", range(1, 11 if IS_ALL else 2))
def test_a_form_by_wholly_new_processes(tmp_path, number):
    name = NAMES[number - 1]
    form = FORMS[name]
    (tmp_path / "whole").mkdir()
    attempt(name, tmp_path / "whole", 1)
    whole, batches = notes_of(form, tmp_path / "whole", [1])
    points = range(batches - 1) if IS_ALL else [2]
    for how in (STOP, KILL):
        for at in points:
            folder = tmp_path / f"{how}-{at}"
            folder.mkdir()
            attempt(name, folder, 1, at, how)
            attempt(name, folder, 2)
            found, _ = notes_of(form, folder, [1, 2])
            assert found == whole, f"{how} at {at}"
