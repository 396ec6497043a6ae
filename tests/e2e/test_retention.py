"""What a job that succeeded saved goes by the policy's age, where Glim chose the folder; what a job has that has not
ended stays. The rules are in scheduler/core/model/save_retention_test.cc, a node's removals in
nodeagent/agent_retention_test.cc."""

import json
import os

from cluster.local_cluster import CONFIG
from cluster.processes import wait_until
from conftest import own_stage

NODES = {"n1": ("A", "a1"), "n2": ("A", "a1")}
SHORT = "  checkpoint_retention: {succeeded: 1s, failed: 1d, cancelled: 1d, every: 200ms}\n"
# A save of a script's own: 64 KiB, and then `rest`. What was saved before is told.
SAVES = """\
state="$GLIM_CHECKPOINT_DIR/state"
if [ -e "$state" ]; then echo "went on"; exit 0; fi
head -c 65536 /dev/zero > "$state"
glim-task saved --step 5 --path "$state"
echo saved
"""


def is_there(cluster, job):
    return os.path.exists(os.path.join(cluster.checkpoint_root, "jobs", str(job)))


def removed(glim, job):
    """What the history tells of it."""
    events = map(json.loads, glim.text("-o", "json", "events", job).splitlines())
    return [event["message"] for event in events if event["kind"] == "saves_removed"]


def test_what_succeeded_goes_and_what_failed_waits_or_has_a_name_stays(fresh_folder):
    with own_stage(fresh_folder, nodes=NODES, config=CONFIG + SHORT, checkpoint_root=True) as stage:
        cluster, glim = stage.cluster, stage.glim
        signal = {"mode": "signal", "grace": "10s"}
        waits = glim.submit(stage.examples.make("waits", SAVES + "exec sleep 3600\n", interrupt=signal))
        wait_until(lambda: glim.job(waits)["durable_step"] == 5, 60, "the save is told")
        glim.text("suspend", waits)
        cluster.wait_state(waits, "held", 60)
        named = cluster.job_folder("named")
        fails = glim.submit(stage.examples.make("fails", SAVES + "exit 3\n"))
        mine = glim.submit(stage.examples.make("mine", SAVES, checkpoint={"dir": named}))
        cluster.wait_state(fails, "failed", 60)
        cluster.wait_state(mine, "succeeded", 60)
        ends = glim.submit(stage.examples.make("ends", SAVES))
        cluster.wait_state(ends, "succeeded", 60)
        assert glim.job(ends)["saves_kept_until_ms"] == glim.job(ends)["ended_at_ms"] + 1000
        wait_until(lambda: not is_there(cluster, ends), 60, "what the job that succeeded saved is gone")
        wait_until(lambda: removed(glim, ends), 30, "users are told")
        assert is_there(cluster, fails) and not removed(glim, fails)
        assert os.path.getsize(os.path.join(named, "state")) == 65536 and not removed(glim, mine)
        assert is_there(cluster, waits) and not removed(glim, waits)
        glim.text("resume", waits)
        cluster.wait_state(waits, "succeeded", 60)
        assert "went on" in glim.text("logs", waits)
