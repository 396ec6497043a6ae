"""How figures are told: one line of JSON each. Nothing is asserted: they depend on the machine."""

import json
import math
import os
import time


class Figures:
    def __init__(self, bench):
        self.bench = bench

    def tell(self, metric, value, unit, n, aim=None, **more):
        line = {"bench": self.bench, "metric": metric, "value": value, "unit": unit, "n": n, "aim": aim, **more}
        print(json.dumps(line), flush=True)

    def percentiles(self, metric, values_ms, aims=None, **more):
        """p50 and p99 of durations in milliseconds."""
        for name, share in (("p50", 0.50), ("p99", 0.99)):
            if values_ms:
                self.tell(
                    f"{metric}_{name}",
                    round(percentile(values_ms, share), 3),
                    "ms",
                    len(values_ms),
                    (aims or {}).get(name),
                    **more,
                )


def percentile(values, share):
    """The smallest value that at least `share` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def filesystem_of(path):
    """Type of the file system that holds `path`."""
    path, best = os.path.realpath(path), ("", "unknown")
    with open("/proc/self/mountinfo") as file:
        for line in file:
            left, _, right = line.partition(" - ")
            mount = left.split()[4]
            if (path + "/").startswith(mount.rstrip("/") + "/") and len(mount) >= len(best[0]):
                best = (mount, right.split()[0])
    return best[1]


def fdatasync_ms(folder, times=200, size=4096):
    """Durations of appending `size` bytes and syncing them, with nothing in between."""
    path, took = os.path.join(folder, "fdatasync"), []
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        for _ in range(times):
            began = time.perf_counter()
            os.write(handle, b"x" * size)
            os.fdatasync(handle)
            took.append((time.perf_counter() - began) * 1000)
    finally:
        os.close(handle)
        os.unlink(path)
    return took
