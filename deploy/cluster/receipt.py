"""What happened, for people and for programs."""

from .story import PHASES
from .verdict import only_agreement

GPUS = "8 simulated GPUs"


def seconds(ms):
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.2f} s"


def steps_of(attempt):
    """[first, last] step of an attempt; None if it did none."""
    first = attempt["base_step"] + 1
    return [first, attempt["last_step"]] if attempt["last_step"] >= first else None


def outcome_of(attempt):
    save = attempt["save"].replace("_", " ")
    return attempt["outcome"] + (f", {save}" if save not in ("", "none") else "")


def attempts_json(job):
    return [
        {
            "attempt": a["ref"]["number"],
            "nodes": [t["node"] for t in a["tasks"]],
            "zone": "+".join(a["zones"]),
            "steps": steps_of(a),
            "outcome": outcome_of(a),
            "steps_lost": a["steps_lost"],
        }
        for a in job["attempts"]
    ]


def phases_json(job):
    return {phase: job["attempts"][0]["start"][f"{phase}_ms"] for phase in PHASES}


def attempt_lines(job):
    for entry in attempts_json(job):
        steps = f"steps {entry['steps'][0]} to {entry['steps'][1]}" if entry["steps"] else "no reported steps"
        yield (
            f"    attempt {entry['attempt']}: nodes {', '.join(entry['nodes'])} (zone {entry['zone']}), {steps}, "
            f"{outcome_of_words(entry['outcome'])}"
        )


def outcome_of_words(outcome):
    return outcome.replace("interrupted, killed", "interrupted, killed at its deadline")


def interrupt_lines(job):
    """Who interrupted a job, why, and what that cost it."""
    agreement = only_agreement(job)
    first = job["attempts"][0]
    if agreement is None:
        return
    who = f"job {agreement['preemptor']['job_id']} {agreement['preemptor_name']}"
    # The reason in the scheduler's words usually begins with who asked.
    why = agreement["reason"] if agreement["reason"].startswith(who) else f"{who}: {agreement['reason']}"
    yield f"    interrupted for user {agreement['preemptor_user']}: {why}"
    agreed = f", agreed on step {agreement['stop_step']}" if agreement["stop_step"] >= 0 else ""
    yield (
        f"    grace used {seconds(agreement['grace_used_ms'])} of {seconds(agreement['grace_ms'])}{agreed}; "
        f"{verdict_words(first)}"
    )


def verdict_words(attempt):
    lost = "1 step lost" if attempt["steps_lost"] == 1 else f"{attempt['steps_lost']} steps lost"
    return {"killed": f"killed, {lost}", "saved": f"saved and left, {lost}"}.get(
        attempt["save"], f"left without saving, {lost}"
    )


def wait_line(job):
    phases = phases_json(job)
    shown = ", ".join(f"{name} {seconds(ms)}" for name, ms in phases.items() if ms >= 0)
    return f"    its wait: {shown}"


def runtime_words(runtime):
    return {
        "runc": "in containers (runc), each node with a network of its own",
        "crun": "in containers (crun), each node with a network of its own",
        "process": "as plain processes (containers need root)",
    }[runtime]


def hardware_lines(hardware):
    """What a GPU that fell off the bus cost, and what was said of it."""
    e, f, fell, check = hardware["e"], hardware["f"], hardware["fell"], hardware["check"]
    node, first = fell["node"], e["attempts"][0]
    yield f"  Job {e['id']} E {e['spec']['name']}, user {e['user']}: {node} reported Xid 79 after step {fell['step']}"
    yield "    no GPU is broken: we wrote into its kernel log (a pipe of ours) the line that the driver would write"
    yield f"    {node} was cordoned by {hardware['row']['cordon']['by']}: {hardware['row']['cordon']['reason']}"
    yield (
        f"    {first['steps_lost']} steps lost, all since its save at step {first['durable_step']}; "
        f"weights {check['weights_digest'][:16]}: "
        f"{'equal to the uninterrupted, bit for bit' if check['equals_reference'] else 'NOT EQUAL'}"
    )
    yield from attempt_lines(e)
    for blocker in hardware["seen"]["blockers"]:
        yield f"    job {f['id']} F, which wants all four nodes, waited meanwhile: {blocker.partition(': ')[0]}"
    yield f"    `glim admin node uncordon {node}` gave the node back, and F ran on all four"


