"""Specs derived from the examples, and the examples themselves, which must stay derivable."""

import os

import pytest

from cluster.accounts import OTHERS, closed_to
from cluster.allowed import allowed_folders, callers_folders
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


@pytest.mark.parametrize("example", ["digits", "urgent", "deaf", "stubborn", "bash", "first", "plain", "torchrun"])
def test_every_example_can_be_derived(tmp_path, example):
    path = Examples(ROOT, str(tmp_path)).derive(example, "other", env={"OUT": "/tmp/x"}, run="true")
    with open(path) as file:
        lines = file.read().splitlines()
    assert 'name: "other"' in lines and 'run: "true"' in lines
    assert sum(line.startswith("env:") for line in lines) == 1
    assert f'workdir: "{ROOT}/deploy/examples/{example}"' in lines


def test_no_example_brings_the_sdk_along():
    examples = os.path.join(ROOT, "deploy", "examples")
    for folder, _, files in os.walk(examples):
        for name in files:
            with open(os.path.join(folder, name), errors="replace") as file:
                assert "PYTHONPATH" not in file.read(), os.path.join(folder, name)


# ---- what jobs may name


def test_allowed_are_folders_that_are_there_each_once(tmp_path):
    own, home = tmp_path / "own", tmp_path / "home"
    for folder in (own, home / "ana" / "work", tmp_path / "data"):
        folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(home / "ana")
    (tmp_path / "file").write_text("")
    wanted = [
        home / "ana",
        tmp_path / "link",
        home / "ana" / "work",
        tmp_path / "data",
        tmp_path / "file",
        tmp_path / "not-there",
        "",
    ]
    assert allowed_folders(map(str, wanted), str(own)) == [str(tmp_path / "data"), str(home / "ana")]


def test_never_allowed_is_what_holds_the_clusters_own_files(tmp_path):
    own = tmp_path / "cluster"
    (own / "n1").mkdir(parents=True)
    (tmp_path / "cluster-notes").mkdir()
    wanted = ["/", str(tmp_path), str(own), str(tmp_path / "cluster-notes")]
    assert allowed_folders(wanted, str(own)) == [str(tmp_path / "cluster-notes")]


def test_callers_folders_are_home_checkout_and_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ana")
    monkeypatch.delenv("SUDO_USER", raising=False)
    assert callers_folders("/src/glim") == ["/home/ana", "/src/glim", str(tmp_path)]
    monkeypatch.setenv("SUDO_USER", "root")
    assert callers_folders("/src/glim")[1] == "/root"
    monkeypatch.setenv("SUDO_USER", "nobody-of-this-name")
    assert len(callers_folders("/src/glim")) == 3


def test_a_closed_checkout_is_shown_as_a_copy(tmp_path):
    """Root's home is closed to whoever tasks are."""
    checkout, jobs = tmp_path / "checkout", tmp_path / "jobs"
    (checkout / "deploy" / "examples").mkdir(parents=True)
    (checkout / "tests").mkdir()
    program = checkout / "deploy" / "examples" / "run.sh"
    program.write_text("true\n")
    program.chmod(0o700)
    jobs.mkdir()
    checkout.chmod(0o700)
    assert Examples(str(checkout), str(jobs)).mounts()[0] == {"source": f"{checkout}/deploy", "read_only": True}
    shown = Examples(str(checkout), str(jobs), (1234, 1234)).mounts()[0]
    assert shown == {"source": f"{jobs}/.shown/deploy", "target": f"{checkout}/deploy", "read_only": True}
    assert closed_to(OTHERS, f"{jobs}/.shown/deploy/examples/run.sh", below=str(jobs)) is None
    assert os.stat(f"{jobs}/.shown/deploy/examples/run.sh").st_mode & 0o777 == 0o755
