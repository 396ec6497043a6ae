"""What is told of the past: events as they happen and afterwards, ended jobs and what they cost, through a restart of
the scheduler too."""

import json
import os
import signal

from cluster.local_cluster import LocalCluster
from cluster.processes import SLOWER, wait_until
from cluster.spec import Examples
from conftest import BIN, ROOT


def kinds(events):
    return [event["kind"] for event in events]


def events_of(glim, *args):
    return [json.loads(line) for line in glim.text("-o", "json", "events", *args).splitlines()]


def in_order(wanted, found):
    """Whether `wanted` occur in `found` in this order, whatever lies between."""
    rest = iter(found)
    return all(kind in rest for kind in wanted)


def test_an_interrupted_jobs_story_as_events_and_as_history(stage, cluster, glim):
    spec = stage.examples.derive(
        "bash",
        "story",
        run='exec ./count.sh --steps 60 --step-ms 40 --out "$COUNT_OUT"',
        env={"COUNT_OUT": stage.path("story")},
        checkpoint={"dir": stage.path("ckpt", "$GLIM_JOB_ID"), "keep": 3},
    )
    job_id = glim.submit(spec, user="ana")
    cluster.wait_job(job_id, lambda job: job["attempts"] and job["attempts"][-1]["last_step"] >= 5, 60, "it did step 5")
    urgent_id = stage.submit_visitor("visitor", [job_id])
    cluster.wait_state(urgent_id, "succeeded", 60)
    job = cluster.wait_state(job_id, "succeeded", 60)

    events = events_of(glim, job_id)
    assert in_order(
        [
            "job_submitted",
            "attempt_claimed",
            "attempt_starting",
            "attempt_running",
            "interrupt_requested",
            "step_agreed",
            "interrupt_saved",
            "attempt_ended",
            "job_queued",
            "attempt_claimed",
            "attempt_starting",
            "attempt_running",
            "attempt_ended",
            "job_succeeded",
        ],
        kinds(events),
    ), events
    stop = job["attempts"][0]["agreements"][0]["stop_step"]
    words = glim.text("events", job_id)
    node = job["attempts"][0]["tasks"][0]["node"]
    for told in (
        f"stop after step {stop}",
        f"job {urgent_id} visitor (high, user ben) needs 4 nodes",
        f"on {node}, from the beginning",
        f"from step {stop + 1}",
        "saved and left, 0 steps lost",
    ):
        assert told in words, words

    ended = {job["id"]: job for job in glim.json("history", "--since", "1h")["jobs"]}
    record = ended[job_id]
    assert (record["name"], record["user"], record["state"]) == ("story", "ana", "succeeded")
    assert (record["attempts"], record["interrupts"], record["steps_lost"]) == (2, 1, 0)
    assert record["durable_step"] == stop and record["simulated_gpus"]
    assert record["gpu_ms"] >= record["productive_gpu_ms"] > 0 and record["waited_ms"] >= 0
    assert [j["id"] for j in glim.json("history", "--user", "ben", "--limit", "1")["jobs"]] == [urgent_id]
    assert "simulated" in glim.text("history")


def test_follow_brings_what_happens_next_and_outlasts_a_restart(fresh_folder):
    """On a cluster of its own: its scheduler is restarted."""
    cluster = LocalCluster(BIN, fresh_folder, nodes={"n1": ("A", "a1")})
    try:
        cluster.start()
        follow_through_a_restart(cluster, Examples(ROOT, cluster.jobs, cluster.task_user))
    except BaseException:
        print(cluster.tails())
        raise
    finally:
        faults = cluster.stop()
    assert faults == []


def follow_through_a_restart(cluster, examples):
    glim, out = cluster.glim, os.path.join(cluster.folder, "followed.jsonl")
    follower = glim.follow("-o", "json", "events", "-f", "--since", "0s", out=out)

    def seen(kind, job_id=0):
        cluster.check()
        with open(out + ".err") as words:
            assert follower.poll() is None, f"glim events -f ended with {follower.returncode}: {words.read()}"
        with open(out) as file:
            events = [json.loads(line) for line in file.read().split("\n")[:-1]]
        return [event["seq"] for event in events if event["kind"] == kind and event["job_id"] == job_id]

    try:
        before = glim.submit(examples.make("before", "true"))
        wait_until(lambda: seen("job_succeeded", before), 60, "the first job's end was brought")
        assert cluster.scheduler.stop(), "the scheduler ends on SIGTERM"
        cluster.start_scheduler()
        cluster.wait_ready()
        after = glim.submit(examples.make("after", "true"))
        wait_until(lambda: seen("job_succeeded", after), 60, "the second job's end was brought")
        assert len(seen("scheduler_started")) == 1
        with open(out) as file:
            seqs = [json.loads(line)["seq"] for line in file]
        assert seqs == sorted(set(seqs)), "in order, nothing twice"
        follower.send_signal(signal.SIGINT)
        assert follower.wait(20 * SLOWER) == 130
    finally:
        if follower.poll() is None:
            follower.kill()
            follower.wait()
    assert [job["id"] for job in glim.json("history", "--limit", "2")["jobs"]] == [after, before]


def test_a_nodes_events_and_bad_input(glim):
    assert "node_registered" in kinds(events_of(glim, "--node", "n2"))
    unknown = glim.run("events", "--node", "n99")
    assert unknown.returncode == 3 and "field: node" in unknown.stderr and "fix:" in unknown.stderr
    nobody = glim.run("events", "4711000")
    assert nobody.returncode == 3 and "no job 4711000" in nobody.stderr
    assert glim.run("history", "--state", "running").returncode == 2
    assert glim.run("events", "--since", "yesterday").returncode == 2
