"""The glim-replica of each node of a local cluster: what its systemd unit starts elsewhere."""

import os

from .processes import Child, tail, wait_until


class ReplicaServices:
    """Those of one cluster (local_cluster.py), each with a folder of its own. They run as whoever runs the cluster."""

    def __init__(self, cluster, memory):
        """memory: of each, as glim-replica takes it ("64MiB"); None: nodes have no service."""
        self._cluster, self._memory = cluster, memory
        self._children = {}

    def children(self):
        return list(self._children.values())

    def pid(self, name):
        return self._children[name].pid

    def _file(self, name, what):
        return os.path.join(self._cluster.folder, f"replica-{name}", what)

    def agent_options(self, name):
        """By TCP alone: UCX would take the nodes of one machine for one node, and use shared memory."""
        if not self._memory:
            return []
        return [
            *("--replica-state", self._file(name, "state"), "--replica-keys", self._file(name, "keys")),
            *("--replica-tls", "tcp"),
            *(["--replica-device", "eth0"] if self._cluster.network else []),
        ]

    def start(self, name):
        """Unless it runs. It has the key of the time before, and whatever address is free."""
        running = self._children.get(name)
        if not self._memory or (running and running.alive()):
            return
        os.makedirs(self._file(name, ""), mode=0o700, exist_ok=True)
        network, state = self._cluster.network, self._file(name, "state")
        host = network.address(name) if network else "127.0.0.1"
        argv = [
            *(network.inside(name) if network else []),
            self._cluster.program("glim-replica"),
            *("serve", "--memory", self._memory, "--listen", f"{host}:0", "--ucx-tls", "tcp"),
            *(["--ucx-net-devices", "eth0"] if network else []),
            *("--state-file", state, "--keys", self._file(name, "keys"), "--key-file", self._file(name, "key")),
        ]
        if os.path.exists(state):
            os.unlink(state)
        log = os.path.join(self._cluster.logs, f"replica-{name}.log")
        child = Child(f"glim-replica {name}", argv, log, self._cluster._env)
        self._children[name] = child
        wait_until(lambda: child.check() or os.path.exists(state), 30, lambda: "glim-replica serves:\n" + tail(log))

    def kill(self, name):
        """SIGKILL, and its copies are gone; nothing if it does not run."""
        child = self._children.get(name)
        if child and child.alive():
            child.process.kill()
            child.process.wait()
