"""One user who takes what the scheduler gives, as fast as it answers: in several ways at a time, over HTTP. What he is
told, and what he has cost."""

import collections
import contextlib
import glob
import http.client
import itertools
import json
import os
import ssl
import threading
import time

from .processes import SLOWER

KIB, MIB = 1 << 10, 1 << 20
REFUSED_PAUSE_S = 0.02  # who is refused tries again at once, and does not burn this machine's processor for it
TIMEOUT_S = 60


def resident(pid):
    """Bytes."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) * KIB for line in file if line.startswith("VmRSS:"))


def stored(store):
    """Bytes of SQLite's files; of another store 0: its size is not the scheduler's."""
    kind, _, path = store.partition(":")
    sizes = []
    for name in glob.glob(glob.escape(path) + "*") if kind == "sqlite" else []:
        with contextlib.suppress(FileNotFoundError):  # the log of a checkpoint goes
            sizes.append(os.path.getsize(name))
    return sum(sizes)


class GreedyUser:
    """`told`: {(reason, field): how often}; `words`: one message and fix of each."""

    def __init__(self, cluster, user):
        self.cluster, self.user = cluster, user
        self.told, self.words, self.taken = collections.Counter(), {}, collections.Counter()
        self.headers = {"Content-Type": "application/json"}
        self.context, self.until = None, 0
        if cluster.glim.tokens:
            with open(cluster.glim.tokens.file_of(user, cluster.glim)) as file:
                self.headers["Authorization"] = "Bearer " + file.read().strip()
            self.context = ssl.create_default_context(cafile=cluster.glim.tokens.authority)
        else:
            self.headers["glim-user"] = user
        self.numbers = itertools.count()
        self.lock = threading.Lock()
        self.before = self._held()

    WAYS = ("wide", "small", "odd_characters", "cancelled", "held", "long_requests")

    def spend(self, seconds, ways=WAYS):
        """All ways at a time."""
        self.until = time.monotonic() + seconds
        threads = [threading.Thread(target=self._go, args=(way,)) for way in ways]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def cost(self):
        """(bytes of the scheduler's memory, bytes of its store) since this object was made. Memory that is not used any
        more is given back within seconds."""
        memory, store = self._held()
        return memory - self.before[0], store - self.before[1]

    def _held(self):
        return resident(self.cluster.scheduler.pid), stored(self.cluster.store)

    def cancel_all(self):
        """None of his jobs waits or runs when this returns."""
        connection = self._connect()
        while self._call(connection, f"/v1/users/{self.user}/cancel", {"reason": "he took what he could get"}) is None:
            time.sleep(0.5)

    def _go(self, way):
        connection = None
        while time.monotonic() < self.until:
            try:
                connection = connection or self._connect()
                getattr(self, way)(lambda *call, to=connection: self._call(to, *call))
            except (OSError, http.client.HTTPException):  # a scheduler that was struck meanwhile
                connection = None
                time.sleep(REFUSED_PAUSE_S)

    def _connect(self):
        where = (self.cluster.host, self.cluster.http_port)
        if self.context:
            return http.client.HTTPSConnection(*where, context=self.context, timeout=TIMEOUT_S * SLOWER)
        return http.client.HTTPConnection(*where, timeout=TIMEOUT_S * SLOWER)

    def _call(self, connection, path, body):
        connection.request("POST", path, json.dumps(body), self.headers)
        answer = connection.getresponse()
        document = json.loads(answer.read())
        if answer.status == 200:
            return document
        error = document["error"]
        with self.lock:
            self.told[error["reason"], error["field"]] += 1
            self.words.setdefault(error["reason"], f"{error['message']}; {error['fix']}")
        time.sleep(REFUSED_PAUSE_S)
        return None

    def _submit(self, call, count, request_id="", **fields):
        spec = {"name": "greedy", "nodes": 1, "workdir": self.cluster.jobs, "run": "exec sleep 600", **fields}
        body = {"specs": [{**spec, "name": f"greedy-{next(self.numbers)}"} for _ in range(count)]}
        done = call("/v1/jobs", {**body, "request_id": request_id})
        jobs = done["job_ids"] if done else []
        with self.lock:
            self.taken["jobs"] += len(jobs)
        return jobs

    def wide(self, call):
        self._submit(call, 40, env=[{"name": f"V{i}", "value": "x" * 16_000} for i in range(15)])

    def small(self, call):
        self._submit(call, 2_000)

    def odd_characters(self, call):
        """The store writes each as two."""
        env = [{"name": f"V{i}", "value": '"\\\n' * 5_000} for i in range(15)]
        sources = [f"{self.cluster.jobs}/{i}" + "/m" * 400 for i in range(64)]
        mounts = [{"source": source, "target": f"/in/{i}" + "/m" * 400} for i, source in enumerate(sources)]
        self._submit(call, 10, env=env, mounts=mounts)

    def cancelled(self, call):
        """Each ends at once, and another comes."""
        for job in self._submit(call, 20, env=[{"name": f"V{i}", "value": "y" * 16_000} for i in range(15)]):
            while call(f"/v1/jobs/{job}/cancel", {"reason": "r" * 500}) is None and time.monotonic() < self.until:
                time.sleep(0.5)

    def held(self, call):
        """The same job, again and again with a long reason."""
        for job in self._submit(call, 1):
            for _ in range(200):
                call(f"/v1/jobs/{job}/suspend", {"reason": "s" * 500})
                if call(f"/v1/jobs/{job}/resume", {}) is None:
                    break

    def long_requests(self, call):
        self._submit(call, 1, request_id=f"{next(self.numbers):0128}")
