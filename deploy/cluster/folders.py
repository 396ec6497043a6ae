"""The folder of a local cluster, and small files in it."""

import hashlib
import os
import subprocess
import tempfile


def make_folder(prefix, within="/tmp"):
    """Short: a Unix socket's address holds 107 bytes. It is ours alone: what tasks may pass of it is the cluster's to
    say (LocalCluster.open_to_tasks)."""
    return os.path.realpath(tempfile.mkdtemp(prefix=prefix, dir=within))


def tag_of(folder):
    """A short name for what belongs to a cluster and cannot lie in its folder."""
    return "glim-" + hashlib.sha256(os.path.normpath(folder).encode()).hexdigest()[:8]


def remove_folder(folder):
    """What tasks wrote may lie deeper than Python follows, and an agent's own removals may be under way beside this
    one. What --stop goes by goes last."""
    for name in sorted(os.listdir(folder), key=lambda name: name == "cluster.json"):
        subprocess.run(["rm", "-rf", "--", os.path.join(folder, name)], check=True)
    os.rmdir(folder)


def size_of(path):
    try:
        return os.path.getsize(path)
    except FileNotFoundError:  # a task's folder may go at any moment
        return 0


def read_word(path):
    try:
        with open(path) as file:
            return file.read().strip()
    except FileNotFoundError:
        return None
