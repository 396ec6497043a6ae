"""Agents that do not belong here are refused clearly, and everything else goes on."""

import os
import shutil

from cluster.processes import Child, tail, wait_until


def refused(cluster, argv, folder, *words):
    """Starts an agent, waits until its log holds all words, stops it, and returns the log."""
    child = Child("a strange agent", argv, os.path.join(folder, "strange.log"), cluster._env)
    try:

        def told():
            log = tail(child.log, 200)
            return log if all(word in log for word in words) else None

        return wait_until(told, 20, lambda: f"its log says {words}: {tail(child.log)}")
    finally:
        child.stop()


def long_job(stage, cluster):
    """A job on every node, so that each would notice."""
    job = cluster.glim.submit(stage.examples.make("busy", "exec sleep 600", nodes=4))
    return job, cluster.wait_state(job, "running", 30)


def still_running(cluster, job, before):
    now = cluster.glim.job(job)
    assert now["state"] == "running" and now["attempt_count"] == before["attempt_count"] == 1
    assert all(node["state"] == "ready" and node["holder"]["job_id"] == job for node in cluster.glim.nodes().values())


def test_a_second_machine_under_the_same_name(stage, cluster, fresh_folder):
    job, before = long_job(stage, cluster)
    state_dir = os.path.join(fresh_folder, "n1")
    os.makedirs(state_dir, mode=0o700)
    shutil.copytree(os.path.join(cluster.agent_state("n1"), "identity"), os.path.join(state_dir, "identity"))
    argv = cluster.agent_command("n1", state_dir=state_dir)
    refused(cluster, argv, fresh_folder, "n1", "another machine")
    still_running(cluster, job, before)


def test_an_agent_of_another_cluster(stage, cluster, fresh_folder):
    job, before = long_job(stage, cluster)
    state_dir = os.path.join(fresh_folder, "x")
    cluster.enrol("n9", state_dir=state_dir)
    argv = cluster.agent_command("n1", state_dir=state_dir, cluster_id="another-cluster")
    argv[argv.index("--node-name") + 1] = "n9"
    refused(cluster, argv, fresh_folder, "another-cluster", "cluster")
    still_running(cluster, job, before)
    assert "n9" not in cluster.glim.nodes()


def test_the_same_agent_again_takes_its_place(stage, cluster):
    """A restart under the same name and folder is no stranger: its task runs on, its node is ready."""
    job, before = long_job(stage, cluster)
    cluster.agents["n2"].stop()
    cluster.start_agent("n2")

    def back():
        node = cluster.glim.nodes()["n2"]
        return node["state"] == "ready" and node["holder"] and "registered" not in node["message"]

    wait_until(back, 30, "n2 is ready again")
    wait_until(lambda: "connected" in tail(cluster.agents["n2"].log, 200), 20, "its agent says so")
    still_running(cluster, job, before)
    cluster.glim.text("cancel", job)
    cluster.wait_state(job, "cancelled", 30)
