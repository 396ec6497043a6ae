"""A cluster on this machine whose nodes have made-up hardware that real agents and a real glim-health of each look
after."""

import contextlib
import os
import sys

from cluster.local_cluster import LocalCluster
from cluster.spec import Examples
from watched import Machine, kernel_logs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOT_SIMULATED = "--simulated-gpus"


class WithGpus(LocalCluster):
    """Its agents ask the driver's library for the GPUs, of which there are eight."""

    def agent_command(self, *args, **kwargs):
        return [word for word in super().agent_command(*args, **kwargs) if word != NOT_SIMULATED]


def places(count):
    return {f"n{number}": ("A", "a1") for number in range(1, count + 1)}


@contextlib.contextmanager
def watched_cluster(args, folder, nodes, gpus, simulated=True, config="metrics: none\n"):
    """Yields the cluster, the examples, and a Machine for each of `nodes` nodes, whose library tells of `gpus` GPUs.
    `simulated`: the agents do not ask it what they have to give. Tasks are plain processes."""
    machines = {name: Machine(folder, name, args.library, gpus) for name in places(nodes)}
    kernel_log = kernel_logs(folder, lambda node: machines[node].options())
    kind = LocalCluster if simulated else WithGpus
    cluster = kind(args.bin, folder, nodes=places(nodes), config=config, runtime="process", kernel_log=kernel_log)
    try:
        cluster.start()
        yield cluster, Examples(ROOT, cluster.jobs, cluster.task_user), machines
    except BaseException:
        print(cluster.tails(), file=sys.stderr)
        raise
    finally:
        for fault in cluster.stop(cancel=False):
            print(fault, file=sys.stderr)


def load():
    return round(os.getloadavg()[0], 1)
