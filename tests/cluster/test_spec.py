"""Specs derived from the examples, and the examples themselves, which must stay derivable."""

import os

import pytest

from cluster.spec import Examples, replace_fields

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def test_replaces_one_line_and_leaves_the_rest():
    text = "# about\nname: a\nrun: x y  # why\nenv: {A: b}\n"
    changed = '# about\nname: a\nrun: "echo \\"hi\\" && a"\nenv: {A: b}\n'
    assert replace_fields(text, {"run": 'echo "hi" && a'}) == changed


@pytest.mark.parametrize("text", ["name: a\n", "run: a\nrun: b\n", "run:\n  - a\n", "run: >\n  a\n", "a: b\n run: x\n"])
def test_refuses_a_field_that_is_not_there_once_on_one_line(text):
    with pytest.raises(ValueError, match="run"):
        replace_fields(text, {"run": "x"})


@pytest.mark.parametrize("example", ["digits", "urgent", "deaf", "stubborn", "bash"])
def test_every_example_can_be_derived(tmp_path, example):
    path = Examples(ROOT, str(tmp_path)).derive(example, "other", env={"OUT": "/tmp/x"}, run="true")
    with open(path) as file:
        lines = file.read().splitlines()
    assert 'name: "other"' in lines and 'run: "true"' in lines
    assert sum(line.startswith("env:") for line in lines) == 1
    assert f'workdir: "{ROOT}/deploy/examples/{example}"' in lines
