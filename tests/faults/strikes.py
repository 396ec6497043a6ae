"""The faults of a fault run. Each strikes, lasts for a random while, and is over when the function returns: what was
killed is started again, what was stopped goes on. What it hit is told."""

import json
import os
import signal
import time

from cluster import header_flood
from cluster.processes import all_pids, environment_of, kill_process, start_time, wait_until
from cluster.greedy_user import MIB, GreedyUser
from strikes_of_world import StrikesOfWorld

GREEDY, GREEDY_UID = "max", 1_900_000_105  # no user of the workload's
GREEDY_MEMORY_MAX, GREEDY_STORE_MAX = 64 * MIB, 64 * MIB  # the bounds are smaller here (life.py)


class Strikes(StrikesOfWorld):
    """`hurt`: jobs of which a rank was killed, which their users may be told as a failure of the program. `trouble`:
    the storage and the clocks that can be struck (trouble.py); None: there is none."""

    def __init__(self, cluster, rng, postgres=None, trouble=None):
        self.cluster, self.rng, self.postgres, self.trouble = cluster, rng, postgres, trouble
        self.hurt = set()
        self.deck = []

    def draw(self):
        """The next fault: all of them come by turns, each time in another order."""
        if not self.deck:
            self.deck = self.names()
            self.rng.shuffle(self.deck)
        return self.deck.pop()

    def names(self):
        """What can be done to this cluster."""
        names = [
            "kill_scheduler",
            "stop_scheduler",
            "kill_agent",
            "stop_agent",
            "kill_shim",
            "stop_shim",
            "kill_rank",
            "stop_rank",
            "node_death",
            "kill_replica",
            "flood_headers",
            "greedy_user",
        ]
        if self.cluster.network:
            names += ["partition", "kill_init"]
        names += ["restart_database", "database_away"] if self.postgres else []
        return names + self.names_of_world()

    def strike(self, name):
        """Returns what was hit, in words."""
        return getattr(self, name)()

    def _last(self, most):
        """The time that a fault lasts is a part of the fault."""
        time.sleep(self.rng.uniform(0, most))

    def _node(self):
        return self.rng.choice(sorted(self.cluster.agents))

    # ---- daemons

    def kill_scheduler(self):
        self.cluster.kill("scheduler")
        self._last(2)
        self.cluster.start_again("scheduler")
        return "the scheduler"

    def stop_scheduler(self):
        self._stop_for(self.cluster.scheduler.pid, 6)
        return "the scheduler"

    def kill_agent(self):
        node = self._node()
        self.cluster.kill(node)
        self._last(3)
        self.cluster.start_again(node)
        return f"the agent of {node}"

    def stop_agent(self):
        node = self._node()
        self._stop_for(self.cluster.agents[node].pid, 9)
        return f"the agent of {node}"

    def kill_replica(self):
        node = self._node()
        self.cluster.replicas.kill(node)
        self.cluster.replicas.start(node)
        return f"the replica service of {node}"

    def node_death(self):
        """The machine loses its power: its agent, its tasks and the copies in its memory are gone at once."""
        node = self._node()
        self.cluster.kill(node)
        killed = self.cluster.kill_tasks_of(node)
        self.boots(node)
        self._last(12)
        self.cluster.start_again(node)
        return f"{node} with {len(killed)} processes"

    def partition(self):
        node = self._node()
        self.cluster.network.cut(node)
        self._last(12)
        self.cluster.network.mend(node)
        return f"the network of {node}"

    def restart_database(self):
        self.postgres.stop("immediate")
        self.postgres.start()
        return "PostgreSQL"

    def database_away(self):
        self.postgres.stop("immediate")
        self._last(8)
        self.postgres.start()
        return "PostgreSQL, for a while"

    # ---- peers

    def flood_headers(self):
        """Whoever reaches a port; that it is hung up on at once is a part of the fault."""
        return "; ".join(header_flood.try_flood(self.cluster, who) for who in header_flood.PEERS)

    # ---- users

    def greedy_user(self):
        """Takes what he can get, and costs the scheduler no more than a user may; all others' jobs go on meanwhile."""
        greedy = GreedyUser(self.cluster, GREEDY)
        greedy.spend(self.rng.uniform(2, 8))
        wait_until(lambda: greedy.cost()[0] < GREEDY_MEMORY_MAX, 30, f"{GREEDY} costs the scheduler little memory")
        _, store = greedy.cost()
        greedy.cancel_all()
        assert store < GREEDY_STORE_MAX, f"{GREEDY} took {store >> 20} MiB of its store"
        return f"the scheduler: {sum(greedy.told.values())} calls refused"

    # ---- tasks

    def kill_shim(self):
        return self._to_a_shim(lambda pid, started: kill_process(pid, started))

    def stop_shim(self):
        return self._to_a_shim(lambda pid, started: self._stop_for(pid, 4))

    def kill_rank(self):
        return self._to_a_rank("python3", lambda pid, started: kill_process(pid, started), hurts=True)

    def stop_rank(self):
        return self._to_a_rank("python3", lambda pid, started: self._stop_for(pid, 4), hurts=False)

    def kill_init(self):
        """The first process of a container."""
        return self._to_a_rank("glim-init", lambda pid, started: kill_process(pid, started), hurts=True)

    def _to_a_shim(self, act):
        shims = []
        for node in self.cluster.agents:
            tasks = os.path.join(self.cluster.folder, node, "tasks")
            for task in os.listdir(tasks) if os.path.isdir(tasks) else []:
                shim = _read_json(os.path.join(tasks, task, "shim.json"))
                if shim and start_time(shim["pid"]) == shim["start_ticks"]:
                    shims.append((node, task, shim["pid"], shim["start_ticks"]))
        if not shims:
            return "nothing: no task runs"
        node, task, pid, started = self.rng.choice(sorted(shims))
        act(pid, started)
        return f"the shim of task {task} on {node}"

    def _to_a_rank(self, program, act, hurts):
        ranks = []
        for pid in all_pids():
            env, started = environment_of(pid), start_time(pid)
            ours = env.get("GLIM_SOCKET", "").startswith(self.cluster.folder + "/")
            if ours and started is not None and _name_of(pid) == program:
                ranks.append((env["GLIM_TASK"], pid, started))
        if not ranks:
            return "nothing: no rank runs"
        task, pid, started = self.rng.choice(sorted(ranks))
        if hurts:
            self.hurt.add(int(task.split(".")[0]))
        act(pid, started)
        return f"a process of task {task}"

    def _stop_for(self, pid, most):
        os.kill(pid, signal.SIGSTOP)
        try:
            self._last(most)
        finally:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass


def _read_json(path):
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def _name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""
