"""Operators take nodes out of a real cluster: a training job is drained off a node and goes on elsewhere without a lost
step, and the node takes nothing until it is given back."""

import json
import time

import pytest

from cluster.processes import wait_until
from conftest import lasting
from cluster.story import Training, check_run, steps_done

REASON = ("--reason", "a new fan")


@pytest.fixture
def operator(cluster, glim):
    """The operator's glim; all nodes are given back afterwards, whatever became of the test."""
    yield glim
    for name, node in glim.nodes().items():
        if node.get("cordon"):
            glim.text("admin", "node", "uncordon", name, "-y")


def node_of(job):
    return job["attempts"][-1]["tasks"][0]["node"]


def cordon_of(glim, name):
    return glim.nodes()[name].get("cordon")


def test_a_training_job_is_drained_off_a_node_and_loses_nothing(stage, cluster, operator):
    training = Training(seed=3, epochs=3, step_ms=40)
    stage.reference("reference", training)
    job = stage.submit_training("drained", training)
    wait_until(lambda: cluster.check() or steps_done(stage.path("drained")) >= 5, 120, "step 5", every=0.02)
    node = node_of(operator.job(job))
    shown = operator.text("admin", "node", "drain", node, *REASON, "--dry-run")
    assert f"node {node}\n  - in use\n  + " in shown and str(job) in shown
    assert not cordon_of(operator, node), "a dry run changes nothing"

    operator.text("admin", "node", "drain", node, *REASON, "-y")
    wait_until(lambda: cordon_of(operator, node)["drained"], 60, f"{node} is drained", every=0.1)
    ended = cluster.wait_state(job, "succeeded", 240)
    first, second = ended["attempts"][0], ended["attempts"][-1]
    assert (first["outcome"], first["save"], ended["steps_lost"]) == ("interrupted", "saved", 0)
    assert node not in [task["node"] for task in second["tasks"]]
    assert "a new fan" in first["agreements"][-1]["reason"]
    report = check_run(stage.examples, stage.path("drained"), stage.path("reference"))
    assert report["ok"] and report["attempts"] >= 2, report

    lines = operator.text("-o", "json", "events", "--node", node).splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds.index("node_cordoned") < kinds.index("node_drained")
    audit = operator.text("-o", "json", "admin", "audit", "--since", "10m")
    assert "OperateApi/DrainNode" in audit and "a new fan" in audit


def test_a_node_that_is_out_takes_nothing_until_it_is_back(stage, cluster, operator):
    names = sorted(operator.nodes())
    for name in names[:-1]:
        operator.text("admin", "node", "cordon", name, *REASON, "-y")
    two = operator.submit(stage.examples.make("two", "true", nodes=2))
    waits = cluster.wait_job(two, lambda job: job["blockers"], 30, "it is told why it waits")
    assert [blocker["kind"] for blocker in waits["blockers"]] == ["nodes_out"]
    assert "cordoned by" in waits["blockers"][0]["message"]
    listed = [node["name"] for node in operator.json("nodes", "--cordoned")["nodes"]]
    assert listed == names[:-1]
    for name in names[:-1]:
        operator.text("admin", "node", "uncordon", name, "-y")
    cluster.wait_state(two, "succeeded", 60)


def test_maintenance_ends_by_itself_also_when_the_scheduler_was_away(cluster, operator):
    node = sorted(operator.nodes())[0]
    operator.text("admin", "node", "drain", node, "--for", lasting(15), *REASON, "-y")
    until = cordon_of(operator, node)["until_ms"]
    cluster.kill("scheduler")
    cluster.start_again("scheduler")
    cluster.wait_ready()
    assert cordon_of(operator, node)["until_ms"] == until, "the new one knows it"
    wait_until(lambda: not cordon_of(operator, node), 60, f"{node} is back by itself", every=0.1)
    assert time.time() * 1000 >= until


def test_a_job_has_left_a_reservation_with_a_save_when_it_begins_and_returns_after_its_end(stage, cluster, operator):
    training = Training(seed=4, epochs=3, step_ms=40)
    stage.reference("unreserved", training)
    job = stage.submit_training("reserved", training)
    wait_until(lambda: cluster.check() or steps_done(stage.path("reserved")) >= 5, 120, "step 5", every=0.02)
    nodes = ",".join(sorted(operator.nodes()))
    words = (
        "admin",
        "reserve",
        "set",
        "firmware",
        "--node",
        nodes,
        "--reason",
        "new firmware",
        "--for",
        lasting(10),
    )
    tried = operator.text(*words, "--dry-run")
    assert "  + nodes " in tried and str(job) in tried
    assert operator.json("admin", "reserve", "ls")["reservations"] == [], "a dry run changes nothing"

    operator.text(*words, "--from", f"in {lasting(10)}", "-y")
    (row,) = operator.json("admin", "reserve", "ls")["reservations"]
    waits = cluster.wait_job(job, lambda j: j["state"] == "queued", 60, "it has left")
    first = waits["attempts"][0]
    assert first["ended_at_ms"] < row["begins_at_ms"], "the nodes are free when it begins"
    assert (first["outcome"], first["save"]) == ("interrupted", "saved")
    assert "reserved for nobody" in first["agreements"][-1]["reason"]
    reserved = [blocker for blocker in waits["blockers"] if blocker["kind"] == "reserved"]
    assert reserved and ": new firmware" in reserved[0]["message"], waits["blockers"]
    assert "firmware: reserved for nobody" in operator.text("nodes", nodes.split(",")[0])

    cluster.wait_job(job, lambda j: j["state"] == "running", 60, "it returns")
    assert time.time() * 1000 >= row["ends_at_ms"]
    ended = cluster.wait_state(job, "succeeded", 240)
    assert (ended["steps_lost"], ended["interrupts"]) == (0, 1)
    report = check_run(stage.examples, stage.path("reserved"), stage.path("unreserved"))
    assert report["ok"] and report["attempts"] == 2, report
    kinds = [json.loads(line)["kind"] for line in operator.text("-o", "json", "events", "--since", "5m").splitlines()]
    assert [kind for kind in kinds if kind.startswith("reservation_")] == [
        "reservation_set",
        "reservation_began",
        "reservation_ended",
    ]
    assert "ReserveApi/SetReservation" in operator.text("-o", "json", "admin", "audit", "--since", "10m")


def test_users_take_no_nodes_out(cluster, glim):
    node = sorted(glim.nodes())[0]
    refused = glim.run("admin", "node", "drain", node, *REASON, "-y", user="ana")
    assert refused.returncode == 4, refused.stderr
