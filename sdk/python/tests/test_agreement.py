"""SDK or glim-task of one release, agent of another: one line says who speaks what and how to mend it."""

import os
import subprocess

import pytest
from bounds import BOUND_S
from extension import SDK, STAGED

from glim import version
from glim.client import Client

GLIM_TASK = os.path.join(STAGED, "bin", "glim-task")
ROOT = os.path.dirname(os.path.dirname(SDK))


@pytest.fixture(params=["refused", "welcomed"])
def newer_agent(agent, request):
    agent.protocol, agent.version, agent.welcomes_all = 3, "9.0.0", request.param == "welcomed"
    return agent


def told_by_a_client(agent, capfd, tries=3):
    client = Client(agent.path, rank=0, on_message=lambda message: None)
    client.start()
    client.post({"type": "leaving", "agreement": 0})
    agent.wait(lambda: agent.refused_hellos + len(agent.rank().hellos) >= tries, what="several tries")
    assert not client.close(0.1) and not agent.taken("leaving")
    return capfd.readouterr().err.splitlines()


def test_the_hello_says_which_sdk_speaks(agent):
    client = Client(agent.path, rank=0, on_message=lambda message: None)
    client.start()
    agent.wait(lambda: agent.rank().hellos, what="a hello")
    client.close(2)
    hello = agent.rank().hellos[0]
    assert (hello["protocol"], hello["sdk"]) == (2, f"glim-python {version.VERSION}")


def test_a_copy_of_the_jobs_own_that_does_not_fit_is_named_once(newer_agent, monkeypatch, capfd):
    monkeypatch.setenv("GLIM_SDK", "/run/glim/sdk")
    (line,) = told_by_a_client(newer_agent, capfd)
    assert line.startswith(
        f"glim: this SDK, glim {version.VERSION} in {SDK}/glim, speaks protocol 2, "
        "the node's agent (9.0.0) protocol 3"
    )
    assert line.endswith(
        "take that copy of glim out of PYTHONPATH, or uninstall it: it hides the node's own, "
        "/run/glim/sdk/python/glim"
    )


@pytest.mark.parametrize("nodes", [os.path.dirname(SDK), ""])
def test_the_nodes_own_that_does_not_fit_is_the_operators_to_mend(newer_agent, monkeypatch, capfd, nodes):
    monkeypatch.setenv("GLIM_SDK", nodes)
    (line,) = told_by_a_client(newer_agent, capfd)
    assert "(9.0.0) protocol 3" in line and "ask the operator" in line and "PYTHONPATH" not in line


@pytest.mark.parametrize(
    "nodes, mend",
    [
        ("/run/glim/sdk", "use the node's own, /run/glim/sdk/bin/glim-task"),
        ("", "install glim-task and glim-agent of one release"),
    ],
)
def test_glim_task_says_the_same(newer_agent, nodes, mend):
    env = {**os.environ, "GLIM_SOCKET": newer_agent.path, "GLIM_RANK": "0", "GLIM_SDK": nodes}
    for command in (["progress", "3"], ["interrupted"], ["leave"]):
        done = subprocess.run([GLIM_TASK, *command], env=env, capture_output=True, text=True, timeout=BOUND_S)
        (line,) = done.stderr.splitlines()
        assert done.returncode == 3 and mend in line, line
        assert f"glim-task {version.VERSION} speaks protocol 2, this node's agent (9.0.0) protocol 3" in line


def test_all_parts_have_one_version():
    with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
        assert f"project(glim VERSION {version.VERSION} " in file.read()
    with open(os.path.join(SDK, "pyproject.toml")) as file:
        assert f'version = "{version.VERSION}"' in file.read()
