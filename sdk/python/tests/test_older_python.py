"""The in-task part on older Pythons: what CPython 3.8 reads, and the session's tests run by another interpreter."""

import ast
import os
import shutil
import subprocess

import pytest
from bounds import BOUND_S
from extension import SDK, STAGED

MODULES = sorted(name for name in os.listdir(os.path.join(SDK, "glim")) if name.endswith(".py"))
PYPY = shutil.which("pypy3")  # of Debian 12: Python 3.9
TESTS = ("test_session.py", "test_client.py", "test_hold_point.py", "test_atomic_file.py")


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_the_syntax_of_3_8(module):
    with open(os.path.join(SDK, "glim", module)) as file:
        ast.parse(file.read(), module, feature_version=(3, 8))


def test_the_session_works_on_python_3_9():
    assert PYPY, "pypy3 is not there: deploy/install-deps"
    done = subprocess.run(
        [PYPY, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(os.path.join(SDK, "tests", name) for name in TESTS)],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=4 * BOUND_S,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout and "skipped" not in done.stdout


def test_the_compiled_part_says_that_it_is_for_another_interpreter():
    assert PYPY, "pypy3 is not there: deploy/install-deps"
    done = subprocess.run(
        [PYPY, "-c", "import glim; print(glim.__version__); import glim.checkpoint"],
        text=True,
        env={**os.environ, "PYTHONPATH": f"{STAGED}/python", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        timeout=BOUND_S,
    )
    told = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and done.stdout and "it was built for CPython 3." in told and "this is PyPy 3.9" in told
