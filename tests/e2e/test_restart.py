"""The scheduler and the agents may come and go: what was acknowledged is there afterwards, and no task notices."""

import os

import pytest

from cluster.processes import processes_of, start_time, wait_until
from conftest import own_stage

COUNT = 'import sys, time; [(open(sys.argv[1], "a").write("x"), time.sleep(0.05)) for _ in range(2400)]'


@pytest.fixture
def own(fresh_folder):
    with own_stage(fresh_folder) as stage:
        yield stage


def identities(cluster, job):
    return sorted((pid, start_time(pid)) for pid in processes_of(cluster.folder, job))


def test_a_restart_of_the_scheduler_keeps_jobs_and_tasks(own):
    cluster = own.cluster
    counter = own.path("count")
    running = own.glim.submit(own.examples.make("running", f"exec /usr/bin/python3 -c '{COUNT}' {counter}", nodes=2))
    cluster.wait_state(running, "running", 30)
    wait_until(lambda: os.path.exists(counter), 30, "it counts")
    queued = [own.glim.submit(own.examples.make(f"queued-{n}", "echo ran", nodes=4)) for n in range(5)]
    before = identities(cluster, running)
    assert before

    assert cluster.scheduler.stop(), "the scheduler ends on SIGTERM"
    size = os.path.getsize(counter)
    wait_until(lambda: os.path.getsize(counter) > size, 10, "the task runs on without a scheduler")
    assert own.glim.run("queue").returncode == 8
    cluster.start_scheduler()
    cluster.wait_ready()

    assert {running, *queued} <= {job["id"] for job in own.glim.json("queue")["jobs"]}
    assert identities(cluster, running) == before, "the same processes as before"
    job = own.glim.job(running)
    assert job["state"] == "running" and job["attempt_count"] == 1
    own.glim.text("cancel", running)
    cluster.wait_state(running, "cancelled", 30)
    for job_id in queued:
        cluster.wait_state(job_id, "succeeded", 60)


def test_a_restart_of_every_agent_keeps_tasks_and_misses_no_exit(own):
    cluster = own.cluster
    gate = own.path("gate")
    stays = own.glim.submit(own.examples.make("stays", "exec sleep 600", nodes=3))
    ends = own.glim.submit(own.examples.make("ends", f"until [ -e {gate} ]; do sleep 0.05; done; exit 3"))
    for job_id in (stays, ends):
        cluster.wait_state(job_id, "running", 30)
    before = identities(cluster, stays)
    for agent in cluster.agents.values():
        assert agent.stop(), "an agent ends on SIGTERM"
    open(gate, "w").close()
    wait_until(lambda: not processes_of(cluster.folder, ends), 20, "the second job's process ends while no agent looks")
    for name in cluster.node_places:
        cluster.start_agent(name)
    cluster.wait_ready()
    failed = cluster.wait_state(ends, "failed", 30)
    assert failed["attempts"][0]["tasks"][0]["exit_code"] == 3
    assert identities(cluster, stays) == before
    assert own.glim.job(stays)["attempt_count"] == 1


def test_many_acknowledged_jobs_survive_a_kill_of_the_scheduler(own):
    cluster = own.cluster
    blocker = own.glim.submit(own.examples.make("blocker", "exec sleep 600", nodes=4))
    cluster.wait_state(blocker, "running", 30)
    text = "---\n".join(f"name: many-{n}\nrun: 'true'\nnodes: 4\n" for n in range(200))
    ids = own.glim.json("submit", own.examples.write("many", text))["job_ids"]
    assert len(ids) == 200
    cluster.scheduler.process.kill()
    cluster.scheduler.process.wait()
    cluster.start_scheduler()
    cluster.wait_ready()
    assert set(ids) <= {job["id"] for job in own.glim.json("queue")["jobs"]}
    assert own.glim.job(blocker)["state"] == "running"
