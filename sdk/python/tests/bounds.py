"""Bounds of these tests' waits, by the factor of deploy/cluster/processes.py for slow machines."""

import os
import sys
from typing import Callable

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "deploy"))

from cluster import processes  # noqa: E402

QUIET_S = 60
BOUND_S = QUIET_S * processes.SLOWER


def wait_until(condition: Callable[[], bool], what: str = "") -> None:
    """For conditions that nothing announces."""
    processes.wait_until(condition, QUIET_S, what, every=0.002)
