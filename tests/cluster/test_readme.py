"""What the README shows is what is there."""

import os
import re

import pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
FIRST = os.path.join(ROOT, "deploy", "examples", "first")


def blocks(language):
    with open(os.path.join(ROOT, "README.md")) as file:
        return re.findall(rf"^```{language}\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("language, name", [("yaml", "job.yaml"), ("python", "train.py")])
def test_its_job_is_the_first_example(language, name):
    with open(os.path.join(FIRST, name)) as file:
        assert blocks(language) == [file.read()], f"README.md and deploy/examples/first/{name} differ"


def test_the_first_example_is_nothing_but_these_two_files():
    assert sorted(name for name in os.listdir(FIRST) if name not in ("__pycache__", "out")) == ["job.yaml", "train.py"]
