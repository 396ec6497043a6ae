"""The steps of deploy/quickstart: what is said of each, what is left of the story, what --json has when it fails."""

import contextlib
import errno
import json
import re
import sys

import pytest

from cluster import quickstart
from cluster.commands import StepFailed, run_logged
from cluster.progress import read_ninja
from cluster.quickstart import STORY, Steps


class Line:
    """In place of a terminal's: notes what would be shown."""

    def __init__(self):
        self.said, self.shown = [], []

    def say(self, line):
        self.said.append(line)

    def show(self, text):
        self.shown.append(text)

    @contextlib.contextmanager
    def ticking(self, text):
        self.shown.append(text())
        yield


@pytest.fixture
def steps():
    return Steps(["build", *STORY], Line())


def test_a_step_is_told_with_what_it_took(steps):
    assert steps.run("build", "Building", lambda: "done") == "done"
    assert steps.line.said[0] == "==> Building" and re.fullmatch(r"    \d\.\d s", steps.line.said[1])
    assert list(steps.durations) == ["build"]


def test_while_it_builds_the_line_tells_of_files(steps):
    steps.run("build", "Building", lambda: steps.note(read_ninja("[3/9] Building CXX object x/y.cc.o")))
    assert steps.line.shown == ["    step 1 of 6, 0 s: Building", "    3 of 9, 0 s: x/y.cc.o"]


def test_in_the_story_the_line_tells_of_steps_and_what_is_left(steps):
    steps.run("build", "Building", lambda: None)
    for name in STORY:
        steps.run(name, f"part {name}", lambda: None)
    quiet = sum(STORY.values())
    first, *_, last = steps.line.shown[1:]
    assert first == f"    step 2 of 6, 0 s, about {round(quiet / 10) * 10} s left: part start"
    assert last == "    step 6 of 6, 0 s, some seconds left: part hardware"


def test_a_step_of_which_something_else_tells_has_no_line(steps):
    steps.run("build", "Packages", lambda: None, own_line=True)
    assert steps.line.shown == [] and steps.line.said[0] == "==> Packages"


def test_the_summary_has_each_phase(steps):
    steps.durations = {"install_deps": 51.6, "build": 240, "start": 2, "reference": 8.2}
    assert steps.summary() == "packages 52 s, build 240 s, story 10 s"


@pytest.mark.parametrize("fails", ["install_packages", "build"])
def test_what_fails_before_the_story_is_in_the_json_too(tmp_path, monkeypatch, capsys, fails):
    def fail(*_):
        raise StepFailed(f"{fails} failed\n    because")

    monkeypatch.setattr(quickstart, "install_packages", lambda: None)
    monkeypatch.setattr(quickstart, fails, fail)
    args = quickstart.options(["--json", str(tmp_path / "told.json")])
    assert quickstart.run(args, Steps(["install_deps", "build", *STORY], Line()), str(tmp_path)) is False
    with open(args.json) as file:
        told = json.load(file)
    assert (told["version"], told["ok"], told["problems"]) == (1, False, [f"{fails} failed\n    because"])
    assert list(told["durations_s"]) == ([] if fails == "install_packages" else ["install_deps"])
    assert f"error: {fails} failed\n    because\n" in capsys.readouterr().err


def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path):
    """Its child holds the pipe that we read to the end."""
    assert run_logged(["sh", "-c", "sleep 300 & wait"], str(tmp_path / "log"), seconds=0.2) is None


def test_a_command_gives_its_code_its_log_and_its_lines(tmp_path):
    log, lines = tmp_path / "log", []
    log.write_text("before\n")
    assert run_logged(["sh", "-c", "echo one; echo two >&2; exit 3"], str(log), on_line=lines.append) == 3
    assert lines == ["one\n", "two\n"] and log.read_text() == "before\none\ntwo\n"


def test_the_cluster_is_stopped_although_the_terminal_has_gone(tmp_path, monkeypatch):
    """A closed terminal is a SIGHUP first, and then an error at each word."""

    class Gone:
        def write(self, _):
            raise OSError(errno.EIO, "Input/output error")

        def flush(self):
            self.write("")

    class Cluster:
        stopped = False

        def __init__(self, *_, **__):
            pass

        def start(self):
            raise KeyboardInterrupt

        def stop(self):
            Cluster.stopped = True
            return ["a fault"]

    for name, value in (("LocalCluster", Cluster), ("install_packages", lambda: None), ("find_page", lambda *_: "")):
        monkeypatch.setattr(quickstart, name, value)
    monkeypatch.setattr(quickstart.signal, "signal", lambda *_: None)
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(sys, stream, Gone())
    args = quickstart.options(["--no-build"])
    with pytest.raises(KeyboardInterrupt):
        quickstart.run(args, Steps(["install_deps", "page", *STORY], Line()), str(tmp_path))
    assert Cluster.stopped
