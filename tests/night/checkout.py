"""What git says about a checkout: how many commits ago something was, and what of the sources is as it was."""

import datetime
import hashlib
import os
import shutil
import subprocess
import tempfile

PAGE = "docs/nightly.md"


class NoGit(RuntimeError):
    pass


class Checkout:
    def __init__(self, root):
        self.root = root

    def _git(self, *words, may_fail=False, env=None):
        done = subprocess.run(["git", "-C", self.root, *words], capture_output=True, text=True, env=env)
        if done.returncode != 0 and not may_fail:
            raise NoGit(f"git {words[0]} failed in {self.root}, which has to be a clone: {done.stderr.strip()}")
        return done.stdout.strip() if done.returncode == 0 else None

    @property
    def head(self):
        return self._git("rev-parse", "--short=8", "HEAD")

    @property
    def is_shallow(self):
        return self._git("rev-parse", "--is-shallow-repository") == "true"

    def commits_since(self, commit):
        """None: this clone does not have the commit, or, being shallow, not all that is between."""
        count = self._git("rev-list", "--count", "--first-parent", f"{commit}..HEAD", may_fail=True)
        return None if count is None else int(count)

    def commits_after(self, date):
        """Those of later days, as far back as this clone reaches."""
        return int(self._git("rev-list", "--count", "--first-parent", f"--since={date}T23:59:59Z", "HEAD"))

    def days_after(self, date):
        """From that date to the day of HEAD: the same answer whenever it is asked."""
        day = self._git("log", "-1", "--format=%cd", "--date=format:%Y-%m-%d")
        return (datetime.date.fromisoformat(day) - datetime.date.fromisoformat(date)).days

    def differences(self):
        """Files that are not as HEAD has them, but for the page itself."""
        lines = self._git("status", "--porcelain", "--", ".", f":(exclude){PAGE}") or ""
        return [line.split(None, 1)[1] for line in lines.splitlines()]

    def fingerprint(self, sources):
        """Of the files that match the pathspecs, as they are now: committed, changed or new. Ignored ones are out."""
        index = self._git("rev-parse", "--git-path", "index")
        with tempfile.TemporaryDirectory(prefix="glim-nightly-") as folder:
            copy = os.path.join(folder, "index")
            shutil.copy(os.path.join(self.root, index), copy)
            env = {**os.environ, "GIT_INDEX_FILE": copy}
            self._git("add", "--all", env=env)
            listed = self._git("ls-files", "--stage", "--", *sources, f":(exclude){PAGE}", env=env)
        return hashlib.sha256(listed.encode()).hexdigest()[:16]
