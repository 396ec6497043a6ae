"""tests/bench/run identity: what TLS, tokens and the audit trail cost.

Two schedulers run at once, one with identity and one without, each with its store on the same disk; what is compared is
measured on both in turn, so that what else the machine does is in both. `--reconnect N` lets N simulated agents with
certificates of their own come back after a restart of the scheduler, from two niced processes."""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy"))

from bench_submit import process_ms  # noqa: E402
from cluster.folders import remove_folder  # noqa: E402
from cluster.local_cluster import CONFIG, LocalCluster  # noqa: E402
from cluster.spec import Examples  # noqa: E402
from figures import Figures, fdatasync_ms, filesystem_of  # noqa: E402
from reconnect import reconnect  # noqa: E402

BIN = os.path.join(ROOT, "build", "release", "bin")
SERVER_TEST = os.path.join(ROOT, "build", "release", "test", "server_test")
BOUNDS = "  unfinished_jobs_max: 1000000\n  unfinished_jobs_per_user_max: 1000000\n"
SHARE_AIM, QUEUE_AIM_MS, FLOOD_AIM_MS, FLOOD_AIM_TIMES = 0.9, 20, 20, 5
CLIENTS = 8


def rights(figures, folder):
    """Methods that the table of permissions lacks, and roles that no test calls every method in."""
    told = os.path.join(folder, "rights.json")
    tests = "Permissions.EachMethodHasOneRowAndEachRowAMethod:RolesTest.EachMethodInEachRoleAndScopeIsAsTheTableSays"
    argv = [SERVER_TEST, f"--gtest_filter={tests}", f"--gtest_output=json:{told}"]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"the tests of rights failed:\n{done.stdout}")
    with open(told) as file:
        found = [one for suite in json.load(file)["testsuites"] for one in suite["testsuite"]]
    properties = {key: value for one in found for key, value in one.items()}
    methods = int(properties["methods"])
    figures.tell("methods_without_a_row", int(properties["methods_without_a_row"]), "methods", methods, 0)
    figures.tell("roles_without_a_test", int(properties["roles_without_a_test"]), "roles", methods, 0)


def start(folder, name, secure):
    own = os.path.join(folder, name)
    os.makedirs(own)
    cluster = LocalCluster(
        BIN, own, nodes={"n1": ("A", "a1")}, config=CONFIG + BOUNDS, log_level="error", runtime="process", secure=secure
    )
    cluster.start()
    blocker = cluster.glim.submit(Examples(ROOT, cluster.jobs, cluster.task_user).make("blocker", "exec sleep 3600"))
    cluster.wait_state(blocker, "running", 30)  # what follows stays in the queue
    return cluster


def who(cluster, clients):
    """How glim-bench-submit says who asks."""
    tokens = cluster.glim.tokens
    if not tokens:
        return []
    files = [tokens.file_of(f"bench-{number}", cluster.glim) for number in range(clients)]
    return ["--ca", tokens.authority, "--token-file", *files]


def load(cluster, clients, outstanding, seconds, more=()):
    """What glim-bench-submit tells."""
    argv = [os.path.join(BIN, "glim-bench-submit"), "--server", cluster.server, "--nodes", "1"]
    argv += ["--clients", str(clients), "--outstanding", str(outstanding), "--seconds", str(seconds)]
    done = subprocess.run(
        [*argv, *(more or who(cluster, clients))], capture_output=True, text=True, timeout=seconds + 90
    )
    if done.returncode != 0:
        raise RuntimeError(f"glim-bench-submit: {done.stderr}")
    return json.loads(done.stdout)


def submissions(figures, clusters, seconds, rounds):
    rates = {name: [] for name in clusters}
    for number in range(rounds):
        for name in list(clusters) if number % 2 else reversed(clusters):
            rates[name].append(load(clusters[name], CLIENTS, 16, seconds)["per_second"])
    for name, values in rates.items():
        figures.tell(f"durable_submissions_{name}", round(statistics.median(values)), "jobs/s", len(values))
    ratios = [with_it / without for with_it, without in zip(rates["identity"], rates["plaintext"])]
    share = round(statistics.median(ratios), 3)
    told = [round(ratio, 3) for ratio in ratios]
    figures.tell("durable_submissions_identity_to_plaintext", share, "ratio", rounds, SHARE_AIM, ratios=told)


