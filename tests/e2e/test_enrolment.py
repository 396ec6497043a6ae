"""Machines become nodes, and cease to be: invitations, certificates, another authority, logins on a host, a lost token.
Real daemons of a cluster of each test's own."""

import json
import os
import shutil
import subprocess
import time

import pytest

from cluster.glim_cli import Glim
from cluster.processes import SLOWER, Child, tail, wait_until
from conftest import BIN, own_stage

TWO = {"n1": ("A", "a1"), "n2": ("A", "a1")}


@pytest.fixture
def own(fresh_folder):
    with own_stage(fresh_folder, nodes=TWO) as stage:
        yield stage


def enrol(cluster, token, fingerprint, name, state_dir):
    argv = [cluster.program("glim-agent"), "enrol", "--scheduler", cluster.server, "--ca-fingerprint", fingerprint]
    argv += ["--name", name, "--state-dir", state_dir]
    return subprocess.run(argv, input=token + "\n", capture_output=True, text=True, timeout=60 * SLOWER)


def denials(glim, token):
    lines = glim.text("-o", "json", "admin", "audit", "--since", "10m").splitlines()
    entries = [json.loads(line) for line in lines]
    return {entry["outcome"] for entry in entries if entry["token"] == token and entry["outcome"] != "ok"}


def log_of(cluster, name):
    return tail(os.path.join(cluster.logs, f"agent-{name}.log"), 400)


def test_an_invitation_counts_once_for_one_name_and_for_its_time(own, fresh_folder):
    cluster, glim = own.cluster, own.glim
    folder = os.path.join(fresh_folder, "n3")
    invited = glim.json("admin", "node", "invite", "n3", "-y")
    assert invited["token"] not in invited["command"]
    wrong = enrol(cluster, invited["token"], "0" * 64, "n3", folder)
    assert wrong.returncode != 0 and invited["token"] not in wrong.stdout + wrong.stderr
    other = enrol(cluster, invited["token"], invited["ca_fingerprint"], "n4", folder)
    assert other.returncode != 0, "another name"
    made_up = enrol(cluster, "glim_" + "0" * 16 + "_" + "0" * 64, invited["ca_fingerprint"], "n3", folder)
    assert made_up.returncode != 0
    good = enrol(cluster, invited["token"], invited["ca_fingerprint"], "n3", folder)
    assert good.returncode == 0, good.stderr
    assert os.stat(os.path.join(folder, "identity", "node.pem")).st_mode & 0o777 == 0o600
    again = enrol(cluster, invited["token"], invited["ca_fingerprint"], "n3", os.path.join(fresh_folder, "again"))
    assert again.returncode != 0, "it has counted"
    brief = glim.json("admin", "node", "invite", "n5", "--ttl", "1s", "-y")
    wait_until(lambda: time.time() * 1000 > int(brief["expires_at_ms"]), 10, "it has ended")
    late = enrol(cluster, brief["token"], brief["ca_fingerprint"], "n5", os.path.join(fresh_folder, "n5"))
    assert late.returncode != 0 and "expired" in late.stderr


def test_a_revoked_nodes_stream_ends_and_a_new_invitation_lets_it_in_again(own):
    cluster, glim = own.cluster, own.glim
    glim.text("admin", "node", "revoke", "n1", "-y")
    wait_until(lambda: "NODE_REVOKED" in log_of(cluster, "n1"), 30, "its agent is told")
    wait_until(lambda: glim.nodes()["n1"]["state"] != "ready", 30, "no job goes there")
    wait_until(lambda: "NODE_REVOKED" in denials(glim, "node:n1"), 20, "it is in the audit trail")
    shutil.rmtree(os.path.join(cluster.folder, "n1", "identity"))
    cluster.agents["n1"].stop()
    cluster.enrol("n1")
    cluster.start_agent("n1")
    wait_until(lambda: glim.nodes()["n1"]["state"] == "ready", 60, "it is back")


def test_a_stolen_key_is_of_no_use_elsewhere_nor_under_another_name(own, fresh_folder):
    cluster, glim = own.cluster, own.glim
    job = glim.submit(own.examples.make("busy", "exec sleep 600", nodes=2))
    cluster.wait_state(job, "running", 30)
    state_dir = os.path.join(fresh_folder, "thief")
    os.makedirs(state_dir, mode=0o700)
    shutil.copytree(os.path.join(cluster.folder, "n1", "identity"), os.path.join(state_dir, "identity"))
    for name, told in (
        ("n1", lambda log: "WRONG_MACHINE" in denials(glim, "node:n1")),
        ("n2", lambda log: "certificate is of n1, not of n2" in tail(log)),
    ):
        log = os.path.join(fresh_folder, f"thief-{name}.log")
        thief = Child("a thief", cluster.agent_command(name, state_dir=state_dir), log, cluster._env)
        try:
            wait_until(lambda t=told, f=log: t(f), 30, lambda f=log: tail(f))
        finally:
            thief.stop()
    now = glim.job(job)
    assert now["state"] == "running" and now["attempt_count"] == 1
    assert all(node["state"] == "ready" for node in glim.nodes().values())


