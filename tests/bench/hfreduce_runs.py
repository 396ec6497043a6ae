"""How the hfreduce bench runs its programs: hfreduce's own, and MPI_Allreduce by OpenMPI, compiled at the start."""

import os
import shutil
import signal
import subprocess
import time

from programs import lines_of

CONGESTION = "reno"
PATIENCE_S = 240
KIB, MIB = 1 << 10, 1 << 20
LARGE_MIB = 186  # of the paper's figure 7
# Timed and not, by the least size that they are for.
ITERATIONS = ((64 * MIB, 10, 2), (8 * MIB, 60, 5), (512 * KIB, 400, 20), (0, 4000, 200))


class Runs:
    """`folder` is for temporary files. Iterations are divided by `shorter`. `large`: bytes of the largest buffers.
    `stands_s`: for how long one rank stands still while the others wait for it."""

    def __init__(self, bin_folder, folder, rounds, shorter, large, stands_s):
        self.bin, self.folder, self.rounds, self.shorter = bin_folder, folder, rounds, shorter
        self.large, self.stands_s = large, stands_s
        self.mpi_program = os.path.join(folder, "mpi_allreduce")
        for tool in ("mpicc", "mpirun"):
            if not shutil.which(tool):
                raise SystemExit(f"{tool} is not there; install OpenMPI: deploy/install-deps bench")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpi_allreduce.c")
        subprocess.run(["mpicc", "-O2", "-Wall", "-o", self.mpi_program, source], check=True)

    def iterations(self, size):
        """Timed, not timed."""
        for least, timed, warmup in ITERATIONS:
            if size >= least:
                return max(3, timed // self.shorter), max(1, warmup // self.shorter)

    def hfreduce_argv(self, size, iterations, warmup, options):
        argv = [os.path.join(self.bin, "hfreduce-bench"), "--bytes", size, "--iters", iterations, "--warmup", warmup]
        argv += ["--congestion", CONGESTION]
        for name, value in options.items():
            argv += [f"--{name.replace('_', '-')}"] + ([] if value is True else [value])
        return [str(word) for word in argv]

    def hfreduce(self, size, **options):
        return lines_of(self.hfreduce_argv(size, *self.iterations(size), options), PATIENCE_S)[0]

    def mpi_argv(self, ranks, size, iterations, warmup, buffers=1, btl="tcp,self"):
        # ob1: the messaging layer that uses these transports whatever else is installed.
        argv = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", ranks, "--mca", "pml", "ob1"]
        argv += ["--mca", "btl", btl, "--mca", "btl_tcp_if_include", "lo", "--mca", "oob_tcp_if_include", "lo"]
        argv += [self.mpi_program, size, iterations, warmup, buffers]
        return [str(word) for word in argv]

    def mpi(self, ranks, size, **options):
        argv = self.mpi_argv(ranks, size, *self.iterations(size), **options)
        return lines_of(argv, PATIENCE_S, self.mpi_environment())[0]

    def mpi_environment(self):
        return {**os.environ, "TMPDIR": self.folder}

    def program(self, name, *options):
        """The lines of one of hfreduce's other benches."""
        return lines_of([os.path.join(self.bin, name), *options], PATIENCE_S)


def waiting_cpu_share(argv, environment, ranks, seconds):
    """Of a core: what the busiest process uses while the last one stands still and all wait for it."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    pids = []
    try:
        end = time.monotonic() + 60
        while len(pids) < ranks or min(map(cpu_seconds, pids)) < 0.05:  # all are at work
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"{' '.join(argv)}: did not get to work")
            time.sleep(0.05)
            pids = leaves_below(process.pid)
        os.kill(pids[-1], signal.SIGSTOP)
        time.sleep(0.2)  # what was under way ends
        before, began = [cpu_seconds(pid) for pid in pids[:-1]], time.monotonic()
        time.sleep(seconds)
        took = time.monotonic() - began
        return max((cpu_seconds(pid) - b) / took for pid, b in zip(pids[:-1], before))
    finally:
        for pid in pids or [process.pid]:
            for number in (signal.SIGTERM, signal.SIGCONT):
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
        process.wait(timeout=60)


def leaves_below(pid):
    """Processes that have no children, in the order of their numbers: the ranks."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        children.setdefault(parent, []).append(int(name))
    found, ahead = [], [pid]
    while ahead:
        at = ahead.pop()
        ahead += children.get(at, [])
        if at != pid and at not in children:
            found.append(at)
    return sorted(found)


def cpu_seconds(pid):
    """Of all threads, from the scheduler's own books: finer than clock ticks."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total * 1e-9
