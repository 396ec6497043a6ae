"""Agents that all come back at once, with certificates, to a scheduler that starts again while people use it."""

import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.request

from cluster.local_cluster import CONFIG, LocalCluster
from clusters import submitters

AIM_S, USERS_AIM_MS = 25, 500
PATIENCE_S = 200
USERS, PAUSE_S = 8, 0.1


class Half:
    """One niced process with a part of the agents, and what it tells."""

    def __init__(self, cluster, folder, first, last):
        argv = ["nice", "-n", "5", cluster.program("glim-bench-reconnect"), "run", "--server", cluster.agents_server]
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

    def ends(self, since_ms):
        """{words: streams that ended so} since then."""
        found = {}
        for line in self.told:
            for words, count in line["ends"].items() if line["at_ms"] >= since_ms else ():
                found[words] = found.get(words, 0) + count
        return found

    def stop(self):
        self.process.stdin.close()
        self.process.wait(60)


class Users:
    """What people do meanwhile, with TLS and tokens: eight submit jobs of one node, ten a second each at most, and one
    after the other asks `glim queue`, a process each time."""

    def __init__(self, cluster):
        self.cluster, self.ended, self.queue_ms, self.failed = cluster, threading.Event(), [], []
        argv = [cluster.program("glim-bench-submit"), "--server", cluster.server, "--nodes", "1", "--clients"]
        argv += [str(USERS), "--pause-ms", str(round(PAUSE_S * 1000)), "--seconds", "600"]
        argv += submitters(cluster, USERS)
        self.submitter = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.asker = threading.Thread(target=self.ask)
        self.asker.start()

    @staticmethod
    def make(cluster):
        """Their tokens, before it matters."""
        submitters(cluster, USERS)

    def ask(self):
        while not self.ended.wait(PAUSE_S):
            began = time.perf_counter()
            result = self.cluster.glim.run("queue")
            self.queue_ms.append((time.perf_counter() - began) * 1000)
            if result.returncode != 0:
                self.failed.append(result.stderr.strip())

    def end(self):
        """What the one who submits tells."""
        self.ended.set()
        self.asker.join()
        self.submitter.terminate()
        out, error = self.submitter.communicate(timeout=60)
        if self.submitter.returncode != 0 or self.failed:
            raise RuntimeError(f"users' calls failed: {error} {self.failed[:3]}")
        return json.loads(out)


class Metrics:
    """What the scheduler tells Prometheus."""

    def __init__(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"

    def rows(self, name):
        """[({label: value}, number)] of one metric."""
        with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        found = re.findall(rf"^{name}(?:{{(.*)}})? (\S+)$", text, re.MULTILINE)
        return [(dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(number)) for labels, number in found]

    def nodes(self, state):
        return sum(number for labels, number in self.rows("glim_nodes") if labels["state"] == state)

    def call_ms(self, share):
        """(how long that share of all calls took at most, how many there were), as Prometheus estimates it."""
        buckets = {}
        for labels, number in self.rows("glim_api_request_seconds_bucket"):
            bound = float(labels["le"].replace("+Inf", "inf"))
            buckets[bound] = buckets.get(bound, 0) + number
        total = buckets[float("inf")]
        low, below = 0.0, 0.0
        for bound in sorted(buckets):
            if buckets[bound] >= share * total and buckets[bound] > below:
                part = (share * total - below) / (buckets[bound] - below)
                return (low + (bound - low) * part if bound != float("inf") else bound) * 1000, round(total)
            low, below = bound, buckets[bound]
        raise RuntimeError("the scheduler counts no calls")


def wait_back(halves, since_ms):
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        moments = [half.all_back_since(since_ms) for half in halves]
        if all(moments):
            return max(moments)
        time.sleep(0.02)
    raise RuntimeError(f"not all agents are back: {[half.told[-3:] for half in halves]}")


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fill(cluster, folder, agents):
    cluster.start_scheduler()
    cluster.scheduler.stop()
    argv = [cluster.program("glim-bench-reconnect"), "fill", "--store", cluster.store, "--folder", folder]
    argv += ["--key-file", os.path.join(cluster.state_dir, "cluster.key"), "--agents", str(agents)]
    subprocess.run(argv, check=True)


def come_back(figures, cluster, metrics, halves, agents):
    """The scheduler is killed and started again; all times are from its new process's start."""
    cluster.scheduler.process.kill()
    cluster.scheduler.process.wait()
    began_ms = time.time() * 1000
    cluster.start_scheduler()
    users = Users(cluster)
    try:
        back_ms = wait_back(halves, began_ms)
        p99_ms, calls = metrics.call_ms(0.99)
    finally:
        submitted = users.end()
    ready = metrics.nodes("ready")
    if ready != agents:
        raise RuntimeError(f"the scheduler counts {ready} ready nodes of {agents}")
    lost = cluster.glim.text("-o", "json", "events", "--since", "1h").count('"node_lost"')
    more = {"nodes_lost": lost, "scheduler_cpu_s": round(cpu_s(cluster.scheduler.pid), 1)}
    more["streams_that_failed"] = [half.ends(began_ms) for half in halves]
    figures.tell("agents_all_back", round((back_ms - began_ms) / 1000, 2), "s", agents, AIM_S, **more)
    figures.tell("call_in_the_scheduler_meanwhile_p99", round(p99_ms, 1), "ms", calls, USERS_AIM_MS)
    figures.tell("submit_meanwhile_p99", submitted["rpc_p99_ms"], "ms", submitted["jobs"])
    figures.percentiles("glim_queue_process_meanwhile", users.queue_ms)


def reconnect(figures, bin_folder, folder, agents):
    metrics = Metrics()
    config = CONFIG.replace("metrics: none", f"metrics: {metrics.address}")
    cluster = LocalCluster(bin_folder, folder, nodes={}, config=config, log_level="error", runtime="process")
    halves = []
    try:
        fill(cluster, folder, agents)
        cluster.start_scheduler()
        Users.make(cluster)
        began, middle = time.time() * 1000, agents // 2
        halves = [Half(cluster, folder, 1, middle), Half(cluster, folder, middle + 1, agents)]
        first_ms = wait_back(halves, began) - began
        figures.tell("agents_first_connected", round(first_ms / 1000, 2), "s", agents)
        come_back(figures, cluster, metrics, halves, agents)
    finally:
        for half in halves:
            half.stop()
        cluster.stop(cancel=False)