def test_the_authority_is_changed_while_jobs_run(own, fresh_folder):
    cluster, glim = own.cluster, own.glim
    job = glim.submit(own.examples.make("runs", "exec sleep 600", nodes=2), user="kim")
    cluster.wait_state(job, "running", 30)
    pids = {name: agent.pid for name, agent in cluster.agents.items()}
    begun = glim.json("admin", "ca", "rotate")

    def finished():
        told = glim.run("-o", "json", "admin", "ca", "rotate", "--finish")
        return json.loads(told.stdout) if told.returncode == 0 else None

    done = wait_until(finished, 90, lambda: "all have renewed: " + log_of(cluster, "n1"), every=1)
    assert done["ca_fingerprint"] == begun["ca_fingerprint"]
    # What the operator's folder says is the new one, and the daemons went on without a restart.
    wait_until(lambda: glim.run("queue").returncode == 0, 30, "the operator's file is followed")
    cluster.check()
    assert {name: agent.pid for name, agent in cluster.agents.items()} == pids
    cluster.kill("scheduler")
    cluster.start_again("scheduler")
    cluster.wait_ready()
    assert glim.job(job)["attempt_count"] == 1
    # Users log in anew, with the new fingerprint and the token that they have.
    home = Glim(glim.program, cluster.server, cluster.jobs)
    home.env = {k: v for k, v in home.env.items() if not k.startswith("GLIM_")}
    home.env["XDG_CONFIG_HOME"] = os.path.join(fresh_folder, "home")
    with open(glim.tokens.file_of("kim", glim)) as file:
        token = file.read()
    words = ("login", "--token", "--server", cluster.server, "--ca-fingerprint")
    assert home.run(*words, begun["ca_fingerprint"], stdin=token).returncode == 0
    assert home.run("cancel", job).returncode == 0


def test_labels_are_the_operators(own):
    cluster, glim = own.cluster, own.glim
    assert glim.json("admin", "node", "label", "n1", "--zone", "C", "-y")["fields"] == ["zone"]
    wait_until(lambda: glim.nodes()["n1"]["labels"]["zone"] == "C", 20, "it is in force")
    cluster.agents["n1"].stop()
    cluster.start_agent("n1")  # its options still say zone A
    cluster.wait_ready()
    assert glim.nodes()["n1"]["labels"]["zone"] == "C"


def test_a_lost_token_is_made_again_on_the_schedulers_host(own):
    cluster, glim = own.cluster, own.glim
    argv = [cluster.program("glim-scheduler"), "break-glass", "--config", cluster.config]
    argv += ["--state-dir", cluster.state_dir, "--key-file", os.path.join(cluster.state_dir, "cluster.key")]
    done = subprocess.run([*argv, "--store", cluster.store], capture_output=True, text=True, timeout=60 * SLOWER)
    assert done.returncode == 0, done.stderr
    token = next(word for word in done.stdout.split() if word.startswith("glim_"))
    glim.tokens.write("found", token + "\n")
    assert glim.json("whoami", user="found")["role"] == "admin"
    tokens = glim.json("admin", "token", "list", "--all")["tokens"]
    assert "break_glass" in {row["origin"] for row in tokens}


def test_a_host_for_logins_gives_its_users_tokens(own, fresh_folder):
    """By the uid that the kernel tells, and of users whom the registry knows."""
    cluster, glim = own.cluster, own.glim
    uid = 54321 if os.geteuid() == 0 else os.geteuid()
    drop = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if os.geteuid() == 0 else []
    place = os.path.join(fresh_folder, "run")
    home = os.path.join(fresh_folder, "home")
    for path in (place, home):
        os.makedirs(path, mode=0o755)
    os.chmod(fresh_folder, 0o711)
    if os.geteuid() == 0:
        os.chown(home, uid, uid)
    cluster.enrol("door", options=("--login",))
    socket = os.path.join(place, "login.sock")
    argv = [cluster.program("glim-agent"), "--login-socket", socket, "--state-dir", cluster.agent_state("door")]
    argv += ["--scheduler", cluster.agents_server]
    agent = Child("the agent of a login host", argv, os.path.join(cluster.logs, "agent-door.log"), cluster._env)
    try:
        wait_until(lambda: agent.check() or os.path.exists(socket), 30, lambda: tail(agent.log))
        env = {"PATH": "/usr/bin:/bin", "HOME": home, "XDG_CONFIG_HOME": home, "NO_COLOR": "1"}

        def call(*words):
            argv = [*drop, os.path.join(BIN, "glim"), *words]
            return subprocess.run(argv, env=env, cwd=home, capture_output=True, text=True, timeout=60 * SLOWER)

        server = ("--server", cluster.server, "--ca", os.path.join(home, "ca.pem"))
        shutil.copy(glim.tokens.authority, os.path.join(home, "ca.pem"))
        os.chmod(os.path.join(home, "ca.pem"), 0o644)
        stranger = call("login", "--socket", socket, *server)
        assert stranger.returncode == 4, stranger.stderr
        glim.text("admin", "user", "set", "uma", "--uid", uid, "--role", "operator", "-y")
        login = call("login", "--socket", socket, *server)
        assert login.returncode == 0, login.stderr
        who = json.loads(call("-o", "json", "whoami").stdout)
        assert (who["user"], who["role"]) == ("uma", "user"), "a login is never an operator's"
        assert call("admin", "audit").returncode == 4
        assert call("logout").returncode == 0
        assert call("queue").returncode == 4
    finally:
        agent.stop()
