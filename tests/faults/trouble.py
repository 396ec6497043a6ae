"""What a life of a fault run can be struck with beside its processes: small disks, a slow folder, clocks. For root, in
a world of the life's own: the mounts and time namespaces go with that."""

import os
import subprocess

from clocks import Clocks
from storage import SlowFolder, SmallDisk


class Trouble:
    """`disks`: {name: a small file system}: one a node for its agent's state, "store" for the scheduler's database,
    "small" for checkpoints. `places`: where jobs save (workload.py). All of it is there when this returns."""

    def __init__(self, folder, nodes, rng):
        own = os.path.join(folder, "trouble")
        os.makedirs(own)
        os.makedirs(os.path.join(folder, "c"), mode=0o711, exist_ok=True)
        for path in (folder, own):
            os.chmod(path, 0o711)  # the way of users to what is theirs
        self.disks = {name: SmallDisk(os.path.join(folder, "c", name)) for name in (*nodes, "store")}
        self.disks["small"] = SmallDisk(os.path.join(own, "small"), "16m")
        self.slow = SlowFolder(os.path.join(own, "slow"), os.path.join(own, "slow-behind"))
        self.clocks = Clocks(folder, nodes, rng, monotonic=True)
        small = self.disks["small"].path
        os.chmod(small, 0o711)
        self.places = {"small": (small, small), "slow": (self.slow.path, self.slow.behind)}

    def options(self, folder, postgres):
        """Of the LocalCluster that is to have it."""
        store = {} if postgres else {"store": f"sqlite:{folder}/c/store/glim.db"}
        return {
            **store,
            "allow": [path for path, _ in self.places.values()],
            "scheduler_prefix": self.clocks.prefix("scheduler"),
            "agent_prefix": self.clocks.prefix,
        }

    def close(self, keep):
        """`keep`: for who looks for the cause of something, the files of the small disks stay. Returns what did not go
        as it should."""
        found = []
        self.slow.close()
        self.clocks.close()
        for name, disk in self.disks.items():
            try:
                disk.close(keep)
            except (OSError, subprocess.CalledProcessError) as error:
                found.append(f"the disk {name} is still in use: {error}")
        return found

    @property
    def processes(self):
        return [self.slow.server.pid, *(keeper.pid for keeper in self.clocks.keepers.values())]
