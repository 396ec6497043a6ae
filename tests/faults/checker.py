"""What ranks wrote down themselves, held against what users were told. Pure: each function returns what is not as it
must be, in words; `told` is {job id: the job as `glim status -o json` shows it, with all attempts ever seen}."""

import hashlib
from collections import defaultdict

GONE_WITHIN_S = 10.0  # a lost node's ranks, from when its agent is heard again
ROWS_KEPT = 8  # of a job's attempts, and its newest (kAttemptsKept in scheduler/core/model/rows.h); of others, events
FRESH_S = 20.0  # a save that is older than this when its attempt breaks off has been told


def chain(state, rank, step):
    """As rank.py has it."""
    return hashlib.sha256(f"{state} {rank} {step}".encode()).hexdigest()[:16]


def by_attempt(accounts):
    """{job: {attempt: its ranks' accounts}}"""
    jobs = defaultdict(lambda: defaultdict(list))
    for account in accounts:
        jobs[account.job][account.attempt].append(account)
    return jobs


def check_submissions(submitted, listed):
    """No acknowledged submission is lost, and none is there twice. `submitted`: {job id: Planned}; `listed`: (id, name)
    of all jobs of the cluster, those that have ended too."""
    found, names = [], defaultdict(list)
    for job, name in listed:
        names[name].append(job)
    for job, planned in submitted.items():
        if names.get(planned.name) != [job]:
            found.append(f"job {job} ({planned.name}) was acknowledged; the cluster has {names.get(planned.name)}")
    acknowledged = {planned.name for planned in submitted.values()}
    return found + [
        f"jobs {ids} ({name}) were never submitted" for name, ids in names.items() if name not in acknowledged
    ]


def check_nodes(accounts):
    """No two attempts on a node at one time, by their own signs of life, daemons included."""
    found, spans = [], defaultdict(dict)
    for account in accounts:
        key = (account.job, account.attempt)
        began, last, who = spans[account.node].get(key, (account.began, account.last, account.who))
        spans[account.node][key] = (min(began, account.began), max(last, account.last), who)
    for node, attempts in spans.items():
        ordered = sorted(attempts.values())
        for (_, last, who), (began, _, other) in zip(ordered, ordered[1:]):
            if began < last:
                found.append(f"node {node}: {other} began {last - began:.2f} s before {who} was gone")
    return found


def check_attempts(accounts, lost, heard):
    """Two attempts of a job at one time only where a node of the older one had been declared lost; and its ranks are
    gone within ten seconds of its agent being heard again. `lost`, `heard`: {node: [Moment]}; a moment that is known
    only roughly speaks for the cluster."""
    found = []
    for job, attempts in by_attempt(accounts).items():
        numbers = sorted(attempts)
        for older, newer in zip(numbers, numbers[1:]):
            began = min(account.began for account in attempts[newer])
            for account in attempts[older]:
                if account.last <= began:
                    continue
                gone = [m for m in lost.get(account.node, []) if m.latest >= account.began and m.earliest <= began]
                if not gone:
                    late = account.last - began
                    found.append(f"{account.who} on {account.node} lived {late:.2f} s beside attempt {newer}")
                    continue
                again = [m.latest for m in heard.get(account.node, []) if m.seq > min(gone).seq]
                if again and account.last > min(again) + GONE_WITHIN_S:
                    found.append(
                        f"{account.who} lived for more than {GONE_WITHIN_S:g} s after {account.node} was heard"
                    )
    return found


def check_steps(accounts, planned):
    """Each rank's steps are in a row from where it began, and its state is what those steps come to."""
    found = []
    for account in accounts:
        plan = planned.get(account.job)
        base, end, steps = account.one("base"), account.one("end"), account.steps()
        if base is None or plan is None or account.daemon:
            continue
        wanted = list(range(base["step"] + 1, base["step"] + 1 + len(steps)))
        if steps != wanted:
            found.append(f"{account.who}: its steps are not in a row from {base['step'] + 1}: {steps}")
        if end and end["step"] != plan.steps - 1:
            found.append(f"{account.who}: ended after step {end['step']}, {plan.steps} were to be done")
        if end and end["state"]:
            state = ""
            for step in range(plan.steps):
                state = chain(state, account.rank, step)
            if end["state"] != state:
                found.append(f"{account.who}: its result is not that of {plan.steps} steps done once each, in order")
    return found


def check_stops(accounts, planned):
    """All ranks of an attempt that agreed on a step stopped behind it; who yields may leave before, at the same step on
    every rank."""
    found = []
    for job, attempts in by_attempt(accounts).items():
        yields = job in planned and planned[job].kind == "yielding"
        for number, ranks in attempts.items():
            stops = {(s["step"], s["agreed"]) for s in (a.one("stop") for a in ranks) if s and s["agreed"] is not None}
            apart = len({agreed for _, agreed in stops}) > 1 or len({step for step, _ in stops}) > 1
            if apart or any(step > agreed or (step < agreed and not yields) for step, agreed in stops):
                found.append(f"{job}.{number}: its ranks stopped at different steps: (step, agreed) {sorted(stops)}")
    return found


