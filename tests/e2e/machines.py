"""Machines for pages that are typed on several. A machine is a network namespace with its own folders (OWN) over those
of this one; /srv is shared. systemctl is a stand-in: it starts and stops what the unit that is installed there says, as
the user whom the unit names. For root."""

import contextlib
import os
import re
import shlex
import signal
import subprocess

from cluster.folders import make_folder, remove_folder
from cluster.leftovers import kill_tasks_under
from cluster.network import remove_control_groups
from cluster.processes import SLOWER, wait_until
from cluster.spec import copy_for_everybody
from conftest import ROOT

OWN = ("/etc", "/home", "/media", "/root", "/run", "/usr/local", "/var")  # a machine's, over this one's
EMPTY = ("/media", "/root", "/run")  # of these, what begins with nothing
STAND_INS = {
    "sudo": '#!/bin/bash\n[ "$1" = -u ] && exec runuser -u "$2" -- "${@:3}"\n',
    "systemctl": r"""#!/bin/bash
set -euo pipefail
verb=$1
shift
[ "${1-}" != --now ] || shift
[ "$verb" != daemon-reload ] || exit 0
unit=$1
if [ "$unit" = postgresql ]; then exec pg_ctlcluster 15 main "$verb"; fi
file=/usr/local/lib/systemd/system/$unit.service
say() { sed -n "s/^$1=//p" "$file"; }
begin() {
  user=$(say User)
  user=${user:-root}
  umask "$(say UMask)"
  make() { for name in $(say "$1"); do install -d -o "$user" -g "$user" -m "$(say "$1Mode")" "$2/$name"; done; }
  make StateDirectory /var/lib
  make RuntimeDirectory /run
  options=$(say EnvironmentFile)
  if [ -e "${options#-}" ]; then . "${options#-}"; fi
  command=$(awk '/^ExecStart=/ { sub(/[^=]*=/, ""); on = 1 } on { more = sub(/\\$/, ""); print; on = more }' "$file")
  command=$(tr '\n' ' ' <<<"$command")
  command=${command/\/glim.slice\/glim-tasks.service\/running/GROUP\/$(hostname)}
  # Not before it has a session of its own does a terminal that closes leave it alone.
  begin="setsid bash -c 'echo \$\$ >\$0; exec \"\$@\"' /run/$unit.pid"
  eval "$begin setpriv --reuid=$user --regid=$user --init-groups $command" >>"/var/log/$unit.log" 2>&1 </dev/null &
  for _ in {1..600}; do
    if [ -s "/run/$unit.pid" ]; then return 0; fi
    sleep 0.05
  done
  exit 1
}
end() {
  [ -e "/run/$unit.pid" ] || return 0
  pid=$(<"/run/$unit.pid")
  rm "/run/$unit.pid"
  kill "$pid" 2>/dev/null || return 0
  for _ in {1..600}; do
    if ! grep -qs '^State:.*[^Z] (' "/proc/$pid/status"; then return 0; fi
    sleep 0.05
  done
  exit 1
}
case $verb in
  enable | start) begin ;;
  disable | stop) end ;;
  restart) end && begin ;;
  *) exit 1 ;;
esac
""",
}


def run(*argv, **options):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **options)


