"""How a node of a local cluster gets its certificate, and the command line of its agent."""

import os
import subprocess

from .processes import SLOWER
from .spec import parts_for_jobs, sdk_folder

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONTAINERS = ("runc", "crun")  # the runtimes with them


class AgentCommands:
    """The part of LocalCluster (local_cluster.py) that knows the agent's options."""

    def enrol(self, name, state_dir=None, options=(), anew=False):
        """Gets the node a certificate, as an operator does it, unless it has one. `options`: more words of the
        invitation; `anew`: in place of the one that it has, which its agent notices."""
        state_dir = state_dir or self.agent_state(name)
        has_one = os.path.exists(os.path.join(state_dir, "identity", "node.pem"))
        if not self.secure or (has_one and not anew):
            return
        invited = self.glim.json("admin", "node", "invite", name, "-y", *options)
        argv = [
            *(self.network.inside(name) if self.network and name in self.node_places else []),
            self.program("glim-agent"),
            "enrol",
            *("--scheduler", self.server, "--ca-fingerprint", invited["ca_fingerprint"]),
            *("--name", name, "--state-dir", state_dir),
        ]
        done = subprocess.run(
            argv, input=invited["token"], env=self._env, capture_output=True, text=True, timeout=60 * SLOWER
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stderr}")

    def agent_command(self, name, state_dir=None, cluster_id=None):
        zone, leaf, *pool = self.node_places[name]
        return [
            *(self.network.inside(name) if self.network else []),
            *self.agent_prefix(name),
            self.program("glim-agent"),
            "--scheduler",
            self.agents_server,
            *([] if self.secure else ["--insecure-without-identity"]),
            "--cluster-id",
            cluster_id or self.cluster_id,
            "--node-name",
            name,
            "--state-dir",
            state_dir or self.agent_state(name),
            "--zone",
            zone,
            "--leaf",
            leaf,
            *(["--pool", *pool] if pool else []),
            *(["--gpus", "auto"] if self.gpus is None else ["--gpus", str(self.gpus), "--simulated-gpus"]),
            "--log-level",
            self.log_level,
            *self.runtime_options(name),
            *self.sdk_options(name),
            *self.replicas.agent_options(name),
            *self.health_options(name),
            *self.agent_options,
        ]

    def health_options(self, name):
        """All nodes are one machine, with one kernel log and one hardware: nobody looks after it unless a test gives
        its nodes logs of their own."""
        return ["--health", "no"] if self.kernel_log is None else ["--health", "yes", *self.kernel_log(name)]

    def runtime_options(self, name):
        """Jobs may have the examples, what lies in the folder of jobs, and what was allowed; not the cluster's own
        folders."""
        groups = ["--cgroup-parent", f"{self.control_group}/{name}"]
        if self.runtime not in CONTAINERS:
            return ["--runtime", self.runtime, "--any-user", *groups]
        shared = [self.checkpoint_root] if self.checkpoint_root else []
        allowed = [self.jobs, *shared, *parts_for_jobs(ROOT), *self.allow]
        return [
            "--runtime",
            self.runtime,
            "--address",
            self.network.address(name),
            "--task-user",
            ":".join(map(str, self.task_user)),
            *groups,
            "--mount-allow",
            *allowed,
        ]

    def sdk_options(self, name):
        """By itself an agent takes the one beside its program, which a build without Python's parts lacks."""
        return ["--sdk", sdk_folder(ROOT)] if os.environ.get("GLIM_TEST_SDK") else []
