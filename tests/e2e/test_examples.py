"""The examples as a user runs them: copied into a folder of one's own, and submitted from there."""

import os
import shutil
import subprocess

from cluster.processes import SLOWER, wait_until
from cluster.spec import replace_fields
from cluster.story import PYTHON


def submit_copy(stage, glim, example, more="", **fields):
    """The example's files in a fresh folder, `fields` replaced; submitted there as its file stands, and `more`."""
    folder = stage.path(example)
    shutil.copytree(stage.examples.path(example), folder, ignore=shutil.ignore_patterns("__pycache__", "out"))
    path = os.path.join(folder, "job.yaml")
    with open(path) as file:
        text = replace_fields(file.read(), fields)
    with open(path, "w") as file:
        file.write(text + more)
    return glim.submit(path, user="ana")


def alone(stage, example, script, **variables):
    """The last line of the script when nothing disturbs it: off the cluster."""
    folder = stage.path(f"{example}-alone")
    shutil.copytree(stage.examples.path(example), folder)
    env = {**os.environ, "PYTHONPATH": stage.examples.python_path, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    done = subprocess.run(
        [PYTHON, script], cwd=folder, env=env, check=True, capture_output=True, text=True, timeout=60 * SLOWER
    )
    return done.stdout.splitlines()[-1]


def output(glim, job_id, attempt, rank=0):
    return glim.text("logs", job_id, "--attempt", attempt, "--rank", rank)


def wait_step(cluster, glim, job_id, step):
    wait_until(
        lambda: cluster.check() or glim.job(job_id)["attempts"][0]["last_step"] >= step,
        60,
        lambda: f"step {step} of {cluster.describe(glim.job(job_id))}",
        every=0.05,
    )


def test_the_first_job_is_interrupted_and_comes_back(stage, cluster, glim):
    job_id = submit_copy(stage, glim, "first", env={"STEPS": "150", "STEP_SECONDS": "0.03"})
    cluster.wait_job(job_id, lambda job: job["attempts"], 30, "it is dispatched")
    wait_step(cluster, glim, job_id, 20)
    cluster.wait_state(stage.submit_visitor("visitor", [job_id]), "succeeded", 60)
    job = cluster.wait_state(job_id, "succeeded", 60)
    first, second = job["attempts"]
    assert (first["outcome"], first["save"], job["steps_lost"]) == ("interrupted", "saved", 0)
    assert second["base_step"] == first["durable_step"] >= 20
    assert output(glim, job_id, 1) == "begins with step 0\n"
    begins, done = output(glim, job_id, 2).splitlines()
    assert begins == f"begins with step {second['base_step'] + 1}"
    assert done == alone(stage, "first", "train.py", STEPS="150", STEP_SECONDS="0"), "as if it had been left alone"


def test_the_plain_script_is_told_by_a_signal_and_goes_on(stage, cluster, glim):
    # It tells nobody what it saved: its folder must be one that all nodes share.
    job_id = submit_copy(
        stage,
        glim,
        "plain",
        f"checkpoint: {{dir: {stage.path('ckpt')}}}\n",
        run="ROUNDS=120 ROUND_SECONDS=0.03 exec /usr/bin/python3 pi.py",
    )
    wait_until(lambda: cluster.check() or cluster.rank_log(job_id, 1, 0), 30, "it begins")
    wait_until(lambda: "begins" in output(glim, job_id, 1), 30, "it counts")
    cluster.wait_state(stage.submit_visitor("visitor", [job_id]), "succeeded", 60)
    job = cluster.wait_state(job_id, "succeeded", 60)
    assert [attempt["outcome"] for attempt in job["attempts"]] == ["interrupted", "succeeded"]
    stopped = int(output(glim, job_id, 1).split("stopped after round ")[1])
    begins, result = output(glim, job_id, 2).splitlines()
    assert begins == f"begins with round {stopped + 1}" and stopped < 119
    assert result == alone(stage, "plain", "pi.py", ROUNDS="120", ROUND_SECONDS="0")


def test_torchrun_starts_the_ranks_of_two_nodes(stage, cluster, glim):
    job_id = submit_copy(stage, glim, "torchrun", env={"OMP_NUM_THREADS": "1", "STEPS": "20", "STEP_SECONDS": "0"})
    job = cluster.wait_state(job_id, "succeeded", 90)
    assert job["attempt_count"] == 1
    said = output(glim, job_id, 1, rank=0) + output(glim, job_id, 1, rank=1)
    assert all(f"rank {rank} of 4 begins with step 0" in said for rank in range(4))
    assert "done after 20 steps on 4 ranks" in said


def test_the_same_script_needs_no_torchrun(stage, cluster, glim):
    job_id = submit_copy(
        stage,
        glim,
        "torchrun",
        launcher="per-gpu",
        run="exec /usr/bin/python3 train.py",
        env={"OMP_NUM_THREADS": "1", "STEPS": "20", "STEP_SECONDS": "0"},
    )
    cluster.wait_state(job_id, "succeeded", 90)
    assert "done after 20 steps on 4 ranks" in output(glim, job_id, 1)
