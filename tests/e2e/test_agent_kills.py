"""Agents are killed (SIGKILL) while tasks run, print and end: no line and no exit code is lost, no process is
touched."""

import random

from cluster.processes import processes_of, start_time

LINES = 3000
COUNT = (
    f'i=0; while [ $i -lt {LINES} ]; do i=$((i+1)); echo "line $i"; [ $((i % 10)) = 0 ] && sleep 0.01; done; ' "exit 7"
)


def test_killed_agents_lose_no_line_no_exit_and_no_process(stage):
    cluster, rng = stage.cluster, random.Random(7)
    counting = [stage.glim.submit(stage.examples.make(f"counts-{n}", COUNT)) for n in range(2)]
    stays = stage.glim.submit(stage.examples.make("stays", "exec sleep 600", nodes=2))
    for job in (*counting, stays):
        cluster.wait_state(job, "running", 30)
    before = {(pid, start_time(pid)) for pid in processes_of(cluster.folder, stays)}
    assert len(before) >= 2
    kills = 0
    while any(stage.glim.job(job)["state"] == "running" for job in counting) and kills < 40:
        node = rng.choice(sorted(cluster.node_places))
        cluster.kill(node)
        kills += 1
        cluster.start_again(node)
    cluster.wait_ready()
    assert kills > 4, "the jobs lived through several kills"

    wanted = [f"line {i}" for i in range(1, LINES + 1)]
    for job in counting:
        failed = cluster.wait_state(job, "failed", 30)
        assert failed["attempts"][0]["tasks"][0]["exit_code"] == 7 and failed["attempt_count"] == 1
        assert stage.glim.text("logs", job).splitlines() == wanted, "every line once, in order"
    assert {(pid, start_time(pid)) for pid in processes_of(cluster.folder, stays)} == before
    job = stage.glim.job(stays)
    assert job["state"] == "running" and job["attempt_count"] == 1
