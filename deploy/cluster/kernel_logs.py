"""All nodes of a local cluster are one machine with one kernel. Where hardware is to fail, each node's agent reads a
pipe in place of the kernel's log, and whoever runs the cluster writes there what a driver would."""

import errno
import os

from .processes import wait_until

# Of NVIDIA's driver, when a GPU does not answer on its bus any more.
FELL_OFF_THE_BUS = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus."
WARNING_OF_THE_KERNEL = 4  # its facility, 0, and the severity


class KernelLogs:
    """`folder`: one of the cluster's own, for a pipe a node; no hardware is looked at beside them."""

    def __init__(self, folder):
        self.folder = folder

    def pipe_of(self, node):
        return os.path.join(self.folder, f"kmsg-{node}")

    def options(self, node):
        """LocalCluster's `kernel_log`."""
        if not os.path.exists(self.pipe_of(node)):
            os.mkfifo(self.pipe_of(node), 0o600)
        return ["--health-kmsg", self.pipe_of(node), "--health-root", os.path.join(self.folder, "no-hardware")]

    def say(self, node, *lines, seconds=30):
        """As the kernel says it. Waits until the node's agent reads its log."""

        def write():
            try:
                pipe = os.open(self.pipe_of(node), os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                return False
            with os.fdopen(pipe, "w") as file:
                file.writelines(f"{WARNING_OF_THE_KERNEL},1,1000000,-;{line}\n" for line in lines)
            return True

        wait_until(write, seconds, f"the kernel's log of {node} is read")