class Machine:
    """Lives as long as its first process. `lan` is the Lan that it is in."""

    def __init__(self, lan, name, address):
        self.lan, self.name, self.folder = lan, name, os.path.join(lan.folder, name)
        self.namespace, ours = lan.namespace(name), lan.cable(name)
        run("ip", "netns", "add", self.namespace)
        run("ip", "link", "add", ours, "type", "veth", "peer", "name", "eth0", "netns", self.namespace)
        run("ip", "link", "set", ours, "master", lan.bridge, "up")
        run("ip", "-n", self.namespace, "addr", "add", f"{address}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            run("ip", "-n", self.namespace, "link", "set", device, "up")
        ready = os.path.join(self.folder, "ready")
        line = " && ".join([*self._mounts(), f"touch {ready}", "exec sleep infinity"])
        self.first = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.namespace}", "unshare", "-m", "-u", "bash", "-c", line],
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(lambda: os.path.exists(ready) or self.first.poll() is not None, 20, f"{name} is up")
        assert self.first.poll() is None, self.first.stderr.read()
        for file in ("/etc/passwd", "/etc/group"):  # no accounts but the system's
            self.write(file, re.sub(r"^[^:]*:[^:]*:[1-5]\d{3,4}:.*\n", "", self.read(file), flags=re.MULTILINE))
        for program, text in STAND_INS.items():
            self.write(f"/usr/local/sbin/{program}", text.replace("GROUP", lan.group.replace("/", r"\/")), 0o755)

    def _mounts(self):
        """Commands."""
        made = ["mount --make-rprivate /", f"mount --bind {self.lan.shared} /srv", f"hostname {self.name}"]
        for place in OWN:
            upper, work = (
                os.path.join(self.folder, what, place.strip("/").replace("/", "-")) for what in ("up", "work")
            )
            os.makedirs(upper)
            os.makedirs(work)
            if place in EMPTY:
                made.append(f"mount -t tmpfs -o mode=755 none {place}")
            else:
                made.append(f"mount -t overlay -o lowerdir={place},upperdir={upper},workdir={work} none {place}")
        return made

    def type_in(self, user, lines, stdin=""):
        """What is said, stderr beside stdout, as on a terminal; fails if the lines do. `stdin`: a text, or a file."""
        script = os.path.join(self.folder, "typed")
        with open(script, "w") as file:
            file.write("set -euo pipefail\n" + lines)
        os.chmod(script, 0o755)
        # A login of the user's own: nothing of this process' environment, nor of its terminal.
        argv = ["nsenter", "-t", str(self.first.pid), "-m", "-n", "-u", "--", "env", "-i", "HOME=/root", "TERM=dumb"]
        argv += ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        argv += ["bash", script] if user == "root" else ["su", "-", user, "-c", f"bash {shlex.quote(script)}"]
        shell = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE if isinstance(stdin, str) else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd="/",
            start_new_session=True,
        )
        try:
            told, _ = shell.communicate(stdin if isinstance(stdin, str) else None, timeout=60 * SLOWER)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            told, _ = shell.communicate()
        logs = [self.read(f"/var/log/{unit}.log")[-4000:] for unit in ("glim-scheduler", "glim-agent")]
        assert shell.returncode == 0, "\n".join([f"{user}@{self.name}: {lines}", told[-4000:], *logs])
        return told

    def path(self, path):
        """A file of the machine's, as it is seen from here."""
        return f"/proc/{self.first.pid}/root{path}"

    def read(self, path):
        """ "" if there is none."""
        if not os.path.exists(self.path(path)):
            return ""
        with open(self.path(path), errors="replace") as file:
            return file.read()

    def write(self, path, text, mode=0o644):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), "w") as file:
            file.write(text)
        os.chmod(self.path(path), mode)

    def stop(self):
        self.first.kill()
        self.first.wait()


class Lan:
    """`tag` tells its names from others'."""

    def __init__(self, tag, folder):
        self.tag, self.folder, self.bridge, self.group = tag, folder, f"glim-{tag}", f"/glim-{tag}"
        self.shared = os.path.join(folder, "srv")

    def namespace(self, name):
        return f"glim-{self.tag}-{name}"

    def cable(self, name):
        """Our end of it."""
        return f"g{self.tag[:5]}-{name}"

    def clear(self, names):
        """Connections that were being closed may keep a namespace for a minute, but not its cable."""
        links = [self.bridge, *map(self.cable, names)]
        for argv in [*(["link", "del", link] for link in links), *(["netns", "del", self.namespace(n)] for n in names)]:
            subprocess.run(["ip", *argv], capture_output=True)


def end_daemons(folder):
    """Schedulers, agents and tasks have their machine's files open or in their environment."""
    kill_tasks_under(folder)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            root_mounts = open(f"/proc/{pid}/mountinfo").read()
            if folder in root_mounts and int(pid) != os.getpid():
                os.kill(int(pid), signal.SIGKILL)


@contextlib.contextmanager
def machines(tag, addresses):
    """{name: Machine}. The checkout is /srv/src/glim on each."""
    folder = make_folder(f"glim-{tag}-")
    os.chmod(folder, 0o755)
    lan, up = Lan(tag, folder), {}
    checkout = os.path.join(lan.shared, "src", "glim")
    os.makedirs(os.path.join(checkout, "deploy"))
    os.symlink(os.path.join(ROOT, "build"), os.path.join(checkout, "build"))
    copy_for_everybody(os.path.join(ROOT, "deploy", "examples"), os.path.join(checkout, "deploy", "examples"))
    lan.clear(addresses)
    run("ip", "link", "add", lan.bridge, "type", "bridge")
    run("ip", "link", "set", lan.bridge, "up")
    try:
        for name, address in addresses.items():
            up[name] = Machine(lan, name, address)
        yield up
    finally:
        end_daemons(folder)
        for machine in up.values():
            machine.stop()
        lan.clear(addresses)
        remove_control_groups(lan.group)
        remove_folder(folder)
