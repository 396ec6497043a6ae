"""The SDK with compiled parts that do not fit, or none: what is said, and what goes on."""

import os
import shutil
import subprocess
import sys

import pytest
from bounds import BOUND_S
from extension import PYTHONPATH, SDK, STAGED

from glim.compiled import built_for
from glim.version import VERSION

TRACKS = """
import sys, torch, glim
with glim.session() as run:
    model = torch.nn.Linear(1, 1)
    run.track(model=model)
    print("tracked", flush=True)
    print("begins with", run.restore())
    print("done", list(run.steps(range(3), save_every=1)))
"""


@pytest.fixture
def sdk(tmp_path):
    """A copy of the SDK without its compiled parts, as a folder for PYTHONPATH."""
    shutil.copytree(os.path.join(SDK, "glim"), tmp_path / "sdk" / "glim", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "sdk"


def run(code, path, **variables):
    env = {name: value for name, value in os.environ.items() if not name.startswith("GLIM_")}
    env = {**env, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=BOUND_S)


@pytest.mark.parametrize(
    "file, python",
    [
        ("_checkpoint.cpython-311-x86_64-linux-gnu.so", "CPython 3.11"),
        ("_x.cpython-38-aarch64-linux-gnu.so", "CPython 3.8"),
        ("_x.pypy39-pp73-x86_64-linux-gnu.so", "PyPy 3.9"),
        ("_x.so", "another Python"),
    ],
)
def test_a_file_tells_its_python(file, python):
    assert built_for(file) == python


def test_of_another_python_says_which_and_what_works_without(sdk):
    (sdk / "glim" / "_checkpoint.cpython-36m-x86_64-linux-gnu.so").write_bytes(b"")
    told = run("import glim.checkpoint", sdk).stderr.splitlines()[-1]
    assert told.startswith("ImportError: glim.checkpoint needs its compiled part: it was built for CPython 3.6 (")
    assert f"this is CPython {sys.version_info[0]}.{sys.version_info[1]} (" in told
    assert "Without it: glim.session() with saves of your own" in told and "glim-task" in told


def test_one_that_cannot_be_loaded_says_why(sdk):
    tag = sys.implementation.cache_tag
    (sdk / "glim" / f"_hfreduce.{tag}-x86_64-linux-gnu.so").write_bytes(b"no library")
    told = run("import glim.hfreduce", sdk).stderr.splitlines()[-1]
    assert "glim.hfreduce needs its compiled part: " in told and "cannot be loaded: " in told and "gloo" in told


def test_one_that_is_not_there_says_where_it_would_be(sdk):
    told = run("import glim.checkpoint", sdk).stderr.splitlines()[-1]
    assert "glim/_checkpoint*.so is in no folder `glim` of sys.path; the SDK of a node has it (GLIM_SDK" in told


def test_of_another_release_is_not_used(sdk):
    text = (sdk / "glim" / "version.py").read_text()
    (sdk / "glim" / "version.py").write_text(text.replace(f'VERSION = "{VERSION}"', 'VERSION = "0.0.9"'))
    told = run("import glim.checkpoint", f"{sdk}:{STAGED}/python").stderr.splitlines()[-1]
    assert f"glim.checkpoint is of glim 0.0.9 in {sdk}/glim" in told and f"of glim {VERSION}" in told


def test_the_staged_sdk_is_whole():
    done = run(
        "import glim.checkpoint, glim.hfreduce, glim.replica; glim.replica.extension(); print(glim.__file__)",
        f"{STAGED}/python",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{STAGED}/python/glim/__init__.py\n"
    modules = {name for name in os.listdir(os.path.join(SDK, "glim")) if name.endswith((".py", ".typed"))}
    staged = os.listdir(os.path.join(STAGED, "python", "glim"))
    assert modules == {name for name in staged if name.endswith((".py", ".typed"))}


def test_on_the_platform_track_says_at_once_that_nothing_is_saved(sdk, agent, tmp_path):
    done = run(
        TRACKS, sdk, GLIM_SOCKET=agent.path, GLIM_RANK="0", GLIM_ATTEMPT="1", GLIM_CHECKPOINT_DIR=str(tmp_path / "c")
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "tracked\nbegins with 0\ndone [0, 1, 2]\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith("glim: NOTHING IS SAVED: glim.checkpoint needs its compiled part: ")
    assert line.endswith("The training goes on; an interrupt or a dead node costs all its steps")
    assert not agent.taken("saved") and agent.taken("progress")
    told = agent.taken("save_failed")
    assert [m["step"] for m in told] == [0, 1, 2] and "needs its compiled part" in told[0]["error"]


def test_where_there_is_a_save_to_go_on_from_the_platform_tries_elsewhere(sdk, agent, tmp_path):
    done = run(
        TRACKS,
        sdk,
        GLIM_SOCKET=agent.path,
        GLIM_RANK="0",
        GLIM_ATTEMPT="2",
        GLIM_RESUME_STEP="7",
        GLIM_CHECKPOINT_DIR=str(tmp_path),
        GLIM_RESUME_PATH=str(tmp_path / "attempt-1" / "step-00000007"),
    )
    assert done.returncode == 1 and "glim.errors.RestoreFailed: " in done.stderr
    (told,) = agent.taken("restore_failed")
    assert told["step"] == 7 and "needs its compiled part" in told["error"]


def test_off_the_platform_track_refuses_at_once(sdk, tmp_path):
    done = run(TRACKS.replace("glim.session()", f"glim.session(checkpoint_dir={str(tmp_path / 'c')!r})"), sdk)
    assert done.returncode == 1 and done.stdout == "" and "ImportError: glim.checkpoint needs" in done.stderr


def test_a_build_folder_serves_beside_the_sources():
    assert run("import glim.checkpoint", PYTHONPATH).returncode == 0
