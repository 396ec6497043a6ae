"""The pages of docs/operations, which say what an operator types: their blocks marked `bash` are run by tests as they
stand (tests/e2e/test_pages.py), and no block with a `glim` in it may hide from them (tests/house/test_pages.py)."""

import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "docs", "operations")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`glim ([^`\n]+)`")


def names():
    return sorted(name for name in os.listdir(FOLDER) if name.endswith(".md"))


def text_of(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def fences(name):
    """(language, text) of each block."""
    return FENCE.findall(text_of(name))


def blocks(name):
    """What the page has a reader type."""
    return [text for language, text in fences(name) if language == "bash"]


def inline_commands(name):
    """The `glim ...` within the page's sentences, each as its words."""
    return [words.split() for words in INLINE.findall(FENCE.sub("", text_of(name)))]


def run(name, glim, folder, **variables):
    """Runs the blocks of a page in one shell, in `folder`, as the operator of `glim` (glim_cli.Glim): the page's
    "$NODE" is what `variables` say."""
    path = os.path.dirname(glim.program) + os.pathsep + os.environ["PATH"]
    values = {key: str(value) for key, value in variables.items()}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(blocks(name))],
        cwd=folder,
        env={**glim.env_of(None), "PATH": path, **values},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, f"{name}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
