"""How many times slower this machine is than the quiet one that the tests' bounds were chosen for: GLIM_TEST_SLOWER.

    slower.py      prints the factor and what it is made of

Measured in three ways, on all cores at once: computing, starts of processes, and the processes of others that want a
core. The worst of the three counts, rounded up to a half; at least 1, at most 4: some tests let a bound of the product
pass, which is multiplied as well, so that a run with 7.5 took twice as long as one with 2."""

import math
import os
import subprocess
import sys
import time

# Seconds of a quiet machine of two cores: the fastest of many runs.
COMPUTING_S = 0.25
STARTS_S = 0.08
STARTS = 200
MOST = 4

CHILD = f"""
import os, sys, time
def compute():
    total = 0
    for number in range(5_000_000):
        total += number * number % 7
    return total
began = time.monotonic()
compute()
computed = time.monotonic()
for _ in range({STARTS}):
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {{}}), 0)
print(computed - began, time.monotonic() - computed)
"""


def factor_of(computing_s, starts_s, others, cores):
    """The factor from what was measured. `others`: processes of others that computed or waited for a core."""
    worst = max(computing_s / COMPUTING_S, starts_s / STARTS_S, 1 + others / cores)
    return min(MOST, max(1, math.ceil(worst * 2 - 0.4) / 2))  # a fifth is the noise of a quiet machine


def count_others(samples=20, every=0.025):
    """How many processes beside this one were running or ready to, on average."""
    running = []
    for _ in range(samples):
        with open("/proc/loadavg") as file:
            running.append(int(file.read().split()[3].split("/")[0]) - 1)
        time.sleep(every)  # (what is there at a time is sampled)
    return sum(running) / samples


def measure():
    """(factor, what it is made of in words)"""
    cores = os.cpu_count() or 1
    others = count_others()
    children = [
        subprocess.Popen([sys.executable, "-ISc", CHILD], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        for _ in range(cores)
    ]
    figures = [[float(word) for word in child.communicate()[0].split()] for child in children]
    computing_s, starts_s = (max(column) for column in zip(*figures))
    factor = factor_of(computing_s, starts_s, others, cores)
    words = f"computing {computing_s / COMPUTING_S:.1f}, starts of processes {starts_s / STARTS_S:.1f} times as long"
    return factor, f"{words} as on a quiet machine, {others:.1f} other processes want one of {cores} cores"


if __name__ == "__main__":
    print("GLIM_TEST_SLOWER=%g: %s" % measure())
