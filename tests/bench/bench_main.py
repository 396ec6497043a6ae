"""tests/bench/run main: the figures of the main job."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy"))

from bare_runc import BareRunc  # noqa: E402
from cluster.folders import remove_folder  # noqa: E402
from cluster.local_cluster import CONFIG, LocalCluster  # noqa: E402
from cluster.spec import Examples  # noqa: E402
from figures import Figures, fdatasync_ms, filesystem_of  # noqa: E402
from interrupts import Interrupts, Trainings, first_line  # noqa: E402

BIN = os.path.join(ROOT, "build", "release", "bin")
BOUNDS = "  unfinished_jobs_max: 1000000\n  unfinished_jobs_per_user_max: 1000000\n"


def bench_identity(cluster, users=8):
    """What glim-bench-submit is to know: the authority, and a token for each client."""
    tokens = cluster.glim.tokens
    files = [tokens.file_of(f"bench-{number}", cluster.glim) for number in range(users)]
    return ["--ca", tokens.authority, "--token-file", *files]


class Bench:
    def __init__(self, folder, figures, runtime):
        self.folder, self.figures = folder, figures
        self.cluster = LocalCluster(BIN, folder, config=CONFIG + BOUNDS, log_level="error", runtime=runtime)
        self.examples = None

    def __enter__(self):
        self.cluster.start()
        self.examples = Examples(ROOT, self.cluster.jobs, self.cluster.task_user)
        return self

    def __exit__(self, *_):
        for fault in self.cluster.stop(cancel=False):
            print(fault, file=sys.stderr)

    @property
    def glim(self):
        return self.cluster.glim

    # ---- submission to the first line

    def percentiles(self, metric, values_ms, aims=None, **more):
        self.figures.percentiles(metric, values_ms, aims, runtime=self.cluster.runtime, **more)

    def bare_runc(self):
        """A copy of a task's container, for runc alone."""
        model = self.glim.submit(self.examples.make("model", "exec sleep 600"))
        task = self.cluster.wait_state(model, "running", 30)["attempts"][0]["tasks"][0]
        task_folder = os.path.join(self.folder, task["node"], "tasks", f"{model}.1.0")
        bare = BareRunc(os.path.join(self.folder, "bare"), task_folder, self.cluster.control_group)
        self.glim.text("cancel", model)
        self.cluster.wait_idle(10)
        return bare

    def submission_to_first_line(self, times):
        """One job after the other. The job itself prints when it got to run. Beside containers, runc alone, in turn."""
        spec = self.examples.make("first-line", "echo $EPOCHREALTIME")
        began, ids, alone = {}, [], []
        bare = self.bare_runc() if self.cluster.runtime == "runc" else None
        for _ in range(times):
            before = time.time()
            job_id = self.glim.submit(spec)
            began[job_id] = (before, time.time())
            ids.append(job_id)
            self.cluster.wait_state(job_id, "succeeded", 30, every=0.01)
            self.cluster.wait_idle(10)
            if bare:
                alone.append(bare.start_to_first_line_ms())
        self.percentiles("bare_runc_start_to_first_line", alone)
        phases = {
            name: []
            for name in (
                "total",
                "command_to_accepted",
                "accepted_to_claimed",
                "claimed_to_started",
                "started_to_first_line",
            )
        }
        for job_id in ids:
            job = self.glim.job(job_id)
            attempt = job["attempts"][0]
            line = float(first_line(self.cluster.rank_log(job_id, 1, 0))) * 1000
            phases["total"].append(line - began[job_id][0] * 1000)
            phases["command_to_accepted"].append(job["submitted_at_ms"] - began[job_id][0] * 1000)
            phases["accepted_to_claimed"].append(attempt["claimed_at_ms"] - job["submitted_at_ms"])
            phases["claimed_to_started"].append(attempt["started_at_ms"] - attempt["claimed_at_ms"])
            phases["started_to_first_line"].append(line - attempt["started_at_ms"])
        self.percentiles("submission_to_first_line", phases.pop("total"), {"p99": 100})
        for name, values in phases.items():
            self.percentiles(f"submission_to_first_line.{name}", values)
        self.percentiles("glim_submit_command", [(b - a) * 1000 for a, b in began.values()])

    # ---- interrupt latency

    def interrupts(self, times, load):
        """One job on all nodes is interrupted again and again; `load` names what runs beside it."""
        interrupts = Interrupts(self.cluster, self.examples, load)
        interrupts.run(times)
        self.percentiles("interrupt_request_to_notice", interrupts.notices_ms(), {"p99": 50}, beside=load)
        self.percentiles("interrupt_request_to_last_ack", interrupts.acks_ms(), beside=load)
        self.percentiles("last_leaving_to_first_line", interrupts.switches_ms(), {"p99": 200}, beside=load)
        interrupts.end()

    def interrupts_beside_training(self, times):
        with Trainings(self.cluster, self.examples, self.folder):
            self.interrupts(times, "training")

    # ---- submissions

    def submissions(self, seconds):
        blocker = self.glim.submit(self.examples.make("blocker", "exec sleep 3600", nodes=4))
        self.cluster.wait_state(blocker, "running", 30)
        runs = (
            (1, 1, None, "durable_submissions_one_at_a_time"),
            (1, 16, 5000, "durable_submissions"),
            (100, 1, 11000, "durable_submissions_batched"),
        )
        for batch, outstanding, aim, metric in runs:
            argv = [
                os.path.join(BIN, "glim-bench-submit"),
                "--server",
                self.cluster.server,
                "--clients",
                "8",
                "--batch",
                str(batch),
                "--outstanding",
                str(outstanding),
                "--seconds",
                str(seconds),
                *bench_identity(self.cluster),
            ]
            result = subprocess.run(argv, capture_output=True, text=True, timeout=seconds + 90)
            if result.returncode != 0:
                raise RuntimeError(f"glim-bench-submit: {result.stderr}")
            told = json.loads(result.stdout)
            self.figures.tell(
                metric,
                told["per_second"],
                "jobs/s",
                told["jobs"],
                aim,
                clients=8,
                batch=batch,
                outstanding_each=outstanding,
                rpc_p50_ms=told["rpc_p50_ms"],
                rpc_p99_ms=told["rpc_p99_ms"],
            )


