"""Two clusters on one machine number their jobs alike and must not touch each other's processes."""

import os

from cluster.local_cluster import LocalCluster
from cluster.processes import processes_of
from cluster.spec import Examples
from conftest import BIN, ROOT


def make_cluster(folder):
    cluster = LocalCluster(BIN, folder).start()
    spec = Examples(ROOT, cluster.jobs, cluster.task_user).make("sleeper", "exec sleep 600", nodes=4)
    job = cluster.glim.submit(spec)
    cluster.wait_state(job, "running", 30)
    return cluster, job


def test_a_cancel_in_one_leaves_the_other_alone(fresh_folder):
    clusters = []
    try:
        for name in ("x", "y"):
            os.makedirs(os.path.join(fresh_folder, name))
            clusters.append(make_cluster(os.path.join(fresh_folder, name)))
        (x, x_job), (y, y_job) = clusters
        assert x_job == y_job, "the same number in both"
        before = sorted(processes_of(y.folder, y_job))
        x.glim.text("cancel", x_job)
        x.wait_state(x_job, "cancelled", 30)
        assert sorted(processes_of(y.folder, y_job)) == before
        assert y.glim.job(y_job)["state"] == "running"
    finally:
        faults = [fault for cluster, _ in clusters for fault in cluster.stop()]
    assert faults == []
