"""The real `glim` program, as a user of the cluster calls it."""

import json
import os
import subprocess
import time
import uuid

UNREACHABLE = 8  # docs/cli.md, exit codes


class GlimError(RuntimeError):
    """A call that `glim` refused or could not make."""

    def __init__(self, argv, result):
        super().__init__(f"{' '.join(argv)}: exit code {result.returncode}\n{result.stderr.strip()}")
        self.code, self.stderr = result.returncode, result.stderr


class Glim:
    """`run` returns the finished process, whatever came of it; the rest raises GlimError. The caller's own
    configuration files play no part."""

    def __init__(self, program, server, folder):
        self.program, self.server, self.folder = program, server, folder
        self.patience = 0  # seconds for which a scheduler that cannot be reached is asked again
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("GLIM_")}
        self.env.update(GLIM_SERVER=server, XDG_CONFIG_HOME=os.path.join(folder, "config"), NO_COLOR="1")

    def run(self, *args, user=None, timeout=60, stdin=None):
        argv = [self.program, *(["--as", user] if user else []), *map(str, args)]
        until = time.monotonic() + self.patience
        while True:
            result = subprocess.run(
                argv,
                cwd=self.folder,
                env=self.env,
                input=stdin if stdin is not None else "",
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
            )
            if result.returncode != UNREACHABLE or time.monotonic() >= until:
                return result
            time.sleep(0.05)

    def text(self, *args, **keywords):
        result = self.run(*args, **keywords)
        if result.returncode != 0:
            raise GlimError([self.program, *map(str, args)], result)
        return result.stdout

    def json(self, *args, **keywords):
        return json.loads(self.text("-o", "json", *args, **keywords))

    def follow(self, *args, out):
        """Starts a call that goes on by itself: data into the file `out`, words into `out`.err; the caller ends it."""
        with open(out, "wb") as file, open(out + ".err", "wb") as errors:
            return subprocess.Popen(
                [self.program, *map(str, args)],
                cwd=self.folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=errors,
            )

    def submit(self, spec, *args, user=None):
        """The job's number. Asked again for a lost answer, it is still one job."""
        args = (*args, "--request-id", uuid.uuid4().hex)
        return self.json("submit", spec, *args, user=user)["job_ids"][0]

    def job(self, job_id):
        return self.json("status", job_id)["job"]

    def receipts(self, job_id):
        return self.json("status", job_id)["receipts"]

    def nodes(self):
        return {node["name"]: node for node in self.json("nodes")["nodes"]}
