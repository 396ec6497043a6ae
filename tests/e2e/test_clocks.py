"""The wall clock is set: by hours, under daemons that run. Nothing waits for the time that is no more."""

import contextlib
import os
import random
import subprocess
import sys

import pytest

from cluster.processes import tail, wait_until
from conftest import ROOT, own_stage

sys.path.insert(0, os.path.join(ROOT, "tests", "faults"))

from clocks import Clocks  # noqa: E402

NODES = {"n1": ("A", "a1"), "n2": ("A", "a1"), "n3": ("A", "a2")}
HOURS = 3600


@contextlib.contextmanager
def timed_stage(folder, **options):
    clocks = Clocks(folder, NODES, random.Random(1), monotonic=False)
    prefixes = {"scheduler_prefix": clocks.prefix("scheduler"), "agent_prefix": clocks.prefix}
    with own_stage(folder, nodes=NODES, **options, **prefixes) as stage:
        stage.clocks = clocks
        yield stage


@pytest.fixture
def timed(fresh_folder):
    with timed_stage(fresh_folder, replica_memory="16MiB", checkpoint_root=True) as stage:
        yield stage


@pytest.fixture
def without_tls(fresh_folder):
    """Certificates of a wrong clock would hide what else comes of it."""
    with timed_stage(fresh_folder, secure=False) as stage:
        yield stage


def restart_scheduler(cluster):
    cluster.kill("scheduler")
    cluster.start_again("scheduler")
    cluster.wait_ready()


@pytest.mark.parametrize("hours", [-3, 3])
def test_agents_come_back_to_a_scheduler_that_starts_anew_when_the_clock_was_set(timed, hours):
    """And their tasks have run on."""
    cluster, glim = timed.cluster, timed.glim
    steady = glim.submit(timed.examples.make("steady", "exec sleep 600"))
    cluster.wait_state(steady, "running", 30)
    pids = {name: agent.pid for name, agent in cluster.agents.items()}
    brief = glim.submit(timed.examples.make("brief", "sleep 2; touch over"))
    cluster.wait_state(brief, "running", 30)
    cluster.kill("scheduler")  # agents that missed it for a while before have pauses of gRPC's behind them
    wait_until(lambda: os.path.exists(timed.path("over")), 30, "a job ends while the scheduler is away")
    cluster.start_again("scheduler")
    cluster.wait_ready()
    for name in ("scheduler", *NODES):
        timed.clocks.set(name, hours * HOURS)
    restart_scheduler(cluster)
    cluster.check()
    assert {name: agent.pid for name, agent in cluster.agents.items()} == pids
    job = glim.job(steady)
    assert job["state"] == "running" and job["attempt_count"] == 1
    done = glim.submit(timed.examples.make("done-too", "true"))
    cluster.wait_state(done, "succeeded", 30)


def test_a_rank_that_yields_while_the_clock_is_set_back_is_heard(timed):
    """Its connection to the agent ends with the agent that starts anew, and it tells the next one."""
    cluster, glim = timed.cluster, timed.glim
    lines = ["import glim, os, sys, time", "with glim.session() as run:", "    run.begin_step(0)"]
    lines += ["    first = run.environment.attempt == 1", "    open(f'began-{run.environment.attempt}', 'w').close()"]
    lines += ["    while first and not os.path.exists('gate'): time.sleep(0.01)", "    if first: run.yield_now()"]
    lines += ["    if first and not run.begin_step(1): run.leave()"]
    with open(timed.path("yields.py"), "w") as file:
        file.write("\n".join(lines) + "\n")
    job = glim.submit(timed.examples.make("yields", "exec /usr/bin/python3 yields.py"))
    wait_until(lambda: os.path.exists(timed.path("began-1")), 30, "the rank is there")
    for name in ("scheduler", *NODES):
        timed.clocks.set(name, -HOURS)
    logs, adopted = [os.path.join(cluster.logs, f"agent-{name}.log") for name in NODES], f"task_adopted task={job}.1.0"
    wait_until(lambda: any(adopted in tail(log) for log in logs), 30, "the agent starts anew")
    open(timed.path("gate"), "w").close()
    ended = cluster.wait_state(job, "succeeded", 60)
    assert ended["attempt_count"] == 2, cluster.describe(ended)


def test_a_start_with_a_clock_that_is_far_off_is_refused_until_an_operator_accepts_it(without_tls):
    """And a store that such a start has written is mended: the job that ran all the time is still there."""
    cluster, glim = without_tls.cluster, without_tls.glim
    steady = glim.submit(without_tls.examples.make("steady", "exec sleep 600"))
    cluster.wait_state(steady, "running", 30)

    def restart_at(hours):
        cluster.kill("scheduler")
        without_tls.clocks.set("scheduler", hours * HOURS)
        cluster.start_again("scheduler")

    def is_refused(hours, words):
        with pytest.raises(Exception, match="CLOCK_OFF"):
            restart_at(hours)
        log = tail(cluster.scheduler.log)
        assert words in log and "glim-scheduler accept-clock" in log, log

    def accept():
        argv = [*cluster.scheduler_prefix, cluster.program("glim-scheduler"), "accept-clock"]
        argv += [
            "--config",
            cluster.config,
            "--store",
            cluster.store,
            "--state-dir",
            cluster.state_dir,
            "--insecure-without-identity",
        ]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stdout.startswith("accepted: "), done.stdout + done.stderr
        return done.stdout

    is_refused(400 * 24, "400 days after the store was last written")
    accept()
    cluster.start_again("scheduler")  # that was wrong
    is_refused(0, "days before the store was last written")
    assert "were moved back" in accept()
    cluster.start_again("scheduler")
    cluster.wait_ready()
    job = glim.job(steady)
    assert job["state"] == "running" and job["attempt_count"] == 1, cluster.describe(job)
    done = glim.submit(without_tls.examples.make("after", "true"))
    cluster.wait_state(done, "succeeded", 60)
