"""The scheduler's database has no room, or is away: nothing can be changed, everything else goes on, and the process
stays. Then all goes on by itself: nothing is lost and nothing is there twice."""


import pytest
from own_postgres import OwnPostgres
from small_disk import SmallDisk

from cluster.local_cluster import CONFIG
from cluster.processes import wait_until
from conftest import own_stage

UNREACHABLE = 8
TWO = {"n1": ("A", "a1"), "n2": ("A", "a1")}


class Trouble:
    """Of a store: `go` begins it and `back` ends it."""

    is_away = False

    def go(self):
        self.begin()
        self.is_away = True

    def back(self):
        self.is_away = False
        self.end()


class FullDisk(Trouble):
    """The file system of the scheduler's SQLite has no block left."""

    reason, told, fix, reads_history = "STORE_FULL", "no room", "make room", True

    def __init__(self, folder):
        self.disk = SmallDisk(folder)
        self.options = {"store": f"sqlite:{self.disk.path}/glim.db", "scheduler_prefix": self.disk.prefix}
        self.begin, self.end, self.close = self.disk.fill, self.disk.make_room, self.disk.close


class DeadServer(Trouble):
    """The scheduler's PostgreSQL is stopped."""

    reason, told, fix, reads_history = "STORE_UNREACHABLE", "cannot be reached", "later", False

    def __init__(self, folder):
        self.server = OwnPostgres(folder)
        self.options = {"store": self.server.store}
        self.begin, self.end, self.close = self.server.stop, self.server.start, self.server.close


@pytest.fixture(params=[FullDisk, DeadServer], ids=["full", "away"])
def own(request, fresh_folder):
    store = request.param(fresh_folder)
    try:
        with own_stage(fresh_folder, nodes=TWO, config=CONFIG, **store.options) as stage:
            stage.store = store
            yield stage
            if store.is_away:  # the test failed in between, and its jobs are to be cancelled
                store.back()
                wait_until(lambda: away(stage) == 0, 60, "the store takes changes again")
    finally:
        store.close()


def waits_for(gate):
    return f"exec /usr/bin/python3 -c 'import os, time\nwhile not os.path.exists(\"{gate}\"): time.sleep(0.05)'"


def away(stage):
    return int(stage.glim.json("admin", "status")["scheduler"].get("store_away_since_ms") or 0)


def submissions_of(stage, job):
    return stage.glim.text("events", job).count(" submitted")


def test_the_scheduler_goes_on_when_its_database_does(own):
    glim, cluster, store = own.glim, own.cluster, own.store
    running = glim.submit(own.examples.make("runs", waits_for(own.path("gate"))))
    steady = glim.submit(own.examples.make("steady", "exec sleep 600"))
    for job in (running, steady):
        cluster.wait_state(job, "running", 30)
    scheduler = cluster.scheduler.pid

    store.go()
    spec = own.examples.make("held", "true")
    first = glim.run("submit", spec, "--request-id", "held-1")
    assert first.returncode == UNREACHABLE and store.reason in first.stderr, first.stderr
    # Either its commit is the one that is held, or an agent's report came before it, and it was not tried.
    assert "request id" in first.stderr or store.told in first.stderr, first.stderr
    assert store.fix in first.stderr, first.stderr
    wait_until(lambda: away(own), 20, "the scheduler says that its store takes no changes")
    second = glim.run("submit", own.examples.make("refused", "true"), "--request-id", "refused-1")
    assert second.returncode == UNREACHABLE and store.told in second.stderr, second.stderr
    assert store.reason in second.stderr and store.fix in second.stderr, second.stderr

    # Reads go on and say how old they are; what runs goes on, and an end that nobody can store yet is not lost.
    assert {job["id"] for job in glim.json("queue")["jobs"]} == {running, steady}
    queue = glim.run("queue")
    assert "takes no changes" in queue.stderr, queue.stderr
    assert "nothing can be changed since" in glim.text("admin", "status")
    events = glim.run("events", running)
    assert (events.returncode == 0) == store.reads_history, events.stderr
    open(own.path("gate"), "w").close()

    store.back()
    wait_until(lambda: away(own) == 0, 60, "the store takes changes again")
    assert cluster.scheduler.pid == scheduler
    cluster.check()
    cluster.wait_state(running, "succeeded", 60)
    assert glim.job(running)["attempt_count"] == 1
    assert glim.job(steady)["state"] == "running" and glim.job(steady)["attempt_count"] == 1
    again = glim.json("submit", spec, "--request-id", "held-1")["job_ids"]
    everything = glim.json("queue", "--all")["jobs"]
    assert [job["id"] for job in everything if job["spec"]["name"] == "held"] == again, "once, whoever asks again"
    assert not [job for job in everything if job["spec"]["name"] == "refused"], "what was refused has not been done"
    assert submissions_of(own, again[0]) == 1
    cluster.wait_state(again[0], "succeeded", 60)

    # And it is all in the store.
    before = {job["id"]: job["state"] for job in glim.json("queue", "--all")["jobs"]}
    cluster.away.add("scheduler")
    assert cluster.scheduler.stop()
    cluster.start_again("scheduler")
    cluster.wait_ready()
    assert {job["id"]: job["state"] for job in glim.json("queue", "--all")["jobs"]} == before
    assert submissions_of(own, again[0]) == 1
