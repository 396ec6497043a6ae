"""Where the compiled extensions are, for tests of this process and of others."""

import os

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXTENSION = os.environ.get(
    "GLIM_TEST_PYTHON", os.path.join(os.path.dirname(os.path.dirname(SDK)), "build", "release", "python")
)
PYTHONPATH = f"{SDK}{os.pathsep}{EXTENSION}"
STAGED = os.path.join(os.path.dirname(EXTENSION), "share", "glim", "sdk")  # as tasks have it


def missing(name):
    """What is wrong with glim/NAME*.so, or nothing."""
    folder = os.path.join(EXTENSION, "glim")
    if os.path.isdir(folder) and any(file.startswith(name + ".") for file in os.listdir(folder)):
        return None
    return (
        f"{folder}/{name}*.so is not there: install pybind11-dev and python3-dev (deploy/install-deps), "
        f"then `cmake --preset release && cmake --build --preset release --target {name}`"
    )
