"""A network for the nodes of one machine: a bridge, and for each node a network namespace with an address of its own.
Needs root, and iproute2, util-linux and nftables."""

import glob
import hashlib
import os
import subprocess

from .processes import NotInTime, wait_until


def run(*argv, stdin=None, check=True):
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
    return done


class Network:
    """`tag` tells this cluster's namespaces and devices from others'. Addresses are 10.X.Y.0/24 of a range that this
    machine has no route for. The host is .1, the nodes .11 and up."""

    def __init__(self, tag, nodes, prefix=None):
        self.tag, self.nodes = tag, list(nodes)
        self.short = hashlib.sha256(tag.encode()).hexdigest()[:6]
        self.bridge = f"glim{self.short}"
        self.prefix = prefix or self._free_prefix()

    def _free_prefix(self):
        number = int(self.short, 16)
        for step in range(1000):
            x, y = divmod((number + step * 7919) % (50 * 250), 250)
            prefix = f"10.{200 + x}.{y + 1}"
            if (
                not run("ip", "-4", "route", "show", "to", "match", f"{prefix}.1", check=False)
                .stdout.replace("default", "")
                .strip()
                .startswith(prefix)
            ):
                return prefix
        raise RuntimeError("no free range of addresses")

    @property
    def host_address(self):
        return f"{self.prefix}.1"

    def address(self, node):
        return f"{self.prefix}.{11 + self.nodes.index(node)}"

    def namespace(self, node):
        return f"{self.tag}-{node}"

    def inside(self, node):
        """The beginning of a command line that runs in the node's network. (`ip netns exec` would hide the control
        groups, which containers need.)"""
        return ["nsenter", f"--net=/run/netns/{self.namespace(node)}", "--"]

    def create(self):
        try:
            run("ip", "link", "add", self.bridge, "type", "bridge")
            run("ip", "addr", "add", f"{self.host_address}/24", "dev", self.bridge)
            run("ip", "link", "set", self.bridge, "up")
            for node in self.nodes:
                self._create_node(node)
        except BaseException:
            self.remove()
            raise

    def _create_node(self, node):
        name, here = self.namespace(node), f"g{self.short}{self.nodes.index(node)}"
        run("ip", "netns", "add", name)
        run("ip", "link", "add", here, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", here, "master", self.bridge, "up")
        run("ip", "-n", name, "addr", "add", f"{self.address(node)}/24", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        run("ip", "-n", name, "link", "set", "lo", "up")

    def cut(self, node):
        """From now on nothing gets in or out of the node, as with a pulled cable: no side is told."""
        run(
            *self.inside(node),
            "nft",
            "-f",
            "-",
            stdin="""
            table inet cut {
              chain in { type filter hook input priority 0; policy drop; iif lo accept; }
              chain out { type filter hook output priority 0; policy drop; oif lo accept; }
            }""",
        )

    def mend(self, node):
        run(*self.inside(node), "nft", "delete", "table", "inet", "cut")

    def remove(self):
        """Whatever of it is there. Processes in a namespace keep it until they end."""
        for node in self.nodes:
            run("ip", "netns", "del", self.namespace(node), check=False)
        run("ip", "link", "del", self.bridge, check=False)


def remove_control_groups(parent):
    """Removes the control groups below `parent` ("/glim/NAME"), of every controller, and it with them. Their processes
    are gone, or are just being killed: the kernel takes a moment to let go."""

    def removed():
        tops = glob.glob(f"/sys/fs/cgroup{parent}") + glob.glob(f"/sys/fs/cgroup/*{parent}")
        for top in tops:
            for folder, _, _ in os.walk(top, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    pass
        return not any(map(os.path.exists, tops))

    try:
        wait_until(removed, 5, f"the control groups {parent} are removed")
    except NotInTime as error:
        print(error)
