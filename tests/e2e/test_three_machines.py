"""docs/tutorials/three-machines.md: its lines, typed on three machines by those whom the page names. A machine is a
network namespace with its own /etc, /home, /run, /usr/local and /var/lib over those of this one; /srv is shared. What
is not the page's: packages and the build are there already, and systemctl is a stand-in that starts what the installed
unit says. For root."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess

import pytest

from cluster.folders import make_folder, remove_folder
from cluster.leftovers import kill_tasks_under
from cluster.network import remove_control_groups
from cluster.processes import wait_until
from cluster.spec import copy_for_everybody
from conftest import ROOT

PAGE = os.path.join(ROOT, "docs", "tutorials", "three-machines.md")
MACHINES = {"head": "192.168.70.1", "n1": "192.168.70.11", "n2": "192.168.70.12"}
OWN = ("/etc", "/home", "/run", "/usr/local", "/var/lib")  # a machine's, over this one's
GROUP = "/glim-three"
WHO = re.compile(r"\bOn\s+(head|n1|n2|all\s+three\s+machines),\s+as\s+(root|ana|ben):\s*\Z")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STAND_INS = r"""
set -euo pipefail
deploy_install_deps() { :; }
cmake() { if [ "$1" = --install ]; then command cmake "$@"; fi; }
systemctl() {
  [ "$1" = enable ] || return 0
  unit=/usr/local/lib/systemd/system/$3.service
  set -a; GLIM_AGENT_OPTIONS=; if [ -e /etc/glim/agent.env ]; then . /etc/glim/agent.env; fi; set +a
  command=$(awk '/^ExecStart=/ { sub(/^ExecStart=/, ""); on = 1 } on { more = sub(/\\$/, ""); print; on = more }' $unit)
  command=$(tr '\n' ' ' <<<"$command")
  command=${command/\/glim.slice\/glim-tasks.service\/running/GROUP\/$(hostname)}
  mkdir -p /var/lib/glim /var/lib/glim-keys /var/lib/glim-agent /run/glim
  chmod 700 /var/lib/glim /var/lib/glim-keys /var/lib/glim-agent
  eval "setsid $command" >>/var/lib/$3.log 2>&1 </dev/null &
}
"""


def steps():
    """(machines, who, lines) of each block that somebody types, in the page's order."""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    found, end = [], 0
    for block in BLOCK.finditer(text):
        said = WHO.search(text[end : block.start()])
        end = block.end()
        if block[1] != "sh":
            continue
        assert said, f"nobody is said to type:\n{block[2]}"
        machines = list(MACHINES) if said[1].startswith("all") else [said[1]]
        found.append((machines, said[2], block[2]))
    return found


def run(*argv, **options):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **options)


class Machine:
    """Lives as long as its first process."""

    def __init__(self, name, address, folder, bridge, shared):
        self.name, self.folder, self.namespace = name, os.path.join(folder, name), f"glim-three-{name}"
        run("ip", "netns", "add", self.namespace)
        run("ip", "link", "add", f"g3-{name}", "type", "veth", "peer", "name", "eth0", "netns", self.namespace)
        run("ip", "link", "set", f"g3-{name}", "master", bridge, "up")
        run("ip", "-n", self.namespace, "addr", "add", f"{address}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            run("ip", "-n", self.namespace, "link", "set", device, "up")
        mounts = ["mount --make-rprivate /", f"mount --bind {shared} /srv", f"hostname {name}"]
        for place in OWN:
            upper, work = (
                os.path.join(self.folder, what, place.strip("/").replace("/", "-")) for what in ("up", "work")
            )
            os.makedirs(upper)
            os.makedirs(work)
            if place == "/run":
                mounts.append("mount -t tmpfs -o mode=755 none /run")
            else:
                mounts.append(f"mount -t overlay -o lowerdir={place},upperdir={upper},workdir={work} none {place}")
        ready = os.path.join(self.folder, "ready")
        line = " && ".join([*mounts, f"touch {ready}", "exec sleep infinity"])
        self.first = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.namespace}", "unshare", "-m", "-u", "bash", "-c", line],
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(lambda: os.path.exists(ready) or self.first.poll() is not None, 20, f"{name} is up")
        assert self.first.poll() is None, self.first.stderr.read()

    def type_in(self, user, lines, stdin=""):
        """What is said, stderr beside stdout, as on a terminal; fails if the lines do."""
        preamble = STAND_INS.replace("GROUP", GROUP.replace("/", r"\/")) if user == "root" else "set -euo pipefail\n"
        lines = lines.replace("deploy/install-deps", "deploy_install_deps")
        script = os.path.join(self.folder, "typed")
        with open(script, "w") as file:
            file.write(preamble + lines)
        os.chmod(script, 0o755)
        # A login of the user's own: nothing of this process' environment.
        argv = ["nsenter", "-t", str(self.first.pid), "-m", "-n", "-u", "--"]
        argv += [
            "env",
            "-i",
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME=/root",
            "TERM=dumb",
        ]
        argv += ["bash", script] if user == "root" else ["su", "-", user, "-c", f"bash {shlex.quote(script)}"]
        done = subprocess.run(
            argv, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, cwd="/"
        )
        logs = [self.read(f"/var/lib/{unit}.log") for unit in ("glim-scheduler", "glim-agent")]
        assert done.returncode == 0, "\n".join([f"{user}@{self.name}: {lines}", done.stdout, *logs])
        return done.stdout

    def read(self, path):
        """The end of a file of the machine's; "" if there is none."""
        there = f"/proc/{self.first.pid}/root{path}"
        if not os.path.exists(there):
            return ""
        with open(there, errors="replace") as file:
            return file.read()[-4000:]

    def stop(self):
        self.first.kill()
        self.first.wait()
        subprocess.run(["ip", "netns", "del", self.namespace], capture_output=True)


