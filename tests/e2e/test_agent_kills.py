"""Agents are killed (SIGKILL) while tasks run, print and end: no line and no exit code is lost, no process is
touched."""

import random

from cluster.processes import processes_of, start_time

KILLS = 15
LINES = 1000


def test_killed_agents_lose_no_line_no_exit_and_no_process(stage):
    cluster, rng = stage.cluster, random.Random(7)
    gate = stage.path("gate")
    go_on = f"[ ! -e {gate} ] || [ $i -lt {LINES} ]"
    count = (
        f'i=0; while {go_on}; do i=$((i+1)); echo "line $i"; [ $((i % 10)) != 0 ] || sleep 0.05; done; echo end; exit 7'
    )
    counting = [stage.glim.submit(stage.examples.make(f"counts-{n}", count)) for n in range(2)]
    stays = stage.glim.submit(stage.examples.make("stays", "exec sleep 600", nodes=2))
    for job in (*counting, stays):
        cluster.wait_state(job, "running", 30)
    before = {(pid, start_time(pid)) for pid in processes_of(cluster.folder, stays)}
    assert len(before) >= 2
    for kill in range(KILLS):
        node = rng.choice(sorted(cluster.node_places))
        cluster.kill(node)
        if kill == KILLS - 3:
            open(gate, "w").close()  # they end while agents are killed
        cluster.start_again(node)
    cluster.wait_ready()

    for job in counting:
        failed = cluster.wait_state(job, "failed", 30)
        assert failed["attempts"][0]["tasks"][0]["exit_code"] == 7 and failed["attempt_count"] == 1
        *lines, end = stage.glim.text("logs", job).splitlines()
        assert end == "end" and len(lines) >= LINES
        assert lines == [f"line {i}" for i in range(1, len(lines) + 1)], "every line once, in order"
    assert {(pid, start_time(pid)) for pid in processes_of(cluster.folder, stays)} == before
    job = stage.glim.job(stays)
    assert job["state"] == "running" and job["attempt_count"] == 1
