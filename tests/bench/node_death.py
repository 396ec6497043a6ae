"""From the power cut of a node to its job's next step: four nodes with two ranks each, and a save of --state on the
shared disk that each rank reads whole; two nodes are free. The node's network is cut, then all that runs there is
killed: nothing there answers anybody."""

import json
import os
import time

from cluster.local_cluster import CONFIG, LocalCluster

from clusters import running
from node_cluster import load

NODES = {f"n{number}": ("A", f"a{(number + 1) // 2}") for number in range(1, 7)}
P50_MS, P99_MS = 18_000, 25_000
SCRIPT = """\
import os
import sys
import time

import glim

STATE = int(sys.argv[1])
with glim.session() as run:
    step = 0
    if run.resume_path:
        with open(run.resume_path, "rb") as file:
            while file.read(1 << 24):
                pass
        step = run.environment.resume_step + 1
        run.restored(step - 1)
    while run.begin_step(step):
        time.sleep(0.1)
        run.progress(step)
        if step == 5 and run.is_rank_zero:
            path = os.path.join(run.environment.checkpoint_dir, "save")
            with open(path, "wb") as file:
                for _ in range(STATE >> 24):
                    file.write(bytes(1 << 24))
                os.fsync(file.fileno())
            run.checkpoint_saved(path, step, bytes=STATE)
        step += 1
"""


def a_round(cluster, examples, state, number):
    """Milliseconds: to `lost`, and to a step that the next attempt has done."""
    glim = cluster.glim
    script = os.path.join(cluster.jobs, "train.py")
    with open(script, "w") as file:
        file.write(SCRIPT)
    spec = examples.make(
        f"death-{number}",
        f"exec python3 {script} {state}",
        nodes=4,
        gpus_per_node=2,
        launcher="per-gpu",
        checkpoint={"dir": os.path.join(cluster.jobs, "ckpt", "$GLIM_JOB_ID")},
    )
    with open(spec, "a") as file:
        file.write("restart: {on: [node_failure, network], max: 20, backoff: 0s}\n")
    job = glim.submit(spec)
    saved = lambda job: job["attempts"] and job["attempts"][0]["durable_step"] >= 5  # noqa: E731
    first = cluster.wait_job(job, saved, 120, "it has saved")["attempts"][0]
    node = first["tasks"][number % 4]["node"]
    cut_at = time.time() * 1000
    cluster.network.cut(node)
    cluster.kill(node)
    cluster.kill_tasks_of(node)
    steps = lambda job: job["attempt_count"] == 2 and job["attempts"][1]["last_step"] > 5  # noqa: E731
    cluster.wait_job(job, steps, 120, "the next attempt has done a step", every=0.05)
    took = time.time() * 1000 - cut_at
    told = [json.loads(line) for line in glim.text("-o", "json", "events", job).splitlines()]
    ends = [event["happened_at_ms"] for event in told if event["kind"] == "attempt_stopping"]
    glim.text("cancel", job)
    cluster.network.mend(node)
    cluster.start_again(node)
    cluster.wait_ready(90)
    cluster.wait_idle(60)
    return ends[0] - cut_at, took


def run(args, figures, folder):
    cluster = LocalCluster(args.bin, folder, nodes=NODES, config=CONFIG, checkpoint_root=False)
    with running(cluster) as examples:
        rounds = [a_round(cluster, examples, args.state, number) for number in range(args.rounds)]
    figures.percentiles("death_to_lost", [lost for lost, _ in rounds], load=load())
    figures.percentiles("death_to_step", [took for _, took in rounds], {"p50": P50_MS, "p99": P99_MS}, load=load())
