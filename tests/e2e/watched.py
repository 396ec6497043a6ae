"""Nodes whose agents look after a machine that a test makes up: a pipe in place of the kernel's log, a folder in place
of /sys and /proc and, where a test wants GPUs, the driver's library that the tests build (nodeagent/hardware/testing).
"""

import json
import os
import shutil

from cluster.kernel_logs import KernelLogs


def root_of(folder, node):
    return os.path.join(folder, f"machine-{node}")


def kernel_logs(folder, more=lambda node: ()):
    """The `kernel_log` of a LocalCluster; `more(node)`: further options of an agent."""
    logs = KernelLogs(folder)
    return lambda node: [*logs.options(node)[:2], "--health-root", root_of(folder, node), *more(node)]


def health_events(glim, node):
    lines = glim.text("-o", "json", "events", "--node", node).splitlines()
    return [event for event in map(json.loads, lines) if event["kind"] == "health_event"]


def healthy_gpu(number):
    """What the library says of it; its place on the bus is 16 + number."""
    return {
        "name": "NVIDIA A100-SXM4-80GB",
        "uuid": f"GPU-0000-{number}",
        "pci": [0, 16 + number, 0],
        "memory_mib": 81920,
        "used_mib": 500,
        "processes": [],
        "mig": False,
        "ecc": [0, 0, 0, 0],  # corrected, uncorrected, and both since the GPU was made
        "rows": [0, 0, 0, 0],  # corrected, uncorrected, pending, failed
        "retired_pending": 0,
        "links": [{"active": True, "switch": False, "pci": [0, 16 + number, 0]}],
        "throttle": 0,
        "clocks": [1410, 1410, 1593, 1593],
        "pcie": [4, 4, 16, 16],
        "replays": 0,
        "busy": [0, 0],
        "celsius": 40,
    }


class Machine:
    """A node's sound hardware, and what becomes of it: memory modules, an RDMA port, a disk, `gpus` GPUs by `library`,
    the path of a libfake-nvml.so."""

    PORT = "sys/class/infiniband/mlx5_0/ports/1"
    MODULE = "sys/devices/system/edac/mc/mc0/dimm0"
    FLASHES, SYMBOLS = f"{PORT}/counters/link_downed", f"{PORT}/counters/symbol_error"
    CORRECTED, UNCORRECTED = f"{MODULE}/dimm_ce_count", f"{MODULE}/dimm_ue_count"
    COUNTERS = (FLASHES, SYMBOLS, CORRECTED, UNCORRECTED)

    def __init__(self, folder, node, library=None, gpus=0):
        self.folder, self.node, self.root = folder, node, root_of(folder, node)
        self.nvml = os.path.join(folder, f"nvml-{node}.so") if library else None
        if library:
            shutil.copy(library, self.nvml)
        self.gpus = gpus
        for name in self.COUNTERS:
            self.write(name, "0")
        self.recover()

    def recover(self):
        """All is sound again. What the kernel counts goes on."""
        for name, text in (
            (f"{self.PORT}/state", "4: ACTIVE"),
            (f"{self.PORT}/phys_state", "5: LinkUp"),
            (f"{self.PORT}/rate", "200 Gb/sec (4X HDR)"),
            (f"{self.MODULE}/dimm_label", "DIMM_A1"),
            ("proc/mounts", "/dev/sda1 / ext4 rw,relatime 0 0"),
        ):
            self.write(name, text)
        self.says = {"driver": "535.129.03", "gpus": [healthy_gpu(number) for number in range(self.gpus)]}
        self.tell_gpus()

    def options(self):
        return ["--nvml", self.nvml] if self.nvml else []

    def write(self, name, text):
        """A file below the folder that stands for /; whoever reads it gets the old text or the new one."""
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "w") as file:
            file.write(text + "\n")
        os.rename(path + ".new", path)

    def count(self, name, by=1):
        """So much more at one of COUNTERS."""
        with open(os.path.join(self.root, name)) as file:
            value = int(file.read())
        self.write(name, str(value + by))

    def gpu(self, number, **says):
        """Of a GPU, from now on."""
        self.says["gpus"][number].update(says)
        self.tell_gpus()

    def tell_gpus(self):
        if not self.nvml:
            return
        with open(self.nvml + ".json.new", "w") as file:
            json.dump(self.says, file)
        os.rename(self.nvml + ".json.new", self.nvml + ".json")

    def say(self, *texts):
        KernelLogs(self.folder).say(self.node, *texts)
