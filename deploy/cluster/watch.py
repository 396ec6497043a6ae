"""Answers witness.py from outside of the containers: who of some attempts is alive at the moment when it asks."""

import glob
import json
import os
import threading
import time

from .processes import SLOWER, processes_of


class Watch(threading.Thread):
    """Looks into `out` for questions, and answers each at once, until `ranks` have asked or `seconds` are over. Every
    process of a task carries GLIM_TASK, those that daemonised too, so an empty list means that the nodes were empty of
    that attempt. (A later attempt of the same job may run already on a node that a quicker rank of ours has left.)"""

    def __init__(self, cluster_folder, attempts, out, ranks, seconds=600):
        super().__init__(daemon=True)
        self.cluster_folder, self.attempts, self.out, self.ranks = cluster_folder, attempts, out, ranks
        self.until = time.monotonic() + seconds * SLOWER
        os.makedirs(out, exist_ok=True)

    def run(self):
        answered = set()
        while len(answered) < self.ranks and time.monotonic() < self.until:
            for path in sorted(set(glob.glob(os.path.join(self.out, "*.asked"))) - answered):
                self.answer(path)
                answered.add(path)
            time.sleep(0.005)

    def answer(self, path):
        alive = {name: processes_of(self.cluster_folder, *name.split(".")) for name in self.attempts}
        with open(path) as file:
            told = json.load(file)
        answer = path.removesuffix(".asked") + ".json"
        with open(answer + ".part", "w") as file:
            json.dump({**told, "alive": alive}, file)
        os.replace(answer + ".part", answer)
