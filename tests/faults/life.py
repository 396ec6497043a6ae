"""One life of a cluster in a fault run: real daemons, jobs of all sorts, and faults, one after the other; then all
ends, and what the ranks wrote down is held against what users were told."""

import glob
import json
import os
import random
import shutil
import signal
import time

import checker
import curiosity
import leftovers
from cluster.glim_cli import GlimError
from cluster.local_cluster import CONFIG, ENDED, LocalCluster
from cluster.processes import NotInTime, wait_until
from cluster.spec import Examples
from event_times import EventTimes
from postgres import Postgres
from records import read_accounts
from strikes import GREEDY, GREEDY_UID, Strikes
from trouble import Trouble
from workload import USERS, Workload

NODES = {
    "n1": ("A", "a1", "default"),
    "n2": ("A", "a1", "default"),
    "n3": ("B", "b1", "default"),
    "n4": ("B", "b1", "default"),
    "n5": ("A", "a2", "small"),
    "n6": ("A", "a2", "small"),
}
# Jobs of seconds: whatever is measured in minutes elsewhere is here. Nodes are struck again and again, and nobody gives
# back those that are taken out for that.
POLICY = """\
  node_lost_after: 5s
  outage_percent: 60
  quantum_min: 2s
  quantum_max: 20s
  starvation_bound: 60s
  switch_cost: 200ms
  replan_interval: 1s
  backfill_hold_after: 10s
  agree_max: 2s
  suspect_for: 2s
  release_max: 20s
  start_max: 30s
  save_wait_max: 1s
  restore_backoff: 200ms
  restore_backoff_max: 2s
  start_failures_max: 20
  fabric_private: true
  unfinished_spec_bytes_per_user_max: 4MiB
  quotas:
    default_user: {normal: 4, high: 2, very_high: 1}
    pools: {small: {very_high: 2}}
"""
# What one user may take is less than the small disk of the store.
LIMITS = "limits: {user: {changes_kib_per_second: 64}}\n"
LIVE = 12  # unfinished jobs at a time
RECOVERY_S = 60
DRAIN_S = 300
TIDY_S = 30  # until nothing is left of tasks that have ended


