"""Pages with commands are tested pages: tests/e2e/test_pages.py runs the blocks that are marked bash."""

import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy"))
sys.dont_write_bytecode = True

from cluster import pages  # noqa: E402


@pytest.mark.parametrize("page", pages.names())
def test_a_page_has_commands_and_all_of_them_are_run(page):
    assert pages.blocks(page)
    for language, text in pages.fences(page):
        hidden = language != "bash" and any(line.startswith("glim ") for line in text.splitlines())
        assert not hidden, f"mark it bash, so that tests/e2e/test_pages.py runs it:\n{text}"