def queue_processes(figures, clusters, times):
    nothing = os.open(os.devnull, os.O_RDWR)
    took = {name: [] for name in (*clusters, "nothing")}
    for number in range(-3, times):
        for name, cluster in clusters.items():
            value = process_ms([os.path.join(BIN, "glim"), "queue"], cluster.glim.env_of(), nothing)
            if number >= 0:
                took[name].append(value)
        took["nothing"].append(process_ms(["/bin/true"], {}, nothing))
    os.close(nothing)
    figures.percentiles("glim_queue_process_identity", took["identity"], {"p50": QUEUE_AIM_MS})
    figures.percentiles("glim_queue_process_plaintext", took["plaintext"])
    figures.percentiles("bare_process", took["nothing"])


class HalfACore(threading.Thread):
    """Stops and continues a process in turn, so that it has half of one core at most."""

    def __init__(self, process, step_s=0.005):
        super().__init__(daemon=True)
        self.process, self.step_s = process, step_s
        self.cores = 0  # that it had until now

    def used_s(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def run(self):
        began = time.monotonic()
        while self.process.poll() is None:
            try:
                time.sleep(self.step_s)
                self.cores = self.used_s() / (time.monotonic() - began)
                behind = self.cores <= 0.5
                self.process.send_signal(signal.SIGCONT if behind else signal.SIGSTOP)
            except (FileNotFoundError, ProcessLookupError):
                return


def flood(figures, cluster, seconds):
    """One user's calls as fast as half a core makes them; what another one then waits for an answer."""
    other = ["--ca", cluster.glim.tokens.authority, "--token-file", cluster.glim.tokens.file_of("calm", cluster.glim)]
    idle = load(cluster, 1, 1, seconds, other)
    argv = [os.path.join(BIN, "glim-bench-submit"), "--server", cluster.server, "--nodes", "1", "--flood"]
    argv += ["--clients", "32", "--outstanding", "8", "--seconds", str(seconds + 4)]
    argv += [*other[:3], cluster.glim.tokens.file_of("flood", cluster.glim)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as flooder:
        held = HalfACore(flooder)
        held.start()
        time.sleep(2)
        flooded = load(cluster, 1, 1, seconds, other)
        cores = held.cores
        told = json.loads(flooder.communicate(timeout=60)[0])
    aim = max(FLOOD_AIM_MS, FLOOD_AIM_TIMES * idle["rpc_p99_ms"])
    figures.tell("submit_p99_idle", idle["rpc_p99_ms"], "ms", idle["jobs"])
    more = {"flooders_calls_per_second": told["calls_per_second"], "flooders_refused": told["refused"]}
    more["flooders_cores"] = round(cores, 2)
    figures.tell("submit_p99_beside_a_flooder", flooded["rpc_p99_ms"], "ms", flooded["jobs"], aim, **more)


def main():
    parser = argparse.ArgumentParser(prog="tests/bench/run identity", description=__doc__)
    parser.add_argument("--dir", default="/var/tmp", help="where the folders are made: not a tmpfs [/var/tmp]")
    parser.add_argument("--rounds", type=int, default=5, help="of submissions to both [5]")
    parser.add_argument("--seconds", type=float, default=4, help="of each [4]")
    parser.add_argument("--times", type=int, default=100, help="starts of `glim queue` [100]")
    parser.add_argument(
        "--reconnect", type=int, default=0, metavar="N", help="agents that come back; 10000 is the aim's [0]"
    )
    args = parser.parse_args()
    kind = filesystem_of(args.dir)
    if kind in ("tmpfs", "ramfs"):
        sys.exit(f"{args.dir} is a {kind}: nothing is durable there; give another folder with --dir")
    figures = Figures("identity")
    folder = tempfile.mkdtemp(prefix="glim-b-", dir=args.dir)
    clusters = {}
    try:
        rights(figures, folder)
        figures.percentiles("raw_fdatasync_4096_bytes", fdatasync_ms(folder), filesystem=kind)
        for name, secure in (("identity", True), ("plaintext", False)):
            clusters[name] = start(folder, name, secure)
        queue_processes(figures, clusters, args.times)
        submissions(figures, clusters, args.seconds, args.rounds)
        flood(figures, clusters["identity"], args.seconds)
        for name in list(clusters):
            clusters.pop(name).stop(cancel=False)
        if args.reconnect:
            reconnect(figures, folder, args.reconnect)
    finally:
        for cluster in clusters.values():
            cluster.stop(cancel=False)
        remove_folder(folder)


if __name__ == "__main__":
    main()
