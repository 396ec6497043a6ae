"""The end of the pause that test_00_pause.py began."""

import json

from cluster.processes import wait_until


def test_no_node_is_lost_by_a_pause_of_the_scheduler(paused):
    paused.begin()
    paused.end_after(120)
    cluster = paused.cluster
    cluster.wait_ready(60)
    wait_until(lambda: all(heard_since(cluster, paused.ended_at_ms)), 30, "every agent is heard again")
    kinds = [json.loads(line)["kind"] for line in cluster.glim.text("-o", "json", "events").splitlines()]
    assert "attempt_running" in kinds, kinds
    assert not {"node_lost", "outage_began"} & set(kinds), kinds
    assert {node["state"] for node in cluster.glim.nodes().values()} == {"ready"}
    job = cluster.glim.job(paused.job)
    assert job["state"] == "running" and job["attempt_count"] == 1
    assert paused.processes() == paused.before


def heard_since(cluster, moment_ms):
    return [node["last_heard_ms"] > moment_ms for node in cluster.glim.nodes().values()]
