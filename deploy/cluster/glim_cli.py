"""The real `glim` program, as a user of the cluster calls it."""

import json
import os
import subprocess
import time
import uuid

from .processes import SLOWER

LATE, UNREACHABLE = 7, 8  # docs/cli.md, exit codes
CALL_S = 10  # what a call may take by default


class GlimError(RuntimeError):
    """A call that `glim` refused or could not make."""

    def __init__(self, argv, result):
        super().__init__(f"{' '.join(argv)}: exit code {result.returncode}\n{result.stderr.strip()}")
        self.code, self.stderr = result.returncode, result.stderr


class Glim:
    """`run` returns the finished process, whatever came of it; the rest raises GlimError. The caller's own
    configuration files play no part. `tokens` (tokens.py): by whose token a call is made, `user=None` being the
    operator; None: a cluster without identity, where users are who they say they are."""

    def __init__(self, program, server, folder, tokens=None):
        self.program, self.server, self.folder, self.tokens = program, server, folder, tokens
        self.patience = 0  # seconds for which a scheduler that cannot be reached, or is late, is asked again
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("GLIM_")}
        self.env.update(GLIM_SERVER=server, XDG_CONFIG_HOME=os.path.join(folder, "config"), NO_COLOR="1")
        self.env.update({"GLIM_CA": tokens.authority} if tokens else {"GLIM_INSECURE_WITHOUT_IDENTITY": "true"})

    def env_of(self, user=None):
        """The variables that a call in the name of `user` is made with."""
        if self.tokens:
            return {**self.env, "GLIM_TOKEN_FILE": self.tokens.file_of(user, self)}
        return {**self.env, **({"GLIM_USER": user} if user else {})}

    def run(self, *args, user=None, timeout=60, stdin=None):
        bounded = {"--timeout", "wait"}.intersection(args)
        slow = ["--timeout", f"{round(CALL_S * SLOWER)}s"] if SLOWER > 1 and not bounded else []
        argv, env = [self.program, *slow, *map(str, args)], self.env_of(user)
        until = time.monotonic() + self.patience
        while True:
            result = subprocess.run(
                argv,
                cwd=self.folder,
                env=env,
                input=stdin if stdin is not None else "",
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout * SLOWER,
            )
            no_answer = result.returncode == UNREACHABLE or (result.returncode == LATE and args[0] != "wait")
            if not no_answer or time.monotonic() >= until:
                return result
            time.sleep(0.05)

    def text(self, *args, **keywords):
        result = self.run(*args, **keywords)
        if result.returncode != 0:
            raise GlimError([self.program, *map(str, args)], result)
        return result.stdout

    def json(self, *args, **keywords):
        return json.loads(self.text("-o", "json", *args, **keywords))

    def follow(self, *args, out, user=None):
        """Starts a call that goes on by itself: data into the file `out`, words into `out`.err; the caller ends it."""
        with open(out, "wb") as file, open(out + ".err", "wb") as errors:
            return subprocess.Popen(
                [self.program, *map(str, args)],
                cwd=self.folder,
                env=self.env_of(user),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=errors,
            )

    def submit(self, spec, *args, user=None):
        """The job's number. Asked again for a lost answer, it is still one job."""
        args = (*args, "--request-id", uuid.uuid4().hex)
        return self.json("submit", spec, *args, user=user)["job_ids"][0]

    def job(self, job_id, user=None):
        return self.json("status", job_id, user=user)["job"]

    def receipts(self, job_id):
        return self.json("status", job_id)["receipts"]

    def nodes(self):
        return {node["name"]: node for node in self.json("nodes")["nodes"]}
