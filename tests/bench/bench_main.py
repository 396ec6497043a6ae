"""tests/bench/run main: the figures of the main job."""

import os
import shutil
import time

from programs import lines_of, options_of, output_of, parser_of, told_by

from bare_runc import BareRunc
from clusters import add_dir, block, busy_queue, folder_on_disk, running, runtimes, submitters
from figures import Figures, fdatasync_ms, filesystem_of
from interrupts import Interrupts, Trainings, first_line

CLIENTS = 8
QUICK = {"jobs": 3, "interrupts": 2, "seconds": 0.5, "seeds": 2, "recoveries": 1, "running": 20, "queued": 200}


class Bench:
    """`cluster` runs."""

    def __init__(self, bin_folder, cluster, examples, figures):
        self.bin, self.cluster, self.glim, self.examples = bin_folder, cluster, cluster.glim, examples
        self.figures = figures

    # ---- submission to the first line

    def percentiles(self, metric, values_ms, aims=None, **more):
        self.figures.percentiles(metric, values_ms, aims, runtime=self.cluster.runtime, **more)

    def bare_runc(self):
        """A copy of a task's container, for runc alone."""
        model = self.glim.submit(self.examples.make("model", "exec sleep 600"))
        task = self.cluster.wait_state(model, "running", 30)["attempts"][0]["tasks"][0]
        task_folder = os.path.join(self.cluster.folder, task["node"], "tasks", f"{model}.1.0")
        bare = BareRunc(os.path.join(self.cluster.folder, "bare"), task_folder, self.cluster.control_group)
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
        with Trainings(self.cluster, self.examples, self.cluster.folder):
            self.interrupts(times, "training")

    # ---- submissions

    def submissions(self, seconds):
        block(self.cluster, self.examples, 4)
        runs = (
            (1, 1, None, "durable_submissions_one_at_a_time"),
            (1, 16, 5000, "durable_submissions"),
            (100, 1, 11000, "durable_submissions_batched"),
        )
        for batch, outstanding, aim, metric in runs:
            argv = [os.path.join(self.bin, "glim-bench-submit"), "--server", self.cluster.server, "--clients", CLIENTS]
            argv += ["--batch", batch, "--outstanding", outstanding, "--seconds", seconds]
            told = told_by([*argv, *submitters(self.cluster, CLIENTS)], seconds + 90)
            self.figures.tell(
                metric,
                told["per_second"],
                "jobs/s",
                told["jobs"],
                aim,
                clients=CLIENTS,
                batch=batch,
                outstanding_each=outstanding,
                rpc_p50_ms=told["rpc_p50_ms"],
                rpc_p99_ms=told["rpc_p99_ms"],
            )


def simulation(bin_folder, figures, seeds):
    """Events a second of the whole simulated cluster, every invariant checked after every batch; on one core."""
    for metric, faults in (("simulated_events", []), ("simulated_events_with_faults", ["--faults"])):
        began = time.perf_counter()
        lines = lines_of([os.path.join(bin_folder, "glim-sim"), "--seeds", seeds, "--json", *faults])
        took = time.perf_counter() - began
        events = sum(line["events"] for line in lines)
        figures.tell(metric, round(events / took), "events/s", events, seeds=seeds, violations=0)


def recovery(bin_folder, folder, figures, args):
    """From the start of the scheduler's process, on a store with so many jobs, until it is of use again."""
    program = os.path.join(bin_folder, "glim-bench-recovery")
    filled = os.path.join(folder, "filled")
    os.makedirs(filled)
    rows = ["--running", args.running, "--queued", args.queued]
    output_of([program, "fill", "--store", f"sqlite:{filled}/glim.db", *rows])
    told = []
    for number in range(args.recoveries):
        copy = shutil.copytree(filled, os.path.join(folder, f"recovery-{number}"))
        argv = [program, "measure", "--scheduler", os.path.join(bin_folder, "glim-scheduler")]
        argv += ["--store", f"sqlite:{copy}/glim.db", "--folder", copy, "--agents", args.running]
        told.append(told_by(argv))
        shutil.rmtree(copy)
    more = {"running_jobs": args.running, "queued_jobs": args.queued, "agents": args.running}
    for metric, key in (
        ("recovery_to_first_list_jobs", "exec_to_first_list_jobs_ms"),
        ("recovery_to_first_start", "exec_to_first_start_ms"),
        ("recovery_to_all_agents_reported", "exec_to_all_agents_reported_ms"),
    ):
        figures.percentiles(metric, [t[key] for t in told], **more)


def main():
    parser = parser_of("main", __doc__, QUICK)
    add_dir(parser)
    parser.add_argument("--jobs", type=int, default=200, help="one-node jobs, one after the other [200]")
    parser.add_argument("--interrupts", type=int, default=50, help="idle, and as many beside training [50]")
    parser.add_argument("--seconds", type=float, default=5, help="of each way of submitting [5]")
    parser.add_argument("--seeds", type=int, default=100, help="of the simulation, without faults and with [100]")
    parser.add_argument("--recoveries", type=int, default=5, help="starts of a scheduler on a full store [5]")
    parser.add_argument("--running", type=int, default=1000, help="jobs that run in it, each on its agent [1000]")
    parser.add_argument("--queued", type=int, default=10_000, help="jobs that wait in it [10000]")
    args = options_of(parser)
    figures = Figures("main")
    for runtime in runtimes():
        with folder_on_disk(args.dir) as folder:
            figures.percentiles("raw_fdatasync_4096_bytes", fdatasync_ms(folder), filesystem=filesystem_of(folder))
            cluster = busy_queue(args.bin, folder, runtime=runtime)
            with running(cluster) as examples:
                bench = Bench(args.bin, cluster, examples, figures)
                bench.submission_to_first_line(args.jobs)
                bench.interrupts(args.interrupts, "nothing")
                bench.interrupts_beside_training(args.interrupts)
                if runtime == "process":
                    bench.submissions(args.seconds)
    with folder_on_disk(args.dir) as folder:
        recovery(args.bin, folder, figures, args)
    simulation(args.bin, figures, args.seeds)


if __name__ == "__main__":
    main()
