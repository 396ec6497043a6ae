"""tests/bench/run interrupts: what an interrupt costs, step by step, beside nothing, trainings, and a writer.

Four nodes on this machine. `leaving`: a rank has sent its last word and ends; `first line`: the successor's. Processor
time is of switches there and back on four nodes, less what is used between them: `daemons` is that of the scheduler,
the agents and the supervisors; `machine` has runc, the end of the ranks and the visitor's shells in it, too, and means
something on a machine that does nothing else. The writer fills and syncs a file in the same file system, as a
checkpoint does."""

import contextlib
import os
import subprocess
import time

from programs import chosen, options_of, parser_of

from cluster.local_cluster import LocalCluster
from clusters import add_dir, folder_on_disk, running, runtimes
from figures import Figures, fdatasync_ms, filesystem_of, percentile
from interrupts import NODES, Interrupts, Trainings

LOADS = ("nothing", "training", "writer")
QUICK = {"times": 1, "idle": 1, "written": 50}
WRITER = "while :; do head -c {mib}M /dev/zero >{path} && sync -d {path}; done"


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
        """Once the cluster has stopped."""
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
    def __init__(self, folder, mib):
        self.path, self.mib = os.path.join(folder, "written"), mib

    def __enter__(self):
        command = WRITER.format(path=self.path, mib=self.mib)
        self.process = subprocess.Popen(["/bin/sh", "-c", command], start_new_session=True)

    def __exit__(self, *_):
        os.killpg(self.process.pid, 9)
        self.process.wait()
        os.unlink(self.path)


def measure(figures, cluster, examples, daemons, load, args):
    times = args.times
    interrupts = Interrupts(cluster, examples, load)
    interrupts.run(1)  # what happens once is not counted
    more = {"runtime": cluster.runtime, "beside": load}
    clocks = {name: clock for name, clock in (("daemons", daemons), ("machine", Machine())) if clock.group}
    before = {name: clock.used_ms() for name, clock in clocks.items()}
    time.sleep(args.idle)
    idle = {name: (clock.used_ms() - before[name]) / args.idle for name, clock in clocks.items()}
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


def beside(load, cluster, examples, args):
    """What runs for as long as the block lasts."""
    if load == "training":
        return Trainings(cluster, examples, cluster.folder)
    return Writer(cluster.folder, args.written) if load == "writer" else contextlib.nullcontext()


def main():
    parser = parser_of("interrupts", __doc__, QUICK)
    add_dir(parser)
    parser.add_argument("--times", type=int, default=100, help="interrupts beside each load [100]")
    parser.add_argument("--loads", default=",".join(LOADS), help=f"[{','.join(LOADS)}]")
    parser.add_argument("--runtimes", default=",".join(runtimes()), help=f"[{','.join(runtimes())}]")
    parser.add_argument("--idle", type=int, default=10, help="seconds between interrupts, for what is used then [10]")
    parser.add_argument("--written", type=int, default=1500, help="MiB that the writer writes at a time [1500]")
    args = options_of(parser)
    loads = chosen(parser, "loads", args.loads, LOADS)
    figures = Figures("interrupts")
    for runtime in chosen(parser, "runtimes", args.runtimes, runtimes()):
        with folder_on_disk(args.dir) as folder:
            syncs = fdatasync_ms(folder)
            figures.tell("raw_fdatasync_p99", round(percentile(syncs, 0.99), 3), "ms", len(syncs))
            cluster, daemons = LocalCluster(args.bin, folder, runtime=runtime), None
            try:
                with running(cluster) as examples:
                    daemons = Daemons(cluster)
                    for load in loads:
                        with beside(load, cluster, examples, args):
                            measure(figures, cluster, examples, daemons, load, args)
            finally:
                if daemons:
                    daemons.remove()


if __name__ == "__main__":
    main()
