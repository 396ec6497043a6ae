"""A real glim-replica for tests."""

import os
import subprocess

from extension import EXTENSION
from fake_agent import wait_until

from glim.replica import Access

PROGRAM = os.path.join(os.path.dirname(EXTENSION), "bin", "glim-replica")
JOB = "17"


class Service:
    """One service on the loopback address, over tcp. Its folder has the secret, and the job's token in a file."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.secret_file, self.token_file = (os.path.join(self.folder, name) for name in ("secret", "token"))
        self.address, self.process = "", None
        with open(os.open(self.secret_file, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write("the secret of the tests")
        with open(self.token_file, "w") as file:
            file.write(self.token() + "\n")
        self.start()

    def start(self):
        """At the address of the time before, if there was one; it holds nothing."""
        address_file = os.path.join(self.folder, "address")
        if os.path.exists(address_file):
            os.unlink(address_file)
        self.process = subprocess.Popen(
            [
                PROGRAM,
                "serve",
                "--memory",
                "64MiB",
                "--secret-file",
                self.secret_file,
                "--address-file",
                address_file,
                "--listen",
                self.address or "127.0.0.1:0",
                "--ucx-tls",
                "tcp",
            ],
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: os.path.exists(address_file) or self.process.poll() is not None, 30, "the service listens")
        with open(address_file) as file:
            self.address = file.read().strip()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def token(self, job=JOB):
        return subprocess.run(
            [PROGRAM, "token", "--secret-file", self.secret_file, "--job", job],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout.strip()

    def access(self, **options):
        return Access(**{"job": JOB, "token": self.token(), "tls": "tcp", **options})
