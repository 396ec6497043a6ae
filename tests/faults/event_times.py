"""When events happened, by the machine's monotonic clock: the scheduler's own times jump with its clock. The stream of
events is followed, and each is noted when it is seen first."""

import json
import subprocess
import threading
import time
from typing import NamedTuple

from cluster.processes import SLOWER, wait_until

SOON_S = 2.0 * SLOWER  # what is new comes within that, while the stream is there


class Moment(NamedTuple):
    """Of an event: its number, and the earliest and the latest time that it may have had."""

    seq: int
    earliest: float
    latest: float


class EventTimes(threading.Thread):
    """Follows `glim`'s events until `close()`."""

    def __init__(self, glim):
        super().__init__(daemon=True)
        self.glim, self.seen, self.lock = glim, {}, threading.Lock()
        self.last_heard = time.monotonic()  # nothing had happened until now that is not noted
        self.closed, self.process = False, None

    def run(self):
        argv = [self.glim.program, "-o", "json", "events", "--since", "7d", "-f"]
        while not self.closed:
            self.process = subprocess.Popen(
                argv,
                cwd=self.glim.folder,
                env=self.glim.env_of(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for line in self.process.stdout:
                self.note(json.loads(line)["seq"], time.monotonic())
            self.process.wait()
            time.sleep(0.1)

    def note(self, seq, now):
        """The stream may have been away since it last said something, so no more is known than that."""
        with self.lock:
            if seq not in self.seen:
                self.seen[seq] = Moment(seq, min(self.last_heard, now - SOON_S), now)
            self.last_heard = now

    def moments(self, events, kinds, seconds=30):
        """{node: [Moment]} of those `events` (as `glim -o json events` has them) that are of these kinds."""
        last = max((event["seq"] for event in events), default=0)
        wait_until(lambda: last == 0 or last in self.seen, seconds, f"event {last} comes in the stream")
        found = {}
        for event in events:
            if event["kind"] in kinds:
                found.setdefault(event["node"], []).append(self.seen[event["seq"]])
        return found

    def close(self):
        self.closed = True
        if self.process:
            self.process.kill()
        self.join(10)
