"""glim doctor on a real cluster: a machine that is well has no faults, what is broken is named with how to mend it, and
a scheduler that hangs keeps nobody: docs/operations/doctor.md."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from own_postgres import OwnPostgres

from cluster.folders import make_folder, remove_folder
from cluster.local_cluster import LocalCluster
from cluster.processes import SLOWER
from conftest import BIN, ROOT

# What depends on the machine that the test runs on, and not on the cluster.
OF_THE_MACHINE = {"clock", "cgroups", "runtime", "programs", "memory", "units", "network", "kernel", "shm", "disk"}


@pytest.fixture(scope="module")
def machine():
    folder = make_folder("glim-doctor-")
    cluster = LocalCluster(BIN, folder, nodes={"n1": ("A", "a1")}, checkpoint_root=True)
    try:
        cluster.start()
        cluster.wait_ready()
        yield cluster
    except BaseException:
        print(cluster.tails())
        raise
    finally:
        faults = cluster.stop()
        remove_folder(folder)
    assert faults == []


def doctor(cluster, *words, user=None):
    """The exit code, and the checks by name."""
    told = cluster.glim.run("-o", "json", "doctor", *words, user=user)
    assert told.returncode in (0, 1), told.stderr
    document = json.loads(told.stdout)
    assert (told.returncode == 1) == (document["counts"]["fault"] > 0), told.stdout
    for secret in secrets_of(cluster):
        assert secret not in told.stdout + told.stderr
    for check in document["checks"]:
        assert check["seen"] and check["why"]
        assert check["fix"] or check["result"] not in ("fault", "warning"), check
    return told.returncode, {check["check"]: check for check in document["checks"]}


def secrets_of(cluster):
    with open(os.path.join(cluster.state_dir, "operator", "token")) as file:
        return [file.read().strip().split("_")[-1]]


def faults_of(checks):
    return {name for name, check in checks.items() if check["result"] == "fault"} - OF_THE_MACHINE


def node_file(cluster, **more):
    path = os.path.join(cluster.folder, "agent.yaml")
    settings = {"scheduler": cluster.agents_server, "state_dir": cluster.agent_state("n1"), "runtime": cluster.runtime}
    with open(path, "w") as file:
        file.writelines(f"{key}: {value}\n" for key, value in {**settings, **more}.items())
    return path


def server_file(cluster, **more):
    path = os.path.join(cluster.folder, "server.yaml")
    settings = {
        "listen": cluster.server,
        "listen_agents": cluster.agents_server,
        "listen_http": "none",
        "metrics": "none",
        "store": cluster.store,
        "state_dir": cluster.state_dir,
        "key_file": os.path.join(cluster.state_dir, "cluster.key"),
    }
    with open(path, "w") as file:
        file.writelines(f"{key}: {value}\n" for key, value in {**settings, **more}.items())
    return path


def test_a_client_that_is_well(machine):
    code, checks = doctor(machine, "client")
    assert code == 0 and faults_of(checks) == set(), checks
    for name in ("configuration", "token-file", "resolve", "port", "tls", "certificate", "token", "version"):
        assert checks[name]["result"] in ("ok", "warning"), checks[name]
    assert machine.checkpoint_root in checks["workdir"]["seen"]
    table = machine.glim.text("doctor", "client")
    assert re.search(r"^0 faults, .* ok$", table, re.MULTILINE), table


def test_a_node_that_is_well(machine):
    words = ("node", "--config", node_file(machine), "--checkpoint-root", machine.checkpoint_root)
    _, checks = doctor(machine, *words)
    assert faults_of(checks) == set(), checks
    assert checks["enrolment"]["seen"].startswith("n1 of cluster"), checks["enrolment"]
    assert checks["scheduler"]["result"] == "ok", checks["scheduler"]
    assert machine.checkpoint_root in checks["checkpoint-root"]["seen"]


def test_a_server_that_is_well(machine):
    _, checks = doctor(machine, "server", "--config", server_file(machine))
    assert faults_of(checks) == set(), checks
    assert checks["certificate"]["result"] == "ok", checks["certificate"]
    assert checks["key-file"]["result"] == "warning", "the test's cluster has it in the folder of the state"
    assert "its own" in checks["ports"]["seen"] or os.geteuid() != 0, checks["ports"]


def test_what_is_broken_is_named(machine):
    code, checks = doctor(machine, "node", "--config", node_file(machine, zon="B"))
    assert code == 1 and checks["configuration"]["result"] == "fault"
    assert re.search(r"agent.yaml:4:1.*zon", checks["configuration"]["seen"]), checks["configuration"]
    elsewhere = node_file(machine, state_dir=os.path.join(machine.folder, "nowhere"))
    code, checks = doctor(machine, "node", "--config", elsewhere)
    assert code == 1 and "not enrolled" in checks["enrolment"]["seen"]
    assert "glim admin node invite" in checks["enrolment"]["fix"]
    assert not os.path.exists(os.path.join(machine.folder, "nowhere")), "a doctor changes nothing"

    key = os.path.join(machine.state_dir, "cluster.key")
    os.chmod(key, 0o644)
    try:
        code, checks = doctor(machine, "server", "--config", server_file(machine))
    finally:
        os.chmod(key, 0o600)
    assert code == 1 and checks["key-file"]["result"] == "fault"
    taken = server_file(machine, listen=f"{machine.host}:1", policy_file="absent.yaml")
    code, checks = doctor(machine, "server", "--config", taken)
    assert code == 1 and "absent.yaml" in checks["configuration"]["seen"]


def test_a_database_answers_or_is_away(machine):
    folder = make_folder("glim-doctor-pg-")
    database = OwnPostgres(folder)
    try:
        words = ("server", "--config", server_file(machine, store=database.store))
        _, checks = doctor(machine, *words)
        assert re.fullmatch(r"PostgreSQL \d+\.\d+ answers", checks["store"]["seen"]), checks["store"]
        database.stop()
        code, checks = doctor(machine, *words)
        assert code == 1 and checks["store"]["result"] == "fault", checks["store"]
        assert "sudo -u glim" in checks["store"]["fix"]
    finally:
        database.close()
        remove_folder(folder)


def test_a_scheduler_that_hangs_keeps_nobody(machine):
    os.kill(machine.scheduler.pid, signal.SIGSTOP)
    begin = time.monotonic()
    try:
        told = subprocess.run(
            [machine.program("glim"), "-o", "json", "doctor", "client"],
            env=machine.glim.env_of(None),
            cwd=machine.folder,
            capture_output=True,
            text=True,
            timeout=60 * SLOWER,
        )
    finally:
        took = time.monotonic() - begin
        os.kill(machine.scheduler.pid, signal.SIGCONT)
    assert told.returncode == 1 and took < 30 * SLOWER, (took, told.stdout, told.stderr)
    checks = {check["check"]: check for check in json.loads(told.stdout)["checks"]}
    assert checks["tls"]["result"] == "fault", checks["tls"]
    machine.wait_ready()


def test_the_documented_checks_are_those_of_the_program():
    """docs/operations/doctor.md has a row for each check of cli/doctor/finding.cc, and no other."""
    with open(os.path.join(ROOT, "cli", "doctor", "finding.cc")) as file:
        source = file.read()
    source = re.sub(r'"\s*\n\s*"', "", source[: source.index("return checks;")])
    program = re.findall(r'\{Role::k(\w+),\s*"([^"]+)",\s*"([^"]+)",\s*"([^"]+)"\}', source)
    with open(os.path.join(ROOT, "docs", "operations", "doctor.md")) as file:
        rows = re.findall(r"^\| (client|node|server) \| `([^`]+)` \| (.*?) \| (.*?) \|$", file.read(), re.MULTILINE)
    assert [(role.lower(), name, looks, why) for role, name, looks, why in program] == rows