def end_daemons(folder):
    """Schedulers, agents and tasks have their machine's files open or in their environment."""
    kill_tasks_under(folder)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            root_mounts = open(f"/proc/{pid}/mountinfo").read()
            if folder in root_mounts and int(pid) != os.getpid():
                os.kill(int(pid), signal.SIGKILL)


@contextlib.contextmanager
def machines():
    folder = make_folder("glim-three-")
    os.chmod(folder, 0o755)
    shared = os.path.join(folder, "srv")
    checkout = os.path.join(shared, "src", "glim")
    os.makedirs(os.path.join(checkout, "deploy"))
    os.symlink(os.path.join(ROOT, "build"), os.path.join(checkout, "build"))
    copy_for_everybody(os.path.join(ROOT, "deploy", "examples"), os.path.join(checkout, "deploy", "examples"))
    bridge, up = "glim-three", {}
    clear = [["ip", "link", "del", bridge]] + [["ip", "netns", "del", f"glim-three-{name}"] for name in MACHINES]
    for argv in clear:
        subprocess.run(argv, capture_output=True)
    run("ip", "link", "add", bridge, "type", "bridge")
    run("ip", "link", "set", bridge, "up")
    try:
        for name, address in MACHINES.items():
            up[name] = Machine(name, address, folder, bridge, shared)
        yield up
    finally:
        end_daemons(folder)
        for machine in up.values():
            machine.stop()
        for argv in clear:
            subprocess.run(argv, capture_output=True)
        remove_control_groups(GROUP)
        remove_folder(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces are root's to make")
def test_the_lines_of_the_page_do_what_they_say():
    said, enrol = [], {}
    with machines() as up:
        for names, user, block in steps():
            for name in names:
                if "glim-agent enrol" in block:
                    command, token = enrol[name]
                    told = up[name].type_in(user, command, token + "\n")
                else:
                    pin = enrol.get("pin", "FINGERPRINT")
                    told = up[name].type_in(user, block.replace("FINGERPRINT", pin))
                said.append(f"--- {user}@{name}\n{block}\n>>>\n{told}")
                print(said[-1], flush=True)
                for command, node, token in re.findall(
                    r"^ *(glim-agent enrol .*--name (\w+).*)\n+ *(\S+)$", told, re.MULTILINE
                ):
                    enrol[node] = (command, token)
                    enrol["pin"] = re.search(r"--ca-fingerprint (\S+)", command)[1]
                if "token create" in block:
                    for who, where in (("ana", "n1"), ("ben", "n2")):  # "carry them over"
                        at, there = (f"/proc/{up[m].first.pid}/root/home/{who}/token" for m in ("head", where))
                        shutil.copy(at, there)
                        os.chmod(there, 0o644)
    told = "".join(said)
    assert "saved, 0 steps lost" in told and "job 1 succeeded" in told and "job 2 succeeded" in told
    assert "rank 0 runs on 192.168.70.11,192.168.70.12" in told, "addresses as the page has them"
    assert "[NOT_YOURS]" in told and "exit code 4" in told
