"""The example in bash: a script that has glim-task and nothing else is interrupted and goes on at the step where it
stopped."""

import os
import subprocess

from cluster.processes import SLOWER, wait_until
from cluster.story import ranges_by_attempt, steps_done
from cluster.verdict import Findings, check_gang_preemption

STEPS = 150
SUM = sum(step * step for step in range(STEPS))


def submit_count(stage, name, **flags):
    words = " ".join(f"--{flag.replace('_', '-')} {value}" for flag, value in flags.items())
    spec = stage.examples.derive(
        "bash",
        name,
        run=f'exec ./count.sh --steps {STEPS} {words} --out "$COUNT_OUT"',
        env={"COUNT_OUT": stage.path(name)},
        checkpoint={"dir": stage.path("ckpt", "$GLIM_JOB_ID"), "keep": 3},
    )
    return stage.glim.submit(spec, user="ana")


def steps_in_order(out):
    with open(os.path.join(out, "rank-0.txt")) as file:
        return [int(line.split()[1]) for line in file]


def result(out):
    with open(os.path.join(out, "result")) as file:
        return int(file.read())


def test_interrupted_and_resumed_at_the_step_where_it_stopped(stage, cluster, glim):
    out = stage.path("count")
    job_id = submit_count(stage, "count", step_ms=30, save_every=1000)
    wait_until(lambda: cluster.check() or steps_done(out) >= 20, 60, "the script did step 20", every=0.02)
    urgent_id = stage.submit_visitor("visitor", [job_id])
    urgent = cluster.wait_state(urgent_id, "succeeded", 60)
    job = cluster.wait_state(job_id, "succeeded", 60)

    assert steps_in_order(out) == list(range(STEPS)), "every step exactly once, in order"
    assert result(out) == SUM
    first, second = job["attempts"]
    assert (first["outcome"], first["save"], second["outcome"]) == ("interrupted", "saved", "succeeded")
    stop = first["agreements"][0]["stop_step"]
    assert 20 <= stop < STEPS - 1
    assert ranges_by_attempt(out) == {1: (0, stop), 2: (stop + 1, STEPS - 1)}
    assert (first["durable_step"], second["base_step"]) == (stop, stop)
    assert job["steps_lost"] == 0 and first["steps_lost"] == 0
    assert "0 steps lost" in glim.text("status", job_id)
    assert f"goes on with step {stop + 1}" in glim.text("logs", job_id, "--attempt", "2")
    found = Findings()
    check_gang_preemption(found, "bash", job, urgent, stage.seen("visitor", 4))
    assert found == []


def test_left_alone_it_saves_now_and_then_and_ends(stage, cluster):
    job_id = submit_count(stage, "alone", step_ms=1, save_every=40)
    job = cluster.wait_state(job_id, "succeeded", 60)
    assert (job["attempt_count"], job["durable_step"], result(stage.path("alone"))) == (1, 119, SUM)


def test_off_the_cluster_it_needs_no_glim(stage):
    out = stage.path("off")
    env = {name: value for name, value in os.environ.items() if not name.startswith("GLIM_")}
    argv = [stage.examples.path("bash", "count.sh"), "--steps", "20", "--step-ms", "0", "--out", out]
    subprocess.run(argv, env=env, check=True, timeout=30 * SLOWER, stdout=subprocess.DEVNULL)
    assert result(out) == sum(step * step for step in range(20))
