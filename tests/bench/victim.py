"""A small job that is interrupted again and again and notes when: one line of JSON an event into OUT/rank-R.jsonl.

    notice   the interrupt came, on the SDK's socket thread
    leaving  its answer was sent; the process ends now

Times are in seconds; `cpu` is the processor time of the process until then.
"""

import argparse
import json
import os
import time

import glim


class NotingSession(glim.Session):
    """Notes the moment at which the socket's thread has an interrupt in its hands."""

    def __init__(self, note):
        self._note, self._noted = note, set()
        super().__init__()

    def _on_message(self, message):
        now = time.time()
        if message["type"] == "interrupt" and message["agreement"] not in self._noted:
            self._noted.add(message["agreement"])
            self._note("notice", now)
        super()._on_message(message)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--step-ms", type=float, default=5)
    args = parser.parse_args()
    rank, attempt = os.environ["GLIM_RANK"], int(os.environ["GLIM_ATTEMPT"])
    with open(os.path.join(args.out, f"rank-{rank}.jsonl"), "a", buffering=1) as file:

        def note(event, at):
            note = {"attempt": attempt, "event": event, "time": at, "cpu": time.process_time()}
            file.write(json.dumps(note) + "\n")

        with NotingSession(note) as run:
            run.restore()
            note("begins", time.time())
            for step, _ in enumerate(run.steps(range(10**9)), run.environment.resume_step + 1):
                time.sleep(args.step_ms / 1000)
            if run.is_rank_zero:
                path = os.path.join(os.environ["GLIM_CHECKPOINT_DIR"], f"attempt-{attempt}", "save.json")
                size = glim.atomic_write(path, lambda out: out.write(json.dumps({"step": step}).encode()))
                run.checkpoint_saved(path, step, bytes=size)
            note("leaving", time.time())


if __name__ == "__main__":
    main()
