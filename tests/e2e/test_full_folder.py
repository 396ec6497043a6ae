"""A folder with room for `keep` saves and none for one more, on a file system of its own: saves go on. Where there is
no room beside the last good one, everybody who looks is told, until there is."""

import json
import os

import pytest
from small_disk import SmallDisk

from conftest import own_stage

# While the file `grown` is there, a save is larger than what the file system has beside another one.
TRAIN = """\
import os, sys, time
import glim, torch

class State:
    def state_dict(self):
        size = GROWN if os.path.exists("grown") else SMALL
        return {"part": torch.full((size,), 1, dtype=torch.uint8)}

    def load_state_dict(self, state):
        assert state["part"].numel() == SMALL and state["part"].min() == 1

with glim.session() as run:
    run.track(state=State())
    print("begins with step", run.restore(), flush=True)
    for step in run.steps(range(100_000), save_every=5):
        time.sleep(0.02)
if run.stopped:
    sys.exit(0)
"""


@pytest.fixture
def disk(fresh_folder):
    disk = SmallDisk(fresh_folder, "24M")
    yield disk
    disk.close()


def of_attempt(job, number):
    return job["attempts"][number - 1]


def test_saves_go_on_in_a_full_folder_and_one_that_fails_is_told(fresh_folder, disk):
    room = os.statvfs(disk.inside)
    free = room.f_bavail * room.f_frsize
    with own_stage(
        fresh_folder,
        nodes={"n1": ("A", "a1")},
        runtime="process",
        allow=[disk.path],
        agent_prefix=lambda node: disk.prefix,
    ) as stage:
        cluster, glim = stage.cluster, stage.glim
        with open(stage.path("train.py"), "w") as file:
            file.write(TRAIN.replace("GROWN", str(free * 9 // 10)).replace("SMALL", str(free * 28 // 100)))
        folder = os.path.join(disk.path, "ckpt")
        run = "exec /usr/bin/python3 train.py"
        job_id = glim.submit(stage.examples.make("full-folder", run, checkpoint={"dir": folder, "keep": 3}))

        # Three fit. The fourth and the fifth take the place of the oldest, and so does the one at the interrupt.
        cluster.wait_job(job_id, lambda job: job["durable_step"] >= 24, 60, "it saved five times")
        glim.text("suspend", job_id)
        held = cluster.wait_state(job_id, "held", 60)
        first = of_attempt(held, 1)
        assert (first["save"], first["steps_lost"], first["save_failure"]) == ("saved", 0, None), held
        log = glim.text("logs", job_id)
        assert (
            "could not be saved: " not in log and log.count(f"beside the checkpoints before it: {folder} is full") == 1
        )
        glim.text("resume", job_id)
        cluster.wait_job(job_id, lambda job: job["durable_step"] > held["durable_step"], 60, "one more")

        # Now a save is larger than what there is beside the last good one, which stays.
        with open(stage.path("grown"), "w"):
            pass
        failing = cluster.wait_job(
            job_id, lambda job: (of_attempt(job, 2)["save_failure"] or {}).get("count", 0) >= 2, 60, "two saves failed"
        )
        failure, good = of_attempt(failing, 2)["save_failure"], failing["durable_step"]
        assert failure["step"] > good and "No space left on device" in failure["why"], failure
        status = glim.text("status", job_id)
        assert f"tries since step {good} was saved: " in status and "No space left on device" in status, status
        assert "its newest save failed" in glim.text("queue")
        events = [json.loads(line) for line in glim.text("-o", "json", "events", job_id).splitlines()]
        (told,) = [event for event in events if event["kind"] == "save_failed"]
        assert told["attempt"] == 2 and "No space left on device" in told["message"], told
        assert os.path.exists(os.path.join(disk.inside, "ckpt", "attempt-2", f"step-{good:08d}", "manifest.json"))

        # And the next one that fits is made, beside it.
        os.unlink(stage.path("grown"))
        mended = cluster.wait_job(job_id, lambda job: job["durable_step"] > failure["step"], 60, "a save was made")
        assert of_attempt(mended, 2)["save_failure"] is None
        assert "save failed" not in glim.text("status", job_id)
        glim.text("suspend", job_id)
        held = cluster.wait_state(job_id, "held", 60)
        assert (of_attempt(held, 2)["save"], of_attempt(held, 2)["steps_lost"]) == ("saved", 0), held
        attempt = os.path.join(disk.inside, "ckpt", "attempt-2")
        steps = [name for name in sorted(os.listdir(attempt)) if name.startswith("step-")]
        assert steps[-1] == f"step-{held['durable_step']:08d}" and len(steps) <= 3, steps
        assert all(os.path.exists(os.path.join(attempt, step, "manifest.json")) for step in steps), steps
