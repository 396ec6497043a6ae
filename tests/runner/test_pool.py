"""How many jobs run at a time, and how they end."""

import signal
import threading

import pytest

from cluster.processes import start_time, wait_until
from runner.pool import Job, Pool, run_process


def job(weight, name="job", **more):
    return Job("part", name, ["true"], weight=weight, **more)


@pytest.mark.parametrize(
    "cores, weights, begin",
    [
        (2, [1, 1, 1], [0, 1]),
        (2, [1 / 3] * 8, [0, 1, 2, 3, 4, 5]),
        (2, [1, 1.5, 1], [0, 2]),  # what does not fit does not keep back what does
        (2, [5, 1], [0]),  # heavier than the machine: alone
        (1, [0.5, 1, 0.5], [0, 2]),
    ],
)
def test_jobs_weigh_no_more_than_the_machine_has_cores(cores, weights, begin):
    pool, jobs = Pool(cores, None), [job(weight) for weight in weights]
    pool.add(jobs)
    taken = []
    while (one := pool._take()[0]) is not None:
        taken.append(jobs.index(one))
    assert taken == begin


def drained(jobs, cores=4):
    ended = {}
    pool = Pool(cores, lambda job, how: ended.update({job.name: how}))
    pool.add(jobs)
    pool.drain()
    return ended


def test_every_job_ends_and_says_how():
    ended = drained(
        [
            Job("p", "well", ["sh", "-c", "echo $WORD; echo too >&2"], env={"WORD": "said"}),
            Job("p", "badly", ["sh", "-c", "exit 3"]),
            Job("p", "crash", ["sh", "-c", "kill -SEGV $$"]),
            Job("p", "late", ["sleep", "1000"], limit_s=0.1),
            Job("p", "nowhere", ["/nonexistent/program"]),
            Job("p", "unwanted", ["true"], wanted=lambda: False),
        ]
    )
    assert {name: how and how.code for name, how in ended.items()} == {
        **{"well": 0, "badly": 3, "crash": -signal.SIGSEGV, "late": None, "nowhere": 127, "unwanted": None},
    }
    assert ended["unwanted"] is None
    assert ended["well"].said == "said\ntoo\n"
    assert "/nonexistent/program cannot be started" in ended["nowhere"].said


def test_what_a_job_leaves_behind_does_not_outlive_it():
    ended = run_process(["sh", "-c", "sleep 1000 & echo $!"])
    assert ended.code == 0
    wait_until(lambda: start_time(int(ended.said)) is None, 10, "the process that was left behind is still there")


def test_a_pool_that_waits_for_more_takes_jobs_from_other_threads():
    ended, built = [], threading.Event()
    pool = Pool(2, lambda job, how: ended.append(job.name))

    def add():
        pool.add([Job("p", "late one", ["true"])])
        built.set()

    threading.Timer(0, add).start()
    pool.drain(lambda: not built.is_set())
    assert ended == ["late one"]


def test_a_pool_that_is_stopped_ends_what_runs(tmp_path):
    ended, pid_file = [], tmp_path / "pid"
    pool = Pool(1, lambda job, how: ended.append(job.name))
    pool.add([Job("p", "long", ["sh", "-c", f"echo $$ >{pid_file}.new; mv {pid_file}.new {pid_file}; sleep 1000"])])
    pool.add([Job("p", "next", ["true"])])
    thread = threading.Thread(target=pool.drain)
    thread.start()
    wait_until(pid_file.exists, 10, "the job has not begun")
    pool.stop()
    thread.join(10)
    assert start_time(int(pid_file.read_text())) is None
    assert ended == [], "nothing is told of a run that was interrupted"


def test_what_goes_wrong_with_a_result_ends_the_run():
    def on_end(job, how):
        raise ValueError(f"{job.name} cannot be read")

    pool = Pool(2, on_end)
    pool.add([job(1, "first"), job(1, "second")])
    with pytest.raises(ValueError, match="cannot be read"):
        pool.drain()
