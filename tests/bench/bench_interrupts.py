"""tests/bench/run interrupts: what an interrupt costs, step by step, beside nothing, trainings, and a writer.

Four nodes on this machine. `leaving`: a rank has sent its last word and ends; `first line`: the successor's. Processor
time is of switches there and back on four nodes, less what is used between them: `daemons` is that of the scheduler,
the agents and the supervisors; `machine` has runc, the end of the ranks and the visitor's shells in it, too, and means
something on a machine that does nothing else. The writer fills and syncs a file in the same file system, as a
checkpoint does."""

import argparse
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy"))

from cluster.folders import remove_folder  # noqa: E402
from cluster.local_cluster import LocalCluster  # noqa: E402
from cluster.spec import Examples  # noqa: E402
from figures import Figures, fdatasync_ms, filesystem_of, percentile  # noqa: E402
from interrupts import NODES, Interrupts, Trainings  # noqa: E402

BIN = os.path.join(ROOT, "build", "release", "bin")
IDLE_SECONDS = 10
WRITER = "while :; do head -c 1500M /dev/zero >{path} && sync -d {path}; done"


class Daemons:
    """The processor time of the cluster's daemons and all that they start, without the ranks: these have groups of
    their own. Not told where there is no unified hierarchy."""

    def __init__(self, cluster):
        root = next((at for at in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup") if _is_unified(at)), None)
        self.group = os.path.join(root, f"glim-bench-{cluster.tag}") if root and os.geteuid() == 0 else None
        if self.group:
            os.makedirs(self.group)
            for child in (cluster.scheduler, *cluster.agents.values()):
                with open(os.path.join(self.group, "cgroup.procs"), "w") as file:
                    file.write(str(child.pid))

    def used_ms(self):
        with open(os.path.join(self.group, "cpu.stat")) as file:
            return int(dict(line.split() for line in file)["usage_usec"]) / 1000

    def remove(self):
        if self.group:
            os.rmdir(self.group)


class Machine:
    """The processor time of all processes."""

    group = "/"

    def used_ms(self):
        with open("/proc/stat") as file:
            user, nice, system, _, _, irq, softirq, *_ = map(int, file.readline().split()[1:])
        return (user + nice + system + irq + softirq) * 1000 / os.sysconf("SC_CLK_TCK")


def _is_unified(path):
    return os.path.exists(os.path.join(path, "cgroup.procs")) and filesystem_of(path) == "cgroup2"


class Writer:
    def __init__(self, folder):
        self.path = os.path.join(folder, "written")

    def __enter__(self):
        command = WRITER.format(path=self.path)
        self.process = subprocess.Popen(["/bin/sh", "-c", command], start_new_session=True)

    def __exit__(self, *_):
        os.killpg(self.process.pid, 9)
        self.process.wait()
        os.unlink(self.path)


def measure(figures, cluster, examples, daemons, load, times):
    interrupts = Interrupts(cluster, examples, load)
    interrupts.run(1)  # what happens once is not counted
    more = {"runtime": cluster.runtime, "beside": load}
    clocks = {name: clock for name, clock in (("daemons", daemons), ("machine", Machine())) if clock.group}
    before = {name: clock.used_ms() for name, clock in clocks.items()}
    time.sleep(IDLE_SECONDS)
    idle = {name: (clock.used_ms() - before[name]) / IDLE_SECONDS for name, clock in clocks.items()}
    began, before = time.monotonic(), {name: clock.used_ms() for name, clock in clocks.items()}
    interrupts.run(times)
    seconds = time.monotonic() - began
    for name, clock in clocks.items():
        used = (clock.used_ms() - before[name] - idle[name] * seconds) / times
        if name == "machine":
            if load != "nothing":
                continue
            used -= sum(sum(interrupts.events("begins", n, "cpu")) for n in interrupts.numbers()[1:]) / times
        aim = 60 * NODES * 2
        figures.tell(f"processor_time_there_and_back_4_nodes.{name}", round(used, 1), "ms", times, aim, **more)
    figures.percentiles("last_leaving_to_first_line", interrupts.switches_ms()[1:], {"p99": 600}, **more)
    for name, values in interrupts.phases_ms().items():
        figures.percentiles(f"last_leaving_to_first_line.{name}", values[1:], **more)
    slowest = sorted(interrupts.switches_ms()[1:])[-5:]
    figures.tell("last_leaving_to_first_line_slowest", [round(ms) for ms in slowest], "ms", times, **more)
    figures.percentiles("interrupt_request_to_last_ack", interrupts.acks_ms()[1:], **more)
    interrupts.end()


def main():
    parser = argparse.ArgumentParser(prog="tests/bench/run interrupts", description=__doc__)
    parser.add_argument("--dir", default="/var/tmp", help="where the cluster's folder is made [/var/tmp]")
    parser.add_argument("--times", type=int, default=100, help="interrupts beside each load [100]")
    parser.add_argument("--loads", default="nothing,training,writer", help="[nothing,training,writer]")
    parser.add_argument("--runtimes", default="runc,process" if os.geteuid() == 0 else "process")
    args = parser.parse_args()
    figures = Figures("interrupts")
    for runtime in args.runtimes.split(","):
        folder = tempfile.mkdtemp(prefix="glim-b-", dir=args.dir)
        cluster = LocalCluster(BIN, folder, runtime=runtime)
        try:
            syncs = sorted(fdatasync_ms(folder))
            figures.tell("raw_fdatasync_p99", round(percentile(syncs, 0.99), 3), "ms", len(syncs))
            cluster.start()
            daemons = Daemons(cluster)
            examples = Examples(ROOT, cluster.jobs, cluster.task_user)
            for load in args.loads.split(","):
                if load == "training":
                    with Trainings(cluster, examples, folder):
                        measure(figures, cluster, examples, daemons, load, args.times)
                elif load == "writer":
                    with Writer(folder):
                        measure(figures, cluster, examples, daemons, load, args.times)
                else:
                    measure(figures, cluster, examples, daemons, load, args.times)
        finally:
            for fault in cluster.stop(cancel=False):
                print(fault, file=sys.stderr)
            remove_folder(folder)
        daemons.remove()


if __name__ == "__main__":
    main()
