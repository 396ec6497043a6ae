"""Whether the story held: each function returns what is not as it must be, in words; an empty list is a good end."""

from .story import PHASES

ACCURACY_MIN = 0.95


class Findings(list):
    def expect(self, true, words):
        if not true:
            self.append(words)


def released_at_ms(agreement):
    """When the last node of an interrupted attempt was released."""
    times = agreement["times"]
    phases = ("notify", "agree", "save", "leave", "release")
    return agreement["requested_at_ms"] + sum(max(0, times[f"{phase}_ms"]) for phase in phases)


def only_agreement(job):
    agreements = [r for a in job["attempts"] for r in a["agreements"] if r["state"] != "withdrawn"]
    return agreements[0] if len(agreements) == 1 else None


def check_gang_preemption(found, name, victim, preemptor, seen):
    """The preemptor began on nodes that were empty of the victim."""
    agreement = only_agreement(victim)
    if agreement is None:
        found.append(f"{name}: expected one interrupt, found {[a['agreements'] for a in victim['attempts']]}")
        return
    start = preemptor["attempts"][0]
    found.expect(
        agreement["preemptor"]["job_id"] == preemptor["id"],
        f"{name}: its receipt names job {agreement['preemptor']} as preemptor, not {preemptor['id']}",
    )
    found.expect(
        agreement["preemptor_user"] == preemptor["user"] and agreement["reason"],
        f"{name}: its receipt does not say who and why: " f"{agreement['preemptor_user']!r} {agreement['reason']!r}",
    )
    found.expect(
        0 <= released_at_ms(agreement) <= start["started_at_ms"],
        f"{name}: released at {released_at_ms(agreement)}, " f"but its preemptor started at {start['started_at_ms']}",
    )
    for rank, report in enumerate(seen):
        left = report["alive"][f"{victim['id']}.1"]
        found.expect(not left, f"{name}: processes {left} lived when rank {rank} of its preemptor began")
        found.expect(
            report["time"] * 1000 >= released_at_ms(agreement),
            f"{name}: rank {rank} of its preemptor began before the release",
        )


def check_lost_steps(found, name, job, told, own):
    """The first attempt was ended by force: it lost what it had done since its save, and the next one did that again.
    `told`: its row some time before its end. `own`: what the ranks' files say (ranges_by_attempt). A rank writes down
    a step, then reports it, and may be killed between the two; what was reported once stays reported. So the last step
    that the scheduler counts is one that it told of before or a later one, and one that a rank has written down."""
    first, *others = job["attempts"]
    saved, last, done = first["durable_step"], first["last_step"], own.get(1, (0, -1))[1]
    found.expect(
        max(0, told["durable_step"]) <= saved <= done,
        f"{name}: durable step {saved}; it was {told['durable_step']} before, and its ranks had done step {done}",
    )
    found.expect(
        told["last_step"] <= last <= done,
        f"{name}: last step {last}; it was {told['last_step']} before, and its ranks had done step {done}",
    )
    lost = max(0, last - saved)
    found.expect(
        first["steps_lost"] == job["steps_lost"] == lost,
        f"{name}: {first['steps_lost']} steps reported lost ({job['steps_lost']} of the job), last step {last}, "
        f"durable {saved}",
    )
    found.expect(
        [attempt["base_step"] for attempt in others] == [saved],
        f"{name}: went on from {[attempt['base_step'] for attempt in others]}, durable was {saved}",
    )
    found.expect(own.get(2, (None,))[0] == saved + 1, f"{name}: saved at {saved}, its own files say {own}")


def problems_of_runtime(wanted, nodes, seen):
    """Every task ran in what was wanted: the nodes say so, and what B's ranks found around them bears it out."""
    found = Findings()
    for name, node in sorted(nodes.items()):
        found.expect(node["runtime"] == wanted, f"node {name} runs {node['runtime']}, not {wanted}")
    if wanted == "process":
        return found
    for rank, report in enumerate(seen):
        found.expect(report["uid"] != 0, f"rank {rank} of B was root")
        found.expect(
            report["init"] == "glim-init", f"rank {rank} of B was in no container: process 1 is {report['init']}"
        )
    for kind in ("net", "pid"):
        spaces = {report["namespaces"][kind] for report in seen}
        found.expect(len(spaces) == len(seen), f"B's {len(seen)} nodes share {kind} namespaces: {sorted(spaces)}")
    return found


