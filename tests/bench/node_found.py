"""Faults put into a node's hardware, one after the other, each under a job of its own: found by the real glim-health,
told by the real agent, and judged by the real scheduler, with the right class and the right action? A line each, and
one of all.

What stays as it is: `runs on`. Where the row says how an attempt ends whose rank fails soon afterwards, the rank fails.
The kernel, sysfs and NVML are made up (tests/e2e/watched.py); nothing else is. What needs a minute or more to count
(a GPU that is throttled, a card with too few lanes) runs beside the others, on nodes of its own."""

import os
import time
from dataclasses import dataclass
from typing import Callable

from cluster.local_cluster import CONFIG
from cluster.processes import wait_until
from watched import Machine

from node_cluster import load, watched_cluster

NODES, GPUS = 5, 2
GPU = "0000:10:00.0"  # the first one of watched.healthy_gpu
PORT = "mlx5_0/1"
RUNS_ON = "runs on"
HANGS = {"watchdog": {"no_progress": "5s"}, "restart": {"on": ["hang"]}}
FAST_S, SLOW_S, APART_S = 45, 200, 1.6
# docs/operations/health.md, "What is done about it"; the rows of `xid` are Table V of the Fire-Flyer paper.
TABLE_V = (
    *((code, "jobs_fault", RUNS_ON) for code in (13, 31, 43, 45)),
    (74, "restarted", "gpu_failure"),
    *((code, "drained", "gpu_failure") for code in (63, 64, 94, 95)),
    *((code, "out", "gpu_failure") for code in (44, 48, 61, 62, 69, 79, 119)),
)


@dataclass
class Fault:
    name: str
    check: str
    device: str
    verdict: str
    outcome: str  # how the attempt there ends
    inject: Callable  # of a Machine
    code: int = 0
    times: int = 1  # how often it happens until it counts
    fails: bool = False  # the rank fails afterwards, and that is laid to the fault
    through: str = "glim-health, agent, scheduler"


def line(*texts):
    return lambda machine: machine.say(*texts)


def file(name, text):
    return lambda machine: machine.write(name, text)


def gpu(**says):
    return lambda machine: machine.gpu(0, **says)


def counts(name, by=1):
    return lambda machine: machine.count(name, by)


def xids():
    for number, (code, verdict, outcome) in enumerate(TABLE_V):
        bus = f"{0x30 + number:02x}"  # a GPU each: no row counts them together
        text = f"NVRM: Xid (PCI:0000:{bus}:00): {code}, pid=4711, name=python3, ..."
        yield Fault(f"xid {code}", "xid", f"0000:{bus}:00.0", verdict, outcome, line(text), code)
    text = "NVRM: Xid (PCI:0000:60:00): 74, pid=4711, name=python3, ..."
    yield Fault("xid 74, three times", "xid", "0000:60:00.0", "drained", "gpu_failure", line(text), 74, times=3)


def others():
    mce = "mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 4: be00000000800400"
    yield Fault("a machine check", "machine_check", "cpu3", "out", "node_failure", line(mce), 4)
    ue, ce = counts(Machine.UNCORRECTED), counts(Machine.CORRECTED)
    yield Fault("memory, uncorrected", "memory_ecc_uncorrected", "mc0/dimm0", "out", "node_failure", ue)
    yield Fault("memory, corrected", "memory_ecc_corrected", "mc0/dimm0", "recorded", RUNS_ON, ce)
    yield Fault("GPU memory, uncorrected", "gpu_ecc_uncorrected", GPU, "drained", "gpu_failure", gpu(ecc=[0, 1, 0, 1]))
    yield Fault("GPU memory, corrected", "gpu_ecc_corrected", GPU, "recorded", RUNS_ON, gpu(ecc=[1, 0, 1, 0]))
    yield Fault("no rows left", "gpu_row_remap_failed", GPU, "drained", "interrupted", gpu(rows=[0, 0, 0, 1]))
    yield Fault("rows pending", "gpu_retired_pages_pending", GPU, "recorded", RUNS_ON, gpu(rows=[0, 0, 1, 0]))
    yield Fault("a GPU is lost", "gpu_lost", GPU, "out", "gpu_failure", gpu(lost=True))
    down = [{"active": False, "switch": False, "pci": [0, 16, 0]}]
    yield Fault("NVLink down", "nvlink_down", GPU, "drained", "interrupted", gpu(links=down))
    flash = counts(Machine.FLASHES)
    yield Fault("a flash of a link", "link_flash", PORT, "recorded", "network", flash, fails=True)
    yield Fault("three flashes", "link_flash", PORT, "drained", "interrupted", flash, times=3)
    slow, dead = file(f"{Machine.PORT}/rate", "100 Gb/sec (4X EDR)"), file(f"{Machine.PORT}/state", "1: DOWN")
    yield Fault("a slow link", "link_slow", PORT, "drained", "interrupted", slow)
    yield Fault("a link is down", "link_down", PORT, "cordoned", "network", dead, fails=True)
    yield Fault("a noisy link", "link_errors", PORT, "recorded", RUNS_ON, counts(Machine.SYMBOLS, 1000))
    for what, disk, text in (
        ("a disk's error", "sda", "blk_update_request: I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x0"),
        ("NVMe's timeout", "nvme0", "nvme nvme0: I/O 26 QID 4 timeout, reset controller"),
        ("ext4's error", "sda1", "EXT4-fs error (device sda1): ext4_lookup:1690: inode #2: comm ls: iget: bad inode"),
    ):
        yield Fault(what, "disk_error", disk, "drained", "interrupted", line(text))
    mounts = file("proc/mounts", "/dev/sda1 / ext4 ro,relatime 0 0")
    nothing = lambda machine: None  # noqa: E731: the job says nothing, as all of them
    yield Fault("a rank hangs", "hang", "", "restarted", "hang", nothing, through="agent, scheduler: the watchdog")
    yield Fault("a read-only disk", "disk_read_only", "sda1", "drained", "interrupted", mounts)