def simulation(figures, seeds):
    """Events a second of the whole simulated cluster, every invariant checked after every batch; on one core."""
    for metric, faults in (("simulated_events", []), ("simulated_events_with_faults", ["--faults"])):
        began = time.perf_counter()
        result = subprocess.run(
            [os.path.join(BIN, "glim-sim"), "--seeds", str(seeds), "--json", *faults], capture_output=True, text=True
        )
        took = time.perf_counter() - began
        if result.returncode != 0:
            raise RuntimeError(f"glim-sim: {result.stderr}")
        events = sum(json.loads(line)["events"] for line in result.stdout.splitlines())
        figures.tell(metric, round(events / took), "events/s", events, seeds=seeds, violations=0)


def recovery(folder, figures, times, running=1000, queued=10000):
    """From the start of the scheduler's process, on a store with so many jobs, until it is of use again."""
    program = os.path.join(BIN, "glim-bench-recovery")
    filled = os.path.join(folder, "filled")
    os.makedirs(filled)
    ask([program, "fill", "--store", f"sqlite:{filled}/glim.db", "--running", str(running), "--queued", str(queued)])
    told = []
    for number in range(times):
        copy = shutil.copytree(filled, os.path.join(folder, f"recovery-{number}"))
        told.append(
            json.loads(
                ask(
                    [
                        program,
                        "measure",
                        "--scheduler",
                        os.path.join(BIN, "glim-scheduler"),
                        "--store",
                        f"sqlite:{copy}/glim.db",
                        "--folder",
                        copy,
                        "--agents",
                        str(running),
                    ]
                )
            )
        )
        shutil.rmtree(copy)
    for metric, key in (
        ("recovery_to_first_list_jobs", "exec_to_first_list_jobs_ms"),
        ("recovery_to_first_start", "exec_to_first_start_ms"),
        ("recovery_to_all_agents_reported", "exec_to_all_agents_reported_ms"),
    ):
        figures.percentiles(metric, [t[key] for t in told], running_jobs=running, queued_jobs=queued, agents=running)


def ask(argv):
    result = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        raise RuntimeError(f"{os.path.basename(argv[0])}: {result.stderr}")
    return result.stdout


def main():
    parser = argparse.ArgumentParser(prog="tests/bench/run main", description=__doc__)
    parser.add_argument("--dir", default="/var/tmp", help="where the cluster's folder is made: not a tmpfs [/var/tmp]")
    parser.add_argument("--jobs", type=int, default=200, help="one-node jobs, one after the other [200]")
    parser.add_argument("--interrupts", type=int, default=50, help="idle, and as many beside training [50]")
    parser.add_argument("--seconds", type=float, default=5, help="of each way of submitting [5]")
    parser.add_argument("--seeds", type=int, default=100, help="of the simulation, without faults and with [100]")
    parser.add_argument("--recoveries", type=int, default=5, help="starts of a scheduler on a full store [5]")
    args = parser.parse_args()
    kind = filesystem_of(args.dir)
    if kind in ("tmpfs", "ramfs"):
        sys.exit(f"{args.dir} is a {kind}: nothing is durable there; give another folder with --dir")
    figures = Figures("main")
    folder = tempfile.mkdtemp(prefix="glim-b-", dir=args.dir)
    try:
        figures.percentiles("raw_fdatasync_4096_bytes", fdatasync_ms(folder), filesystem=kind)
        for runtime in ("runc", "process") if os.geteuid() == 0 else ("process",):
            own = os.path.join(folder, runtime)
            os.makedirs(own)
            with Bench(own, figures, runtime) as bench:
                bench.submission_to_first_line(args.jobs)
                bench.interrupts(args.interrupts, "nothing")
                bench.interrupts_beside_training(args.interrupts)
                if runtime == "process":
                    bench.submissions(args.seconds)
        recovery(folder, figures, args.recoveries)
        simulation(figures, args.seeds)
    finally:
        remove_folder(folder)


if __name__ == "__main__":
    main()