def saved_by_all(ranks, size):
    """{step: when the last of all ranks had saved it}"""
    by_step = defaultdict(dict)
    for account in ranks:
        for line in account.of("saved"):
            by_step[line["step"]][account.rank] = line["at"]
    return {step: max(at.values()) for step, at in by_step.items() if len(at) == size}


def check_bases(accounts, planned):
    """Every rank of an attempt goes on from the same save, which all ranks of an earlier one had made; none of those
    that had time to be told is skipped."""
    found = []
    for job, attempts in by_attempt(accounts).items():
        plan, saves = planned.get(job), {}
        if plan is None or plan.kind in ("endless", "daemonising"):
            continue
        for number in sorted(attempts):
            ranks = [account for account in attempts[number] if not account.daemon]
            bases = {account.one("base")["step"] for account in ranks if account.one("base")}
            if len(bases) > 1:
                found.append(f"{job}.{number}: its ranks began at different steps: {sorted(bases)}")
            for base in bases:
                if base >= 0 and base not in saves:
                    found.append(f"{job}.{number}: it goes on from step {base}, which was never saved by all ranks")
                old = [step for step, age in saves.items() if age > FRESH_S and step > base]
                if old:
                    found.append(f"{job}.{number}: it goes on from step {base}, although {max(old)} had been saved")
            broke_off = max((account.last for account in ranks), default=0.0)
            for step, at in saved_by_all(ranks, plan.nodes).items():
                saves[step] = broke_off - at
    return found


def check_ends(told, planned, hurt):
    """Each job ended as it was to, and says so. `hurt`: of which a rank was killed, which may fail by that."""
    found = []
    for job, plan in planned.items():
        state, message = told[job]["state"], told[job]["message"]
        if state != plan.end and not (state == "failed" and job in hurt):
            found.append(f"job {job} ({plan.name}) is {state}, not {plan.end}: {message}")
        if plan.kind == "failing" and state == "failed" and job not in hurt and "code 3" not in message:
            found.append(f"job {job} ({plan.name}) failed with exit code 3, and says {message!r}")
    return found


def check_ledger(report):
    """Every GPU-millisecond that the nodes were registered for is some job's, or nobody's."""
    total, registered = report["total_gpu_ms"], report["registered_gpu_ms"]
    return [] if total == registered else [f"the ledger has {total} GPU-ms of {registered} that were registered"]


def check_told(accounts, told, planned, named):
    """What was told of an attempt is what its ranks saw: who saved through step S stopped at S; a success has each
    rank's own end. `named`: {(job, attempt)} of all events; of an attempt whose row went before anybody asked for it
    there is nothing else."""
    found = []
    for job, attempts in by_attempt(accounts).items():
        if job not in planned:
            continue
        rows = {row["ref"]["number"]: row for row in told[job]["attempts"]}
        for number, ranks in attempts.items():
            row = rows.get(number)
            if row is None:
                if number > max(rows, default=0) - ROWS_KEPT or (job, number) not in named:
                    found.append(f"{job}.{number}: its ranks ran, and nobody was ever told of that attempt")
                continue
            ends = [a for a in ranks if a.one("end")]
            if row["outcome"] == "succeeded" and len(ends) != planned[job].nodes:
                found.append(
                    f"{job}.{number}: succeeded, but only {len(ends)} of {planned[job].nodes} ranks came to the end"
                )
            # Without an agreement each rank leaves at a step of its own, and what counts is their last common save.
            stops = {stop["step"] for stop in (a.one("stop") for a in ranks) if stop and stop["agreed"] is not None}
            if (
                stops
                and row["outcome"] == "interrupted"
                and row["save"] == "saved"
                and row["durable_step"] not in stops
            ):
                found.append(
                    f"{job}.{number}: told as saved through step {row['durable_step']}, its ranks stopped at {stops}"
                )
    return found


def named_by(events):
    """{(job, attempt)} of `events`, as `glim -o json events` has them."""
    return {(event["job_id"], event["attempt"]) for event in events if event["attempt"]}


def check_all(accounts, told, submitted, listed, lost, heard, hurt=frozenset(), named=frozenset()):
    return [
        *check_submissions(submitted, listed),
        *check_nodes(accounts),
        *check_attempts(accounts, lost, heard),
        *check_steps(accounts, submitted),
        *check_stops(accounts, submitted),
        *check_bases(accounts, submitted),
        *check_ends(told, submitted, hurt),
        *check_told(accounts, told, submitted, named),
    ]
