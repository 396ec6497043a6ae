"""Estimates pi, and keeps how far it came in a file: no SDK, no glim-task. Glim is nowhere in it but for the folder in
GLIM_CHECKPOINT_DIR, which comes back with the job where all nodes share it (the cluster's checkpoint root, or a
checkpoint.dir of the job's own). Where they do not, agents bring along what was told as saved: `glim-task saved`, as
in ../bash. Off the cluster the folder is out/."""

import json
import os
import random
import signal
import sys
import time

ROUNDS = int(os.environ.get("ROUNDS", "600"))
PAUSE = float(os.environ.get("ROUND_SECONDS", "0.1"))
STATE = os.path.join(os.environ.get("GLIM_CHECKPOINT_DIR", "out"), "pi.json")


def load():
    """(rounds done, points inside the circle)."""
    if not os.path.exists(STATE):
        return 0, 0
    with open(STATE) as file:
        return json.load(file)


def save(done, inside):
    """Whole or not at all, and on the disk."""
    os.makedirs(os.path.dirname(STATE), exist_ok=True)
    with open(STATE + ".part", "w") as file:
        json.dump((done, inside), file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(STATE + ".part", STATE)


def main():
    told = []
    signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))  # noted; answered between two rounds
    done, inside = load()
    print(f"begins with round {done}", flush=True)
    while done < ROUNDS:
        numbers = random.Random(done)  # each round's own: the result is the same however often it stopped
        inside += sum(numbers.random() ** 2 + numbers.random() ** 2 < 1 for _ in range(1000))
        done += 1
        time.sleep(PAUSE)
        if told:
            save(done, inside)
            print(f"stopped after round {done - 1}", flush=True)
            sys.exit(0)
        if done % 100 == 0:
            save(done, inside)
    print(f"pi is about {4 * inside / (1000 * ROUNDS):.4f}", flush=True)


if __name__ == "__main__":
    main()
