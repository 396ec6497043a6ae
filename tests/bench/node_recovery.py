"""From the kernel's line that a GPU is gone to the job at work elsewhere: a job of two nodes with nothing in its spec
but a command, so it waits for no save. Its rank on that node hangs in a folder of FUSE whose server does not answer: it
waits in the kernel, and once it is killed it is in state D for good (the node is written off, and not waited for)."""

import json
import os
import time

from cluster.kernel_logs import FELL_OFF_THE_BUS
from cluster.processes import processes_of, wait_until
from storage import SlowFolder

from node_cluster import load, watched_cluster

NODES = 4
P99_MS = 2000
# The first rank of the first attempt asks the folder again and again.
ASKS = "while :; do cat {} >/dev/null; sleep 0.02; done"
RUN = f"if [ $GLIM_ATTEMPT.$GLIM_NODE_RANK = 1.0 ]; then {ASKS}; fi; exec sleep 600"


def asking(cluster, node, job):
    """{process: its state} of those of the job on the node that ask the folder."""
    found = {}
    for pid in processes_of(os.path.join(cluster.folder, node), job, 1):
        try:
            with open(f"/proc/{pid}/stat") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name == "cat":
            found[pid] = rest.split()[0]
    return found


def wait_hangs(cluster, node, job):
    """One that was there a moment ago, too, gets no answer."""
    before = {}

    def same():
        nonlocal before
        before, last = asking(cluster, node, job), before
        return set(before) & set(last)

    wait_until(same, 30, "a rank hangs", every=0.2)


def events_of(glim, job):
    return [json.loads(line) for line in glim.text("-o", "json", "events", job).splitlines()]


def a_round(cluster, spec, place, machines):
    """Milliseconds: from the write, from the event in the scheduler, and between the two, to the next attempt at work.
    Everything is as before afterwards."""
    glim = cluster.glim
    job = glim.submit(spec)
    first = cluster.wait_state(job, "running", 60, every=0.02)["attempts"][0]
    node = next(task["node"] for task in first["tasks"] if not task.get("index"))
    place.hang()
    wait_hangs(cluster, node, job)
    written = time.time() * 1000
    machines[node].say(FELL_OFF_THE_BUS)
    again = lambda job: job["attempt_count"] == 2 and job["state"] == "running"  # noqa: E731
    cluster.wait_job(job, again, 60, "it runs elsewhere", every=0.02)
    still = "D" in asking(cluster, node, job).values()
    events = events_of(glim, job)
    at = {event["kind"]: event["happened_at_ms"] for event in events if event["attempt"] in (0, 1)}
    runs = [e["happened_at_ms"] for e in events if e["kind"] == "attempt_running" and e["attempt"] == 2][0]
    place.answer()
    glim.text("cancel", job)
    cluster.wait_idle(60)
    glim.text("admin", "node", "uncordon", node, "-y")
    # Of more than 16 in a minute on one node the rest is only counted; what is done about each is noted with it.
    told = at.get("health_event", at["attempt_stopping"])
    took = {"write_to_running": runs - written, "event_to_running": runs - told, "write_to_event": told - written}
    return took, still


def run(args, figures, folder):
    place = SlowFolder(os.path.join(folder, "place"), os.path.join(folder, "behind"))
    try:
        with open(os.path.join(folder, "behind", "file"), "w") as file:
            file.write("words\n")
        with watched_cluster(args, folder, nodes=NODES, gpus=1) as (cluster, examples, machines):
            spec = examples.make("hangs", RUN.format(os.path.join(folder, "place", "file")), nodes=2)
            try:
                rounds = [a_round(cluster, spec, place, machines) for _ in range(args.rounds)]
            finally:
                place.answer()
    finally:
        place.close()
    hung = sum(still for _, still in rounds)
    for name in rounds[0][0]:
        aims = {} if name == "write_to_event" else {"p99": P99_MS}
        figures.percentiles(f"recovery_{name}", [ms[name] for ms, _ in rounds], aims, still_hung=hung, load=load())
