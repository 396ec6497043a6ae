"""What the README shows, in both languages, is what is there."""

import os
import re
import subprocess
import sys

import pytest

from cluster.processes import SLOWER

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
FIRST = os.path.join(ROOT, "deploy", "examples", "first")
READMES = ("README.md", "README.zh.md")
COMPILED = os.environ.get("GLIM_TEST_PYTHON", os.path.join(ROOT, "build", "release", "python"))

# What the ten lines leave to their reader.
BEFORE = """
import torch
model = torch.nn.Linear(2, 1)
optim = torch.optim.SGD(model.parameters(), lr=0.1)
loader, done = [torch.ones(4, 2)] * 3, []
def train(model, optim, batch):
    done.append(batch)
    return 0.5
"""
AFTER = """
print(len(done), "steps, loss", run.loss)
"""


def read(readme):
    with open(os.path.join(ROOT, readme), encoding="utf-8") as file:
        return file.read()


def blocks(readme, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", read(readme), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("readme", READMES)
@pytest.mark.parametrize("language, name", [("yaml", "job.yaml"), ("python", "train.py")])
def test_its_job_is_the_first_example(readme, language, name):
    with open(os.path.join(FIRST, name)) as file:
        assert blocks(readme, language)[-1] == file.read(), f"{readme} and deploy/examples/first/{name} differ"


def test_the_first_example_is_nothing_but_these_two_files():
    assert sorted(name for name in os.listdir(FIRST) if name not in ("__pycache__", "out")) == ["job.yaml", "train.py"]


@pytest.mark.parametrize("readme", READMES)
def test_its_ten_lines_run_as_they_stand(readme):
    loop = blocks(readme, "python")[0]
    assert len(loop.splitlines()) == 10
    env = {name: value for name, value in os.environ.items() if not name.startswith("GLIM_")}
    env["PYTHONPATH"] = os.pathsep.join([os.path.join(ROOT, "sdk", "python"), COMPILED])
    script = BEFORE + loop + AFTER
    ran = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=120 * SLOWER)
    assert (ran.returncode, ran.stdout) == (0, "30 steps, loss 0.5\n"), ran.stderr


def skeleton(readme):
    """What both languages must have alike: headings by level, rows of tables by their number, code, links."""
    text = re.sub(r"^```.*?^```$", "", read(readme), flags=re.MULTILINE | re.DOTALL)
    headings = [len(level) for level in re.findall(r"^(#+) ", text, re.MULTILINE)]
    tables = [len(table.splitlines()) for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]
    links = set(re.findall(r"\]\(([^)\s]+)\)", text)) - set(READMES)
    return headings, tables, sorted(links), sorted(set(re.findall(r"`([^`\n]+)`", text)))


def test_both_languages_have_the_same_parts_links_and_commands():
    assert skeleton("README.md") == skeleton("README.zh.md")


@pytest.mark.parametrize("readme", READMES)
def test_its_first_screen_says_what_has_run_on_what_and_what_is_not_there(readme):
    first = read(readme).split("<picture>")[0]
    assert len(first.splitlines()) <= 20
    for word in (
        "(docs/explanation/limits.md)",
        "(docs/explanation/limits.md#what-has-run-on-what)",
        "H200",
        "Debian 12",
    ):
        assert word in first


@pytest.mark.parametrize("readme, other", [READMES, READMES[::-1]])
def test_each_language_leads_to_the_other(readme, other):
    assert f"({other})" in "".join(read(readme).splitlines()[:4])
