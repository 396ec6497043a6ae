"""What a life of a fault run may leave behind, and each way to see it: processes, control groups, mounts, namespaces,
names in /dev/shm, System V's objects, network devices, folders of tasks. In a world of its own (own_world.py) all that
is not known counts; without one, only what names the life's folder or its tag."""

import glob
import os
import re

from cluster.processes import all_pids, start_time

GROUPS = "/sys/fs/cgroup"
KINDS = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
A_NAMESPACE = re.compile(rf"^({'|'.join(KINDS)}):\[\d+\]$")


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _words(pid):
    line = _read(f"/proc/{pid}/cmdline").replace(bytes(1), b" ").decode(errors="replace").strip()
    return line or f"({_read(f'/proc/{pid}/comm').decode(errors='replace').strip()})"


def _parent(pid):
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


def with_children(roots):
    """These processes and all that come from them."""
    known, parents = set(roots), {pid: _parent(pid) for pid in all_pids()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in known} - known
        if not more:
            return known
        known |= more


def processes(known):
    """Who is there and is none of `known`. A zombie is nobody."""
    return {pid: _words(pid) for pid in all_pids() if pid not in known and start_time(pid) is not None}


def processes_named(folder):
    return {pid: _words(pid) for pid in all_pids() if os.fsencode(folder) in _read(f"/proc/{pid}/cmdline")}


def mounts():
    """(place, kind) of each."""
    rows = [line.split() for line in _read("/proc/self/mounts").decode(errors="replace").splitlines()]
    return {(row[1], row[2]) for row in rows}


def namespaces():
    """{namespace: who holds it}: by being in it, by a file that is open, or by a mount."""
    held = {}
    for pid in all_pids():
        for path in glob.glob(f"/proc/{pid}/ns/*") + glob.glob(f"/proc/{pid}/fd/*"):
            try:
                name = os.readlink(path)
            except OSError:
                continue
            if A_NAMESPACE.match(name):
                held.setdefault(name, f"process {pid}: {_words(pid)}")
    for line in _read("/proc/self/mountinfo").decode(errors="replace").splitlines():
        row = line.split()
        if A_NAMESPACE.match(row[3]):
            held.setdefault(row[3], f"mount {row[4]}")
    return held


def namespaces_of(pids):
    """Those that these processes are in, and those that their children will be in."""
    found = set()
    for path in (path for pid in pids for path in glob.glob(f"/proc/{pid}/ns/*")):
        try:
            found.add(os.readlink(path))
        except OSError:
            continue
    return found


def shared_memory():
    """Names in /dev/shm, and System V's objects. PostgreSQL's own are its own."""
    found = {f"/dev/shm/{name}" for name in os.listdir("/dev/shm") if not name.startswith("PostgreSQL.")}
    for kind in ("shm", "sem", "msg"):
        rows = _read(f"/proc/sysvipc/{kind}").decode().splitlines()[1:]
        found |= {f"System V {kind} {row.split()[1]}" for row in rows if _creator(row, kind) != "postgres"}
    return found


def _creator(row, kind):
    """The database keeps a small System V segment as long as it runs."""
    pid = {"shm": 4, "msg": 5}.get(kind)
    return _read(f"/proc/{row.split()[pid]}/comm").decode().strip() if pid else ""


def devices():
    """Network devices of this network."""
    lines = _read("/proc/self/net/dev").decode().splitlines()[2:]
    return {line.partition(":")[0].strip() for line in lines}


def groups_of_tasks(control_group, top=GROUPS):
    """Control groups below a node's, in every hierarchy: a task's each."""
    return {path for tree in ("", "*/") for path in glob.glob(f"{top}/{tree}{control_group.strip('/')}/*/*/")}


def groups_of(tag, top=GROUPS):
    return {path for tree in ("", "*/") for path in glob.glob(f"{top}/{tree}glim/{tag}/")}


def folders_of_tasks(folder):
    return set(glob.glob(f"{folder}/*/tasks/*/"))


class Before:
    """What was there before a life began, in its own world; `told(known)` says what is there beside it and beside the
    processes `known`. `may_stay`: names in /dev/shm that tasks may leave there."""

    def __init__(self, may_stay=()):
        self.mounts, self.shared, self.devices = mounts(), shared_memory() | set(may_stay), devices()
        self.namespaces = {name for name, holder in namespaces().items() if holder.startswith("mount ")}

    def told(self, known):
        found = [f"process {pid} is left: {words[:120]}" for pid, words in sorted(processes(known).items())]
        found += [f"the mount {place} ({kind}) is left" for place, kind in sorted(mounts() - self.mounts)]
        found += [f"{name} is left" for name in sorted(shared_memory() - self.shared)]
        found += [f"the network device {name} is left" for name in sorted(devices() - self.devices)]
        return found
