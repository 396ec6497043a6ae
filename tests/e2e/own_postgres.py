"""A PostgreSQL of a test's own, that the test stops and starts."""

import glob
import os
import shutil
import subprocess

from cluster.processes import SLOWER


class OwnPostgres:
    """`store` is its address for the scheduler. By a Unix socket alone; everything below `folder`."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "pg")
        os.mkdir(self.folder, 0o700)
        self.programs = max(glob.glob("/usr/lib/postgresql/*/bin"))
        self.as_user = []
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            os.chmod(folder, 0o711)
            shutil.chown(self.folder, "postgres", "postgres")
            self.as_user = ["runuser", "-u", "postgres", "--"]
        self._run("initdb", "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C")
        self.store = f"postgres:host={self.folder} user=postgres dbname=postgres"
        self.start()

    def start(self):
        options = f"-c listen_addresses= -c shared_buffers=16MB -k {self.folder}"
        self._run("pg_ctl", "-w", "-l", os.path.join(self.folder, "log"), "-o", options, "start")

    def stop(self):
        """At once, as if its machine had gone."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def close(self):
        if os.path.exists(os.path.join(self.folder, "data", "postmaster.pid")):
            self.stop()

    def _run(self, program, *words):
        argv = [*self.as_user, os.path.join(self.programs, program), "-D", os.path.join(self.folder, "data"), *words]
        with open(os.path.join(self.folder, "commands"), "ab") as log:
            subprocess.run(
                argv, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=120 * SLOWER, check=True
            )
