"""What the lane leaves behind: results.jsonl, log, and the counts of what passed, failed and was absent."""

import datetime
import json
import os
import signal
import subprocess
import sys
import time


def json_lines(text):
    """What a program said in JSON, among whatever else its libraries print."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


class Journal:
    """`seconds` bounds everything: what is begun after that fails at once."""

    def __init__(self, folder, seconds):
        self._lines = open(os.path.join(folder, "results.jsonl"), "w")
        self._log = open(os.path.join(folder, "log"), "w")
        self._end = time.monotonic() + seconds
        self._facts = {}
        self.passed, self.failed, self.absences = 0, 0, 0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._lines.close()
        self._log.close()

    def left(self):
        return max(self._end - time.monotonic(), 1)

    def describe(self, facts):
        """Stands in every line that follows: a figure without its card and date is none."""
        self._facts = {**facts, "date": datetime.date.today().isoformat()}

    def line(self, what, **values):
        text = json.dumps({"what": what, **values, **self._facts})
        print(text, file=self._lines, flush=True)
        self.say(json.dumps({"what": what, **values}))

    def say(self, text):
        print(text, file=self._log, flush=True)
        print(text, flush=True)

    def passes(self, what, count=1):
        self.passed += count
        self.line(what, passed=count)

    def fail(self, what, why, count=1):
        self.failed += count
        self.line(what, failed=count, why=why)

    def absent(self, what, why):
        """What this machine lacks something for: not run, and so not passed."""
        self.absences += 1
        self.line(what, absent=why)

    def output(self, command, seconds, environment=None):
        """(exit code, or None if it was late; what it printed)."""
        print(f"$ {' '.join(command)}", file=self._log, flush=True)
        # A session of its own: a program that is late goes with everything that it started.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        bound = min(seconds, self.left())
        code = None
        try:
            text, _ = process.communicate(timeout=bound)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
            text += f"\nnot done in {bound:.0f} s\n"
        self._log.write(text)
        self._log.flush()
        return code, text

    def run(self, what, command, seconds, environment=None):
        """A step. What it printed is shown if it failed."""
        began = time.monotonic()
        code, text = self.output(command, seconds, environment)
        took = round(time.monotonic() - began, 1)
        if code == 0:
            self.line(what, seconds=took)
            return True
        sys.stdout.write(text[-8000:])
        self.fail(what, f"exit code {code} after {took} s: {text.strip().splitlines()[-1:]}")
        return False

    def end(self):
        self.say(f"{self.passed} passed, {self.failed} failed, {self.absences} absent")
        return 0 if self.failed == 0 and self.passed > 0 else 1
