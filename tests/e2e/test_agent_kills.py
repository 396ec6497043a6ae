"""Agents are killed (SIGKILL) while tasks run, print and end: no line and no exit code is lost, no process is touched."""

import random

from cluster.processes import processes_of, start_time, wait_until

LINES = 3000
COUNT = (f"i=0; while [ $i -lt {LINES} ]; do i=$((i+1)); echo \"line $i\"; [ $((i % 10)) = 0 ] && sleep 0.01; done; "
         "exit 7")


def test_killed_agents_lose_no_line_no_exit_and_no_process(stage):
    cluster, rng = stage.cluster, random.Random(7)
    counts = stage.glim.submit(stage.examples.make("counts", COUNT, nodes=2))
    stays = stage.glim.submit(stage.examples.make("stays", "exec sleep 600", nodes=2))
    for job in (counts, stays):
        cluster.wait_state(job, "running", 30)
    before = {(pid, start_time(pid)) for pid in processes_of(cluster.folder, stays)}
    assert len(before) >= 2
    kills = 0
    while stage.glim.job(counts)["state"] == "running" and kills < 40:
        node = rng.choice(sorted(cluster.node_places))
        cluster.kill(node)
        kills += 1
        cluster.start_again(node)
    cluster.wait_ready()
    assert kills > 4, "the job lived through several kills"

    failed = cluster.wait_state(counts, "failed", 30)
    assert [task["exit_code"] for task in failed["attempts"][0]["tasks"]] == [7, 7]
    for rank in range(2):
        wanted = "".join(f"line {i}\n" for i in range(1, LINES + 1))
        log = wait_until(lambda: stage.glim.text("logs", counts, "--rank", rank), 10, "the log is served")
        assert log == wanted, "every line once, in order"
    assert {(pid, start_time(pid)) for pid in processes_of(cluster.folder, stays)} == before
    job = stage.glim.job(stays)
    assert job["state"] == "running" and job["attempt_count"] == 1
