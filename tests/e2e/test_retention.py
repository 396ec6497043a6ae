"""What ended jobs saved goes by the policy's age, where Glim chose the folder; what a job has that has not ended stays
whatever the bound."""

import json
import os

import pytest

from cluster.local_cluster import CONFIG
from cluster.processes import wait_until
from conftest import own_stage

NODES = {"n1": ("A", "a1"), "n2": ("A", "a1")}
SHORT = "  checkpoint_retention: {succeeded: 1s, failed: 1d, cancelled: 1d, every: 200ms}\n"
TIGHT = "  checkpoint_retention: {succeeded: 1d, failed: 1d, cancelled: 1d, bytes_max: 1KiB, every: 200ms}\n"
# A save of a script's own: 64 KiB, and then `rest`. What was saved before is told.
SAVES = """\
state="$GLIM_CHECKPOINT_DIR/state"
if [ -e "$state" ]; then echo "went on"; exit 0; fi
head -c 65536 /dev/zero > "$state"
glim-task saved --step 5 --path "$state"
echo saved
"""


def folders(cluster, job):
    """Where the job's saves lie now: below the checkpoint root, or in the own folder of some node."""
    if cluster.checkpoint_root:
        places = [os.path.join(cluster.checkpoint_root, "jobs")]
    else:
        places = [os.path.join(cluster.folder, name, "checkpoints") for name in NODES]
    return [os.path.join(place, str(job)) for place in places if os.path.exists(os.path.join(place, str(job)))]


def removed(glim, job):
    """What the history tells of it."""
    events = map(json.loads, glim.text("-o", "json", "events", job).splitlines())
    return [event["message"] for event in events if event["kind"] == "saves_removed"]


@pytest.mark.parametrize("shared", [False, True], ids=["own_folders", "checkpoint_root"])
def test_what_a_job_that_succeeded_saved_goes_and_what_failed_or_a_user_named_stays(fresh_folder, shared):
    with own_stage(fresh_folder, nodes=NODES, config=CONFIG + SHORT, checkpoint_root=shared) as stage:
        cluster, glim = stage.cluster, stage.glim
        named = cluster.job_folder("named")
        fails = glim.submit(stage.examples.make("fails", SAVES + "exit 3\n"))
        mine = glim.submit(stage.examples.make("mine", SAVES, checkpoint={"dir": named}))
        cluster.wait_state(fails, "failed", 60)
        cluster.wait_state(mine, "succeeded", 60)
        ends = glim.submit(stage.examples.make("ends", SAVES))
        cluster.wait_state(ends, "succeeded", 60)
        assert "kept until" in glim.text("status", ends)
        assert glim.job(ends)["saves_kept_until_ms"] == glim.job(ends)["ended_at_ms"] + 1000
        wait_until(lambda: not folders(cluster, ends), 60, "what the job that succeeded saved is gone")
        wait_until(lambda: removed(glim, ends), 30, "users are told")
        assert len(folders(cluster, fails)) == 1 and not removed(glim, fails)
        assert os.path.getsize(os.path.join(named, "state")) == 65536 and not removed(glim, mine)


def test_a_suspended_jobs_save_stays_whatever_the_bound(fresh_folder):
    with own_stage(fresh_folder, nodes=NODES, config=CONFIG + TIGHT, checkpoint_root=True) as stage:
        cluster, glim = stage.cluster, stage.glim
        signal = {"mode": "signal", "grace": "10s"}
        job = glim.submit(stage.examples.make("stays", SAVES + "exec sleep 3600\n", interrupt=signal))
        wait_until(lambda: glim.job(job)["durable_step"] == 5, 60, "the save is told")
        ends = glim.submit(stage.examples.make("ends", SAVES))
        cluster.wait_state(ends, "succeeded", 60)
        wait_until(lambda: removed(glim, ends), 60, "the bound takes what an ended job saved")
        assert len(folders(cluster, job)) == 1, "the job runs"
        glim.text("suspend", job)
        cluster.wait_state(job, "held", 60)
        again = glim.submit(stage.examples.make("ends-again", SAVES))
        cluster.wait_state(again, "succeeded", 60)
        wait_until(lambda: removed(glim, again), 60, "another look has come and gone")
        assert len(folders(cluster, job)) == 1 and not removed(glim, job)
        glim.text("resume", job)
        cluster.wait_state(job, "succeeded", 60)
        assert "went on" in glim.text("logs", job)
