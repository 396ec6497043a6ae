"""A log outlives its node: when machine, folder and name are gone, the end of what its ranks wrote is there."""

import os
import shutil

from cluster.local_cluster import CONFIG
from cluster.processes import wait_until
from conftest import lasting, own_stage

NODES = {"n1": ("A", "a1"), "n2": ("A", "a1")}
FAILS = """\
import os, sys, time
print("rank", os.environ["RANK"], "begins", flush=True)
if os.environ["RANK"] == "1":
    while not os.path.exists("begun"):
        time.sleep(0.01)
    raise SystemError("the tensors have gone")
open("begun", "w").close()
time.sleep(3600)
"""


def kept(stage, text):
    with open(os.path.join(stage.cluster.logs, "scheduler.log")) as log:
        return sum("the end of a log is kept" in line and text in line for line in log)


def test_a_failed_jobs_traceback_is_there_when_its_nodes_are_gone(fresh_folder):
    with own_stage(
        fresh_folder, nodes=NODES, config=CONFIG + f"  node_lost_after: {lasting(2)}\n", log_level="debug"
    ) as stage:
        cluster, glim = stage.cluster, stage.glim
        with open(stage.path("fails.py"), "w") as file:
            file.write(FAILS)
        job = glim.submit(stage.examples.make("fails", "/usr/bin/python3 fails.py", nodes=2, launcher="per-gpu"))
        cluster.wait_state(job, "failed", 60)
        assert "SystemError" in glim.text("logs", job)
        wait_until(lambda: kept(stage, f"attempt={job}.1 rank=") == 2, 30, "both ends are kept")

        # While the nodes live, their logs are read, and nothing is said of what is kept.
        shown = glim.run("logs", job, "--rank", 0)
        assert shown.stdout == "rank 0 begins\n" and shown.stderr == ""

        for name in NODES:
            cluster.kill(name)
            shutil.rmtree(os.path.join(cluster.folder, name))
        shown = wait_until(
            lambda: "the scheduler has kept it" in (found := glim.run("logs", job)).stderr and found,
            30,
            "the end of the log, as it was kept",
        )
        assert "SystemError: the tensors have gone" in shown.stdout and "rank 1 begins" in shown.stdout

        searched = glim.run("logs", job, "--grep", "tensors")
        assert searched.stdout.startswith("rank 1: ") and "tensors have gone" in searched.stdout, searched
        assert searched.stderr.count("the end that the scheduler has kept of its log was searched") == 2, searched

        # Nodes that were removed, and a scheduler that began anew.
        def both_lost():
            glim.run("admin", "outage", "resolve", "-y")  # all nodes silent at once are an outage, which loses none
            return all(node["state"] == "lost" for node in glim.nodes().values())

        wait_until(both_lost, 30, "both nodes are lost")
        for name in NODES:
            glim.text("admin", "node", "remove", name, "-y")
        cluster.kill("scheduler")
        cluster.start_again("scheduler")
        assert "SystemError: the tensors have gone" in glim.text("logs", job)
        assert glim.text("logs", job, "--rank", 0) == "rank 0 begins\n"
        assert "SystemError" in glim.run("-o", "json", "logs", job).stdout


# More than the end of a log that the scheduler keeps (1 MiB).
LINES = 60_000
TALKS = f'i=0; while [ $i -lt {LINES} ]; do echo "line $i of a log that goes on and on"; i=$((i + 1)); done'


def remove_whole(folder):
    """What an agent left that was killed may still be on its way out: both remove it."""

    def is_gone():
        shutil.rmtree(folder, ignore_errors=True)
        return not os.path.exists(folder)

    wait_until(is_gone, 30, f"{folder} is gone")


def test_whole_logs_lie_in_the_shared_folder_when_their_nodes_are_gone(fresh_folder):
    root = os.path.join(fresh_folder, "all-logs")
    os.mkdir(root, 0o750)
    config = CONFIG + f"  node_lost_after: {lasting(2)}\n  logs_root: {root}\n"
    with own_stage(fresh_folder, nodes=NODES, config=config) as stage:
        cluster, glim = stage.cluster, stage.glim
        job = glim.submit(stage.examples.make("talks", TALKS, nodes=2))
        cluster.wait_state(job, "succeeded", 120)
        places = [os.path.join(root, f"{job}-1", f"rank-{rank}.log") for rank in range(2)]
        wait_until(lambda: all(map(os.path.exists, places)), 60, "both ranks' logs are in the shared folder")
        for name in NODES:
            cluster.kill(name)
            remove_whole(os.path.join(cluster.folder, name))
        whole = "".join(f"line {i} of a log that goes on and on\n" for i in range(LINES))
        assert len(whole) > 1 << 20
        for place in places:
            with open(place) as log:
                assert log.read() == whole
            assert os.stat(place).st_mode & 0o777 == 0o640, "its group may read it, others not"
        assert not [name for name in os.listdir(os.path.dirname(places[0])) if name.startswith(".")]
