"""tests/bench/run identity: what TLS, tokens and the audit trail cost.

Two schedulers run at once, one with identity and one without, each with its store on the same disk; what is compared is
measured on both in turn, so that what else the machine does is in both. Then simulated agents with certificates of
their own come back after a restart of the scheduler, from two niced processes."""

import contextlib
import json
import os
import signal
import statistics
import subprocess
import threading
import time

from programs import options_of, parser_of, told_by

from bench_submit import process_ms
from clusters import add_dir, block, busy_queue, folder_on_disk, running, submitters
from figures import Figures, fdatasync_ms, filesystem_of
from reconnect import reconnect

SHARE_AIM, QUEUE_AIM_MS, FLOOD_AIM_MS, FLOOD_AIM_TIMES = 0.9, 20, 20, 5
CLIENTS = 8
QUICK = {"rounds": 1, "seconds": 0.5, "times": 3, "reconnect": 20}


@contextlib.contextmanager
def one_node(args, secure):
    """Yields a running cluster on a folder of its own; what is submitted to it stays in the queue."""
    with folder_on_disk(args.dir) as folder:
        cluster = busy_queue(args.bin, folder, nodes={"n1": ("A", "a1")}, runtime="process", secure=secure)
        with running(cluster) as examples:
            block(cluster, examples, 1)
            yield cluster


def load(cluster, clients, outstanding, seconds, more=()):
    """What glim-bench-submit tells."""
    argv = [cluster.program("glim-bench-submit"), "--server", cluster.server, "--nodes", 1, "--clients", clients]
    argv += ["--outstanding", outstanding, "--seconds", seconds]
    return told_by([*argv, *(more or submitters(cluster, clients))], seconds + 90)


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
            value = process_ms([cluster.program("glim"), "queue"], cluster.glim.env_of(), nothing)
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
    argv = [cluster.program("glim-bench-submit"), "--server", cluster.server, "--nodes", "1", "--flood"]
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
    parser = parser_of("identity", __doc__, QUICK)
    add_dir(parser)
    parser.add_argument("--rounds", type=int, default=5, help="of submissions to both [5]")
    parser.add_argument("--seconds", type=float, default=4, help="of each [4]")
    parser.add_argument("--times", type=int, default=100, help="starts of `glim queue` [100]")
    parser.add_argument(
        "--reconnect", type=int, default=2000, metavar="N", help="agents that come back; 0: none [2000]"
    )
    args = options_of(parser)
    figures = Figures("identity")
    with folder_on_disk(args.dir) as folder:
        figures.percentiles("raw_fdatasync_4096_bytes", fdatasync_ms(folder), filesystem=filesystem_of(folder))
    with one_node(args, secure=True) as identity, one_node(args, secure=False) as plaintext:
        clusters = {"identity": identity, "plaintext": plaintext}
        queue_processes(figures, clusters, args.times)
        submissions(figures, clusters, args.seconds, args.rounds)
        flood(figures, identity, args.seconds)
    if args.reconnect:
        with folder_on_disk(args.dir) as folder:
            reconnect(figures, args.bin, folder, args.reconnect)


if __name__ == "__main__":
    main()
