"""The judges of the story count lost steps exactly: by what the scheduler tells and what the ranks wrote down."""

import copy
import os
import subprocess

import pytest

from cluster.hardware import problems_of_hardware
from cluster.story import Training, ranges_by_attempt, slower_ms, steps_done, written_steps
from cluster.verdict import Findings, check_lost_steps

SAVED, DONE_BY_RANK_0, DONE, LAST = 29, 39, 40, 131


def write(folder, rank, attempts, rest=""):
    """`attempts`: of each, its first and its last step."""
    lines = [f"{number} {step} 00ff" for number, (a, b) in enumerate(attempts, 1) for step in range(a, b + 1)]
    (folder / f"rank-{rank}.txt").write_text("\n".join(lines) + "\n" + rest)


@pytest.fixture
def killed(tmp_path):
    """Files of a gang that was killed when ranks 1 to 3 had done step 40, and rank 0 had only begun it."""
    for rank in range(4):
        write(tmp_path, rank, [(0, DONE_BY_RANK_0 if rank == 0 else DONE), (SAVED + 1, LAST)])
    return str(tmp_path)


def job_that_lost(lost, last=DONE, saved=SAVED):
    first = {"last_step": last, "durable_step": saved, "steps_lost": lost, "base_step": -1, "outcome": "gpu_failure"}
    second = {"base_step": saved, "outcome": "succeeded", "tasks": [{"node": "n3"}, {"node": "n4"}]}
    return {"steps_lost": lost, "attempts": [{**first, "tasks": [{"node": "n1"}, {"node": "n2"}]}, second]}


def story_of(job, folder):
    """Of an act in which everything but the count of steps is as it must be."""
    reason = "n1: xid 79"
    return {
        "e": job,
        "f": {"attempts": [{"tasks": [{"node": f"n{n}"} for n in (1, 2, 3, 4)]}]},
        "f_before": "queued",
        "fell": {"node": "n1", "step": 37, "told": {"last_step": 36, "durable_step": SAVED}},
        "row": {"cordon": {"by": "health", "reason": reason}},
        "row_after": {"cordon": None},
        "seen": {
            "node": "Xid 79: reboot",
            "why": f"node {reason}",
            "status": f"GPU failure: node {reason}",
            "events": [{"kind": "health_event"}, {"kind": "node_cordoned"}],
            "metrics": {"xids": 1, "nodes_out": 1},
        },
        "metrics_after": {"xids": 1, "nodes_out": 0},
        "check": {"equals_reference": True, "problems": [], "steps_redone": DONE - SAVED},
        "steps_of_e": ranges_by_attempt(folder),
    }


def test_a_step_that_another_rank_than_the_first_had_done_counts(killed):
    """Told: "11 steps reported lost; it saved at 29 and had done step 39", by who had read rank 0's file alone."""
    assert steps_done(killed, rank=0) == LAST and ranges_by_attempt(killed) == {1: (0, DONE), 2: (SAVED + 1, LAST)}
    assert problems_of_hardware(story_of(job_that_lost(11), killed)) == []


@pytest.mark.parametrize(
    "change, words",
    [
        ({"last": DONE + 1, "lost": 12}, "last step 41"),  # a step that no rank has done
        ({"last": DONE, "lost": 12}, "12 steps reported lost"),
        ({"last": DONE, "lost": 10}, "10 steps reported lost"),
        ({"last": 35, "lost": 6}, "last step 35; it was 36 before"),  # fewer than it told of itself
        ({"saved": 19, "lost": 21}, "durable step 19; it was 29 before"),
        ({"saved": 59, "lost": 0}, "durable step 59"),  # a save of steps that were never done
        ({"saved": -1, "lost": 41}, "durable step -1"),
    ],
)
def test_any_other_count_is_a_problem(killed, change, words):
    problems = problems_of_hardware(story_of(job_that_lost(**{"lost": 11, **change}), killed))
    assert any(words in problem for problem in problems), problems


@pytest.mark.parametrize("last, lost", [(40, 11), (39, 10), (36, 7)])
def test_what_was_done_and_not_yet_reported_when_it_was_killed_is_not_counted(killed, last, lost):
    assert problems_of_hardware(story_of(job_that_lost(lost, last), killed)) == []


def test_a_job_that_is_killed_right_after_its_save_has_lost_nothing(tmp_path):
    write(tmp_path, 0, [(0, SAVED), (SAVED + 1, LAST)])
    found, told = Findings(), {"last_step": 20, "durable_step": 9}
    check_lost_steps(found, "C", job_that_lost(0, last=SAVED), told, ranges_by_attempt(str(tmp_path)))
    assert found == []


@pytest.mark.parametrize("begins", [SAVED, SAVED + 2])
def test_going_on_anywhere_else_than_after_the_save_is_a_problem(tmp_path, begins):
    write(tmp_path, 0, [(0, DONE), (begins, LAST)])
    story = story_of(job_that_lost(11), str(tmp_path))
    assert any("its own files say" in problem for problem in problems_of_hardware(story))


def test_steps_done_again_are_counted_exactly(killed):
    for redone in (DONE - SAVED - 1, DONE - SAVED + 1):
        story = copy.deepcopy(story_of(job_that_lost(11), killed))
        story["check"]["steps_redone"] = redone
        assert problems_of_hardware(story) == [f"E: {redone} steps done again of {DONE - SAVED}"]


def test_a_line_that_is_being_written_does_not_count(tmp_path):
    write(tmp_path, 0, [(0, 3)], rest="1 4")
    assert written_steps(str(tmp_path / "rank-0.txt"))[-1] == (1, 3)
    assert steps_done(str(tmp_path)) == 3 and ranges_by_attempt(str(tmp_path)) == {1: (0, 3)}
    assert ranges_by_attempt(str(tmp_path / "none")) == {}


@pytest.mark.parametrize("later, attempt, wanted", [(None, "2", "100"), (0, "1", "100"), (0, "2", "0")])
def test_later_attempts_may_have_shorter_steps(tmp_path, later, attempt, wanted):
    command = Training(later_step_ms=later).command().partition(" ")[2]
    env = {**os.environ, "GLIM_ATTEMPT": attempt, "DIGITS_OUT": "out"}
    said = subprocess.run(["sh", "-c", f"echo {command}"], env=env, capture_output=True, text=True, check=True).stdout
    assert said.split()[said.split().index("--step-ms") + 1] == str(slower_ms(int(wanted)))
