"""What an agent and its glim-health cost where nothing happens: eight GPUs, by the library that the tests build, and a
job of four ranks that sleep.

A node has one job at a time, so four tasks are four ranks of one. `glim-inventory`, which asks the driver for the
agent, is told beside them. The library reads and parses its file, with all GPUs, at each of its calls: that is part of
what glim-health costs here, and of no real node. So the same is told with a library that knows of no GPU, too: a real
node with GPUs is between the two."""

import os
import time

from cluster.processes import all_pids, wait_until

from node_cluster import load, watched_cluster

GPUS, RANKS = 8, 4
SETTLES_S = 12  # two looks at the GPUs, and what starting leaves behind
CORE_PERCENT, TOGETHER_MIB = 1.0, 60.0
TICKS = os.sysconf("SC_CLK_TCK")


def children(parent):
    """{the program's name: its process id} of a process's children."""
    found = {}
    for pid in all_pids():
        try:
            with open(f"/proc/{pid}/stat") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
        except (OSError, ValueError):
            continue
        if int(rest.split()[1]) == parent:
            found[name] = pid
    return found


def used_s(pid):
    """Processor time of the process and of the children that it has waited for."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def memory_mib(pid):
    """(proportional set size, resident set size): pages that others map too count in part, or wholly."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        rows = dict(line.split(":", 1) for line in file if ":" in line)
    return [round(int(rows[name].split()[0]) / 1024, 1) for name in ("Pss", "Rss")]


def run(args, figures, folder):
    for gpus in (GPUS, 0):
        own = os.path.join(folder, f"gpus-{gpus}")
        os.mkdir(own, 0o700)
        measure(args, figures, own, gpus)


def measure(args, figures, folder, gpus):
    with watched_cluster(args, folder, nodes=1, gpus=gpus, simulated=gpus == 0) as (cluster, examples, _):
        spec = examples.make("idle", "exec sleep 3600", gpus_per_node=RANKS, launcher="per-gpu")
        job = cluster.glim.submit(spec)
        cluster.wait_state(job, "running", 60)
        agent = cluster.agents["n1"].pid
        pids = {"glim-agent": agent}
        wait_until(lambda: "glim-health" in children(agent), 30, "the agent's glim-health is there")
        pids.update((name, pid) for name, pid in children(agent).items() if name in ("glim-health", "glim-inventory"))
        time.sleep(0 if args.quick else SETTLES_S)
        before, began = {name: used_s(pid) for name, pid in pids.items()}, time.monotonic()
        time.sleep(args.seconds)
        took = time.monotonic() - began
        core = {name: 100 * (used_s(pid) - before[name]) / took for name, pid in pids.items()}
        memory = {name: memory_mib(pid) for name, pid in pids.items()}
        tell(figures, took, gpus, core, memory)
        cluster.glim.text("cancel", job)
        cluster.wait_idle(30)


def tell(figures, seconds, gpus, core, memory):
    two, n, more = ("glim-agent", "glim-health"), round(seconds), {"gpus": gpus, "ranks": RANKS, "load": load()}
    for name in core:
        pss, rss = memory[name]
        figures.tell(f"idle_core.{name}", round(core[name], 3), "% of a core", n, **more)
        figures.tell(f"idle_memory.{name}", pss, "MiB", n, rss=rss, **more)
    both = [round(sum(memory[name][kind] for name in two), 1) for kind in (0, 1)]
    figures.tell("idle_core", round(sum(core[name] for name in two), 3), "% of a core", n, CORE_PERCENT, **more)
    figures.tell("idle_memory", both[0], "MiB", n, TOGETHER_MIB, rss=both[1], **more)
