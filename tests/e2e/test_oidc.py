"""A login at an OpenID Connect issuer: what the user types in a browser becomes a token of Glim's."""

import os
import re
import subprocess

import pytest

from cluster.local_cluster import CONFIG
from cluster.processes import SLOWER, wait_until
from conftest import own_stage
from oidc_issuer import Issuer


@pytest.fixture
def issuer():
    issuer = Issuer("glim-tests")
    yield issuer
    issuer.close()


@pytest.fixture
def own(fresh_folder, issuer):
    config = f"oidc: {{issuer: '{issuer.url}', client_id: {issuer.client}}}\n" + CONFIG
    with own_stage(fresh_folder, nodes={"n1": ("A", "a1")}, config=config) as stage:
        yield stage


def log_in(own, issuer, folder, name, **claims):
    """(exit code, stderr), and the variables that the next call of that user is made with."""
    env = {k: v for k, v in own.glim.env.items() if k != "GLIM_TOKEN_FILE"}
    env["XDG_CONFIG_HOME"] = os.path.join(folder, f"home-{name}")
    argv = [own.glim.program, "login", "--oidc"]
    process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.readline()
    code = re.fullmatch(rf"open {re.escape(issuer.url)}/go in a browser, and type the code (\w+)\n", said)
    assert code, said
    issuer.approve(code[1], name, **claims)
    rest = process.communicate(timeout=60 * SLOWER)[1]
    return process.returncode, rest, env


def test_a_registered_user_gets_a_token_and_nobody_else(own, issuer, fresh_folder):
    stranger, said, _ = log_in(own, issuer, fresh_folder, "kim")
    assert stranger == 4 and "NO_SUCH_USER" in said, said
    own.glim.text("admin", "user", "set", "kim", "--role", "operator", "-y")
    code, said, env = log_in(own, issuer, fresh_folder, "kim")
    assert code == 0 and "as kim" in said, said

    def call(*words):
        return subprocess.run([own.glim.program, *words], env=env, capture_output=True, text=True, timeout=60 * SLOWER)

    assert call("queue").returncode == 0
    assert call("admin", "audit").returncode == 0, "the issuer's word is as good as a token that was handed out"
    assert call("logout").returncode == 0
    wait_until(lambda: call("queue").returncode == 4, 10, "its token counts no more")


def test_what_was_issued_for_somebody_else_does_not_count(own, issuer, fresh_folder):
    own.glim.text("admin", "user", "set", "lee", "-y")
    for claims in ({"aud": "another-client"}, {"iss": "http://127.0.0.1:1"}, {"exp": 1}):
        code, said, _ = log_in(own, issuer, fresh_folder, "lee", **claims)
        assert code == 4 and "BAD_ID_TOKEN" in said, said
