"""The static site: links are turned to where things are there, and mkdocs has no warning where it is installed."""

import shutil
import subprocess

import pytest

from cluster.processes import SLOWER
from doctools import site
from doctools.page import ROOT


@pytest.mark.parametrize(
    "name, text, turned",
    [
        ("docs/a.md", "[x](glossary.md#y)", "[x](glossary.md#y)"),
        ("docs/a.md", "[x](../README.md)", "[x](index.md)"),
        ("docs/a.md", "[x](#here)", "[x](#here)"),
        ("docs/a.md", "[x](https://example.org)", "[x](https://example.org)"),
        ("docs/a.md", "[the core](../scheduler/core)", "[the core](sources/scheduler/core/README.md)"),
        ("docs/a.md", "[`core.h`](../scheduler/core/core.h)", "`core.h`"),
        ("docs/decisions/a.md", "[x](../glossary.md)", "[x](../glossary.md)"),
        ("docs/a.md", "`[x](../LICENSE)`", "`[x](../LICENSE)`"),
        ("docs/a.md", "```\n[x](../LICENSE)\n```", "```\n[x](../LICENSE)\n```"),
        ("README.md", "![x](docs/pictures/queue.webp)", "![x](pictures/queue.webp)"),
        (
            "README.md",
            '<picture><source srcset="docs/pictures/interrupt-dark.svg"><img src="docs/pictures/interrupt-light.svg">',
            '<picture><source srcset="pictures/interrupt-dark.svg"><img src="pictures/interrupt-light.svg">',
        ),
    ],
)
def test_links_are_turned(page, name, text, turned):
    assert site.turned(page(text, name), site.place_of(name), "") == turned


def test_sources_are_linked_where_they_can_be_read(page):
    text = site.turned(page("[x](../scheduler/core/core.h)", "docs/a.md"), "a.md", "https://example.org/tree/")
    assert text == "[x](https://example.org/tree/scheduler/core/core.h)"


def test_the_site_builds_without_a_warning(tmp_path):
    if shutil.which("mkdocs") is None:  # deploy/install-deps docs
        return
    built = tmp_path / "site"
    done = subprocess.run([ROOT / "docs/site/build", built], capture_output=True, text=True, timeout=300 * SLOWER)
    assert done.returncode == 0, done.stdout + done.stderr
    index = (built / "index.html").read_text(encoding="utf-8")
    assert "<title>Glim" in index and (built / "search" / "search_index.json").is_file()
    assert "fonts.googleapis" not in index, "nothing comes from the network"
