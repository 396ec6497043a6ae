"""Facts from /proc, and children that are stopped by process id."""

import os
import signal
import subprocess
import sys

import pytest

from cluster.leftovers import kill_tasks_under
from cluster.processes import SLOWER, Child, NotInTime, kill_process, processes_of, start_time, tail, wait_until


@pytest.fixture
def sleeper(tmp_path):
    env = dict(os.environ, GLIM_TASK="987654.1.0", GLIM_SOCKET=f"{tmp_path}/n1/tasks/987654.1.0/socket")
    child = Child("sleeper", ["sleep", "60"], str(tmp_path / "log"), env)
    yield child
    child.stop()


def test_finds_the_processes_of_a_job_until_they_are_gone(sleeper, tmp_path):
    wait_until(lambda: processes_of(str(tmp_path), 987654) == [sleeper.pid], 60, "it is found")
    assert processes_of(str(tmp_path), 987654, 1) == [sleeper.pid]
    assert processes_of(str(tmp_path), 98765) == processes_of(str(tmp_path), 987654, 2) == []
    assert processes_of(str(tmp_path / "other"), 987654) == [], "another cluster's"
    os.kill(sleeper.pid, signal.SIGKILL)
    wait_until(lambda: start_time(sleeper.pid) is None, 60, "gone")
    assert processes_of(str(tmp_path), 987654) == [], "a zombie does not count"


def test_kills_exactly_the_process_that_was_meant(sleeper):
    kill_process(sleeper.pid, sleeper.start_time + 1)
    assert sleeper.alive()
    kill_process(sleeper.pid, sleeper.start_time)
    assert sleeper.process.wait(60 * SLOWER) == -signal.SIGKILL


def test_kills_what_belongs_to_a_folder_and_nothing_else(sleeper, tmp_path):
    wait_until(lambda: processes_of(str(tmp_path), 987654), 60, "it runs")
    assert kill_tasks_under(str(tmp_path / "n")) == []
    assert kill_tasks_under(str(tmp_path)) == [sleeper.pid]


def test_a_deaf_child_is_killed_in_the_end(tmp_path):
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    child = Child("deaf", [sys.executable, "-c", code], str(tmp_path / "log"))
    wait_until(lambda: "deaf" in tail(child.log), 60, "it began")
    assert child.stop(term_seconds=0.2) is False
    assert not child.alive()


def test_a_child_that_ended_is_told_with_its_log(tmp_path):
    child = Child("brief", ["sh", "-c", "echo words; exit 3"], str(tmp_path / "log"))
    child.process.wait(60 * SLOWER)
    with pytest.raises(RuntimeError, match="exit code 3:\nwords"):
        child.check()


def test_a_wait_says_what_did_not_come():
    with pytest.raises(NotInTime, match=f"not within {0.1 * SLOWER:g} s: rain"):
        wait_until(lambda: False, 0.1, lambda: "rain")
    assert wait_until(lambda: "here", 0, "it") == "here"


def test_pids_are_not_found_for_a_process_of_nobody():
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert start_time(gone.pid) is None
