"""What docs/howto/make-a-loop-interruptible.md shows of the examples is in the examples, which other tests run."""

import os
import re
import textwrap

import pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGE = os.path.join(ROOT, "docs", "howto", "make-a-loop-interruptible.md")
SOURCE = re.compile(r"From\s+(?:\[deploy/examples/[^]]*\]\(\.\./\.\./(?P<path>[^)]*)\)|the same file):")
BLOCK = re.compile(r"^ *```(?:python|yaml|sh)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)


def snippets():
    """(the example's file, the block's text): each block after a "From ...:", up to the next heading, item of a list
    or paragraph that begins in bold. "The same file" is that of the section's last one."""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    for section in re.split(r"^## ", text, flags=re.MULTILINE):
        path = None
        for item in re.split(r"^(?=\d+\. |\*\*)", section, flags=re.MULTILINE):
            is_of_it = False
            for found in re.finditer(f"{SOURCE.pattern}|{BLOCK.pattern}", item, re.MULTILINE | re.DOTALL):
                if found["text"] is None:
                    path, is_of_it = found["path"] or path, True
                elif is_of_it:
                    yield path, textwrap.dedent(found["text"])


SNIPPETS = list(snippets())


@pytest.mark.parametrize("path, text", SNIPPETS, ids=[f"{n} {path}" for n, (path, _) in enumerate(SNIPPETS)])
def test_a_snippet_stands_in_its_example_line_by_line(path, text):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    for wanted in (line.strip() for line in text.splitlines()):
        if wanted == "...":
            continue
        assert wanted in lines, f"{path} has no line {wanted!r} here"
        del lines[: lines.index(wanted) + 1]


def test_all_examples_of_the_four_ways_are_shown():
    assert {path.split("/")[2] for path, _ in SNIPPETS} == {"first", "digits", "torchrun", "plain", "bash"}
