"""Jobs that stand still: noticed, looked at, and, where they ask for it, they go on elsewhere."""

import json
import os

import pytest

from cluster.processes import wait_until
from conftest import lasting

# Makes five steps, and hangs in a lock in its first attempt until the file is there.
HANGS = """
import glim, os, sys, threading, time
gate = sys.argv[1]
lock = threading.Lock()
def open_it():
    while not os.path.exists(gate):
        time.sleep(0.05)
    lock.release()
def wait_for_peer():
    lock.acquire()
    lock.acquire()
with glim.session() as run:
    for step in range(5):
        run.progress(step)
        time.sleep(0.05)
    if os.environ["GLIM_ATTEMPT"] == "1":
        threading.Thread(target=open_it, daemon=True).start()
        wait_for_peer()
    run.progress(5)
    print("goes on", flush=True)
    while not os.path.exists(gate):
        time.sleep(0.05)
"""


@pytest.fixture
def gate(stage):
    path = stage.path("watchdog-gate")
    yield path
    if os.path.exists(path):
        os.remove(path)


def submit(stage, glim, name, gate, **fields):
    script = stage.path("hangs.py")
    with open(script, "w") as file:
        file.write(HANGS)
    os.chmod(script, 0o644)
    run = f"exec /usr/bin/python3 {script} {gate}"
    return glim.submit(stage.examples.make(name, run, watchdog={"no_progress": lasting(5)}, **fields))


def kinds(glim, job_id):
    return [json.loads(line)["kind"] for line in glim.text("-o", "json", "events", job_id).splitlines()]


def wait_evidence(cluster, job_id):
    looked = cluster.wait_job(job_id, lambda job: job["attempts"][0].get("evidence"), 60, "evidence")
    return looked["attempts"][0]


def test_a_job_that_stands_still_is_reported_with_what_it_does_and_left_alone(stage, cluster, glim, gate):
    job_id = submit(stage, glim, "stands-still", gate)
    cluster.wait_state(job_id, "running", 30)
    attempt = wait_evidence(cluster, job_id)
    assert attempt["stalled_since_ms"] > 0
    assert "; wait_for_peer, hangs.py:" in attempt["evidence"], attempt["evidence"]
    why = glim.text("why", job_id)
    assert "it stands still: the last step, save or output was" in why and ", at step 4:" in why, why
    assert "rank 0: python3 (pid " in why and "in wait_for_peer" in why, why
    status = glim.text("status", job_id)
    assert "; wait_for_peer, hangs.py:" in status and "as Python tells it" not in status, status
    events = glim.text("events", job_id)
    assert "no step, save or output for " in events, events
    assert glim.job(job_id)["state"] == "running" and glim.job(job_id)["attempt_count"] == 1

    open(gate, "w").close()
    cluster.wait_state(job_id, "succeeded", 30)
    assert kinds(glim, job_id).count("attempt_stalled") == 1
    assert "attempt_stall_over" in kinds(glim, job_id)
    assert "goes on" in glim.text("logs", job_id), "nobody had harmed it"
    assert "stands still" not in glim.text("status", job_id)


def test_with_hang_in_restart_on_it_goes_on_elsewhere(stage, cluster, glim, gate):
    restart = {"on": ["node_failure", "hang"], "max": 3, "backoff": "0s"}
    job_id = submit(stage, glim, "goes-on-elsewhere", gate, restart=restart)
    restarted = lambda job: job["attempt_count"] == 2 and job["state"] == "running"  # noqa: E731
    again = cluster.wait_job(job_id, restarted, 90, "a restart")
    first, second = again["attempts"]
    assert first["outcome"] == "hang", first
    assert "it stands still: no step, save or output for " in first["message"], first["message"]
    assert first["tasks"][0]["node"] != second["tasks"][0]["node"], "its node is left to others while there are more"
    assert "wait_for_peer" in first["evidence"], "kept with the attempt"
    assert "attempt 1: it stood still; what its processes did:" in glim.text("why", job_id)
    node = glim.json("nodes", first["tasks"][0]["node"])["nodes"][0]
    assert node["suspect_until_ms"] > 0 or "stood still there" in glim.text("nodes", first["tasks"][0]["node"])
    wait_until(lambda: "goes on" in glim.text("logs", job_id), 30, "the second attempt goes on")
    open(gate, "w").close()
    cluster.wait_state(job_id, "succeeded", 30)