def problems_of_interrupt(story, accuracy_min=ACCURACY_MIN):
    """A was interrupted by B, lost nothing, and ended as if it had been left alone."""
    found, a, b, check = Findings(), story["a"], story["b"], story["check"]
    found.extend(f"A: {problem}" for problem in check["problems"])
    found.expect(check["ok"] and check["equals_reference"], f"A: check.py is not content: {check}")
    if accuracy_min is not None:
        found.expect(
            check["accuracy"] is not None and check["accuracy"] >= accuracy_min,
            f"A: accuracy {check['accuracy']}, at least {accuracy_min} is wanted",
        )
    found.expect(a["steps_lost"] == 0, f"A: {a['steps_lost']} steps lost")
    attempts = a["attempts"]
    ends = [(t["outcome"], t["save"]) for t in attempts]
    found.expect(
        len(ends) == 2 and ends[0] == ("interrupted", "saved") and ends[1][0] == "succeeded",
        f"A: its attempts ended as {ends}",
    )
    agreement = only_agreement(a)
    if agreement and len(attempts) == 2:
        stop = agreement["stop_step"]
        found.expect(stop >= story["asked_at_step"], f"A: agreed on step {stop}, asked at {story['asked_at_step']}")
        found.expect(attempts[1]["base_step"] == stop, f"A: went on from {attempts[1]['base_step']}, stopped at {stop}")
        ranges = story["steps_of_a"]
        found.expect(
            ranges.get(1, (0, None))[1] == stop and ranges.get(2, (None, 0))[0] == stop + 1,
            f"A: its own files say {ranges}, the scheduler says {stop}",
        )
        used = agreement["grace_used_ms"]
        found.expect(used <= agreement["grace_ms"], f"A: used {used} ms of its grace of {agreement['grace_ms']} ms")
    found.expect(len({task["node"] for task in b["attempts"][0]["tasks"]}) == 4, "B: did not run on four nodes")
    for phase in PHASES:
        found.expect(b["attempts"][0]["start"][f"{phase}_ms"] >= 0, f"B: its wait has no phase {phase}")
    check_gang_preemption(found, "A", a, b, story["seen"])
    return found


def problems_of_deaf(story):
    """C was killed at its deadline, lost the steps since its last save, and went on from there."""
    found, c = Findings(), story["c"]
    first = c["attempts"][0]
    found.expect(
        (first["outcome"], first["save"]) == ("interrupted", "killed"),
        f"C: ended as {first['outcome']} {first['save']}, not as killed",
    )
    agreement = only_agreement(c)
    if agreement:
        found.expect(
            agreement["grace_used_ms"] >= agreement["grace_ms"],
            f"C: killed after {agreement['grace_used_ms']} ms, its grace was {agreement['grace_ms']} ms",
        )
    check_lost_steps(found, "C", c, story["told_of_c"], story["steps_of_c"])
    check_gang_preemption(found, "C", c, story["e"], story["seen"])
    return found


def problems_of_stubborn(story):
    """D's node was not given away until its last process was gone."""
    found = Findings()
    found.expect(not story["node_given_too_early"], f"D: node {story['node']} was given away while its daemon lived")
    beat = story["heartbeat"]
    found.expect(
        beat["last"] <= beat["preemptor_started"],
        f"D: the daemon was alive at {beat['last']}, its preemptor started at {beat['preemptor_started']}",
    )
    outcome = story["d"]["attempts"][0]["outcome"]
    found.expect(outcome == "interrupted", f"D: its first attempt ended as {outcome}")
    check_gang_preemption(found, "D", story["d"], story["e"], story["seen"])
    return found