def slow_ones():
    yield Fault("a throttled GPU", "gpu_throttled", GPU, "recorded", RUNS_ON, gpu(throttle=0x40))
    yield Fault("too few lanes", "pcie_slow", GPU, "drained", "interrupted", gpu(pcie=[4, 4, 8, 16]))


class Trial:
    """One fault, under one job."""

    def __init__(self, cluster, examples, machines, fault):
        self.cluster, self.glim, self.fault = cluster, cluster.glim, fault
        self.gate = os.path.join(examples.folder, fault.name.replace(" ", "-").replace(",", "").replace("'", ""))
        wait = f"while [ ! -e {self.gate} ]; do sleep 0.05; done; [ $GLIM_ATTEMPT != 1 ] || exit 1; exec sleep 3600"
        fields = HANGS if fault.check == "hang" else {}
        self.job = self.glim.submit(examples.make(os.path.basename(self.gate), wait, **fields))
        running = cluster.wait_state(self.job, "running", 60, every=0.02)
        self.node = running["attempts"][0]["tasks"][0]["node"]
        self.machine = machines[self.node]
        self.seconds = None

    def begin(self):
        """Each time is one for itself: ports are looked at each second, and lines within a second are one."""
        self.began = time.monotonic()
        for number in range(self.fault.times):
            time.sleep(APART_S if number else 0)
            self.fault.inject(self.machine)
        return self

    def told(self):
        """What the scheduler keeps of it. That a rank hangs no check finds: the watchdog does."""
        fault = self.fault
        if fault.check == "hang":
            return [{"verdict": "restarted"}] if self.ended_as() == "hang" else []
        node = self.glim.json("nodes", self.node)["nodes"][0]
        found = [*node.get("health_events", []), *node.get("health_conditions", [])]
        same = [one for one in found if (one["check"], one["device"]) == (fault.check, fault.device)]
        return [one for one in same if one.get("code", 0) == fault.code]

    def is_found(self):
        """With the verdict, and the action that it means for the node."""
        verdict, node = self.fault.verdict, self.glim.json("nodes", self.node)["nodes"][0]
        if not any(one["verdict"] == verdict for one in self.told()):
            return False
        cordon = node.get("cordon") or {}
        out = cordon.get("by") == "health"
        return {
            "out": out and not cordon.get("drain"),
            "drained": out and bool(cordon.get("drain")),
            "restarted": not out and int(node.get("suspect_until_ms", 0)) > 0,
        }.get(verdict, not out)

    def look(self):
        """Whether it is found by now; `seconds` are then until this look."""
        if self.seconds is None and self.is_found():
            self.seconds = round(time.monotonic() - self.began, 2)
        return self.seconds is not None

    def ended_as(self):
        attempt = self.glim.job(self.job)["attempts"][0]
        return attempt["outcome"] or RUNS_ON

    def end(self, seconds):
        """Whether it was found, in how many seconds, and what became of the attempt."""
        found, fault = self.within(self.look, seconds), self.fault
        if fault.fails:
            with open(self.gate, "w"):
                pass
        self.within(lambda: self.ended_as() == fault.outcome, seconds)
        outcome, verdicts = self.ended_as(), [one["verdict"] for one in self.told()]
        verdict = fault.verdict if fault.verdict in verdicts else next(iter(verdicts), None)
        return found and outcome == fault.outcome, verdict, outcome

    @staticmethod
    def within(condition, seconds):
        try:
            return wait_until(condition, seconds, "it is so", every=0.02)
        except AssertionError:
            return False

    def mend(self):
        """The node is as before, for the next one."""
        if self.glim.job(self.job)["state"] not in ("failed", "cancelled", "succeeded"):
            self.glim.text("cancel", self.job)
        self.machine.recover()
        sound = lambda: not self.glim.json("nodes", self.node)["nodes"][0].get("health_conditions")  # noqa: E731
        wait_until(sound, FAST_S, "no condition is left")
        wait_until(lambda: not self.glim.nodes()[self.node]["holder"], FAST_S, "nobody is there")
        if self.glim.nodes()[self.node].get("cordon"):
            self.glim.text("admin", "node", "uncordon", self.node, "-y")
        self.glim.text("admin", "node", "return", self.node, "-y")


def tell(figures, trial, seconds, results):
    found, verdict, outcome = trial.end(seconds)
    fault = trial.fault
    results.append(found)
    row = {"fault": fault.name, "found": found, "verdict": verdict, "outcome": outcome, "seconds": trial.seconds}
    if not found:
        row.update(expected={"verdict": fault.verdict, "outcome": fault.outcome})
    figures.tell("found", int(found), "faults", 1, 1, **row, through=fault.through)
    trial.mend()


def run(args, figures, folder):
    faults = [*xids(), *others()]
    if args.quick:
        faults, late = [fault for fault in faults if fault.name in ("xid 79", "a slow link")], []
    else:
        late = list(slow_ones())
    results = []
    with watched_cluster(args, folder, nodes=NODES, gpus=GPUS, config=CONFIG) as (cluster, examples, machines):
        slow = [Trial(cluster, examples, machines, fault).begin() for fault in late]
        for fault in faults:
            tell(figures, Trial(cluster, examples, machines, fault).begin(), FAST_S, results)
            for trial in slow:
                trial.look()
        for trial in slow:
            tell(figures, trial, SLOW_S, results)
    figures.tell("found_of_all", sum(results), "faults", len(results), len(results), load=load())
