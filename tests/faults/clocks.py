"""The clocks of a fault run's daemons. The wall clock of each can jump while it runs (clock_shift.c, preloaded); the
monotonic clock of each node is another one than the scheduler's (a time namespace), as it is with machines that were
not started at the same moment."""

import mmap
import os
import struct
import subprocess

from cluster.processes import Child, wait_until

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clock_shift.c")
AHEAD_S = (1000, 3_000_000)  # a node's monotonic clock, compared with the machine's


class Clocks:
    """`nodes`: names; the scheduler's name is "scheduler". `monotonic`: a time namespace a node, which needs root."""

    def __init__(self, folder, nodes, rng, monotonic):
        self.folder, self.rng = os.path.join(folder, "clocks"), rng
        os.makedirs(self.folder)
        self.library = os.path.join(self.folder, "clock_shift.so")
        cc = ["cc", "-shared", "-fPIC", "-O2", "-o", self.library, SOURCE, "-ldl", "-pthread"]
        subprocess.run(cc, check=True)
        self.pages, self.keepers = {}, {}
        for name in ("scheduler", *nodes):
            with open(self._file(name), "w+b") as file:
                file.write(struct.pack("=q", 0))
                file.flush()
                self.pages[name] = mmap.mmap(file.fileno(), 8)
        for name in nodes if monotonic else ():
            self.begin_monotonic(name)

    def _file(self, name):
        return os.path.join(self.folder, name)

    def prefix(self, name):
        """The beginning of a command line whose program goes by this name's clocks."""
        keeper = self.keepers.get(name)
        inside = ["nsenter", f"--time=/proc/{keeper.pid}/ns/time_for_children", "--"] if keeper else []
        return [*inside, "env", f"LD_PRELOAD={self.library}", f"CLOCK_SHIFT_FILE={self._file(name)}"]

    def set(self, name, shift_s):
        """The wall clock jumps, for all that runs with the name's prefix and what it starts."""
        self.pages[name][:] = struct.pack("=q", round(shift_s * 1000))

    def shift(self, name):
        return struct.unpack("=q", self.pages[name][:])[0] / 1000

    def begin_monotonic(self, name):
        """Another monotonic clock for what is started on the node from now on, as after a start of the machine."""
        before = self.keepers.pop(name, None)
        argv = ["unshare", "--time", "--monotonic", str(self.rng.randrange(*AHEAD_S)), "sleep", "infinity"]
        keeper = Child(f"the monotonic clock of {name}", argv, os.path.join(self.folder, "keepers.log"))
        wait_until(lambda: keeper.check() or _comm(keeper.pid) == "sleep", 20, keeper.name)
        self.keepers[name] = keeper
        if before:
            before.stop()

    def close(self):
        for keeper in self.keepers.values():
            keeper.stop()
        self.keepers.clear()


def _comm(pid):
    with open(f"/proc/{pid}/comm") as file:
        return file.read().strip()
