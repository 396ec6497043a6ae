"""A real glim-replica for tests."""

import os
import subprocess

from extension import EXTENSION
from bounds import wait_until

from glim.replica import Access

PROGRAMS = os.path.join(os.path.dirname(EXTENSION), "bin")
JOB = "17"
LATE = 1000  # the attempt of readers that are of none


class Service:
    """One service on the loopback address, over tcp. Its folder has the scheduler's keys, its own key, and attempts'
    tokens in files. `address` is what tasks are told, `place` its part without the key."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.keys_file, self.key_file = os.path.join(self.folder, "keys"), os.path.join(self.folder, "key")
        self.address, self.place, self.process = "", "", None
        with open(self.keys_file, "w") as file:
            file.write(tokens("keys"))
        self.start()

    def token_file(self, attempt):
        """As the agent of a node on which that attempt is started makes it."""
        path = os.path.join(self.folder, f"token-{attempt}")
        with open(path, "w") as file:
            file.write(token(attempt) + "\n")
        return path

    def start(self):
        """At the address of the time before, if there was one, and with its key; it holds nothing."""
        state_file = os.path.join(self.folder, "state")
        if os.path.exists(state_file):
            os.unlink(state_file)
        self.process = subprocess.Popen(
            [
                os.path.join(PROGRAMS, "glim-replica"),
                "serve",
                *("--memory", "64MiB", "--listen", self.place or "127.0.0.1:0", "--ucx-tls", "tcp"),
                *("--keys", self.keys_file, "--key-file", self.key_file, "--state-file", state_file),
            ],
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: os.path.exists(state_file) or self.process.poll() is not None, "the service listens")
        with open(state_file) as file:
            state = dict(line.split() for line in file)
        self.place = state["address"]
        self.address = f"{state['key']}@{self.place}"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def access(self, attempt=LATE, **options):
        return Access(**{"token": token(attempt), "tls": "tcp", **options})


def token(attempt, job=JOB):
    return tokens("token", str(attempt), job, "kim").strip()


def tokens(*words):
    return subprocess.run(
        [os.path.join(PROGRAMS, "replica_tokens"), *words], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
