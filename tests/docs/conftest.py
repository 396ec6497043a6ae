import os
import sys
from pathlib import Path

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "docs"), os.path.join(ROOT, "deploy")]
sys.dont_write_bytecode = True

from doctools import help_text  # noqa: E402
from doctools.page import ROOT as SOURCES, Page  # noqa: E402


@pytest.fixture(scope="session")
def programs():
    return Path(os.environ.get("GLIM_PROGRAMS", SOURCES / "build" / "release" / "bin"))


@pytest.fixture(scope="session")
def commands(programs):
    """What `glim --help` says, of it and of all its commands."""
    return help_text.ask(programs / "glim")


@pytest.fixture
def page():
    """A page of these words that lies in docs/."""
    return lambda text, name="docs/planted.md": Page(SOURCES / name, text=text)
