"""One real cluster for all tests of this folder: the built programs, real processes, real sockets. A test that fails
prints the tails of all logs. Tests wait for conditions, each with a bound."""

import contextlib
import os
import signal
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy"))
sys.dont_write_bytecode = True

from cluster.folders import make_folder, remove_folder  # noqa: E402
from cluster.local_cluster import LocalCluster  # noqa: E402
from cluster.processes import SLOWER  # noqa: E402
from cluster.spec import Examples  # noqa: E402
from cluster.story import Stage  # noqa: E402

BIN = os.environ.get("GLIM_TEST_BIN", os.path.join(ROOT, "build", "release", "bin"))


def lasting(seconds):
    """So long on a quiet machine, longer on a slow one: as a policy, a spec or the command line takes it."""
    return f"{round(seconds * SLOWER * 1000)}ms"


def pytest_sessionstart(session):
    """A SIGTERM ends the tests like Ctrl-C: with everything stopped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        item.failed_phase = report.when
        cluster = item.funcargs.get("cluster")
        if cluster is not None:
            report.sections.append(("logs", cluster.tails()))


@pytest.fixture(scope="session")
def shared_cluster():
    folder = make_folder("glim-e2e-")
    cluster = LocalCluster(BIN, folder)
    try:
        cluster.start()
    except BaseException:
        print(cluster.tails())
        remove_folder(folder)
        raise
    yield cluster
    faults = cluster.stop()
    remove_folder(folder)
    assert faults == []


@pytest.fixture
def cluster(shared_cluster):
    """The shared cluster, idle before and after each test."""
    shared_cluster.check()
    shared_cluster.wait_ready()
    shared_cluster.wait_idle()
    yield shared_cluster
    shared_cluster.cancel_all()
    shared_cluster.check()


@pytest.fixture
def stage(cluster, tmp_path_factory, request):
    """The cluster with a short folder for this test's jobs."""
    folder = cluster.job_folder()
    yield Stage(cluster, Examples(ROOT, folder, cluster.task_user), folder, print)
    cluster.cancel_all()  # a job that still runs writes into the folder while it is removed
    if not hasattr(request.node, "failed_phase"):
        remove_folder(folder)


@pytest.fixture
def glim(cluster):
    return cluster.glim


@pytest.fixture
def fresh_folder():
    """For a cluster of a test's own."""
    folder = make_folder("glim-own-")
    yield folder
    remove_folder(folder)


@contextlib.contextmanager
def own_stage(folder, cancel=True, **options):
    """A running cluster of a test's own, with a folder for its jobs; its logs are printed at the end, which pytest
    shows of a test that failed. `cancel=False`: jobs may be left that the scheduler does not know, and are killed."""
    cluster = LocalCluster(BIN, folder, **options)
    try:
        cluster.start()
        yield Stage(cluster, Examples(ROOT, cluster.jobs, cluster.task_user), cluster.jobs, print)
    finally:
        print(cluster.tails())
        cluster.glim.patience = 0
        faults = cluster.stop(cancel=cancel)
    assert faults == []
