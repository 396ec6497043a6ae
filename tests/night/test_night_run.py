"""A part that is cut off goes on behind what ended; what hangs is killed, and is a failure."""

import json
import threading

import pytest

from cluster.processes import SLOWER, start_time, wait_until
from night.items import Item, ended_well
from night.progress import Progress
from night.run_part import Deadline, PartRun


def item(name, script, **more):
    return Item(name, ("sh", "-c", script), ended_well(name), **more)


class OverWhen:
    """A deadline that has come when something has happened."""

    def __init__(self, is_over):
        self.is_over = is_over


class Part:
    """Items in a folder of the test; `began` are the names of those that ran, in their order."""

    def __init__(self, folder):
        self.folder, self.said = folder, []

    def progress(self):
        return Progress(str(self.folder / "state"), "part", "f1")

    def run(self, items, jobs=1, deadline=Deadline(None)):
        progress = self.progress()
        run = PartRun(items, progress, deadline, str(self.folder / "out"), str(self.folder), self.said.append)
        return run.run(jobs), progress.items

    def item(self, name, script="", **more):
        return item(name, f"echo {name} >>began; {script}", **more)

    @property
    def began(self):
        path = self.folder / "began"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def part(tmp_path):
    return Part(tmp_path)


def test_all_items_end(part):
    ended, items = part.run([part.item("a"), part.item("b", "exit 3"), part.item("c")], jobs=3)
    assert ended and items == {"a": (1, []), "b": (0, ["b: exit code 3"]), "c": (1, [])}
    assert sorted(part.began) == ["a", "b", "c"]


def test_what_was_cut_off_goes_on_behind_what_ended(part):
    """The second item waits for a file that is there only at the second time."""
    items = [part.item("a"), part.item("b", "until [ -e go ]; do sleep 0.05; done", lane="l"), part.item("c", lane="l")]
    ended, done = part.run(items, deadline=OverWhen(lambda: "b" in part.began))
    assert not ended and list(done) == ["a"], "b was ended, c was not begun"
    assert part.began == ["a", "b"]
    (part.folder / "go").touch()
    ended, done = part.run(items)
    assert ended and list(done) == ["a", "b", "c"]
    assert part.began == ["a", "b", "b", "c"], "a did not run a second time"


def test_a_part_without_time_begins_nothing(part):
    ended, done = part.run([part.item("a")], deadline=Deadline(0))
    assert not ended and not done and part.began == []


def test_a_failure_is_kept_as_well(part):
    items = [part.item("a", "exit 1"), part.item("b")]
    part.run(items[:1])
    ended, done = part.run(items)
    assert ended and done["a"] == (0, ["a: exit code 1"])
    assert part.began == ["a", "b"]


def test_an_item_that_hangs_is_killed_with_what_it_started(part):
    ended, done = part.run([part.item("a", "sleep 600 & echo $! >child; wait", limit_s=0.5), part.item("b")])
    assert ended and done["a"][0] == 0 and "killed after" in done["a"][1][0] and done["b"] == (1, [])
    child = (part.folder / "child").read_text().strip()
    wait_until(lambda: start_time(child) is None, 10, "the child has ended")


def test_items_of_one_lane_run_one_after_the_other(part):
    """Each of the lane fails if another one of it runs; the one beside them ends when all did."""
    alone = "mkdir lock && rmdir lock"
    beside = part.item("beside", "until [ -e last ]; do sleep 0.02; done")
    lane = [part.item(name, alone, lane="l") for name in "abc"] + [part.item("d", "touch last", lane="l")]
    ended, done = part.run([beside, *lane], jobs=4)
    assert ended and all(counts == (1, []) for counts in done.values())


def test_a_report_of_a_sanitizer_is_a_failure_though_the_program_passed(part):
    reports = part.folder / "reports"
    reports.mkdir()
    ended, done = part.run([part.item("a", f"echo race >{reports}/report.7", reports=str(reports)), part.item("b")])
    assert ended and done["a"][0] == 1 and "report" in done["a"][1][0]
    assert not list(reports.iterdir()), "it counts once"
    assert (part.folder / "out" / "a" / "report.7").read_text() == "race\n"


def test_an_error_of_ours_ends_the_part(part):
    def judge(left):
        raise KeyError("no such thing")

    with pytest.raises(KeyError):
        part.run([Item("a", ("true",), judge), part.item("b")])


def test_what_a_failed_item_printed_is_shown(part):
    part.run([part.item("a", "echo to out; echo to err >&2; exit 1")])
    said = "\n".join(part.said)
    assert "failed: a: exit code 1" in said and "to out" in said and "to err" in said


def test_progress_of_other_sources_is_not_gone_on_with(tmp_path):
    first = Progress(str(tmp_path), "part", "f1")
    first.seconds = 61.5
    first.add("a", 2, ["b"])
    again = Progress(str(tmp_path), "part", "f1")
    assert (again.items, again.seconds) == ({"a": (2, ["b"])}, 61.5)
    assert Progress(str(tmp_path), "part", "f2").items == {}
    assert Progress(str(tmp_path), "other", "f1").items == {}


def test_a_part_that_ended_leaves_no_progress_of_any_sources(tmp_path):
    for part, fingerprint in (("part", "f1"), ("part", "f2"), ("part-2", "f1")):
        Progress(str(tmp_path), part, fingerprint).add("a", 1, [])
    Progress(str(tmp_path), "part", "f2").forget()
    assert [path.name for path in tmp_path.iterdir()] == ["part-2@f1.json"]


@pytest.mark.parametrize("text", ["", "[]", json.dumps({"seconds": 1, "items": {"a": 3}})])
def test_progress_that_cannot_be_read_names_the_file(tmp_path, text):
    (tmp_path / "part@f1.json").write_text(text)
    with pytest.raises(ValueError, match="part@f1.json cannot be read.*remove it"):
        Progress(str(tmp_path), "part", "f1")


def test_a_deadline_counts_minutes():
    now = [100.0]
    deadline = Deadline(2, lambda: now[0])
    assert deadline.left() == 120 and not deadline.is_over()
    now[0] = 220.0
    assert deadline.is_over()
    assert Deadline(None).left() == float("inf")


def test_an_interrupt_ends_what_runs(part):
    """As main does it: the thread that waits raises, and no item outlives that."""
    run = PartRun(
        [part.item("a", "until [ -e go ]; do sleep 0.05; done")],
        part.progress(),
        Deadline(None),
        str(part.folder / "out"),
        str(part.folder),
        part.said.append,
    )
    waiter = threading.Thread(target=lambda: run.run(1))
    waiter.start()
    wait_until(lambda: part.began, 10, "the item runs")
    run.stop()
    waiter.join(10 * SLOWER)
    assert not waiter.is_alive() and part.progress().items == {}
