"""The faults that come from around the daemons: disks that are full, storage that hangs, clocks that jump. They need a
world of the life's own (trouble.py)."""

import time

REFILL_S = 0.1
HANGS_S = 14.0  # longer than an agent waits for a path
JUMPS_S = (1, 60, 600, 3600, 6 * 3600)  # an agent believes an epoch up to a day ahead of its own clock


class StrikesOfWorld:
    """A part of Strikes."""

    def names_of_world(self):
        if not self.trouble:
            return []
        names = ["full_agent", "full_checkpoints", "hang_storage", "jump_scheduler", "jump_node", "jump_all"]
        return names + ([] if self.postgres else ["full_store"])

    def boots(self, node):
        """A machine that is started again counts its time anew."""
        if self.trouble:
            self.trouble.clocks.begin_monotonic(node)

    # ---- disks

    def _full_for(self, disk, most):
        """What others remove meanwhile is filled as well."""
        until = time.monotonic() + self.rng.uniform(0, most)
        try:
            while True:
                disk.fill()
                if time.monotonic() >= until:
                    break
                time.sleep(REFILL_S)
        finally:
            disk.make_room()

    def full_agent(self):
        node = self._node()
        self._full_for(self.trouble.disks[node], 8)
        return f"the disk of {node}'s state folder"

    def full_store(self):
        self._full_for(self.trouble.disks["store"], 8)
        return "the disk of the scheduler's database"

    def full_checkpoints(self):
        self._full_for(self.trouble.disks["small"], 8)
        return "the disk of some jobs' checkpoints"

    def hang_storage(self):
        self.trouble.slow.hang()
        try:
            self._last(HANGS_S)
        finally:
            self.trouble.slow.answer()
        return "the folder where some jobs save and work"

    # ---- clocks

    def _jump(self, names):
        """The clocks stay where they jumped, until they jump again; some daemon starts with the new time by another
        fault."""
        shift = self.rng.choice((-1, 1)) * self.rng.choice(JUMPS_S) * self.rng.random()
        for name in names:
            self.trouble.clocks.set(name, shift)
        return f"the wall clock of {', '.join(names)}: {shift:+.0f} s of the machine's"

    def jump_scheduler(self):
        """Started anew half of the times: its clock goes on from what the wall clock says then."""
        words = self._jump(["scheduler"])
        if self.rng.random() < 0.5:
            self.kill_scheduler()
            words += ", which is killed"
        self._last(2)
        return words

    def jump_node(self):
        node = self._node()
        words = self._jump([node])
        self._last(2)
        return words

    def jump_all(self):
        words = self._jump(["scheduler", *sorted(self.cluster.agents)])
        self.kill_scheduler()
        return words