class Life:
    """`say` gets a line of progress. `apart`: it is in a world of its own (own_world.py), where more can be struck, and
    whatever is left behind is seen."""

    def __init__(self, bin_folder, root, folder, seed, runtime, store, say, apart):
        self.seed, self.say, self.rng = seed, say, random.Random(f"faults {seed}")
        self.folder = folder
        # Plain processes have no /dev/shm of their own: what a user's program leaves there lies until that user removes
        # it, as in /tmp.
        self.may_stay = [f"/dev/shm/{curiosity.mark_of(user)}" for user in USERS] if runtime == "process" else []
        self.before = leftovers.Before(self.may_stay) if apart else None
        self.postgres = Postgres(folder) if store == "postgres" else None
        self.trouble = Trouble(folder, NODES, random.Random(f"trouble {seed}")) if apart else None
        options = {"store": self.postgres and self.postgres.store}
        if self.trouble:
            options.update(self.trouble.options(folder, self.postgres))
        self.cluster = LocalCluster(
            bin_folder,
            os.path.join(folder, "c"),
            nodes=NODES,
            config=LIMITS + CONFIG.replace("health: {", "health: {lemons: {cordon_times: 0}, ") + POLICY,
            runtime=runtime,
            replica_memory="16MiB",
            checkpoint_root=True,
            **options,
        )
        self.records = os.path.join(self.cluster.jobs, "records")
        os.makedirs(self.records)
        os.chmod(self.records, 0o1777)  # each user's ranks write files of their own
        self.cluster.open_to_tasks(self.cluster.jobs, 0o755)  # and nowhere else in what all see
        places = self.trouble.places if self.trouble else {}
        self.workload = Workload(Examples(root, self.cluster.jobs, self.cluster.task_user), seed, self.records, places)
        self.strikes = Strikes(self.cluster, self.rng, self.postgres, self.trouble)
        self.event_times, self.in_place = None, None
        self.submitted, self.told, self.cancel_in = {}, {}, {}

    def live(self, rounds):
        """Returns what is not as it must be."""
        found = []
        try:
            self.cluster.start()
            self.make_users()
            self.in_place = leftovers.Before(self.may_stay)
            self.cluster.glim.patience = RECOVERY_S
            self.event_times = EventTimes(self.cluster.glim)
            self.event_times.start()
            for number in range(rounds):
                self.submit()
                self.round(number)
            self.drain()
            found = self.left_of_tasks() + self.check()
        except Exception as error:  # a cluster that does not recover is a finding like any other
            found = [f"{type(error).__name__}: {error}", self.cluster.tails(15)]
        finally:
            found += self.end(keep=bool(found))
        return found

    def make_users(self):
        """In containers tasks are their users, who have nothing of each other."""
        for user, uid in {**USERS, GREEDY: GREEDY_UID}.items():
            self.cluster.glim.text("admin", "user", "set", user, "--uid", uid, "--gid", uid, "-y")

    # ---- jobs

    def submit(self):
        while sum(self.told.get(job, {"state": ""})["state"] not in ENDED for job in self.submitted) < LIVE:
            planned, spec = self.workload.next()
            job = self.cluster.glim.submit(spec, user=planned.user)
            assert job not in self.submitted, f"job number {job} was given twice"
            self.submitted[job] = planned
            if planned.end == "cancelled":
                self.cancel_in[job] = self.rng.randrange(1, 4)  # rounds

    def cancel(self, at_once=False):
        """Each in its owner's name: nobody else may. One whose rank was killed may have failed by that."""
        for job in list(self.cancel_in):
            self.cancel_in[job] -= 1
            if at_once or self.cancel_in[job] <= 0:
                done = self.cluster.glim.run("cancel", job, user=self.submitted[job].user)
                failed = job in self.strikes.hurt and "WRONG_STATE" in done.stderr
                if done.returncode != 0 and not failed:
                    raise GlimError(["glim", "cancel", str(job)], done)
                del self.cancel_in[job]

    def observe(self):
        """Attempts that were seen once are kept: a job shows its newest alone."""
        for job in self.submitted:
            before = self.told.get(job, {"attempts": [], "state": ""})
            if before["state"] in ENDED:
                continue
            now = self.cluster.glim.job(job)
            rows = {row["ref"]["number"]: row for row in (*before["attempts"], *now["attempts"])}
            self.told[job] = {**now, "attempts": [rows[number] for number in sorted(rows)]}

    # ---- rounds

    def round(self, number):
        name = self.strikes.draw()
        time.sleep(self.rng.uniform(0, 2))  # the moment of the fault is a part of the fault
        began = time.monotonic()
        hit = self.strikes.strike(name)
        struck = time.monotonic()
        self.cluster.wait_ready(RECOVERY_S)
        self.cancel()
        self.observe()
        took = f"{struck - began:.1f} s, well again {time.monotonic() - struck:.1f} s later"
        self.say(f"round {number + 1}: {name}: {hit}: {took}")

    def drain(self):
        """Nothing strikes any more: all jobs come to their ends."""
        self.cancel(at_once=True)

        def over():
            self.observe()
            return all(self.told[job]["state"] in ENDED for job in self.submitted)

        def left():
            return "; ".join(self.cluster.describe(t) for t in self.told.values() if t["state"] not in ENDED)

        wait_until(over, DRAIN_S, lambda: f"all jobs have ended: {left()}", every=0.5)
        self.cluster.wait_idle()

    # ---- afterwards

    def check(self):
        glim = self.cluster.glim
        rows = [job for job in glim.json("queue", "--all")["jobs"] if job["user"] != GREEDY]
        listed = [(job["id"], job["spec"]["name"]) for job in rows]
        events = [json.loads(line) for line in glim.text("-o", "json", "events", "--since", "7d").splitlines()]
        lost = self.event_times.moments(events, ("node_lost", "node_quarantined"))
        heard = self.event_times.moments(events, ("node_ready", "node_returned"))
        accounts = read_accounts(self.records)
        named = checker.named_by(events)
        found = checker.check_all(accounts, self.told, self.submitted, listed, lost, heard, self.strikes.hurt, named)
        found += curiosity.check_had(accounts) if self.cluster.network else []
        found += curiosity.check_modes(self.folders_of_jobs(), USERS) if self.cluster.network else []
        return found + checker.check_ledger(glim.json("admin", "report", "--by", "job")["report"])

    def folders_of_jobs(self):
        """{folder with a job's saves: its user}, those of the nodes' own and of the shared one."""
        cluster = self.cluster
        paths = glob.glob(f"{cluster.folder}/*/checkpoints/*/") + glob.glob(f"{cluster.checkpoint_root}/jobs/*/")
        numbers = {path: int(os.path.basename(path.rstrip("/"))) for path in paths}
        return {path: self.submitted[job].user for path, job in numbers.items() if job in self.submitted}

    def left_of_tasks(self):
        """All have ended and no node has a holder: nothing of a task is left, on no node."""

        def left():
            cluster = self.cluster
            found = [f"{path} is left" for path in sorted(leftovers.groups_of_tasks(cluster.control_group))]
            found += [f"{path} is left" for path in sorted(leftovers.folders_of_tasks(cluster.folder))]
            if self.before:
                known = self.daemons()
                expected = leftovers.namespaces_of(known) | self.before.namespaces
                held = leftovers.namespaces().items()
                found += self.in_place.told(known)
                found += [f"the namespace {name} is left: {who}" for name, who in held if name not in expected]
            return found

        try:
            wait_until(lambda: not left(), TIDY_S, "all is tidy", every=0.2)
        except NotInTime:
            return left()
        return []

    def daemons(self):
        """Who has a right to be there while the cluster waits for jobs."""
        pids = [1, os.getpid(), self.cluster.scheduler.pid, *(agent.pid for agent in self.cluster.agents.values())]
        pids += leftovers.with_children([child.pid for child in self.cluster.replicas.children()])
        if self.event_times.process:
            pids.append(self.event_times.process.pid)
        if self.trouble:
            pids += self.trouble.processes
        return set(pids) | (leftovers.with_children([self.postgres.pid]) if self.postgres else set())

    def end(self, keep):
        """Stops all of it; what is left behind is told. `keep`: its files stay, wherever they lie."""
        if self.event_times:
            self.event_times.close()
        if self.cluster.glim:
            self.cluster.glim.patience = 0
        found = self.cluster.stop(cancel=False)
        if self.postgres:
            self.postgres.stop()
        if self.trouble:
            found += self.trouble.close(keep or bool(found))
        found += [f"{path} is left" for path in sorted(leftovers.groups_of(self.cluster.tag))]
        if self.before:
            found += self.before.told({1, os.getpid()})
        return found + self.named_after_life()

    def named_after_life(self):
        """What carries the life's own name: all that can be seen without a world of its own."""
        found = []
        for pid, words in leftovers.processes_named(self.folder).items():
            found.append(f"process {pid} is left: {words[:120]}")
            os.kill(pid, signal.SIGKILL)
        if not self.before:
            rows = [row for row in leftovers.mounts() if self.folder in row[0]]
            found += [f"the mount {place} ({kind}) is left" for place, kind in sorted(rows)]
            found += [f"{path} is left" for path in glob.glob(f"/run/netns/{self.cluster.tag}*")]
        return found

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
