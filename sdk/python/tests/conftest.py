import os
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from extension import EXTENSION  # noqa: E402
from fake_agent import FakeAgent  # noqa: E402

sys.path.append(EXTENSION)


@pytest.fixture(autouse=True)
def off_cluster(monkeypatch):
    """No test sees the environment of a platform that happens to run it."""
    for name in list(os.environ):
        if name.startswith("GLIM_") or name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID"):
            monkeypatch.delenv(name)


@pytest.fixture
def short_dir():
    """A folder with a short path: a Unix socket's address is bounded."""
    path = tempfile.mkdtemp(prefix="glim-sdk-", dir="/tmp")
    yield path
    shutil.rmtree(path)


@pytest.fixture
def agent(short_dir):
    agent = FakeAgent(short_dir + "/s")
    yield agent
    agent.stop()
    assert agent.faults == []
