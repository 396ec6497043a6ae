"""The clusters that benchmarks run, and their folders on a disk."""

import contextlib
import os
import sys

from programs import ROOT

from cluster.folders import make_folder, remove_folder
from cluster.local_cluster import CONFIG, LocalCluster
from cluster.spec import Examples
from figures import filesystem_of

# Thousands of jobs wait in some benchmarks' queues.
BOUNDS = (
    "  unfinished_jobs_max: 1000000\n  unfinished_jobs_per_user_max: 1000000\n"
    "  unfinished_spec_bytes_max: 1TiB\n  unfinished_spec_bytes_per_user_max: 1TiB\n"
)
PREFIX = "glim-b-"  # short: LocalCluster's sockets lie below


def runtimes():
    """What tasks of this user's clusters can run in."""
    return ("runc", "process") if os.geteuid() == 0 else ("process",)


def add_dir(parser):
    parser.add_argument("--dir", default="/var/tmp", help="where folders are made: not a tmpfs [/var/tmp]")


@contextlib.contextmanager
def folder_on_disk(within):
    """A new folder, for as long as the block lasts. Ends the program where nothing would be durable."""
    kind = filesystem_of(within)
    if kind in ("tmpfs", "ramfs"):
        sys.exit(f"{within} is a {kind}: nothing is durable there; give another folder with --dir")
    folder = make_folder(PREFIX, within)
    try:
        yield folder
    finally:
        remove_folder(folder)


@contextlib.contextmanager
def running(cluster):
    """Yields the started cluster's Examples. A run that fails shows what the cluster said last."""
    try:
        cluster.start()
        yield Examples(ROOT, cluster.jobs, cluster.task_user)
    except BaseException:
        print(cluster.tails(), file=sys.stderr)
        raise
    finally:
        for fault in cluster.stop(cancel=False):
            print(fault, file=sys.stderr)


def busy_queue(bin_folder, folder, **options):
    """A cluster, not started, whose queue takes as many jobs as come."""
    return LocalCluster(bin_folder, folder, config=CONFIG + BOUNDS, log_level="error", **options)


def block(cluster, examples, nodes):
    """A job on all of the cluster's `nodes` nodes: what is submitted afterwards stays in the queue."""
    blocker = cluster.glim.submit(examples.make("blocker", "exec sleep 3600", nodes=nodes))
    cluster.wait_state(blocker, "running", 30)


def submitters(cluster, clients):
    """How glim-bench-submit says who asks: a token for each client, on a cluster that has them."""
    tokens = cluster.glim.tokens
    if not tokens:
        return []
    files = [tokens.file_of(f"bench-{number}", cluster.glim) for number in range(clients)]
    return ["--ca", tokens.authority, "--token-file", *files]
