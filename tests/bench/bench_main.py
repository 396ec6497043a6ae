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
from cluster.processes import Child, wait_until  # noqa: E402
from cluster.spec import Examples  # noqa: E402
from cluster.story import PYTHON  # noqa: E402
from figures import Figures, fdatasync_ms, filesystem_of  # noqa: E402

BIN = os.path.join(ROOT, "build", "release", "bin")
BOUNDS = "  unfinished_jobs_max: 1000000\n  unfinished_jobs_per_user_max: 1000000\n"


def first_line(path):
    """The first line of a task's log, once it is whole; None before."""
    try:
        with open(path) as file:
            text = file.read()
    except FileNotFoundError:
        return None
    return text.split("\n")[0] if "\n" in text else None


class Bench:
    def __init__(self, folder, figures, runtime):
        self.folder, self.figures = folder, figures
        self.cluster = LocalCluster(BIN, folder, config=CONFIG + BOUNDS, log_level="error", runtime=runtime)
        self.examples = None

    def __enter__(self):
        self.cluster.start()
        self.examples = Examples(ROOT, self.cluster.jobs)
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
        out = os.path.join(self.examples.folder, f"victim-{load}")
        os.makedirs(out)
        victim = self.glim.submit(
            self.examples.make(
                f"victim-{load}",
                f"exec {PYTHON} {ROOT}/tests/bench/victim.py --out {out}",
                nodes=4,
                launcher="per-gpu",
                checkpoint={"dir": os.path.join(self.examples.folder, "ckpt", "$GLIM_JOB_ID")},
            )
        )
        visitor = self.examples.make("visitor", "echo $EPOCHREALTIME", nodes=4, priority="high")
        visitors = []
        for number in range(1, times + 1):
            wait_until(
                lambda: self.cluster.check() or len(self.events(out, "begins", number)) == 4,
                60,
                lambda: f"attempt {number}: {self.cluster.describe(self.glim.job(victim))}",
                every=0.02,
            )
            self.cluster.wait_state(victim, "running", 60, every=0.02)
            visitors.append(self.glim.submit(visitor))
            self.cluster.wait_state(visitors[-1], "succeeded", 60, every=0.02)
        self.tell_interrupts(victim, out, visitors, load)
        self.glim.text("cancel", victim)
        self.cluster.wait_idle(30)

    def events(self, out, event, attempt):
        times = []
        for rank in range(4):
            try:
                with open(os.path.join(out, f"rank-{rank}.jsonl")) as file:
                    notes = [json.loads(line) for line in file.read().split("\n")[:-1]]
            except FileNotFoundError:
                continue
            times += [n["time"] * 1000 for n in notes if (n["event"], n["attempt"]) == (event, attempt)]
        return times

    def tell_interrupts(self, victim, out, visitors, load):
        notices, starts, acks = [], [], []
        attempts = {a["ref"]["number"]: a for a in self.glim.job(victim)["attempts"]}
        for number, visitor in enumerate(visitors, 1):
            agreement = attempts[number]["agreements"][-1]
            notices += [at - agreement["requested_at_ms"] for at in self.events(out, "notice", number)]
            acks.append(agreement["times"]["notify_ms"])
            lines = [float(first_line(self.cluster.rank_log(visitor, 1, rank))) * 1000 for rank in range(4)]
            starts.append(min(lines) - max(self.events(out, "leaving", number)))
        self.percentiles("interrupt_request_to_notice", notices, {"p99": 50}, beside=load)
        self.percentiles("interrupt_request_to_last_ack", acks, beside=load)
        self.percentiles("last_leaving_to_first_line", starts, {"p99": 200}, beside=load)

    def interrupts_beside_training(self, times):
        """Two trainings keep both cores busy."""
        train = os.path.join(ROOT, "deploy", "examples", "digits", "train.py")
        env = {
            **os.environ,
            "PYTHONPATH": self.examples.python_path,
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        loads = []
        try:
            for number in range(os.cpu_count() or 2):
                out = os.path.join(self.folder, f"load-{number}")
                loads.append(
                    Child(
                        f"training {number}",
                        [PYTHON, train, "--epochs", "100000", "--out", out],
                        os.path.join(self.cluster.logs, f"load-{number}.log"),
                        {**env, "MASTER_PORT": str(30100 + number)},
                    )
                )
            for number, child in enumerate(loads):
                path = os.path.join(self.folder, f"load-{number}", "rank-0.txt")
                wait_until(lambda: child.check() or (os.path.exists(path) and os.path.getsize(path)), 60, "it trains")
            self.interrupts(times, "training")
        finally:
            for child in loads:
                child.stop()

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