def story_lines(runtime, reference, main, others, hardware):
    """The readable receipt of the whole story."""
    a, b, check = main["a"], main["b"], main["check"]
    yield f"What happened (four nodes n1 to n4 in zones A and B, {GPUS} each)"
    yield f"  Tasks ran {runtime_words(runtime)}"
    yield f"  Job {a['id']} A {a['spec']['name']}, user {a['user']}, {a['priority']}"
    yield from interrupt_lines(a)
    yield from attempt_lines(a)
    yield f"    accuracy {check['accuracy']:.4f}; uninterrupted: {reference['accuracy']:.4f}"
    equal = check["equals_reference"]
    yield (
        f"    weights {check['weights_digest'][:16]}, uninterrupted {reference['weights_digest'][:16]}: "
        f"{'equal, bit for bit' if equal else 'NOT EQUAL'}"
    )
    yield (
        f"    batches of all {check['ranks']} ranks, joined over the attempts: "
        f"{'those of the uninterrupted run, each once' if equal and check['every_step_once'] else 'NOT EQUAL'}"
    )
    yield f"  Job {b['id']} B {b['spec']['name']}, user {b['user']}, {b['priority']}"
    yield wait_line(b)
    living = sum(len(pids) for report in main["seen"] for pids in report["alive"].values())
    yield f"    when it began, {living} processes of A were alive"
    yield from attempt_lines(b)
    c, d = others["c"], others["d"]
    yield f"  Job {c['id']} C {c['spec']['name']}, which never answers: {verdict_words(c['attempts'][0])}"
    yield from interrupt_lines(c)
    yield from attempt_lines(c)
    yield f"  Job {d['id']} D {d['spec']['name']}, which leaves a daemon that ignores SIGTERM"
    yield from interrupt_lines(d)
    beat = others["heartbeat"]
    yield (
        f"    the daemon's last sign of life was {(beat['preemptor_started'] - beat['last']):.2f} s before node "
        f"{others['node']} went to job {others['e']['id']}" + (": TOO EARLY" if others["node_given_too_early"] else "")
    )
    yield from hardware_lines(hardware)


def story_json(runtime, nodes, durations, problems, reference, main, others, hardware):
    """What --json writes."""
    a, b, check = main["a"], main["b"], main["check"]
    jobs = [a, b, others["c"], others["d"], others["e"], hardware["e"], hardware["f"]]
    agreement = only_agreement(a)
    return {
        "version": 1,
        "ok": not problems,
        "problems": list(problems),
        "runtime": runtime,
        "nodes": {name: {"runtime": node["runtime"], "address": node["address"]} for name, node in nodes.items()},
        "accuracy": check["accuracy"],
        "reference_accuracy": reference["accuracy"],
        "digest_equal": check["weights_digest"] == reference["weights_digest"],
        "batches_equal": check["equals_reference"],
        "steps_lost": {job["spec"]["name"]: job["steps_lost"] for job in jobs},
        "interrupt_ms": phases_json(b),
        "interrupt": agreement
        and {
            "by_job": agreement["preemptor"]["job_id"],
            "by_user": agreement["preemptor_user"],
            "reason": agreement["reason"],
            "stop_step": agreement["stop_step"],
            "grace_ms": agreement["grace_ms"],
            "grace_used_ms": agreement["grace_used_ms"],
        },
        "hardware": {
            "node": hardware["fell"]["node"],
            "said": hardware["row"]["cordon"]["reason"],
            "digest_equal": hardware["check"]["weights_digest"] == reference["weights_digest"],
        },
        "attempts": {job["spec"]["name"]: attempts_json(job) for job in jobs},
        "gpus_simulated": all(job["gpus_simulated"] for job in jobs),
        "durations_s": durations,
    }
