"""Where the simulator's seeds begin: elsewhere with each day of commits, so that a year sees a year's seeds. Two runs
of one commit play the same ones; which, is printed."""

import subprocess

A_DAY = 100_000
DAY_S = 86_400
SINCE = 20_454  # days from 1970 to 2026


def first_of(commit_time):
    """`commit_time` in seconds since 1970."""
    return 1 + A_DAY * max(0, commit_time // DAY_S - SINCE)


def first_seed(root):
    """Of the commit that is checked out; without one (an archive) the first."""
    said = subprocess.run(["git", "-C", root, "log", "-1", "--format=%ct"], capture_output=True, text=True)
    return first_of(int(said.stdout) if said.returncode == 0 else 0)
