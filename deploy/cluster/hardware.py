"""An act of the story (story.py): a GPU falls off the bus in mid-training. The node is taken out, the job goes on
elsewhere from its last save, and the node takes no job until an operator gives it back. No GPU is broken for it: who
tells the story writes into the node's kernel log the line that the driver would write."""

import json
import re

from .kernel_logs import FELL_OFF_THE_BUS
from .processes import wait_until
from .story import LONG_S, Training, check_run, ranges_by_attempt, steps_done
from .verdict import Findings, check_lost_steps

SAVE_EVERY = 30
STEP_MS = 50  # of the first attempt: it has to last until its node is taken out


def submit_saver(stage, name, training, user="ana"):
    """Job E: the training of job A, which saves now and then as well."""
    spec = stage.examples.derive(
        "digits",
        name,
        run=f"{training.command()} --save-every {SAVE_EVERY}",
        env={"DIGITS_OUT": stage.path(name)},
        checkpoint={"dir": stage.path("ckpt", "$GLIM_JOB_ID"), "keep": 3},
    )
    return stage.glim.submit(spec, user=user)


def fall_off(stage, logs, job, out, step, seconds):
    """Writes the line when the job has saved and has done `step`. Returns what was so then."""
    cluster = stage.cluster
    wait_until(
        lambda: cluster.check() or steps_done(out) >= step,
        seconds,
        lambda: f"job {job} did step {step}: {cluster.describe(stage.glim.job(job))}",
        every=0.01,
    )
    attempt = cluster.wait_job(
        job, lambda one: one["attempts"][0]["durable_step"] >= 0, seconds, f"job {job} has a save", every=0.01
    )["attempts"][0]
    node = attempt["tasks"][0]["node"]
    at_step = steps_done(out)
    logs.say(node, FELL_OFF_THE_BUS)
    return {"node": node, "step": at_step, "told": attempt}


def told_of(text, node):
    """The text once it says why the node is out: before that it may name the node as one of those that jobs hold."""
    return text if re.search(rf"\bnode {node}\b", text) and "xid 79" in text else None


def figures(metrics):
    """What Prometheus is told of it."""
    return {
        "xids": metrics.value("glim_health_events_total", check="xid", code="79", verdict="out"),
        "nodes_out": metrics.value("glim_nodes_out_by_health"),
    }


def gpu_falls_off(stage, logs, metrics, name, reference, seed, seconds=LONG_S):
    """Job E, the training of the run `reference`: one of its nodes loses a GPU between two saves. Job F asks for all
    nodes meanwhile."""
    cluster, glim, out = stage.cluster, stage.glim, stage.path(name)
    e = submit_saver(stage, name, Training(seed=seed, step_ms=STEP_MS, later_step_ms=0))
    fell = fall_off(stage, logs, e, out, SAVE_EVERY + 5 + seed % 10, seconds)
    node = fell["node"]
    stage.say(
        f"job {e} (E) has done step {fell['step']}: we write into {node}'s kernel log what the driver would write:"
    )
    stage.say(f"  {FELL_OFF_THE_BUS}")
    cluster.wait_job(e, lambda job: job["attempt_count"] >= 2, seconds, f"job {e} goes on", every=0.02)
    row = glim.nodes()[node]
    stage.say(f"{node} is taken out; job {e} (E) goes on elsewhere")
    f = glim.submit(stage.examples.make(f"{name}-all", "true", nodes=len(cluster.node_places)), user="ben")
    why = wait_until(lambda: told_of(glim.text("why", f), node), seconds, f"glim why tells what job {f} waits for")
    seen = {
        "node": glim.text("nodes", node),
        "why": why,
        "blockers": [blocker["message"] for blocker in glim.job(f)["blockers"]],
        "events": [json.loads(line) for line in glim.text("-o", "json", "events", "--node", node).splitlines()],
        "metrics": figures(metrics),
    }
    e_job = cluster.wait_state(e, "succeeded", seconds)
    seen["status"] = glim.text("status", e)
    stage.say(f"job {e} (E) finished; job {f} (F) wants all four nodes and waits until {node} is given back")
    waited = glim.job(f)["state"]
    glim.text("admin", "node", "uncordon", node, "-y")
    f_job = cluster.wait_state(f, "succeeded", seconds)
    stage.say(f"{node} was given back, and job {f} (F) ran on all four")
    return {
        "e": e_job,
        "f": f_job,
        "f_before": waited,
        "fell": fell,
        "row": row,
        "row_after": glim.nodes()[node],
        "seen": seen,
        "metrics_after": figures(metrics),
        "check": check_run(stage.examples, out, stage.path(reference)),
        "steps_of_e": ranges_by_attempt(out),
    }


def problems_of_hardware(story):
    """E lost what it did since its last save and no more, and ended as if nothing had happened; its node was out until
    it was given back."""
    found, e, fell = Findings(), story["e"], story["fell"]
    first, *others = e["attempts"]
    node = fell["node"]
    found.expect(first["outcome"] == "gpu_failure", f"E: its first attempt ended as {first['outcome']}")
    found.expect(len(others) == 1 and others[0]["outcome"] == "succeeded", f"E: went on {len(others)} times")
    nodes = {task["node"] for attempt in others for task in attempt["tasks"]}
    found.expect(nodes and node not in nodes, f"E: went on on {sorted(nodes)}, {node} was broken")
    own = story["steps_of_e"]
    check_lost_steps(found, "E", e, fell["told"], own)
    check, redone = story["check"], own.get(1, (0, -1))[1] - first["durable_step"]
    found.expect(check["equals_reference"], f"E: check.py says {check['problems']}")
    found.expect(check["steps_redone"] == redone, f"E: {check['steps_redone']} steps done again of {redone}")
    return found + problems_of_the_node(story) + problems_of_what_is_said(story)


def problems_of_the_node(story):
    """It was out by its health, kept a job waiting, and came back when an operator said so."""
    found, node = Findings(), story["fell"]["node"]
    cordon = story["row"]["cordon"] or {}
    found.expect(
        cordon.get("by") == "health" and "xid 79" in cordon.get("reason", ""), f"{node}: it was out by {cordon}"
    )
    found.expect(story["f_before"] == "queued", f"F: it was {story['f_before']} while {node} was out")
    held = {task["node"] for attempt in story["f"]["attempts"] for task in attempt["tasks"]}
    found.expect(node in held, f"F: it had {sorted(held)}, {node} had been given back")
    found.expect(not story["row_after"]["cordon"], f"{node}: given back, and still out: {story['row_after']['cordon']}")
    return found


def problems_of_what_is_said(story):
    """Each place where people look says it."""
    found, seen, node = Findings(), story["seen"], story["fell"]["node"]
    found.expect("Xid 79" in seen["node"] and "reboot" in seen["node"], f"glim nodes {node}: {seen['node']}")
    named = f"node {node}"
    found.expect(named in seen["why"] and "xid 79" in seen["why"], f"glim why: {seen['why']}")
    ended = f"{named}: xid 79" in seen["status"] and "GPU failure" in seen["status"]
    found.expect(ended, f"glim status: {seen['status']}")
    kinds = [event["kind"] for event in seen["events"]]
    found.expect({"health_event", "node_cordoned"} <= set(kinds), f"glim events --node {node}: {kinds}")
    found.expect(seen["metrics"] == {"xids": 1, "nodes_out": 1}, f"metrics: {seen['metrics']}")
    after = story["metrics_after"]
    found.expect(after == {"xids": 1, "nodes_out": 0}, f"metrics after {node} was given back: {after}")
    return found
