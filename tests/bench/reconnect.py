"""Agents that all come back at once, with certificates, to a scheduler that starts again."""

import json
import os
import subprocess
import threading
import time

from cluster.local_cluster import CONFIG, LocalCluster
from figures import percentile

BIN = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "build", "release", "bin"
)
AIM_S, USERS_AIM_MS = 25, 500
PATIENCE_S = 300
LIMITS = "limits: {peer: {agent_hellos: 25000}}\n"  # here all come from one address


class Half:
    """One niced process with a part of the agents, and what it tells."""

    def __init__(self, cluster, folder, first, last):
        argv = ["nice", "-n", "5", os.path.join(BIN, "glim-bench-reconnect"), "run", "--server", cluster.agents_server]
        argv += ["--cluster", cluster.cluster_id, "--folder", folder, "--first", str(first), "--last", str(last)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.told = []
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.told.append(json.loads(line))

    def all_back_since(self, moment_ms):
        """When all were back and stayed so; None: not yet."""
        last = self.told[-1] if self.told else None
        return last["at_ms"] if last and last["event"] == "all_back" and last["at_ms"] >= moment_ms else None

    def stop(self):
        self.process.stdin.close()
        self.process.wait(60)


def wait_back(halves, since_ms, asked=lambda: None):
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        moments = [half.all_back_since(since_ms) for half in halves]
        if all(moments):
            return max(moments)
        asked()
        time.sleep(0.05)
    raise RuntimeError(f"not all agents are back: {[half.told[-3:] for half in halves]}")


def reconnect(figures, folder, agents):
    own = os.path.join(folder, "reconnect")
    os.makedirs(own)
    cluster = LocalCluster(BIN, own, nodes={}, config=LIMITS + CONFIG, log_level="error", runtime="process")
    halves = []
    try:
        cluster.start_scheduler()
        cluster.scheduler.stop()
        argv = [os.path.join(BIN, "glim-bench-reconnect"), "fill", "--store", cluster.store, "--folder", own]
        argv += ["--key-file", os.path.join(cluster.state_dir, "cluster.key"), "--agents", str(agents)]
        subprocess.run(argv, check=True)
        cluster.start_scheduler()
        middle = agents // 2
        halves = [Half(cluster, own, 1, middle), Half(cluster, own, middle + 1, agents)]
        wait_back(halves, 0)
        cluster.scheduler.process.kill()
        cluster.scheduler.process.wait()
        cluster.start_scheduler()
        served_ms, took = time.time() * 1000, []

        def ask():
            began = time.perf_counter()
            if cluster.glim.run("queue").returncode == 0:
                took.append((time.perf_counter() - began) * 1000)

        back_ms = wait_back(halves, served_ms, ask)
        lost = sum(node["state"] == "lost" for node in cluster.glim.nodes().values())
        figures.tell("agents_all_back", round((back_ms - served_ms) / 1000, 2), "s", agents, AIM_S, nodes_lost=lost)
        figures.tell("glim_queue_meanwhile_p99", round(percentile(took, 0.99), 1), "ms", len(took), USERS_AIM_MS)
    finally:
        for half in halves:
            half.stop()
        cluster.stop(cancel=False)
