"""The pages whose blocks marked `bash` are typed: as they stand, by tests (tests/e2e/test_pages.py, and the modules
that docs/doctools/pages.toml names for pages that need more than a node and a job). A page is named by its file's
name in docs/, or by its path."""

import contextlib
import os
import re
import subprocess
import sys
import termios

from .processes import SLOWER

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "docs"))

from doctools.page import TABLE, all_pages, find_page  # noqa: E402

INLINE = re.compile(r"`glim ([^`\n]+)`")
ELSEWHERE = {"sdk", "tests", "webui", "nodeagent", "scheduler", "cli"}  # folders whose readers are contributors


def names():
    """Every page for users and operators that has a block marked bash, but those that others run."""
    return [name for name in with_blocks() if not run_by(name)]


def with_blocks():
    found = []
    for page in all_pages():
        top, *_ = page.name.split("/")
        if top not in ELSEWHERE and "decisions" not in page.name and blocks(page.name):
            found.append(page.name)
    return found


def run_by(name):
    """The test module that runs the page, if it is not tests/e2e/test_pages.py."""
    return TABLE["run_by"].get(name) or TABLE["run_by"].get(os.path.basename(name))


def text_of(name):
    return find_page(name).text


def fences(name):
    """(language, text) of each block."""
    return [(block.language, block.text) for block in find_page(name).blocks]


def blocks(name, test=None):
    """What the page has a reader type, but what another test runs or nobody may: a comment above the block says so.
    `test`: the blocks that it alone runs ("tests/e2e/test_NAME.py")."""
    mark = ("run by", test) if test else ()
    return [block.text for block in find_page(name).blocks if block.language == "bash" and block.mark == mark]


def inline_commands(name):
    """The `glim ...` within the page's sentences, each as its words."""
    return [words.split() for words in INLINE.findall("\n".join(find_page(name).prose))]


def run(name, glim, folder, **variables):
    """Runs the blocks of a page in one shell, in `folder`, as the operator of `glim` (glim_cli.Glim): the page's
    "$NODE" is what `variables` say."""
    done = type_in(blocks(name), glim, folder, **variables)
    assert done.returncode == 0, f"{name}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def type_in(texts, glim, folder, **variables):
    """The finished shell in which these blocks were typed by the operator of `glim`, who says yes to all questions."""
    path = os.path.dirname(glim.program) + os.pathsep + os.environ["PATH"]
    values = {key: str(value) for key, value in variables.items()}
    with keyboard() as keys:
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(texts)],
            cwd=folder,
            env={**glim.env_of(None), "PATH": path, **values},
            stdin=keys,
            capture_output=True,
            text=True,
            timeout=240 * SLOWER,
        )


@contextlib.contextmanager
def keyboard(typed="y\n" * 100):
    """A terminal on which this has been typed, ahead of all questions, and then its end."""
    master, slave = os.openpty()
    try:
        settings = termios.tcgetattr(slave)
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        os.write(master, typed.encode() + b"\x04" * 10)
        yield slave
    finally:
        os.close(slave)
        os.close(master)
