"""A PostgreSQL of one fault run's own, on a Unix socket in its folder, synced as in production."""

import glob
import os
import shutil
import subprocess


class Postgres:
    def __init__(self, folder):
        self.folder = os.path.join(folder, "pg")
        self.bin = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        os.makedirs(self.folder)
        os.chmod(folder, 0o711)  # its own user has to pass
        if self.as_user:
            shutil.chown(self.folder, "postgres")
        self._run("initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C")
        self.start()

    @property
    def store(self):
        return f"postgres:host={self.folder} user=postgres dbname=postgres"

    @property
    def pid(self):
        """Of its first process, now."""
        with open(os.path.join(self.folder, "data", "postmaster.pid")) as file:
            return int(file.readline())

    def _run(self, program, *args):
        argv = [*self.as_user, os.path.join(self.bin, program), "-D", os.path.join(self.folder, "data"), *args]
        with open(os.path.join(os.path.dirname(self.folder), "postgres.out"), "ab") as out:
            subprocess.run(argv, check=True, cwd="/", stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def start(self):
        options = f"-c listen_addresses= -c shared_buffers=16MB -k {self.folder}"
        self._run("pg_ctl", "-w", "-l", os.path.join(self.folder, "log"), "-o", options, "start")

    def stop(self, how="fast"):
        """`immediate`: as if it had crashed."""
        self._run("pg_ctl", "-m", how, "-w", "stop")
