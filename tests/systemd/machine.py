"""A Debian system with systemd as its first process, in a container of this machine (systemd-nspawn), with Glim
installed by `cmake --install`. It has the loopback network alone, a control group of its own, and files that are gone
with it."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile

from cluster.processes import wait_until

SUITE = "bookworm"
BASE = ["systemd", "systemd-sysv", "dbus", "runc", "procps"]
PROGRAMS = [
    "glim",
    "glim-scheduler",
    "glim-agent",
    "glim-health",
    "glim-shim",
    "glim-task",
    "glim-unpack",
    "glim-replica",
]
GROUPS = "/sys/fs/cgroup"


def _run(*argv, **options):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **options).stdout


def _packages(bin_folder):
    """Debian's packages of the shared libraries that the programs load."""
    files = set()
    for program in PROGRAMS:
        files.update(re.findall(r"=> (/\S+)", _run("ldd", os.path.join(bin_folder, program))))
    found = set()
    for file in files:
        real = os.path.realpath(file)
        for path in (real, real.removeprefix("/usr"), file):
            asked = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
            if asked.returncode == 0:
                found.add(asked.stdout.split(":")[0])
                break
        else:
            raise FileNotFoundError(f"no package has {file}")
    return sorted(found)


def make_root(bin_folder, cache):
    """The system without Glim: made once for each list of packages, then taken from `cache`."""
    names = [*BASE, *_packages(bin_folder)]
    root = os.path.join(cache, "root-" + hashlib.sha256(" ".join(names).encode()).hexdigest()[:12])
    if not os.path.isdir(root):
        os.makedirs(cache, exist_ok=True)
        half = tempfile.mkdtemp(prefix="half-", dir=cache)
        try:
            _run("mmdebstrap", "--variant=minbase", "--include=" + ",".join(names), SUITE, half + "/root")
            os.rename(half + "/root", root)
        finally:
            shutil.rmtree(half, ignore_errors=True)
    return root


class Machine:
    """`boot()`, then `run()`; `stop()` leaves nothing behind. `hierarchy` of control groups: "hybrid" (version 1 for
    the controllers, where this machine has it, version 2 for membership) or "unified" (version 2 alone)."""

    def __init__(self, build, root, hierarchy):
        self.build, self.hierarchy = build, hierarchy
        self.folder = tempfile.mkdtemp(prefix="glim-systemd-")
        self.root = os.path.join(self.folder, "m" + os.path.basename(self.folder)[-8:])  # also the host's name
        self.name = os.path.basename(self.folder)
        for name in ("upper", "work", os.path.basename(self.root)):
            os.mkdir(os.path.join(self.folder, name))
        layers = f"lowerdir={root},upperdir={self.folder}/upper,workdir={self.folder}/work"
        _run("mount", "-t", "overlay", "overlay", "-o", layers, self.root)
        self._nspawn = self.leader = None

    def path(self, inside):
        return self.root + inside

    def install(self):
        """What the installation said."""
        command = ["cmake", "--install", self.build, "--prefix", "/usr/local", "--strip"]
        return _run(*command, env={**os.environ, "DESTDIR": self.root})

    def boot(self):
        for own in self._groups():
            os.mkdir(own)
            if own.startswith(f"{GROUPS}/cpuset/"):  # version 1: empty until it is told
                for name in ("cpuset.cpus", "cpuset.mems"):
                    with open(f"{GROUPS}/cpuset/{name}") as above, open(f"{own}/{name}", "w") as file:
                        file.write(above.read())
        options = ["--console=pipe", "--register=no", "--keep-unit", "--private-network", "--kill-signal=SIGRTMIN+3"]
        # What runc asks of the kernel and systemd-nspawn refuses by itself.
        options += ["--capability=all", "--system-call-filter=keyctl add_key request_key bpf"]
        _run("systemd-machine-id-setup", "--root", self.root)
        with open(os.path.join(self.folder, "console"), "w") as console:
            self._nspawn = subprocess.Popen(
                ["systemd-nspawn", "-q", "-D", self.root, "-b", *options],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=self._enter_groups,
                env={
                    **os.environ,
                    **({"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"} if self.hierarchy == "unified" else {}),
                },
            )
        wait_until(self._is_up, 60, self.console)
        # Those of version 1 are read-only in such a container; runc makes the tasks' groups in them.
        if self.hierarchy == "hybrid":
            self.run(f'for t in {GROUPS}/*/; do mount -o remount,rw,bind "$t" || exit 1; done')

    def _groups(self):
        """This machine's own group in each tree, as the host sees it."""
        if os.path.exists(f"{GROUPS}/cgroup.procs"):
            return [f"{GROUPS}/{self.name}"]
        trees = [os.path.join(GROUPS, name) for name in sorted(os.listdir(GROUPS))]
        return [f"{tree}/{self.name}" for tree in trees if not os.path.islink(tree)]

    def _enter_groups(self):
        for own in self._groups():
            with open(f"{own}/cgroup.procs", "w") as file:
                file.write("0")

    def _is_up(self):
        if self._nspawn.poll() is not None:
            raise AssertionError("systemd-nspawn ended: " + self.console())
        with open(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children") as file:
            self.leader = next(iter(file.read().split()), None)  # at first one that makes it
        if self.leader is None:
            return False
        return self.try_run("systemctl is-system-running").stdout.strip() in ("running", "degraded")

    def console(self):
        with open(os.path.join(self.folder, "console")) as file:
            return "it is up: " + file.read()[-4000:]

    def try_run(self, script):
        return subprocess.run(
            ["nsenter", "-t", str(self.leader), "-a", "/bin/sh", "-c", script],
            capture_output=True,
            text=True,
            timeout=120,
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"},
        )

    def run(self, script):
        """What the shell line printed; it must succeed."""
        result = self.try_run(script)
        assert result.returncode == 0, f"{script}: exit code {result.returncode}: {result.stdout}{result.stderr}"
        return result.stdout.strip()

    def processes_of(self, unit):
        """The host's pids in a unit's group and below it. `unit`: "glim.slice/x.service"."""
        trees = [own for own in self._groups() if os.path.basename(os.path.dirname(own)) in ("unified", "systemd")]
        found = set()
        for own in trees or self._groups():
            for folder, _, files in os.walk(f"{own}/payload/{unit}"):
                if "cgroup.procs" in files:
                    with open(os.path.join(folder, "cgroup.procs")) as file:
                        found.update(map(int, file.read().split()))
        return sorted(found)

    def stop(self):
        if self._nspawn and self._nspawn.poll() is None:
            try:
                os.kill(int(self.leader or self._nspawn.pid), signal.SIGRTMIN + 4)  # systemd powers off
                self._nspawn.wait(40)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                for pid in self.processes_of(""):
                    os.kill(pid, signal.SIGKILL)
                self._nspawn.kill()
                self._nspawn.wait(20)
        for own in self._groups():
            wait_until(lambda folder=own: self._remove_group(folder), 20, f"{own} is empty")
        wait_until(lambda: subprocess.run(["umount", self.root]).returncode == 0, 10, f"{self.root} is free", every=0.5)
        shutil.rmtree(f"/run/systemd/nspawn/propagate/{os.path.basename(self.root)}", ignore_errors=True)
        shutil.rmtree(self.folder)

    @staticmethod
    def _remove_group(group):
        for folder, _, _ in os.walk(group, topdown=False):
            try:
                os.rmdir(folder)
            except OSError:
                return False
        return True
