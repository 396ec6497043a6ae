"""A core, a disk and a link of this machine that are slow on purpose, for as long as a `with` lasts; and glim-validate
as somebody runs it there."""

import contextlib
import json
import os
import subprocess
import sys

from cluster.network import Network, run
from cluster.processes import SLOWER, wait_until

SLOW_DISK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow_disk.py")
BAD_NODE = 3  # glim-validate's exit code
HOGS = 2
BUSY = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
try:
    os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) - 5)
except PermissionError:
    pass
print("busy", flush=True)
while True:
    pass
"""


class Validate:
    """`program`: glim-validate. `lines` of a run are the JSON objects that it printed."""

    def __init__(self, program):
        self.program = program

    def __call__(self, *words, inside=(), **options):
        return self.end(self.start(*words, inside=inside, **options))

    def start(self, *words, inside=(), **options):
        argv = [*inside, self.program, "--json", *map(str, words)]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    @staticmethod
    def end(process, timeout=300):
        try:
            out, errors = process.communicate(timeout=timeout * SLOWER)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Ended(process.returncode, [json.loads(line) for line in out.splitlines()], errors)


class Ended:
    def __init__(self, code, lines, errors):
        self.code, self.lines, self.errors = code, lines, errors

    def bad(self):
        return {(line["part"], line["what"], line["device"]) for line in self.lines if not line["ok"]}

    def __repr__(self):
        return f"exit {self.code}\n" + "\n".join(line["text"] for line in self.lines) + f"\n{self.errors}"


def cpus():
    return sorted(os.sched_getaffinity(0))


@contextlib.contextmanager
def slow_core(cpu):
    """Others keep this CPU busy."""
    hogs = []
    try:
        for _ in range(HOGS):
            argv = [sys.executable, "-c", BUSY, str(cpu)]
            hogs.append(subprocess.Popen(argv, stdout=subprocess.PIPE, text=True))
        for hog in hogs:
            assert hog.stdout.readline() == "busy\n"
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
            hog.stdout.close()


@contextlib.contextmanager
def slow_disk(folder, seconds=0.01):
    """The folder whose disk takes `seconds` longer for each call of the kernel's, and the one behind it."""
    place, behind = os.path.join(folder, "slow"), os.path.join(folder, "behind")
    for name in (place, behind):
        os.makedirs(name, exist_ok=True)
    server = subprocess.Popen([sys.executable, SLOW_DISK, behind, place, str(seconds)])
    try:
        wait_until(lambda: server.poll() is not None or os.path.ismount(place), 20, "the slow disk is there")
        assert server.poll() is None
        yield place, behind
    finally:
        subprocess.run(["umount", "-l", place], check=False)
        try:
            server.wait(5 * SLOWER)
        except subprocess.TimeoutExpired:  # a namespace of mounts that was made meanwhile has it still
            server.kill()
            server.wait()


@contextlib.contextmanager
def slow_link(tag, nodes, slow, rate="40mbit"):
    """A network of these nodes, of which one sends slowly."""
    network = Network(tag, nodes)
    network.create()
    try:
        shape = ["tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "64kb", "latency", "100ms"]
        run(*network.inside(slow), *shape)
        yield network
    finally:
        network.remove()


def on_all(validate, network, *words, port=20777):
    """A rank on each node of the network, which find each other at the first; what each came to."""
    first = network.address(network.nodes[0])
    ranks = []
    try:
        for rank, node in enumerate(network.nodes):
            place = ("--rendezvous", f"{first}:{port}", "--rank", rank, "--ranks", len(network.nodes))
            ranks.append(validate.start("--part", "network", *place, *words, inside=network.inside(node)))
        return [validate.end(rank) for rank in ranks]
    finally:
        for rank in ranks:
            if rank.poll() is None:
                rank.kill()
                rank.wait()
