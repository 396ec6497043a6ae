"""Job D double-forks and ignores SIGTERM: its node goes to nobody before its last process is gone."""

from cluster.processes import processes_of, start_time
from cluster.verdict import Findings, check_gang_preemption


def test_the_node_is_kept_until_the_daemon_is_gone(stage, cluster, glim):
    d = stage.submit_stubborn("stubborn")
    daemon = stage.wait_daemon("stubborn")
    node = glim.job(d)["attempts"][0]["tasks"][0]["node"]
    e = stage.submit_visitor("visitor", [d])
    assert not stage.watch_node(node, d, daemon, 60), "the node was given away while the daemon lived"
    e_job = cluster.wait_state(e, "succeeded", 60)
    beat = stage.heartbeats("stubborn", e_job)
    assert beat["last"] <= beat["preemptor_started"]
    found = Findings()
    check_gang_preemption(found, "D", glim.job(d), e_job, stage.seen("visitor", 4))
    assert found == []


def test_a_cancel_takes_the_daemon_along(stage, cluster, glim):
    d = stage.submit_stubborn("stubborn")
    daemon = stage.wait_daemon("stubborn")
    cluster.wait_state(d, "running", 30)
    glim.text("cancel", d, user="ana")
    cluster.wait_state(d, "cancelled", 30)
    assert start_time(daemon[0]) != daemon[1], "cancelled means that every process is gone"
    assert processes_of(cluster.folder, d) == []
    cluster.wait_idle(30)


def test_a_daemon_left_behind_by_a_job_that_ended_well_holds_its_node(stage, cluster, glim):
    """The first process exits 0 at once; the node is busy for as long as the daemon lives."""
    spec = stage.examples.derive(
        "stubborn",
        "leaver",
        env={"STUBBORN_OUT": stage.path("leaver")},
        run='/usr/bin/python3 run.py --main exit --seconds 3 --out "$STUBBORN_OUT/$GLIM_ATTEMPT"',
    )
    d = glim.submit(spec)
    daemon = stage.wait_daemon("leaver")
    visitor = stage.submit_visitor("visitor", [d])
    job = cluster.wait_state(visitor, "succeeded", 90)
    assert start_time(daemon[0]) != daemon[1]
    assert all(report["alive"] == {f"{d}.1": []} for report in stage.seen("visitor", 4))
    assert job["attempts"][0]["started_at_ms"] >= glim.job(d)["attempts"][0]["ended_at_ms"] > 0
